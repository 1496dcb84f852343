/**
 * Turns the Lua files of the Redis adapter into `adapters/redis/scripts.ts`, so that they are there in every runtime
 * and in every bundle. Run it after a change to a `.lua` file:
 *
 * ```sh
 * node --import tsx test/adapters/redis/generate_scripts.ts
 * ```
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = new URL("../../../adapters/redis/", import.meta.url);

/** Path of the generated module. */
export const target: URL = new URL("scripts.ts", folder);

/** The text of the generated module. */
export function generate(): string {
  const files = readdirSync(folder).filter(file => file.endsWith(".lua"));
  return [
    "// Generated from the .lua files of this folder by test/adapters/redis/generate_scripts.ts: do not edit.",
    'import type { Script } from "./script_cache.ts";',
    ...files.sort().map(declaration),
    "",
  ].join("\n");
}

function declaration(file: string): string {
  const source = readFileSync(new URL(file, folder), "utf8");
  const lua = withoutComments(source);
  const sha = createHash("sha1").update(lua).digest("hex");
  const name = file.replace(".lua", "").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const purpose = /^-- Purpose: (.+)$/m.exec(source)?.[1] ?? "";
  const literal = lua.replace(/[\\`]|\$\{/g, "\\$&");
  return `
/** \`${file}\`: ${purpose} */
export const ${name}Script: Script = {
  sha: "${sha}",
  lua: \`${literal}\`,
};`;
}

/** Drops indentation, blank lines and lines that are comments: Redis keeps the text of every script. */
function withoutComments(source: string): string {
  return source
    .split("\n")
    .map(line => line.trim())
    .filter(line => line !== "" && !line.startsWith("--"))
    .join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, generate());
