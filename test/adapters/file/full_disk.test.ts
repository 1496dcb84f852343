import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readlinkSync } from "node:fs";
import { type FileHandle, open, readdir, rename } from "node:fs/promises";
import { basename } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { openFileStore } from "../../../adapters/file/mod.ts";
import { bundledProgram } from "../../support/program.ts";
import { until } from "../../support/until.ts";
import { temporaryDirectory } from "./directory.ts";

const limitKiB = 1_024;
const skip = process.platform === "win32" ? "needs the file size limit of a POSIX shell" : false;

describe("a store whose disk takes no more", { skip }, () => {
  it("rejects commits, shows nothing of them, continues with what fits, and restarts to the same state", async () => {
    const directory = await temporaryDirectory();
    const script = bundledProgram(new URL("./full_disk_process.ts", import.meta.url));
    const limited = `trap "" XFSZ; ulimit -f ${limitKiB}; exec "$0" "$@"`;
    const { stdout } = await promisify(execFile)("bash", [
      "-c",
      limited,
      process.execPath,
      script,
      directory,
    ]);
    const report: { outcomes: string[]; small: boolean; n: number; kept: boolean[] } = JSON.parse(stdout);
    const succeeded = report.outcomes.filter(outcome => outcome === "ok").length;
    assert.ok(succeeded > 20 && succeeded < report.outcomes.length, `${succeeded} commits were kept`);
    assert.deepEqual(new Set(report.outcomes), new Set(["ok", "storage_unavailable"]));
    assert.deepEqual(
      report.kept,
      report.outcomes.map(outcome => outcome === "ok"),
    );
    assert.equal(report.n, succeeded);
    assert.equal(report.small, true);
    await using store = await openFileStore(directory, {
      onRecover: () => assert.fail("nothing may be torn"),
    });
    const [count] = await store.read("p", [{ type: "tally", key: "count" }]);
    assert.deepEqual([count.get("n"), count.get("small")], [succeeded, 1]);
    for (const [at, kept] of report.kept.entries()) {
      const [found] = await store.read("p", [{ type: "record", key: `k${at}` }]);
      assert.equal(found !== null, kept, `record ${at}`);
    }
  });
});

/** Runs in place of a write to a file. */
type InterceptWrite = (file: string, text: string, pass: () => Promise<unknown>) => Promise<unknown>;

/** Intercepts the writes of this process to files. */
async function interceptWrites(context: TestContext, intercept: InterceptWrite): Promise<void> {
  const handle = await open("/dev/null");
  const prototype: Pick<FileHandle, "write"> = Object.getPrototypeOf(handle);
  await handle.close();
  const { write } = prototype;
  prototype.write = function (this: FileHandle, data: Uint8Array, ...rest: never[]) {
    const pass = () => (write as (...args: unknown[]) => Promise<unknown>).call(this, data, ...rest);
    const file = basename(readlinkSync(`/proc/self/fd/${this.fd}`));
    return intercept(file, Buffer.from(data).toString(), pass);
  } as never;
  context.after(() => {
    prototype.write = write;
  });
}

/** Writes a file durably under another name, and renames it. */
async function replaceFile(path: string): Promise<void> {
  const file = await open(`${path}.new`, "w");
  await file.write("x");
  await file.datasync();
  await file.close();
  await rename(`${path}.new`, path);
}

const skipFiles = process.platform === "linux" ? false : "finds the names of open files under /proc";

describe("a disk that fails while a snapshot is written", { skip: skipFiles }, () => {
  it("brings back no commit that was answered with a failure", async context => {
    const directory = await temporaryDirectory();
    const store = await openFileStore(directory, { compactBytesMin: 1_000_000, compactRatio: 1 });
    const value = "x".repeat(100_000);
    let refused: Promise<unknown> | null = null;
    let written = (): void => {};
    const seen = new Promise<void>(resolve => {
      written = resolve;
    });
    await interceptWrites(context, async (file, text, pass) => {
      const isSnapshot = file.startsWith("snapshot-");
      // The state that the snapshot describes holds the commit before the disk has refused it.
      if (isSnapshot && text.includes(value))
        refused ??= store.commit("late", { writes: [{ type: "put", key: "lost", value: "lost" }] });
      if (!text.includes('"lost"')) return await pass();
      if (isSnapshot) {
        const result = await pass();
        written();
        return result;
      }
      await seen;
      // Ten times the work on files after which a snapshot counts that does not wait for the log.
      for (let round = 0; round < 10; round++) await replaceFile(`${directory}/other`);
      throw new Error("ENOSPC");
    });
    for (let at = 0; refused === null; at++)
      // One that shares the group of the refused commit is refused with it.
      await store.commit("p", { writes: [{ type: "put", key: `k${at}`, value }] }).catch(() => {});
    await assert.rejects(refused, { code: "storage_unavailable" });
    const isWriting = async () => (await readdir(directory)).some(name => name.endsWith(".partial"));
    await until("the snapshot counts or is gone", async () => !(await isWriting()));
    await store[Symbol.asyncDispose]();
    await using again = await openFileStore(directory);
    const [[lost], [kept]] = [
      await again.read("late", [{ type: "record", key: "lost" }]),
      await again.read("p", [{ type: "record", key: "k0" }]),
    ];
    assert.equal(lost, null);
    assert.equal(kept?.value, value);
  });
});
