/** Length of a version that {@linkcode VersionSource} makes, in characters. */
export const versionLength = 16;
const counterLength = 7;

/** Makes versions that no process makes again: 9 random characters (54 bits) and a counter. */
export class VersionSource {
  #prefix = "";
  #count = Number.POSITIVE_INFINITY;

  next(): string {
    if (this.#count >= 36 ** counterLength) {
      this.#prefix = randomPrefix();
      this.#count = 0;
    }
    const digits = this.#count.toString(36).padStart(counterLength, "0");
    this.#count += 1;
    return this.#prefix + digits;
  }
}

function randomPrefix(): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const bytes = crypto.getRandomValues(new Uint8Array(versionLength - counterLength));
  return Array.from(bytes, byte => alphabet[byte & 63]).join("");
}
