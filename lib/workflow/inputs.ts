/** Typed values of inputs. */

import { decodeFile, type ImageType, imageType, isColour } from "./dialogue/mod.ts";

/** A value that the user can repair. The message says what is expected and is shown beside the label of the input. */
export class InputFault extends Error {
  override readonly name = "InputFault";
}

/** Reads the value of an input; undefined if the user gave none. */
export interface InputReader<T> {
  /** @throws {InputFault} The user has to change the value. */
  readonly read: (value: string | undefined) => T;
}

/** Readers by the names of the inputs. */
export type Inputs = Readonly<Record<string, InputReader<unknown>>>;
/** The values that readers return, by name. */
export type InputValues<I extends Inputs> = {
  readonly [K in keyof I]: I[K] extends InputReader<infer T> ? T : never;
};

/** A file that the user chose. */
export interface InputFile {
  readonly bytes: Uint8Array;
}

/** An image that the user chose. */
export interface InputImage extends InputFile {
  /** By its first bytes. */
  readonly type: ImageType;
}

/** Bounds of a text. */
export interface TextInputOptions {
  /** Least number of characters after trimming. @default 1 */
  readonly min?: number;
  /** Most characters. @default 2,000 */
  readonly max?: number;
  /** The form of the whole text. */
  readonly pattern?: RegExp;
  /** What is expected, where the text does not have the form. */
  readonly expected?: string;
}

/** Reads a text without white space around it. */
export function textInput(options: TextInputOptions = {}): InputReader<string> {
  const { min = 1, max = 2_000, pattern, expected = "This is not as expected" } = options;
  return {
    read(value = "") {
      const trimmed = value.trim();
      if (trimmed.length < min)
        throw new InputFault(min === 1 ? "Please fill this in" : `At least ${min} characters, please`);
      if (trimmed.length > max) throw new InputFault(`At most ${max} characters, please`);
      if (pattern !== undefined && !pattern.test(trimmed)) throw new InputFault(expected);
      return trimmed;
    },
  };
}

/** Bounds of a file. */
export interface FileInputOptions {
  /** @default 10 MiB, the most that a request carries */
  readonly bytesMax?: number;
}

/** Reads a file. An empty one is refused. */
export function fileInput({ bytesMax }: FileInputOptions = {}): InputReader<InputFile> {
  return { read: value => ({ bytes: bytesOf(value, bytesMax) }) };
}

/** Reads an image: PNG, JPEG, GIF or WebP by its first bytes. SVG is none. */
export function imageInput({ bytesMax }: FileInputOptions = {}): InputReader<InputImage> {
  return {
    read(value) {
      const bytes = bytesOf(value, bytesMax);
      const type = imageType(bytes);
      if (type === null) throw new InputFault("Please choose a PNG, JPEG, GIF or WebP image");
      return { bytes, type };
    },
  };
}

/** Reads a colour as `#rrggbb` in lower case. */
export function colourInput(): InputReader<string> {
  return {
    read(value = "") {
      if (value.length !== 7 || !isColour(value)) throw new InputFault("Please choose a colour");
      return value.toLowerCase();
    },
  };
}

/** Reads a value that may be missing: undefined then. */
export function optional<T>({ read }: InputReader<T>): InputReader<T | undefined> {
  return { read: value => (value === undefined || value.trim() === "" ? undefined : read(value)) };
}

/** Reads all inputs. Returns their values, or a message for each that the user has to change. */
export function readInputs<I extends Inputs>(
  readers: I,
  values: Readonly<Record<string, string>>,
  labels: ReadonlyMap<string, string>,
): { readonly values: InputValues<I> } | { readonly faults: readonly string[] } {
  const read: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, reader] of Object.entries(readers)) {
    try {
      read[name] = reader.read(labels.has(name) && Object.hasOwn(values, name) ? values[name] : undefined);
    } catch (error) {
      if (!(error instanceof InputFault)) throw error;
      faults.push(`${labels.get(name) ?? name}: ${error.message}`);
    }
  }
  return faults.length > 0 ? { faults } : { values: read as InputValues<I> };
}

function bytesOf(value: string | undefined, bytesMax: number | undefined): Uint8Array {
  if (value === undefined || value === "") throw new InputFault("Please choose a file");
  try {
    const bytes = decodeFile(value, bytesMax);
    if (bytes.length === 0) throw new InputFault("This file is empty");
    return bytes;
  } catch (error) {
    if (error instanceof RangeError) throw new InputFault(error.message);
    if (error instanceof SyntaxError) throw new InputFault("This file did not arrive as it was sent");
    throw error;
  }
}
