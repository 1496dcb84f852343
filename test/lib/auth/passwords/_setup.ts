import type { PasswordHasherOptions } from "../../../../lib/auth/passwords/mod.ts";
import { createPasswordHasher, type PasswordHasher } from "../../../../lib/auth/passwords/mod.ts";
import { type CountingKernels, quickKernels } from "../../../support/kernels.ts";
import { createTestRandom } from "../_setup.ts";

/** A hasher over quick kernels, with what they were asked. */
export function quickHasher(options: Partial<PasswordHasherOptions> = {}): {
  readonly hasher: PasswordHasher;
  readonly asked: CountingKernels["asked"];
} {
  const kernels = quickKernels();
  const hasher = createPasswordHasher({ random: createTestRandom(), kernels, ...options });
  return { hasher, asked: kernels.asked };
}
