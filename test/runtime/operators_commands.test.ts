/** `grandstand operators bootstrap`, and what its token may do at a server. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { storedIssuer } from "../../lib/auth/tokens/jwks_routes.ts";
import { runHere } from "./command_line.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-operators-"));
const built = runtimes.find(({ skip }) => skip === false);
const base = {
  GRANDSTAND_DATA: folder,
  GRANDSTAND_SECRET: "a secret that only this test knows and is long enough",
};

const bootstrap = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  runHere(["operators", "bootstrap", ...args], { ...base, ...more });

after(() => rmSync(folder, { recursive: true }));

describe("grandstand operators bootstrap", () => {
  it("makes the first operator, organisation and space, and a token for each further operator", async () => {
    assert.ok(built !== undefined);
    const first = await bootstrap(["--email", "sam@example.com", "--name", "Club"]);
    assert.equal(first.code, 0, first.stderr);
    const [, token] = /^GRANDSTAND_TOKEN=(gst_\S+)\n$/.exec(first.stdout) ?? assert.fail(first.stdout);
    assert.match(first.stderr, /shown only once/);
    const second = await bootstrap(["--email", "kim@example.com", "--json"]);
    const { data } = JSON.parse(second.stdout);
    assert.deepEqual([data.organisationId, data.spaceId], [null, null]);
    const strange = await bootstrap(["--email", "eve@example.com"], {
      GRANDSTAND_SECRET: "a secret that the server does not have and is long enough",
    });
    assert.deepEqual([strange.code, strange.stdout], [2, ""]);
    assert.equal((await bootstrap(["--email", "nobody"])).code, 2);
    const server = start([...cliCommand(built), "serve", "--port", "0", "--log", "error"], base);
    const [, url = ""] = await server.match(/listens on (http:\S+)/);
    const headers = { authorization: `Bearer ${token}` };
    const listed = await (await fetch(`${url}/api/v2/organisations?include=my_role`, { headers })).json();
    assert.deepEqual(
      listed.data.map(({ attributes }: { attributes: { name: string } }) => attributes.name),
      ["Club"],
    );
    assert.equal(listed.included[0].attributes.role, "admin");
    server.signal("SIGTERM");
    assert.equal(await server.ended, 0);
  });

  it("makes the public URL of a file of variables the issuer, also where the file begins with a byte-order mark", async () => {
    const data = join(folder, "named");
    const file = join(folder, "variables");
    writeFileSync(
      file,
      `\ufeffGRANDSTAND_DATA=${data}\nGRANDSTAND_SECRET="${base.GRANDSTAND_SECRET} "\nGRANDSTAND_PUBLIC_URL=https://fans.example\nGRANDSTAND_BASE_PATH=/live\n`,
    );
    const made = await runHere(["operators", "bootstrap", "--env-file", file, "--email", "sam@example.com"]);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stderr, /Tokens of fans name the issuer https:\/\/fans\.example\/live\n/);
    const listed = await runHere(["signing-keys", "list", "--data", data], base);
    assert.equal(listed.code, 0, listed.stderr);
    await using store = await openFileStore(data);
    assert.equal(await storedIssuer(store), "https://fans.example/live");
  });

  it("says which issuer an empty store gets without a public URL, whatever opened its keys before", async () => {
    const data = join(folder, "unnamed");
    const opened = await runHere(["signing-keys", "list", "--data", data], base);
    assert.equal(opened.code, 0, opened.stderr);
    const made = await bootstrap(["--email", "sam@example.com"], { GRANDSTAND_DATA: data });
    assert.match(made.stderr, /issuer urn:uuid:\S+: set GRANDSTAND_PUBLIC_URL before the first command/);
  });
});
