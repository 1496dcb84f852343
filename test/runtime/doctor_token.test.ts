/** `grandstand doctor token`, over the store of a deployment. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { accountUserId, createPlatform, MasterSecret, silentLogger } from "../../lib/mod.ts";
import { forge, issuerKey, TestIssuer } from "../support/issuer.ts";
import { ids, seed } from "../support/platform.ts";
import { runHere } from "./command_line.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-doctor-token-"));
after(() => rmSync(folder, { recursive: true }));
const data = join(folder, "data");
const secret = "a master secret for the doctor and long enough to be accepted";

interface Row {
  readonly check: string;
  readonly status: string;
  readonly seen: string;
  readonly advice: string | null;
}

/** Asks about a token, and returns the rows by their checks. */
async function explain(token: string, ...flags: readonly string[]) {
  const file = join(folder, "token.txt");
  writeFileSync(file, `${token}\n`);
  const args = ["doctor", "token", file, "--json", "--data", data, ...flags];
  const { code, stdout, stderr } = await runHere(args, { GRANDSTAND_SECRET: secret });
  assert.ok(stdout !== "", stderr);
  assert.ok(!stdout.includes(token) && !stderr.includes(token));
  const rows: readonly Row[] = JSON.parse(stdout).data;
  return { code, rows: Object.fromEntries(rows.map(row => [row.check, row])) };
}

describe("grandstand doctor token", () => {
  it("says of a provider's token what the server would refuse, and what to do", async t => {
    const server = createServer(async (request, response) => {
      const answer = await login.fetch(`${login.issuer}${request.url}`, {});
      response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const login = new TestIssuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const identity = {
      hostedIdp: { issuer: login.issuer, audience: "app-1" },
      accountIssuer: login.issuer,
    };
    const projects = seed.projects.map(project => ({ ...project, settings: { identity } }));
    {
      await using store = await openFileStore(data);
      await seedDirectory(store, { ...seed, projects }, { clock: Date.now });
    }
    const project = ["--project", ids.project];
    const good = await explain(forge(login.key, login.claims(Date.now())), ...project);
    assert.deepEqual([good.code, good.rows["identity.hostedIdp"]?.status], [0, "ok"]);
    const { sub } = login.claims(Date.now()) as { readonly sub: string };
    assert.match(good.rows.user?.seen ?? "", new RegExp(accountUserId(login.issuer, sub)));

    for (const [token, seen, advice] of [
      [forge(login.key, login.claims(Date.now(), { aud: "app-2" })), /aud/, /"app-2"/],
      [
        forge(login.key, login.claims(Date.now(), { iss: "https://x.example" })),
        /iss/,
        /https:\/\/x\.example/,
      ],
      [forge(issuerKey("new"), login.claims(Date.now())), /no key of this kid/, /publish the key/],
      [forge(issuerKey(login.key.kid), login.claims(Date.now())), /fits the signature/, /another issuer/],
    ] as const) {
      const { code, rows } = await explain(token, ...project);
      const row = rows["identity.hostedIdp"];
      assert.deepEqual([code, row?.status], [1, "failed"]);
      assert.match(row?.seen ?? "", seen);
      assert.match(row?.advice ?? "", advice);
    }
    const expired = await explain(forge(login.key, login.claims(0)), ...project);
    assert.match(expired.rows.times?.advice ?? "", /It has expired/);
    const nowhere = await explain(forge(login.key, login.claims(Date.now())));
    assert.match(nowhere.rows.issuer?.advice ?? "", /--project/);
    assert.match((await explain("no token")).rows.form?.seen ?? "", /no signed token/);
  });

  it("verifies the deployment's own tokens", async () => {
    let token: string;
    {
      await using store = await openFileStore(data);
      const options = { store, secret: new MasterSecret(secret), logger: silentLogger };
      const platform = await createPlatform(options);
      token = await platform.clientTokens.issue(ids.project);
      await platform.close();
    }
    const { code, rows } = await explain(token);
    assert.deepEqual([code, rows.signature?.status], [0, "ok"], JSON.stringify(rows));
    const [head, claims] = token.split(".");
    const forged = await explain(`${head}.${claims}.${"A".repeat(86)}`);
    assert.deepEqual([forged.code, forged.rows.signature?.status], [1, "failed"]);
  });
});
