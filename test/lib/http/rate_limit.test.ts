import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { object, string } from "valibot";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { Metrics } from "../../../lib/base/metrics/mod.ts";
import type { Guard, Handler } from "../../../lib/http/mod.ts";
import type { Limiter, LimitRule, LimitVerdict } from "../../../lib/storage/mod.ts";
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
  security: [],
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
  it("are counted for the subject and part of every answer", async () => {
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
    for (const decisions of [
      [plenty, spent],
      [spent, plenty],
    ]) {
      const answer = await call(limited(limiterOf(decisions)), "/things", asFan);
      assert.deepEqual([answer.status, (await bodyOf(answer)).code], [429, "rate_limited"]);
    }
  });

  it("are not counted for a caller without credentials", async () => {
    const limiter = limiterOf([plenty]);
    assert.equal((await call(limited(limiter), "/things")).status, 401);
    assert.deepEqual(limiter.taken, []);
  });

  it("are counted before the body is read, and part of its refusal", async () => {
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
        fields: { reason: "no connection" },
      });
    }
  });

  it("name the rules that were broken, as the registered problem type has it", async () => {
    const body = await bodyOf(call(limited(limiterOf([plenty, spent])), "/things", asFan));
    assert.equal(body.type, "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert.deepEqual(body["violated-policies"], ["burst"]);
  });

  it("may differ from caller to caller, and be none", async () => {
    const limiter = limiterOf([plenty]);
    const rulesOf = ({ principal }: { principal: unknown }): LimitRule[] =>
      principal === "fan-1" ? rules.slice(0, 1) : [];
    const handler = handlerOf([{ auth: guard, rateLimit: { rules: rulesOf, subject: () => "one" } }], {
      limiter,
    });
    const answer = await call(handler, "/things", asFan);
    assert.equal(answer.headers.get("ratelimit-policy"), '"minute";q=100;w=60');
    const free = await call(handler, "/things", { headers: { "x-user": "fan-2" } });
    assert.equal(free.headers.get("ratelimit-policy"), null);
    assert.deepEqual(limiter.taken, [{ subject: "one", rules: rules.slice(0, 1) }]);
  });

  it("are part of the answer to wrong parameters", async () => {
    const rateLimit = { rules, subject: () => "all" };
    const query = object({ n: string() });
    const answer = await call(handlerOf([{ rateLimit, query }], { limiter: limiterOf([plenty]) }), "/things");
    assert.equal(answer.status, 400);
    assert.equal(answer.headers.get("ratelimit"), '"minute";r=57;t=31');
  });

  it("that must be counted refuse while they cannot be, and the others are counted in the process", async () => {
    const broken = { ...limiterOf([]), take: () => Promise.reject(new Error("no connection")) };
    const localLimiter = limiterOf([plenty]);
    const subject = (): string => "all";
    const handler = handlerOf(
      [
        { rateLimit: { rules, subject } },
        { path: "/exports", rateLimit: { rules, subject, onLimiterFailure: "reject" } },
      ],
      { limiter: broken, localLimiter, metrics: new Metrics(), servesMetrics: true },
    );
    const counted = await call(handler, "/things");
    assert.deepEqual([counted.status, counted.headers.get("ratelimit")], [200, '"minute";r=57;t=31']);
    const refused = await call(handler, "/exports");
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
    assert.deepEqual(localLimiter.taken, [{ subject: "all", rules }]);
    const metrics = await (await call(handler, "/metrics")).text();
    assert.match(metrics, /^grandstand_rate_limiter_fallbacks_total 2$/m);
  });

  it("are off without a limiter", async () => {
    const handler = handlerOf([{ rateLimit: { rules, subject: () => "all" } }]);
    const answer = await call(handler, "/things");
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("ratelimit-policy"), null);
  });
});

describe("wrong credentials", () => {
  const failures: LimitRule[] = [{ name: "failures", limit: 1, windowMs: 60_000 }];
  function refusing(code: "invalid_token" | "token_expired" | "forbidden", limiter: Limiter): Handler {
    const auth: Guard<unknown> = {
      security: [],
      authenticate: () => {
        throw new AppError(code, "No");
      },
    };
    return handlerOf(
      [
        { auth, rateLimit: { rules, subject: () => "victim" } },
        { path: "/free", auth },
      ],
      {
        limiter,
        failureLimit: { rules: failures, subject: ({ address }) => `from:${address}` },
      },
    );
  }
  const from = (handler: Handler, path = "/things"): Promise<Response> =>
    handler(new Request(`http://platform.test${path}`), { address: "192.0.2.7" });

  it("count against the client that sends them, and the answer says so", async () => {
    const limiter = limiterOf([plenty]);
    const answer = await from(refusing("invalid_token", limiter));
    assert.deepEqual([answer.status, answer.headers.get("ratelimit-policy")], [401, '"failures";q=1;w=60']);
    assert.deepEqual(limiter.taken, [{ subject: "from:192.0.2.7", rules: failures }]);
  });

  it("are refused as too many once they are", async () => {
    const answer = await from(refusing("invalid_token", limiterOf([spent])));
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [429, "3"]);
  });

  it("are not those that have expired or are not enough, and cost nothing on routes without a limit", async () => {
    const limiter = limiterOf([spent]);
    assert.equal((await from(refusing("token_expired", limiter))).status, 401);
    assert.equal((await from(refusing("forbidden", limiter))).status, 403);
    assert.equal((await from(refusing("invalid_token", limiter), "/free")).status, 401);
    assert.deepEqual(limiter.taken, []);
  });
});
