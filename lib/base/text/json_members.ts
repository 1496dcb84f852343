/**
 * Reads single members of stored JSON objects without parsing the rest. Searches read few members of many long records.
 *
 * Text after the last wanted member is never read, so frequently used members should come first.
 *
 * @module
 */

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * The members of a JSON object. Each search starts where the last one ended, so reading members in stored order takes one
 * pass.
 */
export class JsonMembers {
  readonly #text: string;
  /** Index of the name of the next member. */
  #next = 1;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Returns the text of a member's value; undefined if the object lacks the member. Text with white space, unlike that of
   * `JSON.stringify`, is parsed.
   *
   * @throws {SyntaxError} The text is cut off.
   */
  text(name: string): string | undefined {
    const text = this.#text;
    const first = this.#next;
    for (let at = first; text.charCodeAt(at) === quote; ) {
      const begin = endOfString(text, at) + 1;
      const end = text.charCodeAt(begin - 1) === colon ? endOfValue(text, begin) : -1;
      const behind = text.charCodeAt(end);
      if (end === -1 || (behind !== comma && behind !== closeBrace)) break;
      const next = behind === comma ? end + 1 : 1;
      if (begin - at === name.length + 3 && text.startsWith(name, at + 1)) {
        this.#next = next;
        return text.slice(begin, end);
      }
      if (next === first) return undefined;
      at = next;
    }
    return parsedMember(text, name);
  }

  /** Returns the value of a member; undefined if the object lacks the member. Found as by {@linkcode JsonMembers.text}. */
  value(name: string): unknown {
    const value = this.text(name);
    return value === undefined ? undefined : JSON.parse(value);
  }
}

function parsedMember(text: string, name: string): string | undefined {
  const parsed: Readonly<Record<string, unknown>> = JSON.parse(text);
  return Object.hasOwn(parsed, name) ? JSON.stringify(parsed[name]) : undefined;
}

/** Returns the index after a string that begins at a quote; 0 if it does not end. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (text.charCodeAt(end - 1) === backslash && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, index: number): boolean {
  let from = index;
  while (text.charCodeAt(from - 1) === backslash) from -= 1;
  return (index - from) % 2 === 1;
}

/** Returns the index after a value; -1 if none begins there, or it does not end. */
function endOfValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from) || -1;
  if (first === openBrace || first === openBracket) return endOfNested(text, from);
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === comma || code === closeBrace) return at;
    if (code <= 0x20) return -1;
  }
  return -1;
}

function endOfNested(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at) - 1;
      if (at === -1) return -1;
    } else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}
