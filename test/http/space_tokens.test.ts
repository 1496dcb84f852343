import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { recordKey, signRecord } from "../../lib/auth/mod.ts";
import type { TokenContent } from "../../lib/auth/tokens/mod.ts";
import { createTokens } from "../../lib/auth/tokens/mod.ts";
import { spaceTokenTtlSeconds } from "../../lib/fans/space_tokens/mod.ts";
import {
  type Answer,
  ids,
  openPlatform,
  otherHost,
  seed,
  type TestPlatform,
  testSecret,
} from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

const sessionRecordAgeSecondsMax = 90 * 24 * 60 * 60;

const simplified = { projectId: ids.project, strategy: "simplified" };
const deviceId = "0123abcd-0000-4000-8000-00000000000d";

type Record_ = Readonly<Record<string, string | number | boolean>>;

/** Returns the parts of a refusal that a caller could use to distinguish cases. */
function refusalOf({ status, json, headers }: Answer): unknown {
  const { requestId: _, ...body } = json;
  const fields = [...headers].filter(([name]) => name !== "x-request-id");
  return { status, body, fields };
}

function payloadOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

describeOnStores("the exchange for a space token", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  async function recordOf(
    provider: "noLogin" | "anonymous",
    projectId: string = ids.project,
  ): Promise<Record_> {
    const data = provider === "noLogin" ? { username: "Sam" } : { deviceId };
    const answer = await world.call("/v1/user", { body: { ...simplified, projectId, provider, data } });
    return answer.json.data;
  }
  const exchange = (record: object, more: object = {}, host?: string): Promise<Answer> =>
    world.call("/api/auth/token", {
      body: { type: "sessionRecord", projectId: ids.project, record, ...more },
      ...(host === undefined ? {} : { host }),
    });

  it("turns the record of a noLogin user into a token that opens the space", async () => {
    const record = await recordOf("noLogin");
    const { status, json, headers } = await exchange(record);
    assert.equal(status, 200);
    assert.equal(headers.get("cache-control"), "no-store");
    const { accessToken, ...rest } = json.data;
    assert.deepEqual(
      { ...json, data: rest },
      { message: "OK", data: { tokenType: "Bearer", expiresIn: spaceTokenTtlSeconds } },
    );
    const { jti, ...claims } = payloadOf(accessToken);
    const now = Math.floor(world.clock.now() / 1_000);
    assert.deepEqual(claims, {
      sub: record.userId,
      iss: world.platform.issuer,
      aud: [world.platform.issuer],
      iat: now,
      exp: now + spaceTokenTtlSeconds,
      kind: "user",
      orgId: ids.organisation,
      spaceId: ids.space,
      projectId: ids.project,
      scope: ["audience:read", "audience:write"],
    });
    assert.equal(typeof jti, "string");
    assert.equal((await world.call("/api/loyalty/profile", { token: accessToken })).status, 200);
  });

  it("turns the records of anonymous registration and login into tokens of the same user", async () => {
    const registered = await recordOf("anonymous");
    const login = await world.call("/v1/user/login", {
      method: "PUT",
      body: { ...simplified, provider: "anonymous", data: { externalId: registered.externalId, deviceId } },
    });
    const tokens = await Promise.all([exchange(registered), exchange(login.json.data)]);
    for (const { status, json } of tokens) {
      assert.equal(status, 200);
      assert.equal(payloadOf(json.data.accessToken).sub, registered.userId);
    }
  });

  it("refuses a record of which any one field was altered, always with the same answer", async () => {
    const record = await recordOf("anonymous");
    const other = await recordOf("noLogin");
    const altered: object[] = [
      { ...record, deviceId: other.deviceId },
      { ...record, timeStamp: Number(record.timeStamp) + 1 },
      { ...record, signUp: Number(record.signUp) - 1 },
      { ...record, signUp: undefined, signup: Number(record.signUp) + 1 },
      { ...record, signUp: undefined },
      { ...record, externalId: other.externalId },
      { ...record, userId: other.userId },
      { ...record, signature: other.signature },
      { ...record, signature: "0".repeat(64) },
      { ...record, signature: "" },
      { ...record, signature: String(record.signature).slice(1) },
      { ...record, signature: String(record.signature).toLowerCase() },
    ];
    const answers = await Promise.all(altered.map(candidate => exchange(candidate)));
    for (const answer of answers) {
      assertProblem(answer, 401, "invalid_credentials");
      assert.ok(answer.headers.has("www-authenticate"));
      assert.deepEqual(refusalOf(answer), refusalOf(answers[0] ?? answer));
    }
  });

  it("refuses a record of another project, organisation or no user, like an altered one", async () => {
    const record = await recordOf("noLogin");
    const foreign = await recordOf("noLogin", ids.otherProject);
    const answers = await Promise.all([
      exchange({ ...record, signature: "0".repeat(64) }),
      exchange(record, { projectId: ids.otherProject }),
      exchange(record, { projectId: deviceId }),
      exchange(foreign),
      exchange({ ...record, userId: foreign.userId }),
    ]);
    for (const answer of answers) {
      assertProblem(answer, 401, "invalid_credentials");
      assert.deepEqual(refusalOf(answer), refusalOf(answers[0] ?? answer));
    }
    // A record names its project, and with it the space, whatever the Host.
    for (const host of ["club.example", otherHost]) {
      const spaceOf = async (proof: object, projectId: string): Promise<unknown> =>
        payloadOf((await exchange(proof, { projectId }, host)).json.data.accessToken).spaceId;
      assert.equal(await spaceOf(record, ids.project), ids.space);
      assert.equal(await spaceOf(foreign, ids.otherProject), ids.otherSpace);
    }
  });

  it("refuses a well-signed record of a user who is gone or has another external id", async () => {
    const record = await recordOf("anonymous");
    const facts = { deviceId, timeStamp: Number(record.timeStamp), signUp: Number(record.signUp) };
    const key = recordKey(testSecret, ids.project);
    const issue = (userId: string, externalId: string): object => {
      const signed = { ...facts, userId, externalId };
      return { ...signed, signature: signRecord(key, { ...signed, projectId: ids.project }) };
    };
    const [userId, externalId] = [String(record.userId), String(record.externalId)];
    assert.equal((await exchange(issue(userId, externalId))).status, 200);
    for (const stale of [issue(userId, "a".repeat(32)), issue(deviceId, externalId)]) {
      assertProblem(await exchange(stale), 401, "invalid_credentials");
    }
  });

  it("refuses the record of a user without sessions after 90 days", async () => {
    for (const provider of ["anonymous", "noLogin"] as const) {
      const record = await recordOf(provider);
      world.clock.advance(sessionRecordAgeSecondsMax * 1_000 - 1_000);
      assert.equal((await exchange(record)).status, 200);
      world.clock.advance(1_000);
      assertProblem(await exchange(record), 401, "token_expired");
      const forged = { ...record, signature: "0".repeat(64) };
      assertProblem(await exchange(forged), 401, "invalid_credentials");
    }
  });

  it("takes the record of a later login of a noLogin or anonymous user", async () => {
    for (const provider of ["anonymous", "noLogin"] as const) {
      const { externalId, deviceId: device, userId } = await recordOf(provider);
      world.clock.advance(sessionRecordAgeSecondsMax * 1_000);
      const data = provider === "noLogin" ? { externalId } : { externalId, deviceId: device };
      const body = { ...simplified, provider, data };
      const { status, json } = await world.call("/v1/user/login", { method: "PUT", body });
      assert.deepEqual([status, json.data.userId, json.data.deviceId], [200, userId, device]);
      assert.equal((await exchange(json.data)).status, 200);
    }
  });

  it("names the members of a proof that are missing or wrong", async () => {
    const record = await recordOf("noLogin");
    const cases: [proof: object, pointer: string][] = [
      [{ type: "sessionRecord", projectId: ids.project }, "/record"],
      [{ type: "sessionRecord", projectId: "x", record }, "/projectId"],
      [
        { type: "sessionRecord", projectId: ids.project, record: { ...record, timeStamp: "1" } },
        "/record/timeStamp",
      ],
      [
        { type: "sessionRecord", projectId: ids.project, record: { ...record, timeStamp: 1.5 } },
        "/record/timeStamp",
      ],
      [
        { type: "sessionRecord", projectId: ids.project, record: { ...record, userId: "me" } },
        "/record/userId",
      ],
      [{ type: "service", key: "k" }, "/secret"],
      [{ type: "service", key: "k".repeat(257), secret: "s" }, "/key"],
      [{ type: "password" }, "/type"],
      [{}, "/type"],
    ];
    for (const [body, pointer] of cases) {
      const answer = await world.call("/api/auth/token", { body });
      assertProblem(answer, 400, "validation_failed");
      assert.deepEqual(
        answer.json.errors.map((error: { pointer: string }) => error.pointer),
        [pointer],
      );
    }
  });

  it("turns an API key into a service token that reaches the users of the space", async () => {
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["users:read"],
    });
    const issued = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
    assert.equal(issued.status, 200);
    const token: string = issued.json.data.accessToken;
    const { sub, kind, scope, projectId } = payloadOf(token);
    assert.deepEqual(
      { sub, kind, scope, projectId },
      { sub: key, kind: "service", scope: ["users:read"], projectId: undefined },
    );
    const read = await world.call("/api/loyalty/profile?user_id=somebody", { token });
    assert.equal(read.status, 200);
    assertProblem(await world.call("/api/loyalty/profile", { token }), 400, "validation_failed");
  });

  it("ends with the API key that a back end got it for, with its next request", async () => {
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["users:read"],
    });
    const issued = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
    const token: string = issued.json.data.accessToken;
    const headers = { "x-platform-org-id": ids.organisation };
    const paths = ["/api/loyalty/profile?user_id=somebody", "/api/audience/transactions?user_ids=somebody"];
    for (const path of paths) assert.equal((await world.call(path, { token, headers })).status, 200);
    await world.platform.apiKeys.revoke({ organisationId: ids.organisation, keyId: key });
    for (const path of paths)
      assertProblem(await world.call(path, { token, headers }), 401, "session_revoked");
  });

  it("refuses wrong, unknown and revoked API keys with one answer", async () => {
    const of = (organisationId: string) =>
      world.platform.apiKeys.create({ organisationId, name: "Back end", permissions: ["users:read"] });
    const [mine, revoked, foreign] = [
      await of(ids.organisation),
      await of(ids.organisation),
      await of(ids.otherOrganisation),
    ];
    await world.platform.apiKeys.revoke({ organisationId: ids.organisation, keyId: revoked.key });
    const service = (key: string, secret: string, host?: string): Promise<Answer> =>
      world.call("/api/auth/token", {
        body: { type: "service", key, secret },
        ...(host === undefined ? {} : { host }),
      });
    const answers = await Promise.all([
      service("", ""),
      service(mine.key, foreign.secret),
      service(mine.key, `${mine.secret}x`),
      service(mine.secret, mine.key),
      service(`gsk_${"a".repeat(26)}`, mine.secret),
      service(revoked.key, revoked.secret),
    ]);
    for (const answer of answers) {
      assertProblem(answer, 401, "invalid_api_key");
      assert.ok(answer.headers.get("www-authenticate")?.startsWith("ApiKey"));
      assert.deepEqual(refusalOf(answer), refusalOf(answers[0] ?? answer));
    }
    for (const host of [undefined, otherHost]) {
      const issued = await service(foreign.key, foreign.secret, host);
      assert.equal(payloadOf(issued.json.data.accessToken).spaceId, ids.otherSpace);
    }
  });

  it("finds no space under an unknown host without a default space", async t => {
    const alone = await openPlatform(open, { defaultSpaceId: ids.event });
    t.after(() => alone.dispose());
    const proof = { type: "idToken", token: "a.b.c" };
    assertProblem(await alone.call("/api/auth/token", { body: proof }), 404, "not_found");
    const unnamed = await alone.call("/api/loyalty/config");
    assertProblem(unnamed, 404, "not_found");
    assert.match(unnamed.json.message, /name one with space_id/);
    assert.equal((await alone.call("/api/loyalty/config", { host: otherHost.toUpperCase() })).status, 200);
  });
});

describeOnStores("a space token", open => {
  let world: TestPlatform;
  let token: string;
  beforeEach(async () => {
    world = await openPlatform(open);
    token = (await world.fan("Sam")).token;
  });
  afterEach(() => world.dispose());

  const use = (bearer: string, host?: string): Promise<Answer> =>
    world.call("/api/loyalty/profile", { token: bearer, ...(host === undefined ? {} : { host }) });
  const authorized = (authorization: string): Promise<Answer> =>
    world.call("/api/loyalty/profile", { headers: { authorization } });

  /** A token that the platform's own keys sign, saying what the test wants. */
  async function signed(more: Partial<TokenContent>): Promise<string> {
    const { keyRing } = world.platform;
    const tokens = createTokens({ ring: keyRing, clock: world.clock.now, random: systemRandom });
    const claims = { kind: "user", orgId: ids.organisation, spaceId: ids.space, projectId: ids.project };
    return await tokens.sign({
      typ: "at+jwt",
      issuer: world.platform.issuer,
      audience: [world.platform.issuer],
      subject: "somebody",
      ttlSeconds: 60,
      claims,
      ...more,
    });
  }

  it("is demanded, in a Bearer header, with a challenge", async () => {
    for (const answer of [
      await world.call("/api/loyalty/profile"),
      await authorized("Basic c2FtOnNhbQ=="),
      await authorized(token),
    ]) {
      assertProblem(answer, 401, "missing_token");
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="api"');
    }
    assert.equal((await authorized(`bEARER ${token}`)).status, 200);
  });

  it("is refused with one answer when it is garbled, altered, of another kind or unsigned", async () => {
    const [header = "", payload = "", signature = ""] = token.split(".");
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const parsedHeader = JSON.parse(Buffer.from(header, "base64url").toString());
    const claims = payloadOf(token);
    const flipped = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    const candidates = [
      "garbage",
      "a.b.c",
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${token}.${signature}`,
      `${header}.${payload}.${flipped}`,
      `${header}.${encode({ ...claims, sub: "somebody-else" })}.${signature}`,
      `${encode({ ...parsedHeader, alg: "none" })}.${payload}.`,
      `${encode({ ...parsedHeader, alg: "none" })}.${payload}.${signature}`,
      `${encode({ ...parsedHeader, alg: "HS256" })}.${payload}.${signature}`,
      `${encode({ ...parsedHeader, kid: "__proto__" })}.${payload}.${signature}`,
      `${encode({ ...parsedHeader, kid: "unknown" })}.${payload}.${signature}`,
      await signed({ typ: "JWT" }),
      await signed({ typ: "rt+jwt" }),
      await signed({ issuer: "https://elsewhere.example" }),
      await signed({ audience: "https://elsewhere.example" }),
      await signed({ claims: {} }),
      await signed({ claims: { kind: "user", orgId: ids.organisation, spaceId: ids.space } }),
      await signed({
        claims: { kind: "service", orgId: ids.organisation, spaceId: ids.space, scope: "all" },
      }),
      await signed({ claims: { kind: "root", orgId: ids.organisation, spaceId: ids.space, scope: [] } }),
    ];
    const answers = await Promise.all(candidates.map(candidate => use(candidate)));
    for (const [index, answer] of answers.entries()) {
      assertProblem(answer, 401, "invalid_token");
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
      assert.deepEqual(refusalOf(answer), refusalOf(answers[0] ?? answer), candidates[index]);
    }
    assert.equal((await use(await signed({}))).status, 200);
  });

  it("is refused if the header has more than the token", async () => {
    for (const authorization of [
      `Bearer ${token} ${token}`,
      `Bearer ${token},`,
      "Bearer",
      `Bearer ${"a".repeat(9_000)}`,
    ]) {
      assertProblem(await authorized(authorization), 401, "invalid_token");
    }
  });

  it("opens its own space at every host, and no other", async () => {
    const fresh = await signed({});
    for (const host of [otherHost, "club.example"]) {
      assert.deepEqual(Object.keys((await use(fresh, host)).json.data.metrics), ["points", "energy"]);
    }
    for (const claims of [
      { orgId: ids.otherOrganisation, spaceId: ids.space },
      { orgId: ids.organisation, spaceId: ids.otherSpace },
      // The tokens of a space with a domain have its issuer.
      { orgId: ids.otherOrganisation, spaceId: ids.otherSpace },
      { orgId: ids.organisation, spaceId: ids.event },
    ]) {
      const token = await signed({ claims: { kind: "user", projectId: ids.project, ...claims } });
      for (const host of [otherHost, "club.example"]) {
        assertProblem(await use(token, host), 401, "invalid_token");
      }
    }
  });

  it("expires", async () => {
    world.clock.advance(spaceTokenTtlSeconds * 1_000 - 1);
    assert.equal((await use(token)).status, 200);
    world.clock.advance(1);
    const answer = await use(token);
    assertProblem(answer, 401, "token_expired");
    assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer error="invalid_token"/);
  });

  it("is checked on routes where it is optional too", async () => {
    const answer = await world.call("/api/loyalty/config", { token: "garbage" });
    assertProblem(answer, 401, "invalid_token");
  });
});

describeOnStores("two spaces with one issuer", open => {
  it("are each opened by their own tokens alone", async t => {
    const [, rival] = seed.spaces;
    assert.ok(rival !== undefined);
    // The rival claims the host of the public address, which is where a space without a domain has its issuer.
    const publicUrl = "https://play.example";
    const domain = new URL(publicUrl).host;
    const spaces = seed.spaces.map(space => (space.id === rival.id ? { ...space, domain } : space));
    const world = await openPlatform(open, { publicUrl, seed: { ...seed, spaces } });
    t.after(() => world.dispose());
    const { token } = await world.fan("Sam");
    const other = { token, host: domain };
    const metrics = { points: 0, energy: 5 };
    assert.deepEqual((await world.call("/api/loyalty/profile", other)).json.data.metrics, metrics);
    assert.deepEqual((await world.call("/api/loyalty/profile", { token })).json.data.metrics, metrics);
    const caller = { organisationId: rival.organisationId, spaceId: rival.id, projectId: ids.otherProject };
    const space = await world.platform.directory.space(rival.id);
    assert.ok(space !== null);
    const { accessToken } = await world.platform.spaceTokens.issue(space, {
      kind: "user",
      userId: "u",
      ...caller,
    });
    const rivals = await world.call("/api/loyalty/profile", { token: accessToken });
    assert.deepEqual([rivals.status, rivals.json.data.metrics], [200, {}]);
  });
});
