/** The guide of the test kit runs under Vitest as it stands, against the built package. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { textOf } from "../repo/files.ts";

const run = promisify(execFile);
const modules = fileURLToPath(new URL("node_modules/", import.meta.url));
const dist = process.env.GRANDSTAND_TEST_DIST ?? "";
const program = `${modules}vitest/vitest.mjs`;
const skip =
  !existsSync(program) &&
  process.env.GRANDSTAND_REQUIRE_RUNTIMES !== "1" &&
  "Vitest is not installed: npm ci --prefix test/runtime";
const folder = `${modules}.cache/grandstand-vitest-${process.pid}/`;

describe("the test kit under Vitest", { skip }, () => {
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("passes the tests of its guide", async () => {
    const [, code = ""] = /^```js\n([\s\S]*?)^```/m.exec(textOf("lib/testing/README.md")) ?? [];
    mkdirSync(`${folder}node_modules/grandstand`, { recursive: true });
    symlinkSync(dist, `${folder}node_modules/grandstand/dist`);
    writeFileSync(`${folder}node_modules/grandstand/package.json`, textOf("package.json"));
    writeFileSync(`${folder}kit.test.js`, code);
    const report = `${folder}report.json`;
    const options = ["--root", folder, "--reporter=json", `--outputFile=${report}`];
    await run(process.execPath, [program, "run", ...options], { cwd: folder, timeout: 60_000 });
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
    assert.deepEqual([numPassedTests, numFailedTests], [2, 0]);
  });
});
