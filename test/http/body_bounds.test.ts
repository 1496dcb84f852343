/** Bodies that may be larger than others: one of exactly the bound is read, and one byte more refused without being read. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../adapters/memory/mod.ts";
import { bulkBytesMax } from "../../lib/fans/audience/http/action_routes.ts";
import { updatesBytesMax } from "../../lib/fans/audience/http/profile_routes.ts";
import { codesAddedMax, poolCodeCharactersMax } from "../../lib/fans/loyalty/coupons/code_pools.ts";
import { createTestClock } from "../support/clock.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { credentialsFor, examplesFor, newKey, operationsOf, targetOf, validExamples } from "./_operations.ts";
import { assertProblem } from "./_problem.ts";

const codesBodyBytesMax = 2_000_000;
const replayBytesMax = 1_048_576;

const audience = "/v1/api/audience/internal";
const codes = "/internal/loyalty/pools/drinks/codes";
const action = { userId: "fan", action: "prediction", data: { outcome: "exact" } };
const update = { userId: "fan", displayName: "Robin" };
const reward = { userId: "fan", type: "metric", metricId: "points", amount: 1 };

type Case = readonly [path: string, bytesMax: number, body: unknown, status: number, method?: string];

describe("the largest bodies", () => {
  const clock = createTestClock();
  const queue = createMemoryQueue({ clock: clock.now });
  let world: TestPlatform;
  let headers: Readonly<Record<string, string>>;
  before(async () => {
    world = await openPlatform(async now => createMemoryStore({ clock: now }), { queue });
    const { key, secret } = await newKey(world);
    headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
  });
  after(async () => {
    await world.dispose();
    await queue[Symbol.asyncDispose]();
  });

  const send = ([path, , body, , method = "POST"]: Case, bytes: number): Promise<Answer> =>
    world.call(path, { method, headers, body: JSON.stringify(body).padEnd(bytes) });

  const cases: readonly Case[] = [
    [`${audience}/actions/bulk`, bulkBytesMax, { actions: [action] }, 202],
    [`${audience}/rewards/bulk`, bulkBytesMax, { rewards: [reward] }, 200],
    [`${audience}/profiles/update-batch`, updatesBytesMax, [update], 200],
    ["/api/audience/profile", updatesBytesMax, [{ user_id: "fan", data: {} }], 200, "PUT"],
    [codes, codesBodyBytesMax, { codes: ["A"] }, 200],
    ["/internal/loyalty/users/nobody/replay", replayBytesMax, {}, 404],
  ];
  for (const one of cases) {
    const [path, bytesMax, , status] = one;
    it(`of ${path} are accepted up to their bound, and refused beyond`, async () => {
      const most = await send(one, bytesMax);
      assert.equal(most.status, status, most.text);
      assertProblem(await send(one, bytesMax + 1), 413, "payload_too_large");
    });
  }

  it("of no operation have more values than a server can parse in passing", async () => {
    const body = `{"request":{"inputs":{${Array.from({ length: 33_000 }, (_, at) => `"a${at}":1`)}}}}`;
    const examples = await validExamples(world);
    const operations = (await operationsOf(world)).filter(({ hasBody }) => hasBody);
    assert.ok(operations.length > 60);
    for (const operation of operations) {
      const [example] = examplesFor(operation, examples);
      const credentials = await credentialsFor(operation.scheme, world);
      const sent = { ...operation.headers, ...credentials, ...example?.headers };
      const target = targetOf(operation, example ?? { params: {}, query: {} });
      const answer = await world.call(target, { method: operation.method, headers: sent, body });
      assert.equal(answer.status, 413, `${operation.id}: ${answer.text.slice(0, 200)}`);
    }
  });

  it("hold as many of the longest codes as may be added at once", () => {
    const longest = Array.from({ length: codesAddedMax }, () => "~".repeat(poolCodeCharactersMax));
    assert.ok(
      new TextEncoder().encode(JSON.stringify({ codes: longest }, null, 2)).length <= codesBodyBytesMax,
    );
  });
});
