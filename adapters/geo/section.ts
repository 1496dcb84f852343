/**
 * Walks values of a MaxMind DB file without decoding them (file format 2.0, "Data Section").
 *
 * The decoder that reads the values later checks no bounds and follows every pointer, so a damaged or hostile file could
 * make it loop or fill the memory. What has passed here decodes within the bounds below.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { UnusableDatabaseError } from "./unusable_database.ts";

/** Deepest nesting of a value, pointers counted. */
export const valueDepthMax = 16;
/** Largest value in bytes, with everything that it points to as often as it points there. */
export const valueBytesMax = 65_536;

/** Longest name of a member, in bytes. */
export const nameBytesMax = 256;

const pointerType = 1;
const stringType = 2;
const mapType = 7;
const arrayType = 11;
/** What the format adds to a pointer by the number of its bytes. */
const pointerBases = [0, 2_048, 526_336, 0];
/** Fewest and most payload bytes of the other types. */
const payloads: Readonly<Record<number, readonly [min: number, max: number]>> = {
  2: [0, valueBytesMax],
  3: [8, 8],
  4: [0, valueBytesMax],
  5: [0, 2],
  6: [0, 4],
  8: [0, 4],
  9: [0, 8],
  10: [0, 16],
  15: [4, 4],
};
const booleanType = 14;

interface Head {
  readonly type: number;
  /** Payload bytes, members of a map or array, or the target of a pointer. */
  readonly size: number;
  /** Offset of what follows the head. */
  readonly next: number;
}

/** A value that keeps all bounds. */
export interface Checked {
  /** Its size with everything that it points to. */
  readonly bytes: number;
  /** The names of its members where it is a map. */
  readonly names: readonly string[];
}

/** A part of the file whose pointers count from its beginning. */
export class Section {
  readonly #bytes: Buffer;
  #spent = 0;
  #names: string[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * Checks the value at an offset.
   *
   * @throws {UnusableDatabaseError} The value leaves the section or a bound, or is malformed.
   */
  check(offset: number): Checked {
    this.#spent = 0;
    this.#names = [];
    this.#value(offset, 0);
    return { bytes: this.#spent, names: this.#names };
  }

  /** Answers the offset behind the value. */
  #value(offset: number, depth: number): number {
    if (depth > valueDepthMax) throw malformed(offset, "is nested too deeply");
    const { type, size, next } = this.#head(offset);
    this.#spend(next - offset, offset);
    if (type === pointerType) {
      if (this.#head(size).type === pointerType) throw malformed(offset, "points to a pointer");
      this.#value(size, depth + 1);
      return next;
    }
    if (type === mapType) return this.#map(size, next, depth);
    if (type === arrayType) return this.#array(size, next, depth);
    if (type === booleanType && size <= 1) return next;
    const [min, max] = payloads[type] ?? [1, 0];
    if (size < min || size > max) throw malformed(offset, "has a type or size that does not exist");
    this.#spend(size, offset);
    return this.#inside(next + size);
  }

  #map(size: number, start: number, depth: number): number {
    let offset = start;
    for (let index = 0; index < size; index++) {
      const name = this.#name(offset);
      if (depth === 0) this.#names.push(this.#text(name));
      offset = this.#value(this.#value(offset, depth + 1), depth + 1);
    }
    return offset;
  }

  #array(size: number, start: number, depth: number): number {
    let offset = start;
    for (let index = 0; index < size; index++) offset = this.#value(offset, depth + 1);
    return offset;
  }

  #name(offset: number): Head {
    const direct = this.#head(offset);
    const name = direct.type === pointerType ? this.#head(direct.size) : direct;
    if (name.type !== stringType || name.size > nameBytesMax) {
      throw malformed(offset, "has a member without a name");
    }
    return name;
  }

  #text({ size, next }: Head): string {
    return this.#bytes.toString("utf8", next, this.#inside(next + size));
  }

  #head(offset: number): Head {
    const control = this.#byte(offset);
    let next = offset + 1;
    let type = control >> 5;
    if (type === pointerType) return this.#pointer(control, next);
    if (type === 0) {
      type = 7 + this.#byte(next);
      next += 1;
      if (type <= mapType) throw malformed(offset, "has a type that does not exist");
    }
    const short = control & 31;
    if (short < 29) return { type, size: short, next };
    const base = [29, 285, 65_821][short - 29] ?? 0;
    const width = short - 28;
    return { type, size: base + this.#integer(next, width), next: next + width };
  }

  #pointer(control: number, next: number): Head {
    const width = ((control >> 3) & 3) + 1;
    const high = width === 4 ? 0 : (control & 7) * 256 ** width;
    const size = (pointerBases[width - 1] ?? 0) + high + this.#integer(next, width);
    return { type: pointerType, size, next: next + width };
  }

  #integer(offset: number, width: number): number {
    this.#inside(offset + width);
    return this.#bytes.readUIntBE(offset, width);
  }

  #byte(offset: number): number {
    const byte = this.#bytes[offset];
    if (byte === undefined) throw malformed(offset, "lies outside its section");
    return byte;
  }

  #inside(end: number): number {
    if (end > this.#bytes.length) throw malformed(end, "ends outside its section");
    return end;
  }

  #spend(bytes: number, offset: number): void {
    this.#spent += bytes;
    if (this.#spent > valueBytesMax) throw malformed(offset, "is too large");
  }
}

function malformed(offset: number, what: string): UnusableDatabaseError {
  return new UnusableDatabaseError(`it is damaged: the value at ${offset} ${what}`);
}
