/** The package for JSR, which publishes sources. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runtimes } from "./runtimes.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const deno = runtimes.find(({ name }) => name.startsWith("Deno"));

describe("the package for JSR", { skip: deno?.skip ?? false }, () => {
  it("could be published: Deno accepts its types, and infers none of them", context => {
    const folder = mkdtempSync(join(tmpdir(), "grandstand-jsr-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const made = spawnSync(process.execPath, ["--import", "tsx", "runtime/jsr.ts", folder], {
      ...{ cwd: root, encoding: "utf8" },
    });
    assert.equal(made.status, 0, made.stderr);
    // A dry run asks for no token, but wants one.
    const args = ["publish", "--dry-run", "--token", "none"];
    const { status, stderr } = spawnSync(deno?.command[0] ?? "", args, { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /Dry run complete/);
  });
});
