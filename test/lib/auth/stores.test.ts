import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { createApiKeys } from "../../../lib/auth/api_keys/api_keys.ts";
import type { KeyRing } from "../../../lib/auth/mod.ts";
import { createKeyRing, standbyMs } from "../../../lib/auth/tokens/key_ring.ts";
import { createTokens } from "../../../lib/auth/tokens/mod.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { databases } from "../../support/databases.ts";
import { createTestRandom, hasCode, otherSecret, secret } from "./_setup.ts";

const expected = { typ: "at+jwt", issuer: "https://id.example", audience: "https://api.example" };
const content = { ...expected, subject: "user-1", ttlSeconds: 600 };

/** Guarantees for two processes of one deployment; `open` makes an empty store with a handle for each. */
function describeShared(
  name: string,
  skip: string | false,
  open: () => Promise<readonly [Store, Store]>,
): void {
  describe(`two processes on ${name}`, { skip }, () => {
    const opened: Store[] = [];
    after(async () => {
      for (const store of opened) await store[Symbol.asyncDispose]();
    });
    async function openBoth(): Promise<readonly [Store, Store]> {
      const both = await open();
      opened.push(...new Set(both));
      return both;
    }
    const time = createTestClock();
    const environment = { clock: time.now, random: createTestRandom(), secret };

    it("mint one key ring, however often they start at once", async () => {
      const [left, right] = await openBoth();
      const rings = await Promise.all(
        Array.from({ length: 64 }, (_, index) =>
          createKeyRing({ ...environment, store: index % 2 ? left : right }),
        ),
      );
      const kids = await Promise.all(
        rings.map(async ring => (await ring.jwks()).keys.map(key => key.kid).join()),
      );
      assert.equal(new Set(kids).size, 1);
      await assert.rejects(
        createKeyRing({ ...environment, store: left, secret: otherSecret }),
        /another master secret/,
      );
    });
    it("rotate to one new key and verify each other's tokens before and after", async () => {
      const [left, right] = await openBoth();
      const first = await createKeyRing({ ...environment, store: left });
      const second = await createKeyRing({ ...environment, store: right });
      const rotations = await Promise.all([first, second, first, second].map(ring => ring.rotate()));
      assert.equal(new Set(rotations.map(rotation => rotation.kid)).size, 1);
      await assertMutual(first, second);
      time.advance(standbyMs);
      await assertMutual(second, first);
      assert.equal((await first.signer()).kid, rotations[0]?.kid);
    });
    it("share API keys, keep both secrets of racing rotations, and end a key for both", async () => {
      const [left, right] = await openBoth();
      const first = createApiKeys({ ...environment, store: left });
      const second = createApiKeys({ ...environment, store: right });
      const { key } = await first.create({ organisationId: "o{1}", permissions: ["users:read"], name: "n" });
      const reference = { organisationId: "o{1}", keyId: key };
      const rotated = await Promise.all([first.rotate(reference), second.rotate(reference)]);
      for (const { secret } of rotated) {
        assert.equal((await first.verify(key, secret)).organisationId, "o{1}");
        assert.equal((await second.verify(key, secret)).organisationId, "o{1}");
      }
      // Each process remembers the key, and knows the new secret of the other at once all the same.
      const again = await first.rotate(reference);
      assert.equal((await second.verify(key, again.secret)).keyId, key);
      rotated.push(again);
      const revoked = await Promise.allSettled([first.revoke(reference), second.revoke(reference)]);
      assert.equal(revoked.filter(outcome => outcome.status === "fulfilled").length, 1);
      for (const { secret } of rotated) {
        await assert.rejects(async () => await second.verify(key, secret), hasCode("invalid_api_key"));
      }
    });

    async function assertMutual(signing: KeyRing, verifying: KeyRing): Promise<void> {
      const token = await createTokens({ ...environment, ring: signing }).sign(content);
      const claims = await createTokens({ ...environment, ring: verifying }).verify(token, expected);
      assert.equal(claims.sub, "user-1");
    }
  });
}

describeShared("the memory store", false, async () => {
  const store = createMemoryStore();
  return [store, store];
});

for (const { name, skip, handles } of databases) {
  describeShared(name, skip, async () => (await handles(2)) as [Store, Store]);
}
