/** The flat declarations of the client in the package: they say what the types of the repository say, which follow from the routes. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { areaDeclarations } from "../../runtime/declarations/mod.ts";
import { skipUnlessFull } from "../support/full.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "client-types-"));
after(() => rmSync(folder, { recursive: true }));

/** Operations that are described in a form of their own: an input that contains itself, and the records of each kind. */
const others = ["putLoyaltyConfiguration", "getUserData"];

/** Compares what callers give and get; what may be changed in place, and which objects have any members, is the same here. */
const comparison = `
type Plain<T> = unknown extends T
  ? {}
  : T extends string | number | boolean | null | undefined | Blob | ReadableStream | Uint8Array
    ? T
    : T extends readonly unknown[]
      ? readonly Plain<T[number]>[]
      : T extends object
        ? string extends keyof T ? {} : { readonly [K in keyof T]: Plain<Exclude<T[K], undefined>> }
        : T;
type Given<F> = F extends (input: infer I, ...rest: never) => unknown ? Plain<NonNullable<I>> : never;
type Answered<F> = F extends (...input: never) => infer R
  ? Plain<R extends PromiseLike<infer D> | AsyncIterable<infer D> ? D : never>
  : never;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
export type Differences<A, B> =
  | Exclude<keyof A, keyof B>
  | Exclude<keyof B, keyof A>
  | { [K in keyof A & keyof B]: [Same<Given<A[K]>, Given<B[K]>>, Same<Answered<A[K]>, Answered<B[K]>>] extends [true, true] ? never : K }[keyof A & keyof B];
`;

describe("the client of the package", { skip: skipUnlessFull("all types of the client") }, () => {
  it("has the types that follow from the routes", async () => {
    const areas: string[] = [];
    for (const [name, text] of await areaDeclarations()) {
      writeFileSync(join(folder, name), text);
      if (name !== "shared.d.ts") areas.push(name.replace(".d.ts", ""));
    }
    writeFileSync(join(folder, "area.ts"), `export type * from "${root}lib/client/area.ts";\n`);
    writeFileSync(join(folder, "differences.ts"), comparison);
    const lines = areas.map(area => {
      const name = `${area.charAt(0).toUpperCase()}${area.slice(1)}Operations`;
      return `export const ${area}: Exclude<Differences<import("${root}lib/client/${area}.ts").${name}, import("./${area}.d.ts").${name}>, Others> = "";`;
    });
    const known = others.map(name => JSON.stringify(name)).join(" | ");
    writeFileSync(
      join(folder, "compared.ts"),
      `import type { Differences } from "./differences.ts";\ntype Others = ${known};\n${lines.join("\n")}\n`,
    );
    const compilerOptions = { noEmit: true, incremental: false, skipLibCheck: true };
    const config = { extends: `${root}tsconfig.json`, include: ["compared.ts"], compilerOptions };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", folder, "--checkers", "1"], {
      cwd: root,
      encoding: "utf8",
    });
    // A text is no \`never\`: the message names the operations that differ.
    const found = [
      ...stdout.matchAll(/^.*compared\.ts\((\d+),.*Type '""' is not assignable to type '(.*)'/gm),
    ];
    const different = found.filter(([, , type]) => type !== "never").map(([, , type]) => type);
    assert.equal(found.length, areas.length, stdout);
    assert.equal(stdout.match(/error TS/g)?.length, areas.length, stdout);
    assert.deepEqual(different, []);
  });
});
