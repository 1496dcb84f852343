import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { Users } from "../../lib/fans/identity/mod.ts";
import { appProfileBytesMax, usernameCharactersMax } from "../../lib/fans/identity/providers/fields.ts";
import { sessionStalenessMsMax } from "../../lib/fans/identity/sessions/sessions.ts";
import { forge, issuerKey } from "../support/issuer.ts";
import {
  type Answer,
  ids,
  openPlatform,
  otherHost,
  type TestPlatform,
  testSecret,
} from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";
import { newKey } from "./_operations.ts";

const issuerKeysCooldownMs = 30_000;

const deviceId = "0123abcd-0000-4000-8000-00000000000d";
const hosted = { projectId: ids.project, strategy: "email", provider: "hostedIdp" };

describeOnStores("users of a hosted identity provider", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  function idToken(more: object = {}): string {
    return forge(world.login.key, world.login.claims(world.clock.now(), more));
  }
  function check(token: string, more: Record<string, string> = {}): Promise<Answer> {
    return world.call(`/v1/user/check?${new URLSearchParams({ ...hosted, deviceId, ...more })}`, { token });
  }
  function profile(token: string): Promise<Answer> {
    return world.call(`/v1/user?${new URLSearchParams(hosted)}`, { token });
  }
  function update(token: string, data: unknown): Promise<Answer> {
    return world.call("/v1/user", { method: "PUT", token, body: { ...hosted, data } });
  }
  async function signedIn(more: object = {}): Promise<{ userId: string; accessToken: string }> {
    const { status, json, text } = await check(idToken(more));
    assert.equal(status, 200, text);
    return json.data;
  }
  function refused(answer: Answer, status: number, code: string): void {
    assert.deepEqual([answer.status, errorCode(answer, "identity")], [status, code], answer.text);
  }

  it("are made when their token is checked first, and found again by issuer and subject", async () => {
    const now = world.clock.now() / 1_000;
    const first = await check(idToken({ preferred_username: "Al" }));
    assert.equal(first.status, 200);
    assert.equal(first.headers.get("cache-control"), "no-store");
    const { userId, accessToken, profileToken, refreshToken, ...rest } = first.json.data;
    assert.deepEqual(rest, { username: "Al", appProfile: {}, loginHistory: [now] });
    assert.deepEqual(
      [userId, accessToken, profileToken, refreshToken].map(value => typeof value),
      ["string", "string", "string", "string"],
    );
    world.clock.advance(60_000);
    const again = await check(idToken({ preferred_username: "Changed", email: "al@example.com" }));
    assert.equal(again.json.data.userId, userId);
    assert.equal(again.json.data.username, "Al");
    assert.deepEqual(again.json.data.loginHistory, [now, now + 60]);
    const other = await check(idToken({ sub: "bob", email: "al@example.com" }));
    assert.notEqual(other.json.data.userId, userId, "an address leads to nobody");
  });
  it("take over what a guest has who is proved, and nothing of another one", async () => {
    const logIn = (data: object) =>
      world.call("/v1/user/login", { method: "PUT", body: { ...hosted, data } });
    const guest = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };
    const guestOf = async (device: string) =>
      (await world.call("/v1/user", { body: { ...guest, data: { deviceId: device } } })).json.data;
    const [mine, theirs] = [await guestOf(deviceId), await guestOf("0123abcd-0000-4000-8000-00000000000e")];
    const isGuest = async ({ externalId, deviceId: device }: Answer["json"]): Promise<boolean> => {
      const body = { ...guest, data: { externalId, deviceId: device } };
      return (await world.call("/v1/user/login", { method: "PUT", body })).status === 200;
    };
    for (const stolen of [theirs.externalId, "unknown", undefined]) {
      const answer = await logIn({ token: idToken(), deviceId, ...(stolen && { externalId: stolen }) });
      assert.equal(answer.status, 200, answer.text);
    }
    const { userId } = await signedIn();
    assert.equal(await isGuest(theirs), true);
    refused(
      await logIn({ token: "no.such.token", deviceId, externalId: mine.externalId }),
      401,
      "invalid_token",
    );
    assert.equal(await isGuest(mine), true, "not without a login");
    const answer = await logIn({ token: idToken(), deviceId, externalId: mine.externalId });
    assert.equal(answer.json.data.userId, userId);
    assert.deepEqual([await isGuest(mine), await isGuest(theirs)], [false, true]);
    assert.equal((await check(answer.json.data.accessToken)).status, 200);
  });

  it("come back from the provider with a token of this very login alone", async () => {
    const returnTo = "https://app.example/welcome";
    for (const [wrong, status, code] of [
      [{ nonce: "another login's" }, 400, "invalid_code"],
      [{ aud: "another-app" }, 401, "invalid_token"],
      [{}, 200, null],
    ] as const) {
      const begun = await world.call("/v1/user/authorize", { body: { ...hosted, data: { returnTo } } });
      const { url, key, state } = begun.json.data;
      const sent = new URL(url).searchParams;
      assert.deepEqual(
        ["client_id", "redirect_uri", "scope", "code_challenge_method"].map(name => sent.get(name)),
        ["app-1", returnTo, "openid profile email", "S256"],
      );
      const claims = world.login.claims(world.clock.now(), { nonce: sent.get("nonce"), ...wrong });
      const data = { code: world.login.codeFor(claims), state, key, returnTo };
      const answer = await world.call("/v1/user/confirm-authorize", { body: { ...hosted, data } });
      if (code !== null) refused(answer, status, code);
      else assert.equal(answer.json.data.userId, (await signedIn()).userId);
      const again = await world.call("/v1/user/confirm-authorize", { body: { ...hosted, data } });
      refused(again, 400, "invalid_code");
    }
  });
  it("are one user however many first checks race", async () => {
    const racers = await Promise.all(Array.from({ length: 12 }, () => signedIn()));
    assert.equal(new Set(racers.map(({ userId }) => userId)).size, 1);
    assert.equal(new Set(racers.map(({ accessToken }) => accessToken)).size, 12);
    const user = await new Users(world.store, testSecret).findByKey(ids.project, {
      kind: "origin",
      issuer: world.login.issuer,
      subject: "alice",
    });
    assert.equal(user?.userId, racers[0]?.userId);
    assert.equal(user?.provider, "hostedIdp");
  });
  it("may have the longest subject, of any characters", async () => {
    for (const sub of [":".repeat(255), "{a}:%", "__proto__"]) await signedIn({ sub });
  });
  it("read and change their profile with the access token that the check gave them", async () => {
    const { accessToken } = await signedIn({ name: "Al" });
    const appProfile = { team: "red", imageUrl: "https://images.example/1.png" };
    const changed = await update(accessToken, { username: "Alice", appProfile });
    assert.equal(changed.status, 200);
    const { externalId, ...rest } = changed.json.data;
    assert.equal(typeof externalId, "string");
    assert.deepEqual(rest, { projectId: ids.project, accessToken, appProfile });
    const { username, appProfile: read } = (await profile(accessToken)).json.data;
    assert.deepEqual({ username, read }, { username: "Alice", read: appProfile });
    assert.deepEqual((await update(accessToken, {})).json.data.appProfile, appProfile);
    assert.equal((await profile(accessToken)).json.data.username, "Alice");
  });
  it("keep an application profile within its bounds only", async () => {
    const { accessToken } = await signedIn();
    const frame = JSON.stringify({ a: "" }).length;
    const fits = { a: "x".repeat(appProfileBytesMax - frame) };
    assert.equal((await update(accessToken, { appProfile: fits })).status, 200);
    refused(await update(accessToken, { appProfile: { a: `${fits.a}x` } }), 413, "payload_too_large");
    let deep: object = {};
    for (let level = 2; level <= 8; level++) deep = { deep };
    assert.equal((await update(accessToken, { appProfile: deep })).status, 200);
    refused(await update(accessToken, { appProfile: { deep } }), 400, "validation_failed");
    refused(await update(accessToken, { username: "" }), 400, "validation_failed");
    refused(await update(accessToken, []), 400, "validation_failed");
  });
  it("check an access token of the platform as well, which answers itself and starts no session", async () => {
    const { userId, accessToken } = await signedIn();
    const again = await check(accessToken);
    assert.equal(again.status, 200);
    assert.equal(again.json.data.userId, userId);
    assert.equal(again.json.data.accessToken, accessToken);
    assert.equal((await world.platform.sessions.list(ids.project, userId)).length, 1);
  });
  it("refresh and log out like others", async () => {
    const { accessToken, refreshToken } = (await check(idToken())).json.data;
    const refreshed = await world.call("/v1/user/refresh", {
      token: accessToken,
      body: { ...hosted, deviceId, refreshToken },
    });
    assert.equal(refreshed.status, 200);
    const token = refreshed.json.data.accessToken;
    assert.equal((await profile(token)).status, 200);
    assert.equal((await world.call("/v1/user/logout", { token, body: hosted })).status, 200);
    refused(await profile(token), 401, "session_revoked");
  });
  it("read and change their profile with the provider's token too, and are made by it", async () => {
    const first = await profile(idToken({ preferred_username: "Al" }));
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(first.json.data, { username: "Al", appProfile: {}, loginHistory: [] });
    const appProfile = { team: "red" };
    const changed = await update(idToken(), { appProfile });
    assert.equal(changed.status, 200, changed.text);
    const { externalId, accessToken, ...rest } = changed.json.data;
    assert.deepEqual(rest, { projectId: ids.project, appProfile });
    assert.equal((await profile(accessToken)).json.data.username, "Al");
    assert.deepEqual((await profile(idToken())).json.data.appProfile, appProfile);
    assert.equal((await update(accessToken, {})).json.data.externalId, externalId);
    const bob = await update(idToken({ sub: "bob" }), { username: "Bob" });
    assert.notEqual(bob.json.data.externalId, externalId);
  });
  it("get access tokens of one session for all updates with the provider's token", async () => {
    const { userId, accessToken } = await signedIn();
    const updates = [await update(idToken(), {}), await update(idToken(), {})];
    assert.equal((await world.platform.sessions.list(ids.project, userId)).length, 2);
    const [first, second] = updates.map(({ json }) => json.data.accessToken);
    await world.call("/v1/user/logout", { token: first, body: hosted });
    for (const token of [first, second]) refused(await profile(token), 401, "session_revoked");
    assert.equal((await profile(accessToken)).status, 200);
    assert.equal((await profile((await update(idToken(), {})).json.data.accessToken)).status, 200);
  });
  it("are refused by every operation with a token of the provider that it did not make for them, or that is banned", async () => {
    const { userId } = await signedIn();
    const foreign = forge(issuerKey(), world.login.claims(world.clock.now()));
    for (const token of [foreign, idToken({ aud: "app-2" }), "x"]) {
      for (const answer of [await profile(token), await update(token, {}), await check(token)]) {
        refused(answer, 401, "invalid_token");
      }
    }
    const ban = { reason: "abuse", until: null };
    await new Users(world.store, testSecret).update(ids.project, userId, user => ({ ...user, ban }));
    for (const answer of [await profile(idToken()), await update(idToken(), { username: "No" })]) {
      refused(answer, 403, "account_banned");
    }
  });
  it("are refused with a token whose expiry no clock reaches", async () => {
    for (const exp of [1e300, 8_640_000_000_001]) {
      for (const answer of [await profile(idToken({ exp })), await check(idToken({ exp }))]) {
        refused(answer, 401, "invalid_token");
      }
    }
    refused(await profile(idToken({ exp: -1 })), 401, "token_expired");
    assert.equal((await profile(idToken({ exp: 8_640_000_000_000 }))).status, 200);
  });
  it("are refused with a token that the provider did not make for this application", async () => {
    refused(await check(idToken({ aud: "app-2" })), 401, "invalid_token");
    refused(await check(idToken({ iss: "https://evil.example" })), 401, "invalid_token");
    refused(await check(forge(issuerKey(), world.login.claims(world.clock.now()))), 401, "invalid_token");
    refused(await check(idToken({ exp: world.clock.now() / 1_000 - 60 })), 401, "token_expired");
    assert.equal(
      await new Users(world.store, testSecret).findByKey(ids.project, {
        kind: "origin",
        issuer: world.login.issuer,
        subject: "alice",
      }),
      null,
    );
  });
  it("log in with a key that the provider began to use a moment ago", async () => {
    await signedIn();
    world.clock.advance(issuerKeysCooldownMs);
    world.login.keys = [issuerKey()];
    await signedIn();
  });
  it("get 503 while the provider is out of reach, and keep their sessions", async () => {
    const { accessToken } = await signedIn();
    const stranger = forge(issuerKey(), world.login.claims(world.clock.now()));
    world.clock.advance(issuerKeysCooldownMs);
    world.login.answering = async () => new Response("", { status: 500 });
    const answer = await check(stranger);
    refused(answer, 503, "provider_unavailable");
    assert.equal(answer.json.data.action, "retry");
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    assert.equal((await profile(accessToken)).status, 200);
  });
  it("get 502 if the answer of the provider is unusable", async () => {
    world.login.discovery = { issuer: "https://evil.example" };
    refused(await check(idToken()), 502, "provider_error");
  });
  it("who are banned get no session", async () => {
    const { userId } = await signedIn();
    await new Users(world.store, testSecret).update(ids.project, userId, user => ({
      ...user,
      ban: { reason: "abuse", until: null },
    }));
    refused(await check(idToken()), 403, "account_banned");
    assert.equal((await world.platform.sessions.list(ids.project, userId)).length, 1);
  });
  it("need a newer token of the provider once all their sessions were ended", async () => {
    const token = idToken();
    const { userId } = (await check(token)).json.data;
    world.clock.advance(10_000);
    await world.platform.sessions.revokeAll(ids.project, userId);
    world.clock.advance(sessionStalenessMsMax);
    refused(await check(token), 401, "session_revoked");
    assert.equal((await check(idToken())).json.data.userId, userId);
  });
  it("leave a trail of their logins, refused ones too", async () => {
    const { userId } = await signedIn();
    refused(await check(idToken({ aud: "app-2" })), 401, "invalid_token");
    await world.platform.idle();
    const { entries } = await world.platform.audit.ofProject(ids.project);
    const attempts = entries.map(({ event, outcome, provider, userId: of, deviceId: on }) => [
      event,
      outcome,
      provider,
      of,
      on,
    ]);
    assert.ok(
      attempts.some(entry => isDeepStrictEqual(entry, ["check", "ok", "hostedIdp", userId, deviceId])),
    );
    const refusal = ["check", "invalid_token", "hostedIdp", undefined, deviceId];
    assert.ok(attempts.some(entry => isDeepStrictEqual(entry, refusal)));
  });
  it("who were removed come back as new ones", async () => {
    const { userId } = await signedIn();
    const { key, secret } = await newKey(world);
    const removed = await world.call(`/internal/identity/projects/${ids.project}/users/${userId}`, {
      method: "DELETE",
      headers: { "x-api-key": key, "x-api-secret": secret },
    });
    assert.ok(removed.status < 300, removed.text);
    const again = await signedIn();
    assert.notEqual(again.userId, userId);
    assert.equal((await profile(again.accessToken)).status, 200);
  });
  it("are named by the provider within the bounds of names", async () => {
    const { accessToken } = await signedIn({
      preferred_username: 7,
      nickname: "",
      name: `${"a".repeat(99)}😀`,
    });
    const { username } = (await profile(accessToken)).json.data;
    assert.equal(username, `${"a".repeat(99)}\ufffd`);
    assert.equal(username.length, usernameCharactersMax);
  });
  it("are none of a project without such a provider, nor of another project", async () => {
    refused(await check(idToken(), { projectId: ids.otherProject }), 400, "unsupported_provider");
    const { accessToken } = await signedIn();
    refused(await check(accessToken, { projectId: ids.otherProject }), 401, "invalid_token");
  });
  it("get an access token of the space for an ID token, as users of its default project", async () => {
    const issued = await world.call("/api/auth/token", { body: { type: "idToken", token: idToken() } });
    assert.equal(issued.status, 200, issued.text);
    const token: string = issued.json.data.accessToken;
    assert.equal((await world.call("/api/loyalty/profile", { token })).status, 200);
    const { sub } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    assert.equal((await signedIn()).userId, sub);
  });
  it("get no access token of a space for anything but an ID token for it", async () => {
    const ask = (token: string, host = "club.example"): Promise<Answer> =>
      world.call("/api/auth/token", { body: { type: "idToken", token }, host });
    const at = forge(world.login.key, world.login.claims(world.clock.now()), { typ: "at+jwt" });
    for (const token of [at, idToken({ aud: "app-2" }), (await signedIn()).accessToken, "x"]) {
      const answer = await ask(token);
      assert.deepEqual([answer.status, errorCode(answer, "problem")], [401, "invalid_token"]);
    }
    const elsewhere = await ask(idToken(), otherHost);
    assert.deepEqual([elsewhere.status, errorCode(elsewhere, "problem")], [401, "invalid_credentials"]);
  });
});
