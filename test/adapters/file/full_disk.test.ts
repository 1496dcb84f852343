import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openFileStore } from "../../../adapters/file/mod.ts";
import { temporaryDirectory } from "./directory.ts";

const limitKiB = 1_024;
const skip = process.platform === "win32" ? "needs the file size limit of a POSIX shell" : false;

describe("a store whose disk takes no more", { skip }, () => {
  it("rejects commits, shows nothing of them, continues with what fits, and restarts to the same state", async context => {
    const directory = await temporaryDirectory(context);
    const script = fileURLToPath(new URL("./full_disk_process.ts", import.meta.url));
    const limited = `trap "" XFSZ; ulimit -f ${limitKiB}; exec "$0" --import tsx "$@"`;
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
