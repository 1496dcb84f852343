/**
 * The lines of journal files: `<CRC-32 of the text in 8 hex digits> <text>\n`.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";

/** Begins every journal file; the number changes with the format. */
export const headerText = "grandstand journal 1";
const newline = 0x0a;
const space = 0x20;
const sumDigits = 8;

/** Bytes of the line of the header: the sum, a space, the text and the line break. */
export const lineHeaderBytes: number = sumDigits + headerText.length + 2;

/** Returns the line of a text without line breaks. */
export function encodeLine(text: string): string {
  return `${crc32(text).toString(16).padStart(sumDigits, "0")} ${text}\n`;
}

/** Returns the text of a whole line, or undefined if the line is damaged. */
export function decodeLine(line: Buffer): string | undefined {
  const end = line.length - 1;
  if (end <= sumDigits || line[end] !== newline || line[sumDigits] !== space) return undefined;
  const text = line.subarray(sumDigits + 1, end);
  const sum = line.toString("latin1", 0, sumDigits);
  return sum === crc32(text).toString(16).padStart(sumDigits, "0") ? text.toString("utf8") : undefined;
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
