/** Exports by the command line against a real server: asked for, looked at, fetched and decrypted. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { until } from "../support/until.ts";
import { type Outcome, runHere } from "./command_line.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-exports-"));
const built = runtimes.find(({ skip }) => skip === false);

describe("grandstand export", () => {
  let server: Program;
  let environment: Record<string, string> = {};

  const command = (args: readonly string[], more: Record<string, string> = {}): Promise<Outcome> =>
    runHere(args, { ...environment, ...more });

  async function output(args: readonly string[], more: Record<string, string> = {}): Promise<string> {
    const { code, stdout, stderr } = await command(args, more);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  before(async () => {
    const file = join(folder, "demo.json");
    const args = ["serve", "--demo", "--port", "0", "--demo-file", file, "--log", "error"];
    assert.ok(built !== undefined);
    server = start([...cliCommand(built), ...args], { GRANDSTAND_EXPORT_INTERVAL: "0" });
    await server.match(/listens on/);
    const demo: Demo = JSON.parse(readFileSync(file, "utf8"));
    environment = {
      GRANDSTAND_URL: demo.baseUrl,
      GRANDSTAND_ORG: demo.organisationId,
      GRANDSTAND_API_KEY: demo.apiKey?.key ?? "",
      GRANDSTAND_API_SECRET: demo.apiKey?.secret ?? "",
    };
    await signUp(demo);
  });
  after(async () => {
    server.signal("SIGTERM");
    await server.ended;
    rmSync(folder, { recursive: true });
  });

  /** Somebody who signs up. */
  async function signUp(demo: Demo): Promise<void> {
    const selector = { projectId: demo.projectId, strategy: "simplified", provider: "noLogin" };
    const response = await fetch(`${demo.baseUrl}/v1/user`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...selector, data: { username: "Robin" } }),
    });
    assert.ok(response.ok, await response.text());
  }

  it("goes from the request to rows that a person can read", async () => {
    const filter = join(folder, "filter.yaml");
    writeFileSync(filter, "# Everybody\ncreatedAfter: 2020-01-01T00:00:00Z\n");
    const fields = ["--field", "userId", "--field", "displayName"];
    const asked = await output(["exports", "create", "--format", "json", "--filter", filter, ...fields]);
    const exportId = asked.trim();
    assert.match(exportId, /^[0-9a-f-]{36}$/);
    let shown: { status: string; downloadUrl?: string; password?: string; rowCount?: number } | undefined;
    await until("the export is completed", async () => {
      shown = JSON.parse(await output(["exports", "show", exportId, "--json"])).data;
      return shown?.status === "completed";
    });
    assert.ok(shown?.downloadUrl !== undefined && shown.password !== undefined);
    const sealed = join(folder, "users.json.enc");
    const response = await fetch(shown.downloadUrl);
    writeFileSync(sealed, Buffer.from(await response.arrayBuffer()));
    await output(["export", "decrypt", sealed], { GRANDSTAND_EXPORT_PASSWORD: shown.password });
    const rows = JSON.parse(readFileSync(join(folder, "users.json"), "utf8"));
    assert.equal(rows.length, shown.rowCount);
    assert.ok(rows.some(({ displayName }: { readonly displayName: string }) => displayName === "Robin"));
    assert.deepEqual(Object.keys(rows[0]), ["userId", "displayName"]);
    const people = await output(["exports", "show", exportId]);
    assert.match(
      people,
      /^status {4}completed\nusers {5}\d+\nexpires {3}\S+\nlink {6}http:\S+\npassword {2}\S{32}\n$/,
    );
    assert.match(await output(["exports", "list"]), new RegExp(`${exportId}\\tcompleted\\tjson`));
  });

  it("describes the faults of a request", async () => {
    const format = await command(["exports", "create", "--format", "xml"]);
    assert.notEqual(format.code, 0);
    assert.match(format.stderr, /format/);
    const none = join(folder, "none.json");
    assert.equal((await command(["exports", "create", "--format", "csv", "--filter", none])).code, 2);
    assert.equal((await command(["exports", "show", "0a000000-0000-4000-8000-000000000009"])).code, 6);
  });
});
