/** `grandstand export decrypt`, and as a program on every runtime. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { nativeExportKernels } from "../../adapters/native/mod.ts";
import { type SealedExport, sealedExport } from "../support/export_files.ts";
import { until } from "../support/until.ts";
import { type Outcome, runHere } from "./command_line.ts";
import { start } from "./processes.ts";
import { cliCommand, type Runtime, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-decrypt-"));
const rows = Buffer.from(`userId,name\r\n${"u1,Ünï\r\n".repeat(200_000)}`);
const file = join(folder, "export-1.csv.enc");
const out = join(folder, "export-1.csv");
let sealed: SealedExport;
/** So much that writing it takes a while. */
const largeBytes = 64 * 1_048_576;
const large = join(folder, "large.json.enc");
let sealedLarge: SealedExport;

const run = (args: readonly string[], password: string): Promise<Outcome> =>
  runHere(["export", "decrypt", ...args], { GRANDSTAND_EXPORT_PASSWORD: password });

/** Runs the command as a program, with the input given or the password of the environment. */
async function runOn(runtime: Runtime, args: readonly string[], input: string | null): Promise<Outcome> {
  const environment = input === null ? { GRANDSTAND_EXPORT_PASSWORD: sealed.password } : {};
  const program = start([...cliCommand(runtime), "export", "decrypt", ...args], environment);
  program.stdin.end(input ?? "");
  const code = await program.ended;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

before(async () => {
  sealed = await sealedExport(rows);
  writeFileSync(file, sealed.file);
  sealedLarge = await sealedExport(Buffer.alloc(largeBytes), nativeExportKernels());
  writeFileSync(large, sealedLarge.file);
});
after(() => rmSync(folder, { recursive: true }));

for (const runtime of runtimes) {
  describe(`grandstand export decrypt (${runtime.name})`, { skip: runtime.skip }, () => {
    it("writes what was encrypted, readable by its owner alone, with the password of the environment", async () => {
      const { code, stdout, stderr } = await runOn(runtime, [file], null);
      assert.deepEqual([code, stdout], [0, `${out}\t${rows.length}\n`], stderr);
      assert.match(stderr, new RegExp(`wrote ${rows.length} bytes to`));
      assert.ok(readFileSync(out).equals(rows));
      assert.equal(statSync(out).mode & 0o777, 0o600);
      rmSync(out);
    });
  });
}

describe("grandstand export decrypt", () => {
  const runtime = runtimes[0] ?? assert.fail();

  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    it(`leaves nothing behind where it is ended by ${signal} while it writes`, async () => {
      const before = readdirSync(folder);
      const environment = { GRANDSTAND_EXPORT_PASSWORD: sealedLarge.password };
      const program = start([...cliCommand(runtime), "export", "decrypt", large], environment);
      await until("it writes", () => readdirSync(folder).some(name => name.endsWith(".part")));
      program.signal(signal);
      assert.equal(await program.ended, code, program.stderr());
      assert.deepEqual(readdirSync(folder), before);
    });
  }

  it("leaves nothing behind where the password is another one", async () => {
    const before = readdirSync(folder);
    const { code, stderr } = await run([file], "another");
    assert.equal(code, 8);
    assert.match(stderr, /the password is wrong, or the file was changed/);
    assert.deepEqual(readdirSync(folder), before);
  });

  it("takes the password from the first line of stdin", async () => {
    const target = join(folder, "elsewhere.csv");
    const args = [file, "--out", target, "--json"];
    const { code, stdout, stderr } = await runOn(runtime, args, `${sealed.password}\n`);
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout).data, { file: target, bytes: rows.length });
    assert.ok(readFileSync(target).equals(rows));
  });

  it("needs a password", async () => {
    const { code, stderr } = await runOn(runtime, [file], "");
    assert.equal(code, 2);
    assert.match(stderr, /GRANDSTAND_EXPORT_PASSWORD/);
  });

  it("replaces a file only with --force", async () => {
    writeFileSync(out, "mine");
    const refused = await run([file], sealed.password);
    assert.equal(refused.code, 7);
    assert.equal(readFileSync(out, "utf8"), "mine");
    const { code } = await run([file, "--force"], sealed.password);
    assert.equal(code, 0);
    assert.ok(readFileSync(out).equals(rows));
  });

  it("refuses a file that is no export, a missing file, and a name without a target", async () => {
    const { password } = sealed;
    const plain = join(folder, "plain.csv.enc");
    writeFileSync(plain, rows);
    assert.equal((await run([plain], password)).code, 8);
    assert.equal(existsSync(join(folder, "plain.csv")), false);
    assert.equal((await run([join(folder, "none.enc")], password)).code, 6);
    assert.equal((await run([out], password)).code, 2);
    assert.equal((await run([join(folder, ".enc")], password)).code, 2);
  });
});
