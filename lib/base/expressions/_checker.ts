import { AppError, type FieldError } from "../errors/mod.ts";

/** Deepest nesting of operators in one expression. */
export const depthMax = 16;
/** Most operators and operands in one expression, definitions of aggregates included with all their parts. */
export const nodesMax = 512;

/** Most characters of an operator that a pointer repeats. */
export const tokenCharactersMax = 64;

/** Location of a part: its JSON Pointer, and the number of operators around it, itself included. */
export interface Place {
  readonly pointer: string;
  readonly depth: number;
}

/** An operator with what it is applied to. */
export interface Application {
  readonly operator: string;
  readonly argument: unknown;
  /** Location of the argument. */
  readonly place: Place;
}

/** Counts the parts of one expression and collects its errors, so that all of them are reported at once. */
export class Checker {
  readonly #faults: FieldError[] = [];
  #nodes = 0;

  /** Adds an error and the way to fix it. */
  report(pointer: string, detail: string): void {
    this.#faults.push({ pointer, detail });
  }

  /** Runs what may be refused with faults of its own; those become faults of this expression. Null then. */
  attempt<T>(task: () => T): T | null {
    try {
      return task();
    } catch (error) {
      if (!(error instanceof AppError) || error.fields === undefined) throw error;
      this.#faults.push(...error.fields);
      return null;
    }
  }

  /** Counts parts; false, with a fault the first time, where they are too many to go on. */
  count(pointer: string, parts = 1): boolean {
    const before = this.#nodes;
    this.#nodes += parts;
    if (this.#nodes <= nodesMax) return true;
    if (before <= nodesMax) this.report(pointer, `Use at most ${nodesMax} operators and operands`);
    return false;
  }

  /** Returns true if an operator may stand at this depth; a fault where it may not. */
  nests({ pointer, depth }: Place): boolean {
    if (depth <= depthMax) return true;
    this.report(pointer, `Nest operators at most ${depthMax} deep`);
    return false;
  }

  /** Reads an object with one operator; null, with a fault, where it is none. */
  application(source: unknown, { pointer, depth }: Place, expectation: string): Application | null {
    const entries = typeof source === "object" && source !== null ? Object.entries(source) : [];
    const [entry] = entries;
    if (entry === undefined || entries.length > 1 || Array.isArray(source)) {
      this.report(pointer, expectation);
      return null;
    }
    const [operator, argument] = entry;
    return { operator, argument, place: { pointer: `${pointer}/${token(operator)}`, depth } };
  }

  /** @throws {AppError} `validation_failed` with every fault, where there are any. */
  assertFaultless(): void {
    if (this.#faults.length === 0) return;
    throw new AppError("validation_failed", "Cannot use the expression as it is not well formed", {
      fields: this.#faults,
    });
  }
}

/** Returns the place of an operand or condition in the list that an operator is applied to. */
export function item({ pointer, depth }: Place, index: number): Place {
  return { pointer: `${pointer}/${index}`, depth: depth + 1 };
}

/** Returns the place of the only operand or condition that an operator is applied to. */
export function only({ pointer, depth }: Place): Place {
  return { pointer, depth: depth + 1 };
}

/** Returns a reference token of RFC 6901, shortened so that an error never repeats an enormous name. */
function token(text: string): string {
  return text.slice(0, tokenCharactersMax).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");
}
