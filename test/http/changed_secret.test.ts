/** A deployment whose master secret is changed while the old one still opens, and then does not any more. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { createPlatform, type Platform, silentLogger } from "../../lib/mod.ts";
import { sealAnew } from "../../lib/platform/sealing.ts";
import { quickKernels } from "../support/kernels.ts";
import { ids, openPlatform } from "../support/platform.ts";

const [first, next] = [
  "the first secret of a deployment, long enough",
  "the next secret of a deployment, long enough",
];

it("lets users, back ends and authors go on while both secrets are given", async t => {
  const sent: number[] = [];
  let listed: ReturnType<typeof createMemoryStore> | undefined;
  const world = await openPlatform(
    async clock => {
      listed = createMemoryStore({ clock });
      return listed;
    },
    { secret: new MasterSecret(first) },
  );
  t.after(() => world.dispose());
  const { store, clock } = world;
  const platformWith = (texts: string | readonly string[]): Promise<Platform> =>
    createPlatform({
      store,
      secret: new MasterSecret(texts),
      clock: clock.now,
      passwordKernels: quickKernels(),
      limiter: "off",
      logger: silentLogger,
      control: createControl,
      defaultSpaceId: ids.space,
      webhooks: { send: async ({ otherKeys = [] }) => void sent.push(otherKeys.length) },
    });
  const fan = await world.fan("Sam");
  const key = await world.platform.apiKeys.create({
    organisationId: ids.organisation,
    name: "CRM",
    permissions: ["users:read"],
  });
  const author = await world.platform.authors.findOrCreate("ann@example.com");
  const token = await world.platform.authors.createToken({ userId: author.id, name: "laptop" });
  const ask = async (platform: Platform, path: string, init: RequestInit = {}): Promise<Response> =>
    await platform.fetch(new Request(`http://club.example${path}`, init));
  const find = async (platform: Platform): Promise<number> => {
    const { externalId } = fan;
    const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin", externalId };
    return (await ask(platform, `/v1/user?${new URLSearchParams(noLogin)}`)).status;
  };

  await assert.rejects(platformWith(next), /sealed under another master secret/);
  const old = await platformWith(first);
  t.after(() => old.close());
  const both = await platformWith([next, first]);
  t.after(() => both.close());
  const authorized = await ask(both, "/api/loyalty/profile", {
    headers: { authorization: `Bearer ${fan.token}` },
  });
  assert.equal(authorized.status, 200);
  assert.equal(await find(both), 200);
  assert.equal((await both.apiKeys.verify(key.key, key.secret)).keyId, key.key);
  assert.equal((await both.authors.verify(token.token)).user.id, author.id);
  assert.equal((await both.authors.findOrCreate("ann@example.com")).id, author.id);
  const wrong = `${key.secret.slice(0, -1)}${key.secret.endsWith("x") ? "y" : "x"}`;
  await assert.rejects(async () => await both.apiKeys.verify(key.key, wrong));

  // It dies before its end once. Credentials that were shown are hashed anew already, as only their holders have them.
  const secret = new MasterSecret([next, first]);
  const sealing = { ...both, store: listed ?? assert.fail(), secret };
  const die = () => {
    throw new Error("it died");
  };
  await assert.rejects(sealAnew({ ...sealing, onProgress: die }), /it died/);
  assert.equal(await find(both), 200);
  assert.equal((await ask(both, "/readyz")).status, 200);
  await sealAnew(sealing);
  let writes = 0;
  const { commit } = sealing.store;
  sealing.store.commit = (partition, batch) => {
    writes += batch.writes.length;
    return commit.call(sealing.store, partition, batch);
  };
  await sealAnew(sealing);
  assert.equal(writes, 0, "what is sealed anew stays");
  clock.advance(1_000);
  const notReady = await ask(old, "/readyz");
  assert.deepEqual([notReady.status, (await notReady.json()).code], [503, "storage_unavailable"]);
  assert.equal((await ask(both, "/readyz")).status, 200);
  const alone = await platformWith(next);
  t.after(() => alone.close());
  assert.equal((await alone.apiKeys.verify(key.key, key.secret)).keyId, key.key);
  assert.equal((await alone.authors.findOrCreate("ann@example.com")).id, author.id);
  assert.equal((await alone.authors.verify(token.token)).user.id, author.id);
  assert.equal(await find(alone), 200);
});
