import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { object, optional, string } from "valibot";
import { AppError, type ErrorCode } from "../../../lib/base/errors/mod.ts";
import {
  claimAttemptsMax,
  claimLeaseMs,
  claimRenewalMs,
  idempotencyKeyCharsMax,
  idempotencyMs,
  twinRetryMs,
} from "../../../lib/http/idempotency/idempotency.ts";
import type { Guard, Handler, Reply } from "../../../lib/http/mod.ts";
import { canonicalJson } from "../../../lib/http/requests/body.ts";
import type { Read, Results, Store } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { createDyingStore } from "../../support/dying_store.ts";
import { describeOnEveryStore } from "../../support/stores.ts";
import { createManualTimer, settle } from "../../support/timer.ts";
import { bodyOf, handlerOf, keptLog } from "./kit.ts";

const caller: Guard<string> = {
  security: [],
  authenticate: ({ request }) => request.headers.get("x-caller") ?? "caller-1",
};

/** A handler over a store whose only route counts how often it is carried out. */
function serve(
  { store, clock }: { readonly store: Store; readonly clock: { now(): number } },
  act: (n: number) => Promise<Reply> | Reply = n => ({
    status: 201,
    json: { n },
    headers: { "x-made": `m${n}` },
  }),
) {
  const log = keptLog();
  const timer = createManualTimer();
  const served = { runs: 0, log, timer };
  const handler = handlerOf(
    [
      {
        method: "POST",
        auth: caller,
        body: { schema: object({ a: optional(string()), b: optional(string()) }) },
        idempotent: {
          subject: ({ principal }) => ({ organisationId: "o-1", caller: String(principal) }),
        },
        responses: { 201: { description: "Made" } },
        handle: () => {
          served.runs += 1;
          return act(served.runs);
        },
      },
    ],
    { idempotency: { store, clock: clock.now }, logger: log, timer: timer.timer },
  );
  return Object.assign(served, { handler });
}

interface Sent {
  readonly key?: string;
  readonly body?: string;
  readonly caller?: string;
  readonly url?: string;
}

function post(handler: Handler, { key = "k-1", body = '{"a":"x"}', ...sent }: Sent = {}): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    "x-caller": sent.caller ?? "caller-1",
    ...(key === "" ? {} : { "idempotency-key": key }),
  };
  return handler(new Request(sent.url ?? "http://platform.test/things", { method: "POST", headers, body }));
}

describeOnEveryStore("requests with an idempotency key", open => {
  async function opened(t: TestContext) {
    const clock = createTestClock();
    const store = await open(clock.now);
    t.after(() => store[Symbol.asyncDispose]());
    return { store, clock };
  }

  it("are carried out once, and answered the same again with status, body and fields", async t => {
    const served = serve(await opened(t));
    const first = await post(served.handler);
    assert.deepEqual([first.status, first.headers.get("idempotent-replayed")], [201, null]);
    const again = await post(served.handler);
    assert.deepEqual([again.status, again.headers.get("idempotent-replayed")], [201, "true"]);
    assert.equal(again.headers.get("x-made"), "m1");
    assert.deepEqual(await bodyOf(again), await bodyOf(first));
    assert.equal(served.runs, 1);
  });

  it("are the same however the body is laid out and the key is quoted", async t => {
    const served = serve(await opened(t));
    await post(served.handler, { key: '"k-1"', body: '{"a":"x","b":"y"}' });
    const again = await post(served.handler, { key: "k-1", body: ' {"b":"y", "a":"\\u0078"}' });
    assert.equal(again.headers.get("idempotent-replayed"), "true");
  });

  it("are refused where another body or query had the key", async t => {
    const served = serve(await opened(t));
    await post(served.handler);
    for (const sent of [{ body: '{"a":"y"}' }, { url: "http://platform.test/things?x=1" }]) {
      const answer = await post(served.handler, sent);
      assert.equal(answer.status, 422);
      assert.equal((await bodyOf(answer)).code, "idempotency_mismatch");
    }
    assert.equal(served.runs, 1);
  });

  it("are apart for each key, caller and host, and without a key each is a request of its own", async t => {
    const served = serve(await opened(t));
    await post(served.handler);
    for (const sent of [
      { key: "k-2" },
      { caller: "caller-2" },
      { url: "http://other.test/things" },
      { key: "" },
    ]) {
      const answer = await post(served.handler, sent);
      assert.deepEqual([answer.status, answer.headers.get("idempotent-replayed")], [201, null]);
    }
    await post(served.handler, { key: "" });
    assert.equal(served.runs, 6);
  });

  it("are remembered for a day", async t => {
    const world = await opened(t);
    const served = serve(world);
    await post(served.handler);
    world.clock.advance(idempotencyMs - 1);
    await post(served.handler);
    assert.equal(served.runs, 1);
    world.clock.advance(1);
    await post(served.handler);
    assert.equal(served.runs, 2);
    assert.equal(idempotencyMs, 24 * 3_600_000);
  });

  it("are carried out by exactly one of many racers in two processes", async t => {
    const world = await opened(t);
    let finish: () => void = () => {};
    const finished = new Promise<void>(resolve => {
      finish = resolve;
    });
    const act = async (): Promise<Reply> => {
      await finished;
      return { status: 201, json: {} };
    };
    const processes = [serve(world, act), serve(world, act)];
    const answers = Array.from({ length: 40 }, (_, n) => post(processes[n % 2]?.handler ?? assert.fail()));
    let settled = 0;
    for (const answer of answers) answer.then(() => settled++);
    while (settled < 39) await settle();
    finish();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.equal(statuses.filter(status => status === 201).length, 1);
    assert.equal(statuses.filter(status => status === 409).length, 39);
    assert.equal(
      processes.reduce((sum, { runs }) => sum + runs, 0),
      1,
    );
    const late = await post(processes[1]?.handler ?? assert.fail());
    assert.equal(late.headers.get("idempotent-replayed"), "true");
  });

  it("get Retry-After while the first is running, for as long as that takes", async t => {
    const world = await opened(t);
    let finish: () => void = () => {};
    const first = serve(
      world,
      () =>
        new Promise(resolve => {
          finish = () => resolve({ status: 201, json: {} });
        }),
    );
    const answer = post(first.handler);
    while (first.runs === 0) await settle();
    const second = serve(world);
    for (let passed = 0; passed < 3 * claimLeaseMs; passed += claimRenewalMs) {
      world.clock.advance(claimRenewalMs);
      await first.timer.advance(claimRenewalMs);
      // The renewal is a commit on its way: the next look at the store comes after it.
      await world.store.ping();
      await settle();
      const twin = await post(second.handler);
      assert.deepEqual([twin.status, twin.headers.get("retry-after")], [409, "1"], String(passed));
      assert.equal((await bodyOf(twin)).code, "idempotency_conflict");
    }
    const other = await post(second.handler, { body: "{}" });
    assert.equal(other.status, 422);
    finish();
    assert.equal((await answer).status, 201);
    assert.deepEqual([second.runs, first.timer.waiting.length], [0, 0]);
  });

  it("are carried out by another process soon after the first has died", async t => {
    const world = await opened(t);
    // Operation 0 takes the claim, operation 1 keeps the answer.
    for (const [at, runs] of [
      [0, 0],
      [1, 1],
    ] as const) {
      const store = createDyingStore(world.store);
      const dying = serve({ ...world, store });
      store.dieAt({ at, when: at === 0 ? "after" : "before" });
      await post(dying.handler, { key: `dies-${at}` });
      assert.equal(dying.runs, runs);
      const heir = serve(world);
      world.clock.advance(claimLeaseMs - 1);
      assert.equal((await post(heir.handler, { key: `dies-${at}` })).status, 409);
      world.clock.advance(1);
      assert.equal((await post(heir.handler, { key: `dies-${at}` })).status, 201);
      assert.equal(heir.runs, 1);
    }
  });

  it("are answered though their answer could not be kept, which is logged", async t => {
    const world = await opened(t);
    const store = createDyingStore(world.store);
    const dying = serve({ ...world, store });
    store.dieAt({ at: 1, when: "before" });
    assert.equal((await post(dying.handler)).status, 201);
    assert.ok(dying.log.lines.some(({ event }) => event === "idempotency_claim_lost"));
  });

  it("are refused before they are carried out while the store is out of reach", async t => {
    const world = await opened(t);
    const store = createDyingStore(world.store);
    store.dieAt({ at: 0, when: "before" });
    const served = serve({ ...world, store });
    const answer = await post(served.handler);
    assert.deepEqual([answer.status, served.runs], [503, 0]);
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    assert.equal((await post(served.handler, { key: "" })).status, 201);
  });

  it("keep errors that would be the same again, and none that could end", async t => {
    const world = await opened(t);
    const storedErrors: ErrorCode[] = ["validation_failed", "not_found", "precondition_failed"];
    const passing: ErrorCode[] = [
      "invalid_token",
      "forbidden",
      "rate_limited",
      "conflict",
      "internal_error",
      "busy",
      "storage_unavailable",
      "outcome_unknown",
    ];
    for (const code of [...storedErrors, ...passing]) {
      const served = serve(world, () => {
        throw new AppError(code, "No");
      });
      const first = await post(served.handler, { key: code });
      const again = await post(served.handler, { key: code });
      assert.equal(again.status, first.status, code);
      const isKept = storedErrors.includes(code);
      assert.equal(again.headers.get("idempotent-replayed"), isKept ? "true" : null, code);
      assert.equal(served.runs, isKept ? 1 : 2, code);
      if (isKept) assert.deepEqual(await bodyOf(again), await bodyOf(first));
    }
  });

  it("keep no answer that says 401, 403, 429 or 5xx, and no stream", async t => {
    const world = await opened(t);
    for (const status of [401, 403, 429, 500, 503]) {
      const served = serve(world, () => ({ status, json: {} }));
      for (let n = 0; n < 2; n++) await post(served.handler, { key: `s-${status}` });
      assert.equal(served.runs, 2, String(status));
    }
    const served = serve(world, () => ({ status: 200, body: new Blob(["x"]).stream() }));
    for (let n = 0; n < 2; n++) assert.equal(await (await post(served.handler)).text(), "x");
    assert.equal(served.runs, 2);
  });

  it("leave nothing behind where the body was refused", async t => {
    const served = serve(await opened(t));
    assert.equal((await post(served.handler, { body: '{"a":1}' })).status, 400);
    assert.equal((await post(served.handler, { body: '{"a":"1"}' })).status, 201);
  });

  it("are refused where the key is none", async t => {
    const served = serve(await opened(t));
    const longest = "x".repeat(idempotencyKeyCharsMax);
    const wrong = [
      '""',
      `${longest}x`,
      `"${longest}x"`,
      '"a',
      'a"b',
      '"a"b"',
      "a b",
      "a,b",
      '"a";b=1',
      '"\\a"',
      "é",
    ];
    for (const key of wrong) {
      const answer = await post(served.handler, { key });
      assert.equal(answer.status, 400, key);
      const { errors } = await bodyOf(answer);
      assert.equal((errors as { pointer: string }[])[0]?.pointer, "Idempotency-Key");
    }
    for (const key of [longest, `"${longest}"`, '"a b"', '"a\\"b"', "8e03978e-40d5-43e8-bc93-6894a57f9324"]) {
      assert.equal((await post(served.handler, { key })).status, 201, key);
    }
  });
});

describe("a claim that has expired at every read", () => {
  it("is tried for a few times, and then the request may come back", async () => {
    let commits = 0;
    const store: Store = {
      traits: { durable: false, maxWrites: 1, maxValueBytes: 1 },
      commit: async () => {
        commits += 1;
        return { ok: false, because: "check", key: "request" };
      },
      read: async <const Q extends readonly Read[]>() => [null] as unknown as Results<Q>,
      ping: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
    const served = serve({ store, clock: createTestClock() });
    const answer = await post(served.handler);
    assert.deepEqual([answer.status, commits, served.runs], [409, claimAttemptsMax, 0]);
    assert.equal(answer.headers.get("retry-after"), String(twinRetryMs / 1_000));
  });
});

describe("the canonical form of JSON", () => {
  it("orders members by UTF-16 units and keeps lists as they are", () => {
    const value = {
      "\u20ac": 1,
      "\r": 2,
      "\u{1f600}": 3,
      "1": [2, 1, { b: null, a: 1e21 }],
      "\ufb33": "\u000f",
    };
    const expected = '{"\\r":2,"1":[2,1,{"a":1e+21,"b":null}],"\u20ac":1,"\u{1f600}":3,"\ufb33":"\\u000f"}';
    assert.equal(canonicalJson(value), expected);
  });
});
