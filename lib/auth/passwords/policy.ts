/**
 * Which passwords may be chosen. Length and commonness decide, never kinds of characters (NIST SP 800-63B-4, 3.1.1.2;
 * OWASP ASVS 5.0, 6.2). A password is taken as it was typed: nothing is trimmed, folded or normalised.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { systemTimer, type Timer } from "../../http/mod.ts";
import { isCommonPassword, passwordUnitsMin } from "./common_passwords.ts";

/** Longest password, in UTF-16 units. */
export const passwordUnitsMax = 1_024;
/** Longest wait for a deployment's own check, in ms. */
export const passwordCheckMsMax = 3_000;

/** A deployment's own check of new passwords, such as a look-up among leaked ones. */
export interface PasswordPolicy {
  /** Why the password must not be used, as a short code such as `breached`, or null where it may. */
  readonly check?: (password: string) => Promise<string | null>;
  /** Longest wait for `check`, in ms. @default passwordCheckMsMax */
  readonly checkMsMax?: number;
  /** What becomes of a password that `check` cannot judge, or not in time. @default "accept" */
  readonly onCheckFailed?: "accept" | "refuse";
  /** @default systemTimer */
  readonly timer?: Timer;
}

/** Where a request carries the password. */
export interface PasswordPlace {
  /** JSON Pointer into the body. @default "/data/password" */
  readonly pointer?: string;
}

const details: Readonly<Record<string, string>> = {
  too_short: `at least ${passwordUnitsMin} characters`,
  too_long: `at most ${passwordUnitsMax} characters`,
  ill_formed: "well-formed Unicode",
  common: "a password that fewer people use",
};

/**
 * Checks a password that a user wants to have.
 *
 * @throws {AppError} `weak_password` with the reason `too_short`, `too_long`, `ill_formed`, `common` or that of the policy;
 *   `busy` where the policy's check failed and the policy refuses then.
 */
export async function checkPassword(
  password: string,
  policy: PasswordPolicy = {},
  place: PasswordPlace = {},
): Promise<void> {
  const reason = reasonOf(password) ?? ((await isCommonPassword(password)) ? "common" : null);
  const refusal = reason ?? (await judge(password, policy));
  if (refusal === null) return;
  const detail = details[refusal] ?? "another password";
  throw new AppError(
    "weak_password",
    "Cannot use this password: it is too easy to guess or of a wrong length",
    {
      fields: [{ pointer: place.pointer ?? "/data/password", detail: `Expected ${detail}`, reason: refusal }],
    },
  );
}

function reasonOf(password: string): string | null {
  if (password.length < passwordUnitsMin) return "too_short";
  if (password.length > passwordUnitsMax) return "too_long";
  return password.isWellFormed() ? null : "ill_formed";
}

async function judge(password: string, policy: PasswordPolicy): Promise<string | null> {
  const { check, checkMsMax = passwordCheckMsMax, onCheckFailed = "accept", timer = systemTimer } = policy;
  if (check === undefined) return null;
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    cancel = timer(() => reject(new Error(`The check took longer than ${checkMsMax} ms`)), checkMsMax);
  });
  try {
    return await Promise.race([check(password), late]);
  } catch (cause) {
    if (onCheckFailed === "accept") return null;
    throw new AppError("busy", "Cannot check the password now: try again later", { cause });
  } finally {
    cancel();
  }
}
