/** The page for producers is run as it is written: from an empty store to a running show, with commands alone. */

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { textOf } from "../repo/files.ts";
import { freePort } from "../support/free_port.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-show-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const built = runtimes.find(({ skip }) => skip === false);

function blocksOf(page: string): string {
  return [...textOf(page).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code).join("\n");
}

describe("the page for producers", () => {
  it("authors a whole show from an empty store", async () => {
    assert.ok(built !== undefined);
    const bin = join(folder, "bin");
    mkdirSync(bin);
    const command = cliCommand(built).map(part => `'${part}'`);
    writeFileSync(join(bin, "grandstand"), `#!/bin/sh\nexec ${command.join(" ")} "$@"\n`);
    chmodSync(join(bin, "grandstand"), 0o755);
    const script = `set -eu\ncd '${folder}'\ntrap 'kill $SERVER 2>/dev/null || true' EXIT\nSERVER=\n${blocksOf("lib/cli/PRODUCERS.md")}`;
    const program = start(["sh", "-c", script], {
      PATH: `${bin}:${process.env.PATH}`,
      PORT: String(await freePort()),
      XDG_CONFIG_HOME: join(folder, "config"),
    });
    assert.equal(await program.ended, 0, `${program.stdout()}\n${program.stderr()}`);
    const printed = program.stdout();
    assert.match(printed, /"name":"Episode 1"/, "the listing has the event");
    assert.match(printed, /Who wins tonight|winner/);
    const [backup] = readFileSync(join(folder, "settings.json"), "utf8").match(/#0a7d4f/) ?? [];
    assert.equal(backup, "#0a7d4f");
    assert.doesNotMatch(printed + program.stderr(), /gst_/, "no token is printed");
  });
});
