/**
 * The lines of journal files: `<digest in 8 hex digits> <text>\n`.
 *
 * The digest is the CRC-32 of the text, continued from the digest of the line before. So a line that was changed, and one behind which
 * or before which lines are missing, does not fit its place.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";

/** Begins every journal file; the number changes with the format. */
export const headerText = "grandstand journal 2";
/** Begins files of earlier releases, in which the digest of each line begins anew. They are read, but never appended to. */
export const unchainedHeaderText = "grandstand journal 1";
const newline = 0x0a;
const space = 0x20;
const sumDigits = 8;
/** Characters of a line beside its text. */
export const lineOverhead: number = sumDigits + 2;

/** Bytes of the line of the header: the sum, a space, the text and the line break. */
export const lineHeaderBytes: number = sumDigits + headerText.length + 2;

/** Returns the digest of a line by its text and the digest of the line before, 0 for the first. */
export function digestOf(text: string | Buffer, before: number): number {
  return crc32(text, before);
}

/** Returns the line of a text without line breaks. */
export function encodeLine(text: string, digest: number): string {
  return `${digest.toString(16).padStart(sumDigits, "0")} ${text}\n`;
}

/** Returns text and digest of a line, or undefined if it is not whole, damaged, or does not follow the line before. */
export function decodeLine(
  line: Buffer,
  before: number,
): { readonly text: string; readonly digest: number } | undefined {
  const end = line.length - 1;
  if (end <= sumDigits || !isWholeLine(line) || line[sumDigits] !== space) return undefined;
  const text = line.subarray(sumDigits + 1, end);
  const digest = digestOf(text, before);
  const isIntact = line.toString("latin1", 0, sumDigits) === digest.toString(16).padStart(sumDigits, "0");
  return isIntact ? { text: text.toString("utf8"), digest } : undefined;
}

/** Tests if a line has its line break: a write that was cut short has none. */
export function isWholeLine(line: Buffer): boolean {
  return line.at(-1) === newline;
}

/** Returns the line with a line break in place of its last byte. */
export function withLineBreak(line: Buffer): Buffer {
  const broken = Buffer.from(line);
  broken[broken.length - 1] = newline;
  return broken;
}

/** Returns the text that closes a file of so many frames, behind which nothing may follow. */
export function endText(frames: number): string {
  return `end ${frames}`;
}

/** Cuts chunks of a file into lines; the last line may lack its line break. */
export async function* cutLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer[], void> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const lines: Buffer[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const tail = chunk.subarray(from, at + 1);
      lines.push(rest.length === 0 ? tail : Buffer.concat([...rest, tail]));
      rest = [];
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
    yield lines;
  }
  if (rest.length > 0) yield [Buffer.concat(rest)];
}
