/** UTF-8 lengths and byte order without encoding anything. */

/** Maximum number of UTF-8 bytes of a UTF-16 unit. Gives a cheap bound on the bytes of a string. */
export const bytesPerUnitMax = 3;

/** Returns the number of UTF-8 bytes of a string, or undefined if it has a lone surrogate. */
export function utf8Length(text: string): number | undefined {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
    } else if (unit < 0xd800 || unit > 0xdfff) {
      bytes += 2;
    } else {
      const next = text.charCodeAt(index + 1);
      if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return undefined;
      // A pair of two units is four bytes.
      bytes += 2;
      index += 1;
    }
  }
  return bytes;
}

/**
 * Compares two well-formed strings by their UTF-8 bytes, which is the order of their code points.
 *
 * JavaScript compares UTF-16 units, which puts an astral character (a surrogate pair from U+D800) before U+E000 to
 * U+FFFF. The fix-up moves the surrogates above all other units, as in ICU's `u_strCompare`.
 */
export function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    if (left >= 0xd800 && right >= 0xd800) return codePointOrder(left) - codePointOrder(right);
    return left - right;
  }
  return a.length - b.length;
}

function codePointOrder(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}
