/** Assertions on the arguments of stores and side ports: they throw `TypeError` or `RangeError`. */
import { nameBytesMax } from "./limits.ts";
import { bytesPerUnitMax, utf8Length } from "./utf8.ts";

/** Checks the name of something stored: a key, field, member or topic. */
export function name(value: string, what: string): void {
  text(value, what, 1, nameBytesMax);
}

/** Checks a string and returns a number that its UTF-8 bytes do not exceed: theirs, or a bound that is cheaper to know. */
export function text(value: string, what: string, min: number, max: number): number {
  if (typeof value !== "string") {
    throw new TypeError(`Cannot use the storage: ${what} must be a string, is ${typeof value}`);
  }
  const bound = value.length * bytesPerUnitMax;
  if (value.length >= min && bound <= max && value.isWellFormed()) return bound;
  // A UTF-16 unit is at least one byte: the exact count of an enormous string is never needed to refuse it.
  const bytes = value.length > max ? value.length : utf8Length(value);
  if (bytes === undefined) throw new TypeError(`Cannot use the storage: ${what} has a lone surrogate`);
  if (bytes < min || bytes > max) {
    throw new RangeError(`Cannot use the storage: ${what} must have ${min} to ${max} bytes, has ${bytes}`);
  }
  return bytes;
}

/** Checks that there are not more than `max` of something. */
export function count(value: number, what: string, max: number): void {
  if (value > max)
    throw new RangeError(`Cannot use the storage: ${what} must be at most ${max}, is ${value}`);
}

/** Checks that a number is a safe integer from `min` to `max`. */
export function integer(
  value: number,
  what: string,
  min: number = Number.MIN_SAFE_INTEGER,
  max: number = Number.MAX_SAFE_INTEGER,
): void {
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new RangeError(
      `Cannot use the storage: ${what} must be an integer from ${min} to ${max}, is ${value}`,
    );
  }
}

/** Checks that a number has an order among others: infinities do, NaN does not. */
export function comparable(value: number, what: string): void {
  if (typeof value !== "number" || Number.isNaN(value)) {
    throw new RangeError(`Cannot use the storage: ${what} must be a number, is ${value}`);
  }
}

/** @throws {TypeError} Always: the value is of a kind that nobody knows. */
export function unknown(what: string, value: unknown): never {
  throw new TypeError(`Cannot use the storage: unknown ${what} in ${JSON.stringify(value)}`);
}
