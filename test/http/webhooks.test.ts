/** Webhooks of a loyalty configuration, from the configuration to a real service that verifies what it is told. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { it } from "node:test";
import { createWebhookSender } from "../../adapters/webhook/mod.ts";
import { ids, loyalty, openPlatform, otherHost, seed } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { newKey } from "./_operations.ts";

interface Received {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

async function service(): Promise<{ url: string; received: Received[]; close(): void }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: Buffer.concat(await request.toArray()).toString() });
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    received,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describeOnStores("webhooks", open => {
  it("are told what a fan earned, signed with the secret that operators can read", async t => {
    const { url, received, close } = await service();
    t.after(close);
    const webhooks = [{ id: "crm", url, events: ["challengeCompleted"] }];
    const world = await openPlatform(open, {
      seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks } } },
      webhooks: createWebhookSender(),
    });
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    for (const outcome of ["exact", "right", "wrong"]) await fan.act("prediction", { outcome });
    await world.platform.idle();

    const { key, secret } = await newKey(world);
    const credentials = { "x-api-key": key, "x-api-secret": secret };
    const path = `/api/v2/spaces/${ids.space}/loyalty/webhooks/crm`;
    const shown = await world.call(path, { headers: credentials });
    assert.equal(shown.status, 200);
    assert.equal(shown.json.data.type, "loyalty_webhooks");
    assert.equal(shown.json.data.attributes.url, url);

    const [{ headers, body }] = received as [Received];
    assert.equal(received.length, 1);
    const signingKey = Buffer.from(shown.json.data.attributes.secret.replace(/^whsec_/, ""), "base64");
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const signature = createHmac("sha256", signingKey).update(signed).digest("base64");
    assert.equal(headers["webhook-signature"], `v1,${signature}`);
    const { type, data } = JSON.parse(body);
    assert.equal(type, "loyalty.challengeCompleted");
    assert.equal(data.userId, fan.userId);
    assert.equal(data.transaction.payload.challengeId, loyalty.challenges[0]?.id);
    assert.deepEqual(data.transaction.payload.metricChanges, { points: { oldValue: 4, newValue: 14 } });
  });

  it("are unknown to other organisations, and where the configuration has none of the id", async t => {
    const webhooks = [{ id: "crm", url: "https://crm.example/", events: ["challengeCompleted"] }];
    const world = await openPlatform(open, {
      seed: { ...seed, loyalty: { [ids.otherSpace]: { webhooks } } },
    });
    t.after(() => world.dispose());
    const { key, secret } = await newKey(world);
    const headers = { "x-api-key": key, "x-api-secret": secret };
    const ask = async (space: string, id: string): Promise<number> =>
      (await world.call(`/api/v2/spaces/${space}/loyalty/webhooks/${id}`, { headers, host: otherHost }))
        .status;
    assert.equal(await ask(ids.otherSpace, "crm"), 404);
    assert.equal(await ask(ids.space, "crm"), 404);
    assert.equal((await world.call(`/api/v2/spaces/${ids.space}/loyalty/webhooks/crm`)).status, 401);
  });
});
