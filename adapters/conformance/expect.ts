/** Assertions without a test runner. */

/** A promise of the contract that an implementation broke. */
export class ConformanceError extends Error {
  override readonly name = "ConformanceError";
}

/**
 * Compares two values deeply: primitives as `Object.is` does, maps without regard to order, objects by own keys.
 *
 * @throws {ConformanceError} They differ; the message shows both.
 */
export function equal(actual: unknown, expected: unknown, about: string = ""): void {
  if (same(actual, expected)) return;
  const topic = about === "" ? "" : `${about}: `;
  throw new ConformanceError(`${topic}expected ${show(expected)}, got ${show(actual)}`);
}

/** @throws {ConformanceError} The condition is false. */
export function ok(condition: boolean, about: string): asserts condition {
  if (!condition) throw new ConformanceError(about);
}

/**
 * Expects the action to throw or reject with an instance of one of the classes, and returns that error.
 *
 * @throws {ConformanceError} It does not.
 */
export async function rejects(
  action: () => Promise<unknown>,
  classes: readonly (new (...args: never[]) => Error)[],
  about: string,
): Promise<Error> {
  const expected = classes.map(({ name }) => name).join(" or ");
  try {
    await action();
  } catch (error) {
    for (const candidate of classes) if (error instanceof candidate) return error;
    throw new ConformanceError(`${about}: expected a ${expected}, got ${String(error)}`, { cause: error });
  }
  throw new ConformanceError(`${about}: expected a ${expected}, but it succeeded`);
}

/** Returns a value as text for a message, shortened to some hundred characters. */
export function show(value: unknown): string {
  const text = JSON.stringify(value, replacer) ?? String(value);
  return text.length <= 600 ? text : `${text.slice(0, 600)}… (${text.length} characters)`;
}

function replacer(_key: string, value: unknown): unknown {
  if (value instanceof Map) return { map: [...value] };
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value;
}

function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Map || b instanceof Map) return a instanceof Map && b instanceof Map && sameMap(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  if (left.length !== Object.keys(b).length) return false;
  const right = new Map<string, unknown>(Object.entries(b));
  return left.every(([key, value]) => right.has(key) && same(value, right.get(key)));
}

function sameMap(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && same(value, b.get(key)));
}
