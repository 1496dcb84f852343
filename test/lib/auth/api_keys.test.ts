import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiKeyNameCharsMax, createApiKeys } from "../../../lib/auth/api_keys/api_keys.ts";
import { isApiSecret, newApiKeyId, newApiSecret, pepperedHash } from "../../../lib/auth/api_keys/record.ts";
import { apiKeyGuard } from "../../../lib/auth/api_keys/routes.ts";
import { type ApiKeyPrincipal, type ApiKeys, permissions } from "../../../lib/auth/mod.ts";
import type { ErrorCode } from "../../../lib/base/errors/mod.ts";
import { platformPartition } from "../../../lib/storage/names.ts";
import { createFixture, createTestRandom, type Fixture, hasCode, otherSecret } from "./_setup.ts";

const apiKeyAgeMsMax = 5_000;
const apiKeysCachedMax = 10_000;
const rotationGraceMs = 86_400_000;

const wanted = {
  organisationId: "org-1",
  permissions: ["users:read", "actions:write"],
  name: "Ticketing",
} as const;

interface Subject {
  readonly fixture: Fixture;
  readonly apiKeys: ApiKeys;
}

function createSubject(fixture: Fixture = createFixture()): Subject {
  return { fixture, apiKeys: createApiKeys(fixture) };
}

async function assertInvalid(apiKeys: ApiKeys, key: string, secret: string): Promise<void> {
  await assert.rejects(
    async () => await apiKeys.verify(key, secret),
    error =>
      hasCode("invalid_api_key")(error) && String(error).endsWith("The API key or its secret is not valid"),
  );
}

async function storedText({ store }: Fixture, key: string): Promise<string | undefined> {
  const [record] = await store.read(platformPartition("api_key", key), [{ type: "record", key: "api_key" }]);
  return record?.value;
}

describe("a new API key", () => {
  it("verifies as its organisation with its permissions", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    assert.deepEqual(await apiKeys.verify(key, secret), {
      keyId: key,
      organisationId: "org-1",
      permissions: ["users:read", "actions:write"],
    });
  });
  it("has a recognisable name and a secret of 256 bits with a checksum", async () => {
    const { key, secret } = await createSubject().apiKeys.create(wanted);
    assert.match(key, /^gsk_[a-z2-7]{26}$/);
    assert.match(secret, /^gss_[a-z2-7]{58}$/);
    assert.ok(isApiSecret(secret));
    for (let index = 4; index < secret.length; index++) {
      const changed = secret[index] === "a" ? "b" : "a";
      assert.equal(isApiSecret(secret.slice(0, index) + changed + secret.slice(index + 1)), false);
    }
  });
  it("is stored without its secret, under a hash that needs the master secret", async () => {
    const { apiKeys, fixture } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const text = await storedText(fixture, key);
    assert.ok(text !== undefined && !text.includes(secret) && !text.includes(secret.slice(4, 30)));
    const elsewhere = createApiKeys({ ...fixture, secret: otherSecret });
    await assertInvalid(elsewhere, key, secret);
  });
  it("needs an existing permission and a name", async () => {
    const { apiKeys } = createSubject();
    const unknown = JSON.parse('["users:read", "users:delete"]');
    await assert.rejects(apiKeys.create({ ...wanted, permissions: [] }), RangeError);
    await assert.rejects(apiKeys.create({ ...wanted, permissions: unknown }), RangeError);
    await assert.rejects(apiKeys.create({ ...wanted, name: "" }), RangeError);
    await assert.rejects(apiKeys.create({ ...wanted, name: "x".repeat(apiKeyNameCharsMax + 1) }), RangeError);
    assert.ok(await apiKeys.create({ ...wanted, name: "x".repeat(apiKeyNameCharsMax) }));
  });
  it("knows nine permissions", () => {
    assert.deepEqual(permissions, [
      "actions:write",
      "users:read",
      "users:write",
      "rewards:write",
      "users:export",
      "tokens:write",
      "config:read",
      "config:write",
      "keys:write",
    ]);
  });
});

describe("verification", () => {
  it("answers the same to a malformed, unknown, revoked or wrong key or secret", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const revoked = await apiKeys.create(wanted);
    await apiKeys.revoke({ organisationId: "org-1", keyId: revoked.key });
    const random = createTestRandom(99);
    await assertInvalid(apiKeys, "", "");
    await assertInvalid(apiKeys, key, "");
    await assertInvalid(apiKeys, "__proto__", secret);
    await assertInvalid(apiKeys, `${key}, ${key}`, secret);
    await assertInvalid(apiKeys, key.toUpperCase(), secret);
    await assertInvalid(apiKeys, newApiKeyId(random), secret);
    await assertInvalid(apiKeys, key, newApiSecret(random));
    await assertInvalid(apiKeys, key, revoked.secret);
    await assertInvalid(apiKeys, revoked.key, revoked.secret);
  });
  it("does the same work for an unknown, a revoked and an existing key with a wrong secret", async () => {
    const { apiKeys, fixture } = createSubject();
    const { key } = await apiKeys.create(wanted);
    const rotated = await apiKeys.create(wanted);
    await apiKeys.rotate({ organisationId: "org-1", keyId: rotated.key });
    const revoked = await apiKeys.create(wanted);
    await apiKeys.revoke({ organisationId: "org-1", keyId: revoked.key });
    const random = createTestRandom(7);
    let hashes = 0;
    let compared = 0;
    const realHash = pepperedHash(new Uint8Array(32));
    /** A hash that counts how often it is made and, by its units, how much of it is compared. */
    function hash(keyId: string, secret: string): string {
      hashes++;
      return counted(realHash(keyId, secret), () => compared++);
    }
    const counting = createApiKeys({ ...fixture, hash });
    const work: unknown[] = [];
    for (const name of [key, rotated.key, revoked.key, newApiKeyId(random)]) {
      [hashes, compared, fixture.store.reads] = [0, 0, 0];
      await assertInvalid(counting, name, newApiSecret(random));
      work.push({ hashes, compared, reads: fixture.store.reads });
    }
    assert.deepEqual(work, new Array(4).fill({ hashes: 1, compared: 128, reads: 1 }));
  });
  it("of a hot key costs no round trip, and one after the memory is too old", async () => {
    const { apiKeys, fixture } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const first = await apiKeys.verify(key, secret);
    const reads = fixture.store.reads;
    fixture.time.advance(apiKeyAgeMsMax - 1);
    assert.equal(apiKeys.verify(key, secret), first);
    assert.equal(fixture.store.reads, reads);
    fixture.time.advance(1);
    await apiKeys.verify(key, secret);
    assert.equal(fixture.store.reads, reads + 1);
  });
  it("of a hot key still refuses a wrong secret", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    await apiKeys.verify(key, secret);
    await assertInvalid(apiKeys, key, newApiSecret(createTestRandom(5)));
    await assertInvalid(apiKeys, key, secret.slice(0, -1));
    await assertInvalid(apiKeys, key, `${secret.slice(0, -1)}${secret.endsWith("a") ? "b" : "a"}`);
    await apiKeys.verify(key, secret);
  });
  it("of a hot key is hashed once, and ends with the grace after a rotation", async () => {
    const fixture = createFixture();
    const realHash = pepperedHash(new Uint8Array(32));
    let hashes = 0;
    const apiKeys = createApiKeys({
      ...fixture,
      hash: (keyId, secret) => {
        hashes++;
        return realHash(keyId, secret);
      },
    });
    const { key, secret, organisationId } = await apiKeys.create(wanted);
    const other = await apiKeys.create(wanted);
    await apiKeys.verify(key, secret);
    await apiKeys.verify(other.key, other.secret);
    const before = hashes;
    for (let count = 0; count < 3; count++) await apiKeys.verify(key, secret);
    await apiKeys.isAlive({ organisationId, keyId: key });
    await apiKeys.verify(key, secret);
    assert.equal(hashes, before);
    await assertInvalid(apiKeys, other.key, secret);
    await apiKeys.rotate({ organisationId, keyId: key }, { graceMs: 1_000 });
    await apiKeys.verify(key, secret);
    fixture.time.advance(999);
    await apiKeys.verify(key, secret);
    fixture.time.advance(1);
    await assertInvalid(apiKeys, key, secret);
  });
  it("keeps no more keys in memory than the bound", async () => {
    const { apiKeys, fixture } = createSubject();
    const first = await apiKeys.create(wanted);
    await apiKeys.verify(first.key, first.secret);
    for (let count = 0; count < apiKeysCachedMax; count++) {
      // An organisation may have fewer keys than a process remembers.
      const organisationId = `org-${count % 100}`;
      const { key, secret } = await apiKeys.create({ ...wanted, organisationId });
      await apiKeys.verify(key, secret);
    }
    const reads = fixture.store.reads;
    await apiKeys.verify(first.key, first.secret);
    assert.equal(fixture.store.reads, reads + 1);
  });
  it("keeps nothing of keys that were refused", async () => {
    const { apiKeys, fixture } = createSubject();
    const random = createTestRandom(3);
    const [key, secret] = [newApiKeyId(random), newApiSecret(random)];
    const reads = fixture.store.reads;
    await assertInvalid(apiKeys, key, secret);
    await assertInvalid(apiKeys, key, secret);
    assert.equal(fixture.store.reads, reads + 2);
  });
  it("fails when the store is down", async () => {
    const { apiKeys, fixture } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    fixture.store.isDown = true;
    await assert.rejects(async () => await apiKeys.verify(key, secret), hasCode("storage_unavailable"));
  });
});

describe("revocation", () => {
  it("is seen at once by the process that revokes and within five seconds by every other", async () => {
    const { apiKeys, fixture } = createSubject();
    const elsewhere = createApiKeys(fixture);
    const { key, secret } = await apiKeys.create(wanted);
    await apiKeys.verify(key, secret);
    await elsewhere.verify(key, secret);
    await apiKeys.revoke({ organisationId: "org-1", keyId: key });
    await assertInvalid(apiKeys, key, secret);
    assert.equal(apiKeyAgeMsMax, 5_000);
    fixture.time.advance(apiKeyAgeMsMax);
    await assertInvalid(elsewhere, key, secret);
    assert.equal(await storedText(fixture, key), undefined);
  });
  it("is seen by isAlive too", async () => {
    const { apiKeys, fixture } = createSubject();
    const elsewhere = createApiKeys(fixture);
    const { key } = await apiKeys.create(wanted);
    const reference = { organisationId: "org-1", keyId: key };
    assert.equal(await elsewhere.isAlive(reference), true);
    const { reads } = fixture.store;
    assert.equal(elsewhere.isAlive(reference), true);
    assert.equal(fixture.store.reads, reads);
    assert.equal(await elsewhere.isAlive({ ...reference, organisationId: "org-2" }), false);
    assert.equal(await apiKeys.isAlive({ ...reference, organisationId: "org-2" }), false);
    await apiKeys.revoke(reference);
    assert.equal(await apiKeys.isAlive(reference), false);
    fixture.time.advance(apiKeyAgeMsMax);
    assert.equal(await elsewhere.isAlive(reference), false);
  });
  it("and rotation know the keys of the own organisation alone", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    for (const keyId of [key, newApiKeyId(createTestRandom(4)), "", "__proto__", "x".repeat(600)]) {
      const reference = { organisationId: "org-2", keyId };
      await assert.rejects(apiKeys.revoke(reference), hasCode("not_found"));
      await assert.rejects(apiKeys.rotate(reference), hasCode("not_found"));
    }
    assert.ok(await apiKeys.verify(key, secret));
  });
});

describe("rotation of a secret", () => {
  it("gives a new secret and lets the old one live for its grace", async () => {
    const { apiKeys, fixture } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const rotated = await apiKeys.rotate({ organisationId: "org-1", keyId: key });
    assert.equal(rotated.key, key);
    assert.notEqual(rotated.secret, secret);
    fixture.time.advance(rotationGraceMs - 1);
    assert.ok(await apiKeys.verify(key, secret));
    assert.ok(await apiKeys.verify(key, rotated.secret));
    fixture.time.advance(1);
    await assertInvalid(apiKeys, key, secret);
    assert.ok(await apiKeys.verify(key, rotated.secret));
  });
  it("without a grace ends the old secret at once", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    await apiKeys.verify(key, secret);
    await apiKeys.rotate({ organisationId: "org-1", keyId: key }, { graceMs: 0 });
    await assertInvalid(apiKeys, key, secret);
  });
  it("keeps two secrets alive and never three", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const second = await apiKeys.rotate({ organisationId: "org-1", keyId: key });
    const third = await apiKeys.rotate({ organisationId: "org-1", keyId: key });
    await assertInvalid(apiKeys, key, secret);
    assert.ok(await apiKeys.verify(key, second.secret));
    assert.ok(await apiKeys.verify(key, third.secret));
  });
  it("by two processes at once loses neither new secret", async () => {
    const { apiKeys, fixture } = createSubject();
    const { key } = await apiKeys.create(wanted);
    const reference = { organisationId: "org-1", keyId: key };
    const both = await Promise.all([apiKeys.rotate(reference), createApiKeys(fixture).rotate(reference)]);
    for (const { secret } of both) assert.ok(await apiKeys.verify(key, secret));
  });
});

describe("apiKeyGuard", () => {
  async function authenticate(
    apiKeys: ApiKeys,
    headers: Record<string, string>,
    permission?: (typeof permissions)[number],
  ): Promise<ApiKeyPrincipal> {
    const guard = apiKeyGuard(permission === undefined ? { apiKeys } : { apiKeys, permission });
    const request = new Request("https://audience.example/", { headers });
    return await guard.authenticate({ request, info: {}, params: {}, query: {} });
  }
  it("accepts a key with the permission, or any key if none is demanded", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const headers = { "X-API-Key": key, "X-API-Secret": secret };
    assert.equal((await authenticate(apiKeys, headers, "users:read")).organisationId, "org-1");
    assert.equal((await authenticate(apiKeys, headers)).keyId, key);
  });
  it("answers 403 to a key without the permission, remembered or not", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const headers = { "X-API-Key": key, "X-API-Secret": secret };
    await assert.rejects(authenticate(apiKeys, headers, "users:export"), hasCode("insufficient_scope"));
    await assert.rejects(authenticate(apiKeys, headers, "users:export"), hasCode("insufficient_scope"));
  });
  it("answers 401 for a missing or wrong header", async () => {
    const { apiKeys } = createSubject();
    const { key, secret } = await apiKeys.create(wanted);
    const cases: readonly (readonly [headers: Record<string, string>, code: ErrorCode])[] = [
      [{}, "missing_api_key"],
      [{ "X-API-Key": key }, "missing_api_key"],
      [{ "X-API-Secret": secret }, "missing_api_key"],
      [{ "X-API-Key": key, "X-API-Secret": "" }, "missing_api_key"],
      [{ "X-API-Key": key, "X-API-Secret": "x" }, "invalid_api_key"],
    ];
    for (const [headers, code] of cases) await assert.rejects(authenticate(apiKeys, headers), hasCode(code));
  });
  it("names the header fields that it needs", async () => {
    const guard = apiKeyGuard({ apiKeys: createSubject().apiKeys });
    const request = new Request("http://localhost/", { headers: { "x-api-key": "k" } });
    await assert.rejects(
      async () => await guard.authenticate({ request, info: {}, params: {}, query: {} }),
      (error: unknown) => error instanceof Error && /X-API-Key and X-API-Secret/.test(error.message),
    );
  });
  it("documents what it demands", () => {
    const guard = apiKeyGuard({ apiKeys: createSubject().apiKeys, permission: "rewards:write" });
    const [option] = guard.security;
    assert.deepEqual(option?.requires, ["rewards:write"]);
    assert.deepEqual(
      Object.values(option?.schemes ?? {}).map(({ name }) => name),
      ["X-API-Key", "X-API-Secret"],
    );
  });
});

/** Stands for a text that is compared like bytes, and tells when one of its units is read. */
function counted(text: string, onRead: () => void): string {
  const units = new Proxy(
    Array.from(text, unit => unit.charCodeAt(0)),
    {
      get(target, member) {
        if (typeof member === "string" && /^[0-9]+$/.test(member)) onRead();
        return Reflect.get(target, member, target);
      },
    },
  );
  return units as unknown as string;
}
