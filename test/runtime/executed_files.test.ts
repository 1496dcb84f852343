/** The number of source files that a reader has to follow for one request. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * Most source files that a warm request may execute. Raise a number only for a reason that a reader accepts: the guard that ends
 * tokens of users without sessions is one of a report, and periodic work such as the writing of statistics may fall into it. The count of
 * a body's values, the pause between its steps, decimal sums, the multipliers of metrics, and the check of archived projects are files of their own.
 */
const filesMax = {
  "report an action": 68,
  "read a leaderboard": 23,
  "register a user": 49,
  "change an event": 53,
};

describe("a warm request", () => {
  it("executes few source files", async () => {
    const program = fileURLToPath(new URL("../bench/executed_files.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", program]);
    for (const [name, most] of Object.entries(filesMax)) {
      const count = Number(new RegExp(`^${name}: (\\d+) files`, "m").exec(stdout)?.[1]);
      assert.ok(
        count > 10 && count <= most,
        `${name}: ${count} files, at most ${most} are allowed\n${stdout}`,
      );
    }
  });
});
