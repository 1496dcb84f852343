/** The session of a fan: kept over reloads, renewed once for all callers, and ended by nothing but a refusal. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  createFanClient,
  type FanClient,
  type FanUser,
  GrandstandError,
  identity,
  loyalty,
  memoryStorage,
  type SessionOptions,
  type SessionStorage,
} from "../../../lib/client/mod.ts";
import { forge } from "../../support/issuer.ts";
import { ids } from "../../support/platform.ts";
import { type Network, openNetwork, url } from "./_network.ts";

const areas = { identity, loyalty };
const account = {
  provider: "managedPool",
  email: "fan@club.example",
  password: "a long enough secret",
} as const;
const hourMs = 3_600_000;

describe("the session of a fan", () => {
  let network: Network;
  let endings: [code: string, user: FanUser][];
  beforeEach(async () => {
    network = await openNetwork();
    endings = [];
  });
  afterEach(() => network.world.dispose());

  function open(options: Partial<SessionOptions> = {}): FanClient<typeof areas> {
    const onEnd = (reason: GrandstandError, user: FanUser) => void endings.push([reason.code, user]);
    return createFanClient({ ...network.environment, url, projectId: ids.project, areas, onEnd, ...options });
  }
  async function logIn(options: Partial<SessionOptions> = {}): Promise<FanClient<typeof areas>> {
    const fan = open(options);
    await fan.session.register(account);
    await fan.session.logIn(account);
    network.requests.length = 0;
    return fan;
  }
  const sent = (path: string): number => network.requests.filter(one => one.endsWith(path)).length;
  const read = (fan: FanClient<typeof areas>) => fan.loyalty.getRewardsProfile();
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "ok",
      error => (error instanceof GrandstandError ? error.code : String(error)),
    );
  const logOutEverywhere = (user: FanUser | null) =>
    network.world.platform.sessions.revokeAll(ids.project, user?.userId ?? "");

  for (const fan of [{ provider: "noLogin", username: "Sam" }, { provider: "anonymous" }] as const) {
    it(`is kept for ${fan.provider} over reloads, and proved again after months`, async () => {
      const storage = memoryStorage();
      const before = open({ storage });
      const user = await before.session.register(fan);
      await read(before);
      network.requests.length = 0;
      const after = open({ storage });
      assert.deepEqual(await after.session.user(), user);
      await read(after);
      assert.deepEqual(network.requests, ["GET /api/loyalty/profile"]);
      network.world.clock.advance(91 * 24 * hourMs);
      await read(open({ storage }));
      assert.deepEqual(network.requests.slice(1), [
        "POST /api/auth/token",
        "PUT /v1/user/login",
        "POST /api/auth/token",
        "GET /api/loyalty/profile",
      ]);
      assert.deepEqual(endings, []);
    });
  }

  it("renews tokens before they expire, by one request for any number of callers", async () => {
    const fan = await logIn();
    await Promise.all(Array.from({ length: 10 }, () => read(fan)));
    assert.deepEqual([sent("/api/auth/token"), sent("/v1/user/refresh")], [1, 0]);
    network.world.clock.advance(hourMs - 60_000);
    await Promise.all(Array.from({ length: 10 }, () => read(fan)));
    assert.deepEqual([sent("/api/auth/token"), sent("/v1/user/refresh")], [2, 1]);
    const { selector } = {
      selector: { projectId: ids.project, strategy: "email", provider: "managedPool" } as const,
    };
    await Promise.all(Array.from({ length: 10 }, () => fan.identity.getUser(selector)));
    assert.equal(sent("/v1/user/refresh"), 1);
  });

  it("renews once after a 401, and repeats the call with the new token", async () => {
    const fan = await logIn();
    await read(fan);
    let refused = 3;
    network.disturb = ({ url: address }) =>
      address.endsWith("/profile") && refused-- > 0
        ? Response.json({ code: "token_expired" }, { status: 401 })
        : null;
    const answers = await Promise.all(Array.from({ length: 3 }, () => read(fan)));
    assert.equal(answers.length, 3);
    assert.equal(sent("/api/auth/token"), 2);
    refused = 99;
    assert.equal(await codeOf(read(fan)), "token_expired");
    assert.equal(sent("/api/auth/token"), 3);
    assert.deepEqual(endings, []);
  });

  it("outlives passing errors, and lets a valid token serve meanwhile", async () => {
    const html = { status: 401, headers: { "content-type": "text/html" } };
    const passing: [string, () => Response | Promise<Response>][] = [
      ["network", () => Promise.reject(new TypeError("fetch failed"))],
      ["bad_answer", () => new Response("<h1>Sign in to the hotel's network</h1>", html)],
      ["bad_answer", () => new Response("<h1>Welcome</h1>", { status: 200 })],
      ["bad_answer", () => Response.json({})],
      ["bad_answer", () => Response.json(null)],
      ["bad_answer", () => Response.json({ data: { accessToken: 7, expiresIn: "soon" } })],
      ["bad_answer", () => new Response(null)],
      ["bad_answer", () => new Response("<h1>Bad gateway</h1>", { status: 502 })],
      ["storage_unavailable", () => Response.json({ code: "storage_unavailable" }, { status: 503 })],
      [
        "rate_limited",
        () => Response.json({ code: "rate_limited" }, { status: 429, headers: { "retry-after": "99" } }),
      ],
    ];
    const storage = memoryStorage();
    const fan = await logIn({ storage });
    await read(fan);
    network.world.clock.advance(hourMs * 0.9);
    for (const [, answer] of passing) {
      network.disturb = ({ url: address }) => (address.endsWith("/profile") ? null : answer());
      assert.equal(await codeOf(read(fan)), "ok");
    }
    network.world.clock.advance(hourMs * 0.2);
    for (const [code, answer] of passing) {
      network.disturb = ({ url: address }) => (address.endsWith("/profile") ? null : answer());
      assert.equal(await codeOf(read(fan)), code);
    }
    network.disturb = () => null;
    assert.equal(await codeOf(read(fan)), "ok");
    assert.equal(await codeOf(read(open({ storage }))), "ok");
    assert.deepEqual(endings, []);
  });

  it("goes on after the answer to a refresh was lost", async () => {
    const fan = await logIn();
    await read(fan);
    network.world.clock.advance(hourMs);
    let lost = 2;
    network.disturb = request =>
      request.url.endsWith("/refresh") && lost-- > 0
        ? network.world.platform.fetch(request).then(() => Promise.reject(new TypeError("terminated")))
        : null;
    await read(fan);
    assert.equal(sent("/v1/user/refresh"), 3);
    assert.deepEqual(endings, []);
  });

  it("ends with one call of onEnd when the renewal is refused, and the device is still known", async () => {
    const storage = memoryStorage();
    const fan = await logIn({ storage });
    const user = await fan.session.user();
    const deviceId = await fan.session.deviceId();
    await read(fan);
    await logOutEverywhere(user);
    network.world.clock.advance(hourMs);
    const codes = await Promise.all(Array.from({ length: 3 }, () => codeOf(read(fan))));
    assert.deepEqual(codes, Array(3).fill("session_revoked"));
    assert.deepEqual(endings, [["session_revoked", user]]);
    const again = open({ storage });
    assert.deepEqual([await again.session.user(), await again.session.deviceId()], [null, deviceId]);
    assert.equal(await codeOf(read(again)), "missing_token");
  });

  it("ends when a user without a password has been removed", async () => {
    const fan = open();
    const user = await fan.session.register({ provider: "noLogin", username: "Sam" });
    const { externalId = "" } = user ?? {};
    await fan.identity.deleteOwnUser({
      projectId: ids.project,
      strategy: "simplified",
      provider: "noLogin",
      externalId,
    });
    network.world.clock.advance(hourMs);
    assert.equal(await codeOf(read(fan)), "invalid_credentials");
    assert.deepEqual(endings, [["invalid_credentials", user]]);
  });

  it("does not mind clocks that are an hour off, or that jump", async () => {
    for (const offMs of [hourMs, -hourMs, 10 * 365 * 24 * hourMs]) {
      let jumpMs = 0;
      const fan = await logIn({ clock: () => network.world.clock.now() + offMs + jumpMs });
      for (let time = 0; time < 3; time++) await read(fan);
      assert.equal(sent("/api/auth/token"), 1);
      jumpMs = -2 * hourMs;
      network.world.clock.advance(hourMs + 1_000);
      await read(fan);
      assert.deepEqual([sent("/api/auth/token"), sent("/v1/user/refresh")], [3, 1], "after a 401");
      await fan.session.logOut();
    }
    assert.deepEqual(endings, []);
  });

  it("lives in memory where the storage throws, and starts anew where it has something else", async () => {
    const refuse = (): never => {
      throw new DOMException("The quota has been exceeded", "QuotaExceededError");
    };
    const reject = async () => refuse();
    const full = { ...memoryStorage(), setItem: refuse };
    for (const storage of [
      { getItem: refuse, setItem: refuse, removeItem: refuse },
      { getItem: reject, setItem: reject, removeItem: reject },
      full,
    ] satisfies SessionStorage[]) {
      const fan = await logIn({ storage });
      await read(fan);
      network.world.clock.advance(hourMs);
      await read(fan);
      await fan.session.logOut();
    }
    for (const text of ["", "{", "[]", "null", '{"deviceId":7}', '{"deviceId":"x","session":{}}']) {
      const storage = { ...memoryStorage(), getItem: async () => text };
      assert.equal(await open({ storage }).session.user(), null, text);
    }
  });

  it("begins, and repeats what failed, where the window knows no events, as that of React Native", async t => {
    Object.assign(globalThis, { window: {} });
    t.after(() => Reflect.deleteProperty(globalThis, "window"));
    const fan = await logIn({ storage: memoryStorage() });
    let refusals = 1;
    network.disturb = () => (refusals-- > 0 ? new Response(null, { status: 503 }) : null);
    await read(fan);
    assert.deepEqual([sent("/api/auth/token"), sent("/api/loyalty/profile")], [2, 1]);
  });

  it("is shared by tabs: one takes up what another has renewed, and that another logged out", async () => {
    const storage = memoryStorage();
    const one = await logIn({ storage });
    const other = open({ storage });
    await Promise.all([read(one), read(other)]);
    network.requests.length = 0;
    network.world.clock.advance(hourMs);
    await read(one);
    await read(other);
    assert.deepEqual([sent("/api/auth/token"), sent("/v1/user/refresh")], [1, 1]);
    await one.session.logOut();
    network.world.clock.advance(hourMs);
    assert.equal(await codeOf(read(other)), "missing_token");
    assert.deepEqual(endings, []);
  });

  it("is over on the device when the fan logs out, also where the server cannot be reached", async () => {
    const fan = await logIn();
    network.disturb = () => Promise.reject(new TypeError("fetch failed"));
    assert.equal(await codeOf(fan.session.logOut()), "network");
    assert.equal(await fan.session.user(), null);
    network.disturb = () => null;
    await fan.session.logIn(account);
    await fan.session.logOut("global");
    assert.equal(sent("/v1/user/logout"), 5);
  });

  /** Holds the next request to a path. */
  function hold(path: string): { readonly reached: Promise<void>; readonly goOn: () => void } {
    let goOn = (): void => {};
    const goingOn = new Promise<void>(resolve => (goOn = resolve));
    const reached = new Promise<void>(resolve => {
      network.disturb = request => {
        if (!request.url.endsWith(path)) return null;
        network.disturb = () => null;
        resolve();
        return goingOn.then(() => network.world.platform.fetch(request));
      };
    });
    return { reached, goOn };
  }

  it("does not begin where the fan logs out before a login is answered", async () => {
    const fan = open();
    await fan.session.register(account);
    for (const [path, begin] of [
      ["/v1/user/login", () => fan.session.logIn(account)],
      ["/v1/user", () => fan.session.register({ provider: "noLogin", username: "Kim" })],
    ] as const) {
      const { reached, goOn } = hold(path);
      const answer = codeOf(begin());
      await reached;
      await fan.session.logOut();
      goOn();
      assert.equal(await answer, "aborted", path);
      assert.equal(await fan.session.user(), null, path);
    }
    assert.equal(sent("/v1/user/logout"), 1, "the account has a session on the server");
  });

  it("stays over, or that of the next fan, where a renewal was under way", async () => {
    for (const path of ["/v1/user/refresh", "/api/auth/token"]) {
      const fan = await logIn();
      await read(fan);
      network.world.clock.advance(hourMs);
      const { reached, goOn } = hold(path);
      const waiting = codeOf(read(fan));
      await reached;
      await fan.session.logOut();
      const next = await fan.session.register({ provider: "noLogin", username: "Kim" });
      goOn();
      await waiting;
      assert.deepEqual(await fan.session.user(), next, path);
      await fan.loyalty.reportAction({ body: { action: "prediction", data: { outcome: "exact" } } });
      const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
      const { metrics } = await network.world.platform.loyalty.profile({
        ...user,
        userId: `${next?.userId}`,
      });
      assert.equal(metrics.points, 3, path);
    }
    assert.deepEqual(endings, []);
  });

  it("begins with the answer to a check, and is renewed like any other", async () => {
    const { login, clock } = network.world;
    const storage = memoryStorage();
    const fan = open({ storage });
    const selector = { projectId: ids.project, strategy: "email", provider: "hostedIdp" } as const;
    const token = forge(login.key, login.claims(clock.now()));
    const answer = await fan.identity.checkUser(
      { ...selector, deviceId: await fan.session.deviceId() },
      { headers: { authorization: `Bearer ${token}` } },
    );
    const user = await fan.session.adopt("hostedIdp", answer);
    assert.deepEqual([user.provider, user.externalId], ["hostedIdp", ""]);
    clock.advance(hourMs);
    const after = open({ storage });
    assert.deepEqual(await after.session.user(), user);
    network.requests.length = 0;
    await read(after);
    const renewal = ["POST /v1/user/refresh", "POST /api/auth/token", "GET /api/loyalty/profile"];
    assert.deepEqual(network.requests, renewal);
    await after.session.logOut();
    assert.equal(await open({ storage }).session.user(), null);
    assert.deepEqual(endings, []);
  });

  it("does not begin with an answer that signs nobody in, and the one before goes on", async () => {
    const fan = await logIn();
    const user = await fan.session.user();
    for (const answer of [{}, { userId: "someone" }, { data: { username: "Sam" } }]) {
      assert.equal(await codeOf(fan.session.adopt("hostedIdp", answer)), "bad_answer");
    }
    network.disturb = () => Response.json({});
    assert.equal(await codeOf(fan.session.logIn(account)), "bad_answer");
    assert.equal(await codeOf(fan.session.register({ provider: "noLogin", username: "Sam" })), "bad_answer");
    network.disturb = () => null;
    assert.deepEqual(await fan.session.user(), user);
    assert.equal(await codeOf(read(fan)), "ok");
    const other = open();
    await other.session.register({ provider: "noLogin", username: "Kim" });
    network.disturb = () => Response.json({});
    assert.equal(await codeOf(read(other)), "bad_answer", "a space token that is none");
    network.disturb = () => null;
    assert.equal(await codeOf(read(other)), "ok");
  });

  it("tells the app of each fan who comes or goes, once", async () => {
    const seen: (string | null)[] = [];
    const storage = memoryStorage();
    const options = { storage, onChange: (user: FanUser | null) => void seen.push(user?.provider ?? null) };
    const fan = open(options);
    await fan.session.user();
    await fan.session.register({ provider: "anonymous" });
    await fan.session.register(account);
    await fan.session.logIn(account);
    network.world.clock.advance(hourMs);
    await read(fan);
    assert.deepEqual(seen, ["anonymous", "managedPool"]);
    const user = await open(options).session.user();
    assert.deepEqual(seen, ["anonymous", "managedPool"], "a session that is found is no change");
    await logOutEverywhere(user);
    network.world.clock.advance(hourMs);
    assert.equal(await codeOf(read(fan)), "session_revoked");
    await fan.session.register({ provider: "noLogin", username: "Sam" });
    await fan.session.logOut();
    assert.deepEqual(seen, ["anonymous", "managedPool", null, "noLogin", null]);
    assert.equal(endings.length, 1);
  });

  it("is in memory where the storage is refused", async () => {
    const fan = open({
      storage: () => {
        throw new DOMException("The document is sandboxed", "SecurityError");
      },
    });
    const user = await fan.session.register({ provider: "noLogin", username: "Sam" });
    await read(fan);
    assert.deepEqual(await fan.session.user(), user);
  });

  it("takes along what an anonymous fan has earned", async () => {
    const fan = open();
    await fan.session.register({ provider: "anonymous" });
    await fan.loyalty.reportAction({ body: { action: "prediction", data: { outcome: "exact" } } });
    assert.equal(await fan.session.register(account), null);
    await fan.session.logIn(account);
    assert.equal((await read(fan)).metrics.points, 3);
  });
});
