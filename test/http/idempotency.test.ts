/** Repeated POSTs of the audience API and of loyalty operators. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { claimLeaseMs } from "../../lib/http/idempotency/idempotency.ts";
import { createPlatform } from "../../lib/mod.ts";
import { createDyingStore } from "../support/dying_store.ts";
import { quickKernels } from "../support/kernels.ts";
import { type Answer, ids, openPlatform, testSecret } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { errorCode } from "./_families.ts";
import { newKey, type Operation, operationsOf } from "./_operations.ts";

describeOnEveryStore("repeated requests", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const credentials = await newKey(world);
    const keyed = { "x-api-key": credentials.key, "x-api-secret": credentials.secret };
    const member = { organisationId: ids.organisation, spaceId: ids.space, userId: "u", projectId: null };
    const given = async (): Promise<string> => {
      const rewards = [{ type: "metric", metricId: "points", metricQuantity: 5 }] as const;
      const transaction = await world.platform.loyalty.grant(member, { rewards, reason: "Welcome" });
      assert.ok(transaction !== null);
      return transaction.id;
    };
    const reverse = (key: string, transactionId: string, headers = keyed): Promise<Answer> =>
      world.call("/internal/loyalty/users/u/reversals", {
        headers: { ...headers, "idempotency-key": key },
        body: { transactionId },
      });
    return { world, keyed, given, reverse };
  }

  it("of an operator take effect once", async t => {
    const { given, reverse } = await opened(t);
    const id = await given();
    const answers = await Promise.all(Array.from({ length: 20 }, () => reverse("k-1", id)));
    const done = answers.filter(({ status }) => status === 200);
    assert.ok(done.length >= 1);
    assert.equal(done.filter(({ headers }) => !headers.has("idempotent-replayed")).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.deepEqual([answer.status, errorCode(answer, "problem")], [409, "idempotency_conflict"]);
    }
    const again = await reverse("k-1", id);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(again.text, done[0]?.text);
    const other = await reverse("k-1", "another");
    assert.deepEqual([other.status, errorCode(other, "problem")], [422, "idempotency_mismatch"]);
  });

  it("keep what was refused, and are apart for each key of the organisation", async t => {
    const { world, reverse } = await opened(t);
    const first = await reverse("k-2", "unknown");
    assert.equal(first.status, 404);
    const again = await reverse("k-2", "unknown");
    assert.deepEqual([again.text, again.headers.get("idempotent-replayed")], [first.text, "true"]);
    const { key, secret } = await newKey(world);
    const other = await reverse("k-2", "unknown", { "x-api-key": key, "x-api-secret": secret });
    assert.equal(other.headers.get("idempotent-replayed"), null);
    const stranger = await reverse("k-2", "unknown", { "x-api-key": key, "x-api-secret": "gss_" });
    assert.equal(stranger.status, 401);
  });

  it("continue in another process once the one that began has died", async t => {
    const { world, given, keyed } = await opened(t);
    const id = await given();
    const store = createDyingStore(world.store);
    const dying = await createPlatform({
      store,
      secret: testSecret,
      passwordKernels: quickKernels(),
      clock: world.clock.now,
      defaultSpaceId: ids.space,
    });
    const send = (fetch: typeof dying.fetch): Promise<Response> =>
      fetch(
        new Request("http://club.example/internal/loyalty/users/u/reversals", {
          method: "POST",
          headers: { ...keyed, "content-type": "application/json", "idempotency-key": "k-3" },
          body: JSON.stringify({ transactionId: id }),
        }),
      );
    // The key and the space are known from here on, so that the first operation is the claim.
    const probe = { ...keyed, "content-type": "application/json" };
    await dying.fetch(
      new Request("http://club.example/internal/loyalty/users/u/reversals", {
        method: "POST",
        headers: probe,
        body: JSON.stringify({ transactionId: "none" }),
      }),
    );
    store.dieAt({ at: 0, when: "after" });
    assert.equal((await send(dying.fetch)).status, 503);
    const waiting = await send(world.platform.fetch);
    assert.equal(waiting.status, 409, await waiting.text());
    world.clock.advance(claimLeaseMs);
    const done = await send(world.platform.fetch);
    assert.deepEqual([done.status, done.headers.get("idempotent-replayed")], [200, null]);
  });

  it("are known to every POST of the audience API and of loyalty operators, and to changes by authors", async t => {
    const { world } = await opened(t);
    const { json } = await world.call("/openapi.json");
    const repeatable = /^\/(v1\/)?(api\/audience|internal\/loyalty)\//;
    const isAuthored = ({ scheme, method, path }: Operation): boolean =>
      scheme === "accessToken" && method !== "DELETE" && method !== "GET" && !path.endsWith("/access_tokens");
    for (const operation of await operationsOf(world)) {
      const { id, method, path } = operation;
      const { parameters } = json.paths[path][method.toLowerCase()];
      const hasKey = parameters.some(({ name }: { name: string }) => name === "Idempotency-Key");
      // Files cannot be compared; importing one again, or being present again, changes nothing. Backends recognise the keys of dialogues themselves.
      const isFile = /^(importAudienceUsers|uploadAsset|dispatchWorkflow|setPresence)$/.test(id);
      const isReported = method === "POST" && repeatable.test(path) && !isFile;
      assert.equal(hasKey, isReported || (isAuthored(operation) && !isFile), id);
    }
  });
});
