import { createHash } from "node:crypto";

export interface Script {
  readonly lua: string;
  readonly sha: string;
}

/** Makes a script of Lua without indentation, blank lines and comments, as Redis keeps the text of every script. */
export function scriptOf(source: string): Script {
  const lines = source.split("\n").map(line => line.trim());
  const lua = lines.filter(line => line !== "" && !line.startsWith("--")).join("\n");
  return { lua, sha: createHash("sha1").update(lua).digest("hex") };
}

/** Most scripts made to measure of one kind: Redis keeps each script that it was ever given. */
export const shapesMax = 256;
/** Uses of a shape before it gets a script of its own, so that rare shapes take no room. */
export const shapeUsesMin = 8;
/** Most shapes without a script that are counted at a time; with one more, counting begins anew. */
export const shapesCountedMax = 1_024;

export interface ScriptCacheOptions {
  /** Most shapes that get a script. @default shapesMax */
  readonly shapes?: number;
  /** Uses of a shape before it gets a script. @default shapeUsesMin */
  readonly uses?: number;
}

/** Writes one script per shape that keeps coming up. */
export class ScriptCache {
  readonly #write: (shape: string) => string;
  readonly #options: Required<ScriptCacheOptions>;
  readonly #scripts = new Map<string, Script>();
  readonly #uses = new Map<string, number>();

  /** @param write Writes the Lua of a shape. */
  constructor(
    write: (shape: string) => string,
    { shapes = shapesMax, uses = shapeUsesMin }: ScriptCacheOptions = {},
  ) {
    this.#write = write;
    this.#options = { shapes, uses };
  }

  /** Returns the script of a shape that has come up, or undefined if it has none yet, or there are too many. */
  of(shape: string): Script | undefined {
    const cached = this.#scripts.get(shape);
    if (cached !== undefined || this.#scripts.size >= this.#options.shapes) return cached;
    const uses = (this.#uses.get(shape) ?? 0) + 1;
    if (uses < this.#options.uses) {
      if (this.#uses.size >= shapesCountedMax) this.#uses.clear();
      this.#uses.set(shape, uses);
      return undefined;
    }
    this.#uses.delete(shape);
    const script = scriptOf(this.#write(shape));
    this.#scripts.set(shape, script);
    return script;
  }
}
