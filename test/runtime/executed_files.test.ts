/** The number of source files that a reader has to follow for one request. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * Most source files that a warm request may execute. Raise a number only for a reason that a reader accepts: periodic work such as
 * the writing of statistics may fall into a request.
 */
const filesMax = {
  "report an action": 45,
  "redeem a product": 49,
  "read a leaderboard": 16,
  "register a user": 34,
  "change an event": 43,
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
