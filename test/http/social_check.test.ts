import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, it } from "node:test";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import type { Project } from "../../lib/fans/directory/mod.ts";
import { Users } from "../../lib/fans/identity/mod.ts";
import { socialSubjectCharactersMax } from "../../lib/fans/identity/social/social_verifiers.ts";
import { forge, TestIssuer } from "../support/issuer.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform, testSecret } from "../support/platform.ts";
import { type Misbehaviour, type SocialServer, startSocialServer } from "../support/social_server.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";

const breakerFailuresMax = 5;
const providerRetryMs = 5_000;
const remoteBytesMax = 262_144;
const remoteMsMax = 3_000;

const deviceId = "0123abcd-0000-4000-8000-00000000000d";
const selector = { projectId: ids.project, strategy: "email" };

describeOnStores("the check of users of social providers", open => {
  let world: TestPlatform;
  let network: SocialServer;
  /** A provider that issues ID tokens. */
  let issuer: TestIssuer;
  let deadlines: { readonly ms: number; readonly controller: AbortController }[];
  before(async () => {
    network = await startSocialServer();
  });
  after(() => network.stop());
  beforeEach(async () => {
    issuer = new TestIssuer("https://social.example");
    deadlines = [];
    network.misbehave(null);
    network.users.clear();
    network.asked.length = 0;
    network.tokens.clear();
    network.tokens.set("good", { appId: "our-app", userId: "alice" });
    world = await openPlatform(open, { seed: withProviders(), identity: { remote: remote() } });
  });
  afterEach(() => world.dispose());

  function remote() {
    return {
      fetch: (url: string, init: RequestInit) =>
        url.startsWith(issuer.issuer) ? issuer.fetch(url, init) : fetch(url, init),
      deadline: (ms: number) => {
        const controller = new AbortController();
        deadlines.push({ ms, controller });
        return controller.signal;
      },
    };
  }
  function withProviders(): typeof seed {
    const opaque = {
      style: "userinfo+tokenDebug",
      issuer: "network",
      appId: "our-app",
      tokenDebug: {
        url: `${network.url}/debug?access_token=app%7Csecret`,
        tokenParameter: "input_token",
        appIdMember: "data.app_id",
        subjectMember: "data.user_id",
        validMember: "data.is_valid",
      },
      userinfo: { url: `${network.url}/me`, subjectMember: "id" },
    };
    const socialTwo = { style: "idToken", issuer: issuer.issuer, audience: "our-app" };
    const [project, ...others] = seed.projects as readonly [Project, ...Project[]];
    const identity = { socialOne: opaque, socialTwo };
    return { ...seed, projects: [{ ...project, settings: { identity } }, ...others] };
  }
  function check(bearer: string, query: Record<string, string> = {}): Promise<Answer> {
    const all = { ...selector, provider: "socialOne", userId: "alice", ...query };
    return world.call(`/v1/user/check/nonstandard?${new URLSearchParams(all)}`, { token: bearer });
  }
  function refused(answer: Answer, status: number, code: string): void {
    assert.deepEqual([answer.status, errorCode(answer, "identity")], [status, code], answer.text);
  }
  async function isUnknown(subject = "alice"): Promise<boolean> {
    const way = { kind: "origin", issuer: "network", subject } as const;
    return (await new Users(world.store, testSecret).findByKey(ids.project, way)) === null;
  }
  function idToken(more: object = {}): string {
    return forge(issuer.key, issuer.claims(world.clock.now(), { aud: "our-app", ...more }));
  }

  it("answers what the network says of the user of its token, who is made when met first", async () => {
    network.users.set("alice", { id: "alice", name: "Al", email: "al@example.com", email_verified: true });
    const now = String(world.clock.now() / 1_000);
    const answer = await check("good");
    assert.equal(answer.status, 200, answer.text);
    const data = { updatedAt: now, nickname: "Al", email: "al@example.com", devices: [] };
    assert.deepEqual(answer.json, { result: 1, message: "OK", data });
    assert.deepEqual(network.asked, ["/debug?access_token=app%7Csecret&input_token=good", "/me"]);
    world.clock.advance(60_000);
    assert.equal((await check("good", { accessToken: "good" })).json.data.updatedAt, now, "no news");
    network.users.set("alice", { id: "alice", name: "Alice", email: "not an address" });
    const changed = (await check("good")).json.data;
    assert.deepEqual([changed.nickname, changed.email], ["Alice", ""]);
    assert.equal(changed.updatedAt, String(world.clock.now() / 1_000));
  });
  it("makes one user of racing first checks, and opens a session on a device that is named", async () => {
    const racers = await Promise.all(Array.from({ length: 10 }, () => check("good", { deviceId })));
    const users = new Set(racers.map(({ json }) => json.data.userId));
    assert.equal(users.size, 1);
    const { userId, devices, accessToken } = racers[0]?.json.data ?? {};
    assert.deepEqual([devices[0].deviceId, devices[0].userId], [deviceId, userId]);
    const own = await check(accessToken);
    assert.equal(own.status, 200, own.text);
    assert.equal(own.json.data.devices[0].deviceId, deviceId);
  });
  it("accepts an access token of the platform, and never shows it to the network", async () => {
    const { accessToken, refreshToken, profileToken } = (await check("good", { deviceId })).json.data;
    network.asked.length = 0;
    assert.equal((await check(accessToken)).status, 200);
    assert.equal(network.asked.length, 0);
    refused(await check(accessToken, { userId: "bob" }), 401, "social_token_rejected");
    assert.equal((await check(accessToken, { accessToken: "good" })).status, 200);
    network.tokens.set("bobs", { appId: "our-app", userId: "bob" });
    refused(await check(accessToken, { accessToken: "bobs" }), 401, "social_token_rejected");
    assert.ok(network.asked.every(path => !path.includes(accessToken)));
    network.asked.length = 0;
    const space = await world.call("/api/auth/token", { body: { type: "accessToken", token: accessToken } });
    for (const token of [space.json.data.accessToken, refreshToken, profileToken]) {
      refused(await check(token), 401, "invalid_token");
    }
    assert.equal(network.asked.length, 0, "tokens for other uses are not shown to it either");
    refused(await check(accessToken, { provider: "socialTwo" }), 401, "invalid_token");
    network.misbehave((_, response) => response.writeHead(500).end());
    assert.equal((await check(accessToken)).status, 200);
  });
  it("refuses a bearer that is neither the token of the query nor one of the platform", async () => {
    refused(await check("other", { accessToken: "good" }), 401, "invalid_token");
    assert.equal(network.asked.length, 0);
  });
  it("refuses a token that is invalid, of another application, or of another user", async () => {
    network.tokens.set("expired", { appId: "our-app", userId: "alice", isValid: false });
    network.tokens.set("theirs", { appId: "their-app", userId: "alice" });
    network.tokens.set("bobs", { appId: "our-app", userId: "bob" });
    network.tokens.set("nobodys", { appId: "our-app", userId: "" });
    for (const token of ["unknown", "expired", "theirs", "bobs", "nobodys"]) {
      refused(await check(token), 401, "social_token_rejected");
    }
    assert.ok(!network.asked.includes("/me"), "nothing more is asked about such a token");
    network.users.set("alice", { id: "bob" });
    refused(await check("good"), 401, "social_token_rejected");
    network.users.set("alice", { name: "Al" });
    refused(await check("good"), 401, "social_token_rejected");
    assert.ok((await isUnknown()) && (await isUnknown("bob")));
  });
  it("takes an id that the network writes as a number for its digits, if they are exact", async () => {
    network.tokens.set("number", { appId: "our-app", userId: 42 });
    assert.equal((await check("number", { userId: "42" })).status, 200);
    network.tokens.set("rounded", { appId: "our-app", userId: 2 ** 53 });
    refused(await check("rounded", { userId: String(2 ** 53) }), 401, "social_token_rejected");
  });
  it("fails closed when the network misbehaves, whichever of its two servers it is", async () => {
    const huge = JSON.stringify({ data: "x".repeat(remoteBytesMax) });
    const faults: [what: string, status: number, how: Misbehaviour][] = [
      ["5xx", 503, (_, response) => response.writeHead(500).end()],
      ["busy", 503, (_, response) => response.writeHead(429).end()],
      ["hang up", 503, request => request.socket.destroy()],
      ["gone", 502, (_, response) => response.writeHead(404).end()],
      ["redirect", 502, (_, response) => response.writeHead(302, { location: `${network.url}/me` }).end()],
      ["no JSON", 502, (_, response) => response.end("<html>")],
      ["huge", 502, (_, response) => response.end(huge)],
    ];
    for (const at of ["/debug", "/me"] as const) {
      for (const [what, status, how] of faults) {
        network.misbehave(how, at);
        const answer = await check("good");
        const code = status === 503 ? "provider_unavailable" : "provider_error";
        assert.deepEqual([answer.status, errorCode(answer, "identity")], [status, code], `${what} ${at}`);
        // So that the next fault is met too, and not a provider that is left alone.
        world.clock.advance(providerRetryMs);
      }
      for (const body of ["null", "[]", "{}", '"good"']) {
        network.misbehave((_, response) => response.end(body), at);
        refused(await check("good"), 401, "social_token_rejected");
      }
    }
    assert.ok(await isUnknown());
    network.misbehave(null);
    assert.equal((await check("good")).status, 200);
  });
  it("waits for the network no longer than is allowed", async () => {
    const arrived = new Promise<void>(resolve => network.misbehave(() => resolve()));
    const waiting = check("good");
    await arrived;
    assert.deepEqual(
      deadlines.map(({ ms }) => ms),
      [remoteMsMax],
    );
    deadlines[0]?.controller.abort(new Error("timed out"));
    refused(await waiting, 503, "provider_unavailable");
  });
  it("waits no longer for the rest of an answer than for its start", async () => {
    const arrived = new Promise<void>(resolve =>
      network.misbehave((_, response) => {
        response.write('{"data":');
        resolve();
      }),
    );
    const waiting = check("good");
    await arrived;
    deadlines[0]?.controller.abort(new Error("timed out"));
    refused(await waiting, 503, "provider_unavailable");
  });
  it("takes the longest id that a user may have, and no longer one", async () => {
    const longest = ":".repeat(socialSubjectCharactersMax);
    network.tokens.set("long", { appId: "our-app", userId: longest });
    assert.equal((await check("long", { userId: longest })).status, 200);
    refused(await check("long", { userId: `${longest}:` }), 400, "validation_failed");
    network.tokens.set("longer", { appId: "our-app", userId: `${longest}:` });
    refused(await check("longer"), 401, "social_token_rejected");
  });
  it("leaves a network alone that keeps failing, and tries it again after a while", async () => {
    network.misbehave((_, response) => response.writeHead(500).end());
    for (let failure = 0; failure < breakerFailuresMax; failure++) {
      refused(await check("good"), 503, "provider_unavailable");
    }
    network.misbehave(null);
    network.asked.length = 0;
    world.clock.advance(providerRetryMs - 1);
    refused(await check("good"), 503, "provider_unavailable");
    assert.equal(network.asked.length, 0);
    world.clock.advance(1);
    assert.equal((await check("good")).status, 200);
    network.tokens.delete("good");
    for (let failure = 0; failure <= breakerFailuresMax; failure++) {
      refused(await check("good"), 401, "social_token_rejected");
    }
  });
  it("verifies ID tokens of a provider that issues them", async () => {
    const ask = (token: string, more: Record<string, string> = {}): Promise<Answer> =>
      check(token, { provider: "socialTwo", ...more });
    const answer = await ask(idToken({ name: "Al", email: "al@example.com", email_verified: true }));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.json.data.nickname, answer.json.data.email], ["Al", "al@example.com"]);
    const given = idToken();
    for (const name of ["accessToken", "idToken"]) {
      assert.equal((await ask(given, { [name]: given, strategy: "simplified" })).status, 200);
    }
    for (const more of [{ aud: "their-app" }, { iss: "https://evil.example" }, { sub: "bob" }, { exp: 1 }]) {
      refused(await ask(idToken(more)), 401, "social_token_rejected");
    }
    refused(await ask("opaque"), 401, "social_token_rejected");
  });
  it("distinguishes an unavailable issuer of ID tokens from a bad token", async () => {
    issuer.answering = async () => new Response("", { status: 503 });
    refused(await check(idToken(), { provider: "socialTwo" }), 503, "provider_unavailable");
  });
  it("demands the user's id of the first provider alone", async () => {
    const query = new URLSearchParams({ ...selector, provider: "socialOne" });
    const first = await world.call(`/v1/user/check/nonstandard?${query}`, { token: "good" });
    refused(first, 400, "validation_failed");
    query.set("provider", "socialTwo");
    const second = await world.call(`/v1/user/check/nonstandard?${query}`, { token: idToken() });
    assert.equal(second.status, 200, second.text);
  });
  it("is not offered for a provider that the project did not set up", async () => {
    refused(await check("good", { provider: "socialThree" }), 400, "unsupported_provider");
    refused(await check("good", { provider: "managedPool" }), 400, "unsupported_provider");
  });
  it("gives a banned user nothing", async () => {
    const { userId } = (await check("good", { deviceId })).json.data;
    const ban = { reason: "abuse", until: null };
    await new Users(world.store, testSecret).update(ids.project, userId, user => ({ ...user, ban }));
    refused(await check("good", { deviceId }), 403, "account_banned");
  });
  it("is limited by address before the network is called", async () => {
    const limiter = createMemoryLimiter({ clock: world.clock.now });
    const limited = await openPlatform(open, {
      seed: withProviders(),
      identity: { remote: remote() },
      limiter,
    });
    const query = new URLSearchParams({ ...selector, provider: "socialOne", userId: "alice" });
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 31; attempt++) {
      const options = { token: "unknown", address: "192.0.2.7" };
      statuses.push((await limited.call(`/v1/user/check/nonstandard?${query}`, options)).status);
    }
    assert.deepEqual(statuses, [...Array(30).fill(401), 429]);
    assert.equal(network.asked.length, 30);
    await limited.dispose();
  });
});
