import { createHash } from "node:crypto";
import type { Script } from "./connection.ts";

/** Most scripts made to measure of one kind: Redis keeps each script that it was ever given. */
export const shapesMax = 256;

/** Writes one script per shape, when the shape first comes up. */
export class ScriptCache {
  readonly #write: (shape: string) => string;
  readonly #shapesMax: number;
  readonly #scripts = new Map<string, Script>();

  /** @param write Writes the Lua of a shape. @param max Most shapes that get a script. */
  constructor(write: (shape: string) => string, max: number = shapesMax) {
    this.#write = write;
    this.#shapesMax = max;
  }

  /** The script of the shape, or undefined where there are too many already. */
  of(shape: string): Script | undefined {
    const known = this.#scripts.get(shape);
    if (known !== undefined || this.#scripts.size >= this.#shapesMax) return known;
    const lua = this.#write(shape);
    const script = { lua, sha: createHash("sha1").update(lua).digest("hex") };
    this.#scripts.set(shape, script);
    return script;
  }
}
