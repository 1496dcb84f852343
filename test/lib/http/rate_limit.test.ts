import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { object, string } from "valibot";
import { AppError } from "../../../lib/errors/mod.ts";
import type { Guard, Handler } from "../../../lib/http/mod.ts";
import type { Limiter, LimitRule, LimitVerdict } from "../../../lib/storage/ports.ts";
import { bodyOf, call, handlerOf, keptLog, throwing, withJson } from "./kit.ts";

const rules: LimitRule[] = [
  { name: "minute", limit: 100, windowMs: 60_000 },
  { name: "burst", limit: 20, windowMs: 1_500 },
];
const plenty: LimitVerdict = { allowed: true, remaining: 57, resetMs: 30_001, retryAfterMs: 0 };
const spent: LimitVerdict = { allowed: false, remaining: 0, resetMs: 60_000, retryAfterMs: 2_001 };

interface Taken {
  readonly subject: string;
  readonly rules: readonly LimitRule[];
}

function limiterOf(verdicts: readonly LimitVerdict[]): Limiter & { readonly taken: Taken[] } {
  const taken: Taken[] = [];
  return {
    taken,
    take: async (subject, asked) => {
      taken.push({ subject, rules: asked });
      return verdicts;
    },
    reset: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

const guard: Guard<unknown> = {
  scheme: null,
  authenticate: ({ request }) => {
    const user = request.headers.get("x-user");
    if (user === null) throw new AppError("missing_token", "Needs a user");
    return user;
  },
};

function limited(limiter: Limiter, logger = keptLog()): Handler {
  const rateLimit = { rules, subject: (asked: { principal: unknown }) => `user:${asked.principal}` };
  const body = { schema: object({ a: string() }) };
  const handlers = [
    { auth: guard, rateLimit },
    { method: "POST", auth: guard, rateLimit, body },
  ] as const;
  return handlerOf(handlers, { limiter, logger });
}

const asFan = { headers: { "x-user": "fan-1" } };

describe("rate limits", () => {
  it("are counted for the subject and told with every answer", async () => {
    const limiter = limiterOf([plenty, { ...plenty, remaining: 3, resetMs: 900 }]);
    const answer = await call(limited(limiter), "/things", asFan);
    assert.equal(answer.status, 200);
    assert.deepEqual(limiter.taken, [{ subject: "user:fan-1", rules }]);
    assert.equal(answer.headers.get("ratelimit-policy"), '"minute";q=100;w=60, "burst";q=20;w=2');
    assert.equal(answer.headers.get("ratelimit"), '"minute";r=57;t=31, "burst";r=3;t=1');
    assert.equal(answer.headers.get("retry-after"), null);
  });

  it("end in 429 with the longest wait of the rules that refuse", async () => {
    const limiter = limiterOf([spent, { ...spent, retryAfterMs: 500 }]);
    const answer = await call(limited(limiter), "/things", asFan);
    assert.equal(answer.status, 429);
    assert.equal(answer.headers.get("retry-after"), "3");
    assert.equal(answer.headers.get("ratelimit"), '"minute";r=0;t=60, "burst";r=0;t=60');
    assert.equal((await bodyOf(answer)).code, "rate_limited");
  });

  it("refuse when any rule does", async () => {
    assert.equal((await call(limited(limiterOf([plenty, spent])), "/things", asFan)).status, 429);
  });

  it("are not counted for a caller without credentials", async () => {
    const limiter = limiterOf([plenty]);
    assert.equal((await call(limited(limiter), "/things")).status, 401);
    assert.deepEqual(limiter.taken, []);
  });

  it("are counted before the body is read, and told when it is refused", async () => {
    const init = withJson({ a: 1 });
    const headers = { "x-user": "fan-1", "content-type": "application/json" };
    const refused = await call(limited(limiterOf([spent])), "/things", { ...init, headers });
    assert.equal(refused.status, 429);
    const invalid = await call(limited(limiterOf([plenty])), "/things", { ...init, headers });
    assert.equal(invalid.status, 400);
    assert.equal(invalid.headers.get("ratelimit"), '"minute";r=57;t=31');
  });

  it("let requests through when the limiter fails, and log it", async () => {
    const logger = keptLog();
    const broken = { ...limiterOf([]), take: throwing(new Error("no connection")) as () => never };
    for (const take of [broken.take, () => Promise.reject(new Error("no connection"))]) {
      logger.lines.length = 0;
      const answer = await call(limited({ ...broken, take }, logger), "/things", asFan);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("ratelimit"), null);
      assert.deepEqual(logger.lines[0], {
        level: "error",
        event: "rate_limiter_failed",
        fields: { requestId: "request-1", reason: "no connection" },
      });
    }
  });

  it("are off without a limiter", async () => {
    const handler = handlerOf([{ rateLimit: { rules, subject: () => "all" } }]);
    const answer = await call(handler, "/things");
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("ratelimit-policy"), null);
  });
});
