import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, it } from "node:test";
import type { Project, Space } from "../../lib/fans/directory/mod.ts";
import { openIdLoginMsMax } from "../../lib/fans/identity/openid_logins.ts";
import { type OpenIdProvider, startOpenIdProvider } from "../support/openid_provider.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";

const issuerKeysAgeMsMax = 600_000;
const issuerKeysCooldownMs = 30_000;

const deviceId = "0123abcd-0000-4000-8000-00000000000d";
const selector = { projectId: ids.project, strategy: "email" };

describeOnStores("a certified OpenID provider", open => {
  let provider: OpenIdProvider;
  let world: TestPlatform;
  before(async () => {
    provider = await startOpenIdProvider();
  });
  after(() => provider.stop());
  beforeEach(async () => {
    const { issuer, audience } = provider;
    const login = {
      issuer,
      audience,
      algorithms: ["RS256"],
      login: { returnOrigins: [new URL(provider.redirectUri).origin], scope: "openid" },
    };
    const [project, ...projects] = seed.projects as readonly [Project, ...Project[]];
    const [space, ...spaces] = seed.spaces as readonly [Space, ...Space[]];
    // The provider signs with the time of the machine, from which the platform's clock starts.
    world = await openPlatform(open, {
      startAt: Date.now(),
      identity: {
        remote: { fetch },
        clientSecret: client =>
          client.issuer === issuer && client.clientId === audience ? provider.clientSecret : undefined,
      },
      seed: {
        ...seed,
        spaces: [{ ...space, settings: { issuer: login, defaultProjectId: ids.project } }, ...spaces],
        projects: [
          {
            ...project,
            settings: { identity: { hostedIdp: login, socialThree: { style: "idToken", ...login } } },
          },
          ...projects,
        ],
      },
    });
  });
  afterEach(() => world.dispose());

  function check(token: string): Promise<Answer> {
    const query = new URLSearchParams({ ...selector, provider: "hostedIdp", deviceId });
    return world.call(`/v1/user/check?${query}`, { token });
  }

  const answers = { strategy: "email", projectId: ids.project };
  async function begin(name: string, data: object = {}) {
    const body = { ...answers, provider: name, data: { returnTo: provider.redirectUri, ...data } };
    return await world.call("/v1/user/authorize", { body });
  }
  function confirm(name: string, data: object): Promise<Answer> {
    const body = { ...answers, provider: name, data: { returnTo: provider.redirectUri, deviceId, ...data } };
    return world.call("/v1/user/confirm-authorize", { body });
  }
  /** A login that came back from the provider. */
  async function comeBack(name: string, loginHint: string) {
    const { url, key, state } = (await begin(name, { loginHint })).json.data;
    const back = await provider.follow(url);
    assert.equal(back.searchParams.get("state"), state);
    return { code: back.searchParams.get("code") ?? "", state: back.searchParams.get("state"), key };
  }

  it("logs users in who come back from it, once for each login", async () => {
    const { url, key, state } = (await begin("hostedIdp", { loginHint: "alice" })).json.data;
    const codeOf = async () => (await provider.follow(url)).searchParams.get("code");
    const [code, other] = [await codeOf(), await codeOf()];
    const login = { key, state, code };
    const alice = await confirm("hostedIdp", login);
    assert.equal(alice.status, 200, alice.text);
    const unspent = await confirm("hostedIdp", { ...login, code: other });
    assert.deepEqual([unspent.status, errorCode(unspent, "identity")], [400, "invalid_code"], "another code");
    const { userId, accessToken } = alice.json.data;
    assert.equal((await check(accessToken)).json.data.userId, userId);
    assert.equal((await check(await provider.idToken("alice"))).json.data.userId, userId);
    const again = await confirm("hostedIdp", login);
    assert.deepEqual([again.status, errorCode(again, "identity")], [400, "invalid_code"]);
    const next = await confirm("hostedIdp", { ...(await comeBack("hostedIdp", "alice")), code: login.code });
    assert.deepEqual([next.status, errorCode(next, "identity")], [400, "invalid_code"], "a spent code");
    const social = await confirm("socialThree", await comeBack("socialThree", "carol"));
    assert.equal(social.status, 200, social.text);
    assert.notEqual(social.json.data.userId, userId);
  });
  it("takes no code or state of another login, and none that is too old", async () => {
    const [mine, theirs] = [await comeBack("hostedIdp", "alice"), await comeBack("hostedIdp", "mallory")];
    for (const wrong of [
      { ...theirs, key: mine.key },
      { ...theirs, state: "made up" },
      { ...theirs, key: `9${theirs.key}` },
      { ...theirs, returnTo: `${provider.redirectUri}?other` },
      // The verifier of this login does not fit the code, and neither would its nonce fit the token.
      { ...mine, code: theirs.code },
    ]) {
      const refused = await confirm("hostedIdp", wrong);
      assert.deepEqual([refused.status, errorCode(refused, "identity")], [400, "invalid_code"]);
    }
    const elsewhere = await confirm("socialThree", theirs);
    assert.equal(errorCode(elsewhere, "identity"), "invalid_code");
    world.clock.advance(openIdLoginMsMax);
    assert.equal(errorCode(await confirm("hostedIdp", theirs), "identity"), "invalid_code");
  });
  it("leads back to the origins of the app alone, and only where the project offers it", async () => {
    for (const returnTo of [
      "https://evil.example/",
      "https://app.example.evil.example/",
      "javascript:alert(1)",
    ]) {
      const refused = await begin("hostedIdp", { returnTo });
      assert.deepEqual([refused.status, errorCode(refused, "identity")], [400, "validation_failed"]);
    }
    const refused = await begin("socialTwo");
    assert.deepEqual([refused.status, errorCode(refused, "identity")], [400, "not_available"]);
  });
  it("vouches for users of a project", async () => {
    const alice = await check(await provider.idToken("alice"));
    assert.equal(alice.status, 200, alice.text);
    const again = await check(await provider.idToken("alice"));
    assert.equal(again.json.data.userId, alice.json.data.userId);
    const bob = await check(await provider.idToken("bob"));
    assert.notEqual(bob.json.data.userId, alice.json.data.userId);
  });
  it("vouches for users in a space", async () => {
    const body = { type: "idToken", token: await provider.idToken("alice") };
    const issued = await world.call("/api/auth/token", { body });
    assert.equal(issued.status, 200, issued.text);
    const token: string = issued.json.data.accessToken;
    assert.equal((await world.call("/api/loyalty/profile", { token })).status, 200);
  });
  it("vouches for users as a social provider", async () => {
    const token = await provider.idToken("carol");
    const query = new URLSearchParams({ ...selector, provider: "socialThree", userId: "carol" });
    const answer = await world.call(`/v1/user/check/nonstandard?${query}`, { token });
    assert.equal(answer.status, 200, answer.text);
  });
  it("may replace its key: the new one works after the cooldown, the old one until then", async () => {
    const old = await provider.idToken("alice");
    const { userId } = (await check(old)).json.data;
    provider.rotate();
    const renewed = await provider.idToken("alice");
    assert.equal((await check(old)).status, 200);
    const early = await check(renewed);
    assert.deepEqual([early.status, errorCode(early, "identity")], [401, "invalid_token"]);
    world.clock.advance(issuerKeysCooldownMs);
    assert.equal((await check(renewed)).json.data.userId, userId);
    const late = await check(old);
    assert.deepEqual([late.status, errorCode(late, "identity")], [401, "invalid_token"]);
  });
  it("may replace its key without failed requests", async () => {
    const { userId } = (await check(await provider.idToken("alice"))).json.data;
    world.clock.advance(issuerKeysAgeMsMax);
    provider.rotate();
    assert.equal((await check(await provider.idToken("alice"))).json.data.userId, userId);
  });
});
