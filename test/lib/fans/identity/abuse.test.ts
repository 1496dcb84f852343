import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createClientAddress, networkTag } from "../../../../lib/auth/client_address.ts";
import { AppError, type ErrorCode } from "../../../../lib/base/errors/mod.ts";
import {
  type AttemptFacts,
  type AttemptLimiter,
  attemptPolicies,
  noAttemptLimits,
  StoredAttemptLimiter,
} from "../../../../lib/fans/identity/limits/limits.ts";
import type { AttemptLimits, LimitedAction } from "../../../../lib/fans/identity/mod.ts";
import { silentLogger } from "../../../../lib/http/mod.ts";
import type { Limiter } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnLimiters } from "../../../support/limiters.ts";
import { testSecret } from "../../../support/platform.ts";
import { keptLog } from "../../http/kit.ts";

const minuteMs = 60_000;
const fan: AttemptFacts = { projectId: "p-1", address: "192.0.2.1", email: "sam@example.org" };

async function refusal(attempt: Promise<unknown>): Promise<AppError> {
  try {
    await attempt;
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    return error;
  }
  assert.fail("the attempt was let through");
}

/** Returns the number of attempts in a row that are admitted, up to `most`. */
async function spree(
  abuse: AttemptLimiter,
  action: LimitedAction,
  facts: AttemptFacts,
  most = 200,
): Promise<number> {
  for (let count = 0; count < most; count++) {
    const outcome = await abuse.attempt(action, facts).catch(error => error);
    if (outcome !== "go") return count;
  }
  return most;
}

describeOnLimiters("abuse controls", open => {
  const clock = createTestClock();
  let limiter: Limiter;
  let abuse: AttemptLimiter;
  const withLimits = (limits: AttemptLimits): AttemptLimiter =>
    new StoredAttemptLimiter(limiter, testSecret, keptLog(), { limits });
  beforeEach(async () => {
    limiter = await open(clock.now);
    abuse = withLimits({});
  });
  afterEach(() => limiter[Symbol.asyncDispose]());

  it("let five logins at an account through from one address, and the sixth after exactly the time they name", async () => {
    assert.equal(await spree(abuse, "login", fan), 5);
    const error = await refusal(abuse.attempt("login", fan));
    const { retryAfterMs = 0 } = error;
    assert.equal(error.code, "too_many_attempts");
    assert.ok(retryAfterMs > 15 * minuteMs && retryAfterMs <= 15.15 * minuteMs, `${retryAfterMs}`);
    clock.advance(retryAfterMs - 1);
    await refusal(abuse.attempt("login", fan));
    clock.advance(1);
    assert.equal(await spree(abuse, "login", fan), 5);
  });

  it("let exactly five of forty simultaneous logins through", async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => abuse.attempt("login", fan)));
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 5);
  });

  it("let thirty logins at an account through from everywhere, whatever the addresses", async () => {
    const from = (index: number): AttemptFacts => ({ ...fan, address: `198.51.100.${index}` });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => abuse.attempt("login", from(index))),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 30);
    const error = await refusal(abuse.attempt("login", from(200)));
    assert.equal(error.code, "too_many_attempts");
  });

  it("let sixty logins through from one address, whatever the accounts", async () => {
    const at = (index: number): AttemptFacts => ({ ...fan, email: `fan-${index}@example.org` });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => abuse.attempt("login", at(index))),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 60);
    const error = await refusal(abuse.attempt("login", at(200)));
    const { retryAfterMs = 0 } = error;
    assert.equal(error.code, "rate_limited");
    assert.ok(retryAfterMs > minuteMs && retryAfterMs <= 1.01 * minuteMs, `${retryAfterMs}`);
  });

  it("do not let one network lock an account for the others", async () => {
    for (let count = 0; count < 100; count++) await abuse.attempt("login", fan).catch(() => {});
    assert.equal(await spree(abuse, "login", { ...fan, address: "203.0.113.9" }), 5);
  });

  it("take the spellings of an e-mail that are one account for one, and no others", async () => {
    await spree(abuse, "login", fan);
    await refusal(abuse.attempt("login", { ...fan, email: "SAM@Example.ORG" }));
    // The Kelvin sign is no k, and who has the one account must not clear the attempts at the other.
    assert.equal(await spree(abuse, "login", { ...fan, email: "sam@example.or\u212a" }), 5);
  });

  it("keep projects apart", async () => {
    await spree(abuse, "login", fan);
    assert.equal(await spree(abuse, "login", { ...fan, projectId: "p-2" }), 5);
  });

  it("take the addresses of an IPv6 network for one client, and a mapped IPv4 address for what it maps", async () => {
    await spree(abuse, "login", { ...fan, address: "2001:db8:1:2::1" });
    await refusal(abuse.attempt("login", { ...fan, address: "2001:db8:1:2:ffff::9" }));
    await refusal(abuse.attempt("login", { ...fan, address: "2001:db8:1:2::1%eth0" }));
    assert.equal(await spree(abuse, "login", { ...fan, address: "2001:db8:1:3::1" }), 5);
    await spree(abuse, "login", fan);
    await refusal(abuse.attempt("login", { ...fan, address: "::ffff:192.0.2.1" }));
    assert.equal(await spree(abuse, "login", { ...fan, address: "192.0.2.2" }), 5);
  });

  it("count clients behind trusted proxies by X-Forwarded-For, and others by peer", async () => {
    const clientAddress = createClientAddress({ trustedProxies: ["10.0.0.0/8"] }, silentLogger);
    const behind = (forwardedFor: string): AttemptFacts => ({
      ...fan,
      address: clientAddress(
        new Request("http://localhost/", { headers: { "x-forwarded-for": forwardedFor } }),
        { address: "10.0.0.1" },
      ),
    });
    await spree(abuse, "login", behind("192.0.2.1"));
    assert.equal(await spree(abuse, "login", behind("192.0.2.77")), 5);
    for (const claimed of ["1.1.1.1", "2.2.2.2"]) {
      await refusal(abuse.attempt("login", behind(`${claimed}, 192.0.2.1`)));
    }
  });

  it("share one allowance among the clients of a project whose addresses are unknown, and say so once", async () => {
    const log = keptLog();
    const loggingLimiter = new StoredAttemptLimiter(limiter, testSecret, log);
    const { address: _, ...unknown } = { ...fan, address: undefined };
    assert.equal(await spree(loggingLimiter, "noLoginLookup", { ...unknown, address: undefined }), 30);
    assert.equal(
      await spree(loggingLimiter, "noLoginLookup", { ...unknown, projectId: "p-2", address: undefined }),
      30,
    );
    assert.deepEqual(
      log.lines.map(({ event }) => event),
      ["client_address_missing"],
    );
  });

  it("forget the attempts of the pair alone after a login", async () => {
    await spree(abuse, "login", fan);
    await abuse.clear(fan);
    assert.equal(await spree(abuse, "login", fan), 5);
    for (let index = 0; index < 20; index++) {
      await abuse.attempt("login", { ...fan, address: `198.51.100.${index}` });
    }
    await abuse.clear(fan);
    await refusal(abuse.attempt("login", fan));
  });

  it("forget what locks an account after a reset", async () => {
    for (let index = 0; index < 30; index++) {
      await abuse.attempt("login", { ...fan, address: `198.51.100.${index}` });
    }
    await refusal(abuse.attempt("login", fan));
    await abuse.clear(fan, "account");
    assert.equal(await spree(abuse, "login", fan), 5);
  });

  it("forget what locks an account for an operator who knows no address", async () => {
    for (let index = 0; index < 30; index++) {
      await abuse.attempt("login", { ...fan, address: `198.51.100.${index}` });
    }
    await abuse.clear({ ...fan, address: undefined }, "account");
    assert.equal(await abuse.attempt("login", fan), "go");
  });

  it("drop mail to an address that got some within a minute or five within an hour, without a word", async () => {
    assert.equal(await abuse.attempt("forgot", fan), "go");
    assert.equal(await abuse.attempt("forgot", fan), "silent");
    assert.equal(await abuse.attempt("forgot", { ...fan, address: "192.0.2.200" }), "silent");
    let sent = 1;
    for (let minute = 1; minute < 12; minute++) {
      clock.advance(minuteMs);
      if ((await abuse.attempt("forgot", fan)) === "go") sent += 1;
    }
    assert.equal(sent, 5);
    // What one network has asked for is no reason to leave the person on another one without a code.
    clock.advance(minuteMs);
    assert.equal(await abuse.attempt("forgot", { ...fan, address: "192.0.2.200" }), "go");
    const error = await refusal(
      Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          abuse.attempt("forgot", { ...fan, address: "192.0.2.99", email: `${index}@example.org` }),
        ),
      ),
    );
    assert.equal(error.code, "rate_limited");
  });

  it("mail at most 20 codes an hour to an address, however many networks ask", async () => {
    let sent = 0;
    for (let index = 0; index < 59; index++) {
      if ((await abuse.attempt("forgot", { ...fan, address: `198.51.100.${index}` })) === "go") sent += 1;
      clock.advance(minuteMs + 600);
    }
    assert.equal(sent, 20);
  });

  it("slow a network down that asks for the codes of many, and shut nobody out", async () => {
    const ask = (index: number) => abuse.attempt("forgot", { ...fan, email: `${index}@example.org` });
    for (let index = 0; index < 20; index++) assert.equal(await ask(index), "go");
    const error = await refusal(ask(20));
    assert.ok((error.retryAfterMs ?? 0) <= 10_100, `${error.retryAfterMs}`);
    clock.advance(10_100);
    assert.equal(await ask(20), "go");
  });

  it("bound every action by the number that its policy names", async () => {
    const facts: AttemptFacts = { ...fan, userId: "u-1", sessionId: "s-1", deviceId: "d-1" };
    const bounds: [LimitedAction, number][] = [
      ["knownDeviceLogin", 10],
      ["passwordChange", 5],
      ["register", 60],
      ["confirm", 30],
      ["anonymousRegister", 600],
      ["noLoginCreate", 600],
      ["noLoginLookup", 30],
      ["refresh", 60],
      ["socialCheck", 30],
      ["profile", 120],
      ["emailChange", 5],
    ];
    for (const [action, bound] of bounds)
      assert.equal(await spree(abuse, action, facts, 1_000), bound, action);
  });

  it("count refreshes by session, profiles by user and changes of e-mail by account, wherever they come from", async () => {
    const elsewhere = { projectId: "p-1", address: "203.0.113.5" };
    const cases: [LimitedAction, AttemptFacts, AttemptFacts][] = [
      ["refresh", { ...elsewhere, sessionId: "s-1" }, { ...fan, sessionId: "s-2" }],
      ["profile", { ...elsewhere, userId: "u-1" }, { ...fan, userId: "u-2" }],
      [
        "emailChange",
        { ...elsewhere, userId: "u-1" },
        { projectId: "p-1", address: undefined, userId: "u-2" },
      ],
    ];
    for (const [action, spent, fresh] of cases) {
      await spree(abuse, action, spent);
      await refusal(abuse.attempt(action, { ...spent, address: "192.0.2.44" }));
      assert.equal(await abuse.attempt(action, fresh), "go", action);
    }
  });

  it("do what a deployment says, for the actions that it names", async () => {
    const strict = withLimits({
      register: {
        counts: [{ by: "address", rules: [{ name: "day", limit: 2, windowMs: 86_400_000 }] }],
        onLimiterFailure: "reject",
      },
      anonymousRegister: "off",
      login: "off",
    });
    assert.equal(await spree(strict, "register", fan), 2);
    assert.equal(await spree(strict, "anonymousRegister", fan), 200);
    assert.equal(await spree(strict, "login", fan), 200);
    assert.equal(await spree(strict, "socialCheck", fan), 30);
    await strict.clear(fan);
  });
});

describe("abuse controls without their limiter", () => {
  const broken: Limiter = {
    take: () => Promise.reject(new AppError("storage_unavailable", "no connection")),
    reset: () => Promise.reject(new AppError("storage_unavailable", "no connection")),
    [Symbol.asyncDispose]: async () => {},
  };
  const facts: AttemptFacts = { ...fan, userId: "u-1", sessionId: "s-1", deviceId: "d-1" };

  it("refuse what guards credentials, and let the rest through", async () => {
    const log = keptLog();
    const abuse = new StoredAttemptLimiter(broken, testSecret, log);
    const expected: [LimitedAction, ErrorCode | "go"][] = [
      ["login", "storage_unavailable"],
      ["knownDeviceLogin", "storage_unavailable"],
      ["passwordChange", "storage_unavailable"],
      ["register", "go"],
      ["forgot", "storage_unavailable"],
      ["confirm", "storage_unavailable"],
      ["anonymousRegister", "go"],
      ["noLoginCreate", "go"],
      ["noLoginLookup", "go"],
      ["refresh", "go"],
      ["socialCheck", "storage_unavailable"],
      ["profile", "go"],
      ["emailChange", "storage_unavailable"],
    ];
    for (const [action, outcome] of expected) {
      const found = await abuse.attempt(action, facts).catch((error: AppError) => error.code);
      assert.equal(found, outcome, action);
      assert.equal(attemptPolicies[action].onLimiterFailure, outcome === "go" ? "allow" : "reject");
    }
    assert.ok(log.lines.length >= expected.length);
    assert.ok(log.lines.every(({ event }) => event === "abuse_limiter_failed"));
  });

  it("clear nothing and fail nothing", async () => {
    const log = keptLog();
    await new StoredAttemptLimiter(broken, testSecret, log).clear(fan, "account");
    assert.equal(log.lines.length, 2);
  });

  it("do not exist without a limiter", async () => {
    assert.equal(await spree(noAttemptLimits, "login", fan), 200);
    await noAttemptLimits.clear(fan);
  });

  it("throw for a caller who forgot the counted fact", async () => {
    const abuse = new StoredAttemptLimiter(broken, testSecret, keptLog());
    await assert.rejects(abuse.attempt("refresh", fan), TypeError);
  });

  it("put neither e-mails nor addresses into the limiter", async () => {
    const subjects: string[] = [];
    const spied: Limiter = {
      take: async (subject, rules) => {
        subjects.push(subject);
        return rules.map(() => ({ allowed: true, remaining: 1, resetMs: 0, retryAfterMs: 0 }));
      },
      reset: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
    const abuse = new StoredAttemptLimiter(spied, testSecret, keptLog());
    await abuse.attempt("login", fan);
    assert.equal(new Set(subjects).size, 3);
    for (const subject of subjects) assert.match(subject, /^abuse:[A-Za-z0-9_-]{43}$/);
  });
});

describe("the network of an address", () => {
  it("keeps the given number of bits", () => {
    const bits = { ipv4: 24, ipv6: 64 };
    for (const [address, tag] of [
      ["203.0.113.77", "203.0.113.0/24"],
      ["::ffff:203.0.113.77", "203.0.113.0/24"],
      ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
      ["fe80::1%eth0", "fe80::/64"],
      ["::1", "::/64"],
    ] as const) {
      assert.equal(networkTag(address, bits), tag);
    }
    assert.equal(networkTag("203.0.113.77", { ipv4: 32, ipv6: 128 }), "203.0.113.77/32");
    assert.equal(networkTag("203.0.113.77", { ipv4: 0, ipv6: 0 }), "0.0.0.0/0");
    assert.equal(networkTag("2001:db8::77", { ipv4: 0, ipv6: 127 }), "2001:db8::76/127");
    for (const text of ["", "host", "1.2.3", "203.0.113.256", "1.2.3.4:80"]) {
      assert.equal(networkTag(text, bits), undefined);
    }
  });
});
