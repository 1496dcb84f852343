/** The package for JSR, which takes scripts with declarations. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isLongRun } from "../support/full.ts";
import { packedPackage } from "./packed.ts";
import { runtimes } from "./runtimes.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const deno = runtimes.find(({ name }) => name.startsWith("Deno"));

const adopter = `
import { createPlatform, MasterSecret, type Platform } from "./lib/mod.js";
import { createMemoryStore } from "./adapters/memory/mod.js";
import { apiKey, audience, createClient } from "./lib/client/mod.js";

const secret = new MasterSecret("Zm9yIHRoaXMgdGVzdCBhbG9uZSwgbm90IGZvciBhbnlib2R5");
const platform: Platform = await createPlatform({ store: createMemoryStore(), secret });
const client = createClient({
  url: "http://localhost",
  areas: { audience },
  credentials: apiKey("key", "secret"),
  fetch: request => platform.fetch(new Request(request)),
});
const { status } = await platform.fetch(new Request("http://localhost/healthz"));
await client.audience.searchAudienceUsers({ body: {} }).catch(({ code }: { code: string }) => console.log(status, code));
await platform.close();
`;

describe("the package for JSR", { skip: deno?.skip ?? false }, () => {
  let folder = "";

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "grandstand-jsr-"));
    await packedPackage();
    const made = spawnSync(process.execPath, ["--import", "tsx", "runtime/jsr.ts", folder], {
      ...{ cwd: root, encoding: "utf8" },
    });
    assert.equal(made.status, 0, made.stderr + made.stdout);
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  function runDeno(...args: string[]): { readonly status: number | null; readonly output: string } {
    const { status, stdout, stderr } = spawnSync(deno?.command[0] ?? "", args, {
      ...{ cwd: folder, encoding: "utf8" },
      env: { ...process.env, DENO_NO_PACKAGE_JSON: "1", NO_COLOR: "1" },
    });
    return { status, output: stdout + stderr };
  }

  it("has every entry of npm", () => {
    const { exports } = JSON.parse(readFileSync(join(folder, "jsr.json"), "utf8"));
    const npm = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
    const modules = Object.keys(npm.exports).filter(name => typeof npm.exports[name] !== "string");
    assert.deepEqual(Object.keys(exports), modules);
  });

  // Takes as long as all others of this file; a release runs it.
  (isLongRun ? it : null)?.("could be published: Deno infers no types", () => {
    // A dry run asks for no token, but wants one.
    const { status, output } = runDeno("publish", "--dry-run", "--token", "none");
    assert.equal(status, 0, output);
    assert.match(output, /Checking for slow types/);
    assert.doesNotMatch(output, /^ *warning/im);
    assert.match(output, /Dry run complete/);
  });

  it("has types: what is wrong with them is all that Deno finds", () => {
    writeFileSync(join(folder, "wrong.ts"), `${adopter}\nconst wrong: string = status;\n`);
    const { output } = runDeno("check", "--config", "jsr.json", "wrong.ts");
    assert.deepEqual(output.match(/TS\d+(?= )/g), ["TS2322"], output);
  });

  it("runs, and has entries that can be imported, all of them", () => {
    const { exports } = JSON.parse(readFileSync(join(folder, "jsr.json"), "utf8"));
    const paths: string[] = Object.values(exports);
    const lines = paths.map(path => `console.log(Object.keys(await import("${path}")).length > 0);`);
    writeFileSync(join(folder, "adopter.ts"), `${adopter}${lines.join("\n")}`);
    const { status, output } = runDeno("run", "--config", "jsr.json", "--allow-all", "adopter.ts");
    assert.equal(status, 0, output);
    assert.match(output, /^200 \w+$/m);
    assert.equal(output.match(/^true$/gm)?.length, paths.length, output);
  });
});
