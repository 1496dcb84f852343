/** Webhooks of a loyalty configuration, from the configuration to a real service that verifies what it is told. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { it } from "node:test";
import { createMemoryQueue } from "../../adapters/memory/mod.ts";
import { createWebhookSender, type WebhookSender } from "../../adapters/outbound/webhook.ts";
import {
  type Answer,
  type CallOptions,
  ids,
  loyalty,
  openPlatform,
  otherHost,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { until } from "../support/until.ts";
import { newKey } from "./_operations.ts";
import { backEnd } from "./audience/_back_end.ts";

interface Received {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

interface Service {
  readonly url: string;
  readonly received: Received[];
  /** Its answers. */
  answer: (response: ServerResponse) => void;
  close(): void;
}

async function service(): Promise<Service> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: Buffer.concat(await request.toArray()).toString() });
    made.answer(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const made: Service = {
    url: `http://127.0.0.1:${address.port}/hook`,
    received,
    answer: response => response.writeHead(204).end(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return made;
}

const sender = (): WebhookSender => createWebhookSender({ networks: ["127.0.0.1"] });
const path = `/api/v2/spaces/${ids.space}/loyalty/webhooks`;
const bulk = "/v1/api/audience/internal/actions/bulk";

async function isRecorded({ platform }: TestPlatform, userId: string, actionId: string): Promise<boolean> {
  const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: null, userId };
  const { transactions } = await platform.loyalty.historyPage(user, {});
  return transactions.some(transaction => transaction.actionId === actionId);
}

interface Office {
  readonly world: TestPlatform;
  /** Calls the control API as an operator. */
  readonly ask: (target: string, options?: CallOptions) => Promise<Answer>;
}

/** A platform whose space tells a service of these events, and an operator who looks after it. */
async function officeOf(
  open: OpenStore,
  { url, events, webhooks = sender() }: { url: string; events: string[]; webhooks?: WebhookSender },
): Promise<Office> {
  const subscribed = [{ id: "crm", url, events }];
  const world = await openPlatform(open, {
    seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks: subscribed } } },
    webhooks,
  });
  const { key, secret } = await newKey(world);
  const headers = { "x-api-key": key, "x-api-secret": secret };
  return { world, ask: (target, options = {}) => world.call(target, { ...options, headers }) };
}

/** Lets the platform do what is due after so many ms. */
async function later({ world }: Office, ms: number): Promise<void> {
  world.clock.advance(ms);
  await world.platform.work();
  await world.platform.idle();
}

describeOnStores("webhooks", open => {
  it("receive a fan's rewards, signed with the secret that operators can read", async t => {
    const { url, received, close } = await service();
    t.after(close);
    const webhooks = [{ id: "crm", url, events: ["challengeCompleted"] }];
    const world = await openPlatform(open, {
      seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks } } },
      webhooks: sender(),
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

  it("begin with the first change of a user, also one that was reported late or waited in a queue", async t => {
    const crm = await service();
    t.after(crm.close);
    const queue = createMemoryQueue({ clock: Date.now });
    t.after(() => queue[Symbol.asyncDispose]());
    const world = await openPlatform(open, {
      queue,
      seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks: [] } } },
      webhooks: sender(),
    });
    t.after(() => world.dispose());
    const call = await backEnd(world, ["actions:write", "config:write"]);
    const worker = world.platform.startActionWorker();
    t.after(() => worker.stop());
    const report = async (userId: string, actionId: string, hoursAgo: number): Promise<void> => {
      const timestamp = new Date(world.clock.now() - hoursAgo * 3_600_000).toISOString();
      const action = { userId, actionId, action: "prediction", timestamp, data: { outcome: "exact" } };
      const actions = [{ ...action, metadata: { till: 7 } }];
      assert.equal((await call(bulk, { body: { actions } })).status, 202);
      await until("it is recorded", () => isRecorded(world, userId, actionId));
      await world.platform.idle();
    };
    await report("before", "unheard", 0);
    const webhooks = [{ id: "crm", url: crm.url, events: ["actionRewarded"] }];
    const body = { ...loyalty, webhooks };
    const put = await call(`/api/v2/spaces/${ids.space}/loyalty`, {
      method: "PUT",
      body,
      headers: { "if-match": "*" },
    });
    assert.equal(put.status, 200);
    world.clock.advance(1_000);
    await report("before", "late", 2);
    await report("new", "later", 30);
    await report("new", "last", 0);
    const told = crm.received.map(({ body }) => JSON.parse(body).data);
    assert.deepEqual(
      told.map(({ userId, transaction: { actionId, metadata } }) => [userId, actionId, metadata.till]),
      [
        ["before", "late", 7],
        ["new", "later", 7],
        ["new", "last", 7],
      ],
    );
  });

  it("are tried again when a service fails, and how it does is shown", async t => {
    const crm = await service();
    t.after(crm.close);
    const office = await officeOf(open, { url: crm.url, events: ["actionRewarded"] });
    t.after(() => office.world.dispose());
    const fan = await office.world.fan("Sam");
    crm.answer = response => response.writeHead(302, { location: crm.url }).end();
    await fan.act("prediction", { outcome: "exact" });
    await office.world.platform.idle();
    assert.equal(crm.received.length, 1);
    const failing = (await office.ask(`${path}/crm`)).json.data.attributes;
    assert.equal(failing.status, "failing");
    assert.equal(failing.failing_since, Math.floor(office.world.clock.now() / 1_000));
    assert.equal(failing.last_failure.reason, "Cannot deliver the webhook: the service answered 302");

    crm.answer = response => response.writeHead(503, { "retry-after": "60" }).end();
    await later(office, 10_000);
    assert.equal(crm.received.length, 2);
    crm.answer = response => response.writeHead(204).end();
    await later(office, 59_000);
    assert.equal(crm.received.length, 2);
    await later(office, 40_000);
    assert.equal(crm.received.length, 3);
    assert.equal(new Set(crm.received.map(({ headers }) => headers["webhook-id"])).size, 1);
    const listed = await office.ask(path);
    assert.equal(listed.status, 200);
    assert.equal(listed.json.meta.total, 1);
    const { secret, ...attributes } = listed.json.data[0].attributes;
    assert.equal(secret, undefined);
    assert.deepEqual(attributes, {
      url: crm.url,
      events: ["actionRewarded"],
      status: "ok",
      failing_since: null,
      last_failure: attributes.last_failure,
      disabled_at: null,
      disabled_reason: null,
      waiting: 0,
      dead_letters: 0,
    });
  });

  it("do not hang with a service that does not answer", async t => {
    const crm = await service();
    t.after(crm.close);
    crm.answer = () => {};
    const limit = new AbortController();
    const webhooks = createWebhookSender({ networks: ["127.0.0.1"], timeout: () => limit.signal });
    const office = await officeOf(open, { url: crm.url, events: ["actionRewarded"], webhooks });
    t.after(() => office.world.dispose());
    const fan = await office.world.fan("Sam");
    await fan.act("prediction", { outcome: "exact" });
    while (crm.received.length === 0) await new Promise(resolve => setImmediate(resolve));
    limit.abort();
    await office.world.platform.idle();
    const { last_failure } = (await office.ask(`${path}/crm`)).json.data.attributes;
    assert.match(last_failure.reason, /no answer within 10000 ms/);
  });

  it("that answer 410 are disabled; operators see why, enable them and replay what they missed", async t => {
    const crm = await service();
    t.after(crm.close);
    const office = await officeOf(open, { url: crm.url, events: ["actionRewarded"] });
    t.after(() => office.world.dispose());
    const fan = await office.world.fan("Sam");
    crm.answer = response => response.writeHead(410).end();
    for (const outcome of ["exact", "right"]) await fan.act("prediction", { outcome });
    await office.world.platform.idle();
    assert.equal(crm.received.length, 1);
    const { attributes } = (await office.ask(`${path}/crm`)).json.data;
    assert.deepEqual([attributes.status, attributes.disabled_reason], ["disabled", "gone"]);
    assert.equal(attributes.dead_letters, 2);

    const dead = await office.ask(`${path}/crm/dead-letters?limit=1&offset=1`);
    assert.equal(dead.status, 200);
    assert.equal(dead.json.meta.total, 2);
    assert.equal(dead.json.data.length, 1);
    const first = dead.json.data[0];
    assert.equal(first.type, "webhook_dead_letters");
    assert.equal(first.attributes.message_type, "loyalty.actionRewarded");
    assert.equal(first.attributes.data.userId, fan.userId);
    assert.match(first.attributes.reason, /410/);
    const all = await office.ask(`${path}/crm/dead-letters`);
    const deadLetterIds: string[] = all.json.data.map(({ id }: { id: string }) => id);
    const body = { ids: [...deadLetterIds, `wdl_${"0".repeat(32)}`] };
    const refused = await office.ask(`${path}/crm/dead-letters/replay`, { body });
    assert.equal(refused.status, 409);
    assert.match(refused.json.errors[0].detail, /enable it first/);

    crm.answer = response => response.writeHead(204).end();
    const enabled = await office.ask(`${path}/crm/enable`, { method: "POST" });
    assert.equal(enabled.status, 200);
    assert.equal(enabled.json.data.attributes.status, "ok");
    const replayed = await office.ask(`${path}/crm/dead-letters/replay`, { body });
    assert.equal(replayed.status, 202);
    assert.deepEqual(replayed.json.data.attributes.replayed.toSorted(), deadLetterIds.toSorted());
    assert.deepEqual(replayed.json.data.attributes.not_found, [`wdl_${"0".repeat(32)}`]);
    await office.world.platform.idle();
    assert.equal(crm.received.length, 3);
    assert.equal((await office.ask(`${path}/crm/dead-letters`)).json.meta.total, 0);
    const odd = await office.ask(`${path}/crm/dead-letters/replay`, { body: { ids: ["other"] } });
    assert.equal(odd.status, 400);
  });

  it("receive every step of a redemption, and announcements of other areas", async t => {
    const crm = await service();
    t.after(crm.close);
    const events = [
      "redeemed",
      "redemptionConfirmed",
      "redemptionCompleted",
      "redemptionRefunded",
      "exportCompleted",
    ];
    const office = await officeOf(open, { url: crm.url, events });
    t.after(() => office.world.dispose());
    const { userId } = await office.world.fan("Sam");
    const member = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
    const { products, grant, webhooks } = office.world.platform.loyalty;
    await grant(member, {
      rewards: [{ type: "metric", metricId: "points", metricQuantity: 100 }],
      reason: "To spend",
    });
    for (const key of ["one", "two"]) {
      const { id } = await products.redeem(member, { key, productId: "poster", quantity: 1 });
      if (key === "one") await products.complete(member, id);
      else await products.refund(member, id, { restocks: true });
    }
    const { organisation: organisationId, space: spaceId } = ids;
    const exported = {
      area: "audience" as const,
      id: "export:1",
      event: "exportCompleted",
      at: office.world.clock.now(),
      data: { n: 1 },
    };
    await webhooks.announce({ organisationId, spaceId, ...exported });
    await office.world.platform.idle();
    const types = crm.received.map(({ body }) => JSON.parse(body).type);
    assert.deepEqual(types.toSorted(), [
      "audience.exportCompleted",
      "loyalty.redeemed",
      "loyalty.redeemed",
      "loyalty.redemptionCompleted",
      "loyalty.redemptionConfirmed",
      "loyalty.redemptionConfirmed",
      "loyalty.redemptionRefunded",
    ]);
    const refunded = crm.received
      .map(({ body }) => JSON.parse(body))
      .find(({ type }) => type === "loyalty.redemptionRefunded");
    assert.equal(refunded.data.transaction.payload.productId, "poster");
    assert.match(refunded.data.transaction.payload.redemptionId, /^red_/);
  });

  it("can ask for known events only", async t => {
    const office = await officeOf(open, { url: "https://crm.example/", events: ["actionRewarded"] });
    t.after(() => office.world.dispose());
    const webhooks = [{ id: "crm", url: "https://crm.example/", events: ["challangeCompleted"] }];
    const refused = await office.ask(`/api/v2/spaces/${ids.space}/loyalty`, {
      method: "PUT",
      body: { ...loyalty, webhooks },
    });
    assert.equal(refused.status, 400);
    assert.equal(refused.json.errors[0].source.pointer, "/webhooks/0/events/0");
    assert.match(refused.json.errors[0].detail, /challengeCompleted/);
  });
});
