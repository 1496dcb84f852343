import { systemRandom } from "../../../../../lib/auth/crypto/mod.ts";
import type { PasswordVerification } from "../../../../../lib/auth/passwords/mod.ts";
import {
  createPasswordHasher,
  dummyHash,
  type PasswordHasher,
} from "../../../../../lib/auth/passwords/mod.ts";
import { type Codes, codeCost, createCodes } from "../../../../../lib/fans/identity/codes/codes.ts";
import type { Store } from "../../../../../lib/storage/mod.ts";
import { quickKernels } from "../../../../support/kernels.ts";
import { testSecret } from "../../../../support/platform.ts";

export const project = "0c000000-0000-4000-8000-000000000001";
export const otherProject = "0c000000-0000-4000-8000-000000000002";
export const email = "fan@example.org";
/** Who asks for the codes of a bench, and tries them. */
export const owner = "the login of the fan";

/** A hasher that remembers what it verified, and does something before each comparison. */
export class WatchedHasher implements PasswordHasher {
  readonly #inner: PasswordHasher = createPasswordHasher({
    random: systemRandom,
    kernels: quickKernels(),
    cost: codeCost,
  });
  readonly id: string = this.#inner.id;
  readonly #dummy: string = dummyHash(this.#inner);
  hashed = 0;
  /** Comparisons with a code that exists. */
  compared = 0;
  /** Comparisons with nothing. */
  pretended = 0;
  beforeVerify: () => Promise<void> = async () => {};

  accepts(hash: string): boolean {
    return this.#inner.accepts(hash);
  }

  async hash(password: string): Promise<string> {
    this.hashed++;
    return await this.#inner.hash(password);
  }

  async verify(phc: string, password: string): Promise<PasswordVerification> {
    if (phc === this.#dummy) this.pretended++;
    else this.compared++;
    await this.beforeVerify();
    return await this.#inner.verify(phc, password);
  }
}

/** Codes with short ways to use those of one address. */
export interface CodesBench {
  readonly codes: Codes;
  readonly hasher: WatchedHasher;
  issue(holder?: string): Promise<string>;
  redeem(code: string, holder?: string): Promise<boolean>;
  /** Redeems a wrong code `times` times in turn. */
  fail(times?: number, holder?: string): Promise<void>;
}

export function openCodes(store: Store, clock: () => number): CodesBench {
  const hasher = new WatchedHasher();
  const codes = createCodes({ store, secret: testSecret, hasher, clock, random: systemRandom });
  const redeem = (code: string, holder = owner): Promise<boolean> =>
    codes.redeem(project, "password", { email, holder, code });
  return {
    codes,
    hasher,
    redeem,
    issue: (holder = owner) => codes.issue(project, "password", { email, holder }),
    async fail(times = 1, holder = owner) {
      for (let time = 0; time < times; time++) {
        if (await redeem("wrong", holder)) throw new Error("A wrong code was taken");
      }
    },
  };
}
