import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { systemRandom } from "../../../../lib/auth/crypto/mod.ts";
import type { RandomBytes } from "../../../../lib/auth/mod.ts";
import type { PasswordAlgorithm, PasswordKernels } from "../../../../lib/auth/passwords/mod.ts";
import { createCodes } from "../../../../lib/fans/identity/codes/codes.ts";
import { createHashers } from "../../../../lib/fans/identity/create_identity.ts";
import { quickKernels } from "../../../support/kernels.ts";
import { testSecret } from "../../../support/platform.ts";
import { createManualTimer } from "../../../support/timer.ts";

const project = "0c000000-0000-4000-8000-000000000001";

interface Setup {
  readonly kernels?: PasswordKernels;
  readonly algorithm?: PasswordAlgorithm;
  readonly random?: RandomBytes;
}

function open({ kernels, algorithm = "scrypt", random = systemRandom }: Setup) {
  const { passwords, codes } = createHashers({
    random,
    passwordKernels: kernels,
    // A portable hash may take longer on a busy machine than the next one may wait.
    timer: createManualTimer().timer,
    options: { passwordHash: algorithm },
  });
  const environment = { clock: Date.now, random, secret: testSecret, store: createMemoryStore() };
  return { hasher: passwords, codes: createCodes({ ...environment, hasher: codes }) };
}

/** Kernels that note how many of them run at once. */
function crowdedKernels(concurrentMax?: number): {
  readonly kernels: PasswordKernels;
  readonly most: () => number;
} {
  const { scrypt } = quickKernels();
  assert.ok(scrypt !== undefined);
  let running = 0;
  let most = 0;
  const kernels: PasswordKernels = {
    async scrypt(input, cost) {
      running++;
      most = Math.max(most, running);
      await new Promise(resolve => setImmediate(resolve));
      running--;
      return await scrypt(input, cost);
    },
    ...(concurrentMax === undefined ? {} : { concurrentMax }),
  };
  return { kernels, most: () => most };
}

describe("the hashers of a platform", () => {
  it("hash with scrypt, or with Argon2id if it is configured and native", async () => {
    const kernels = quickKernels();
    assert.match(await open({ kernels }).hasher.hash("a password"), /^\$scrypt\$/);
    const { hasher } = open({ kernels, algorithm: "argon2id" });
    assert.match(await hasher.hash("a password"), /^\$argon2id\$/);
    assert.throws(() => open({ algorithm: "argon2id" }), RangeError);
  });

  it("hash codes with scrypt whatever passwords are hashed with", async () => {
    const kernels = quickKernels();
    await open({ kernels, algorithm: "argon2id" }).codes.issue(project, "password", {
      email: "fan@example.org",
      holder: "",
    });
    assert.deepEqual(kernels.asked, [{ algorithm: "scrypt", cost: { logN: 14, r: 8, p: 1 }, length: 32 }]);
  });

  for (const [given, expected] of [
    [undefined, 2],
    [1, 1],
    [3, 3],
  ] as const) {
    it(`run ${expected} hashes at once, of passwords and codes together, if the kernels allow ${given ?? "an unknown number"}`, async () => {
      const { kernels, most } = crowdedKernels(given);
      const { hasher, codes } = open({ kernels });
      await Promise.all([
        ...Array.from({ length: 6 }, () => hasher.hash("a password")),
        ...Array.from({ length: 6 }, (_, index) =>
          codes.issue(project, "password", { email: `fan${index}@example.org`, holder: "" }),
        ),
      ]);
      assert.equal(most(), expected);
    });
  }

  it("run one hash at once if it shares the event loop", async () => {
    let salts = 0;
    const { codes } = open({
      random(length) {
        if (length === 16) salts++;
        return systemRandom(length);
      },
    });
    const issued = ["one@example.org", "two@example.org"].map(email =>
      codes.issue(project, "password", { email, holder: "" }),
    );
    await new Promise(resolve => setImmediate(resolve));
    assert.equal(salts, 1);
    await Promise.all(issued);
    assert.equal(salts, 2);
  });
});
