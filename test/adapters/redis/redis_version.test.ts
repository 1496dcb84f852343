import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { writeCommitScript } from "../../../adapters/redis/commit_script.ts";
import { writeReadScript } from "../../../adapters/redis/read_script.ts";
import { redisAvailable, sharedRedis } from "../../support/redis.ts";

/** The oldest Redis that the adapter promises to work on. */
const oldest = [6, 2, 0];
const folder = new URL("../../../adapters/redis/", import.meta.url);
const source = [
  ...readdirSync(folder)
    .filter(file => file.endsWith(".ts"))
    .map(file => readFileSync(new URL(file, folder), "utf8")),
  writeCommitScript("nc|pPdDamxrl"),
  writeReadScript("rt2"),
].join("\n");

/** Every command that the source sends, in Lua and from JavaScript. */
function commandsSent(): string[] {
  const inLua = source.matchAll(/\b(?:call|pcall)\('([A-Z]+)'/g);
  const inTables = source.matchAll(/= \{ '([A-Z]+)', 'GROUP'/g);
  const fromJavaScript = source.matchAll(/\.ask\("(\w+)"/g);
  const found = [...inLua, ...inTables, ...fromJavaScript].map(([, name = ""]) => name.toUpperCase());
  return [...new Set([...found, "EVALSHA", "EVAL", "QUIT"])].sort();
}

/** The words of a command's arguments, with the version that brought each, as `COMMAND DOCS` nests them. */
function wordsOf(docs: unknown): [word: string, since: string][] {
  if (!Array.isArray(docs)) return [];
  const fields = new Map<unknown, unknown>();
  for (let index = 0; index + 1 < docs.length; index += 2) fields.set(docs[index], docs[index + 1]);
  const own = [fields.get("token"), fields.get("since")];
  const inner = docs.flatMap(wordsOf);
  return typeof own[0] === "string" && typeof own[1] === "string" ? [[own[0], own[1]], ...inner] : inner;
}

function isOlder(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, part] of oldest.entries()) {
    if ((parts[index] ?? 0) !== part) return (parts[index] ?? 0) < part;
  }
  return true;
}

describe("the commands that the Redis adapter sends", { skip: redisAvailable() }, () => {
  it("are all known to Redis 6.2, and so are the words of their arguments", async () => {
    const server = await sharedRedis();
    const names = commandsSent();
    for (const needed of ["ZRANGE", "ZRANK", "LINDEX", "XREADGROUP", "MGET", "HMGET", "PING"]) {
      assert.ok(names.includes(needed), `${needed} was not found in the source`);
    }
    for (const name of names) {
      const [, docs] = (await server.command("COMMAND", "DOCS", name)) as [string, unknown[]];
      assert.ok(Array.isArray(docs), `${name} is no command`);
      const since = docs[docs.indexOf("since") + 1];
      assert.ok(typeof since === "string" && isOlder(since), `${name} came with Redis ${since}`);
      for (const [word, version] of wordsOf(docs[docs.indexOf("arguments") + 1])) {
        const isUsed = new RegExp(`'${name}'[^\\n]*'${word}'`).test(source);
        assert.ok(!isUsed || isOlder(version), `${name} ${word} came with Redis ${version}`);
      }
    }
  });
});
