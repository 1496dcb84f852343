/**
 * The policy for new passwords. Length and commonness decide, never kinds of characters (NIST SP 800-63B-4, 3.1.1.2;
 * OWASP ASVS 5.0, 6.2). Nothing is trimmed or case-folded, and passwords that NFKC makes one are one.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { systemTimer, type Timer } from "../../http/mod.ts";

/** Shortest password, in UTF-16 units. */
const passwordUnitsMin = 8;
/** Longest password, in UTF-16 units. */
export const passwordUnitsMax = 1_024;
/** Longest wait for a deployment's own check. */
const passwordCheckMsMax = 3_000;

/** A deployment's own check of new passwords, such as a look-up among leaked ones. */
export interface PasswordPolicy {
  /** Returns a short code such as `breached` for a password that must not be used, or null. */
  readonly check?: (password: string) => Promise<string | null>;
  /** Longest wait for `check`, in ms. @default 3000 */
  readonly checkMsMax?: number;
  /** The decision if `check` fails or takes too long. @default "accept" */
  readonly onCheckFailed?: "accept" | "refuse";
  /** @default systemTimer */
  readonly timer?: Timer;
}

const details: Readonly<Record<string, string>> = {
  too_short: `at least ${passwordUnitsMin} characters`,
  too_long: `at most ${passwordUnitsMax} characters`,
  ill_formed: "well-formed Unicode",
  common: "a password that fewer people use",
  repeated: "more than one character",
  same_as_email: "another password than the e-mail address",
};

/** The surroundings of a new password. */
export interface PasswordFacts {
  /** The user's address, which is no password. @default unknown */
  readonly email?: string;
  /** The place of the password in the body, for the error. @default "/data/password" */
  readonly pointer?: string;
}

/**
 * Checks a new password.
 *
 * @throws {AppError} `weak_password` with the reason `too_short`, `too_long`, `ill_formed`, `repeated`, `same_as_email`,
 *   `common` or that of the policy;
 *   `busy` if the check of the policy failed and the policy refuses then.
 */
export async function checkPassword(
  password: string,
  policy: PasswordPolicy = {},
  { email = "", pointer = "/data/password" }: PasswordFacts = {},
): Promise<void> {
  const reason =
    lengthFault(password) ?? (await guessFault(password, email)) ?? (await customFault(password, policy));
  if (reason === null) return;
  const detail = details[reason] ?? "another password";
  throw new AppError(
    "weak_password",
    "Cannot use this password: it is too easy to guess or of a wrong length",
    {
      fields: [{ pointer, detail: `Expected ${detail}`, reason }],
    },
  );
}

function lengthFault(password: string): string | null {
  if (password.length < passwordUnitsMin) return "too_short";
  if (password.length > passwordUnitsMax) return "too_long";
  return password.isWellFormed() ? null : "ill_formed";
}

async function guessFault(password: string, email: string): Promise<string | null> {
  const normal = password.normalize("NFKC");
  if (new Set(normal).size === 1) return "repeated";
  if (normal.toLowerCase() === email.normalize("NFKC").toLowerCase()) return "same_as_email";
  // The list is long: who checks no password does not load it.
  const { isCommonPassword } = await import("./common_passwords.ts");
  return isCommonPassword(normal) ? "common" : null;
}

async function customFault(password: string, policy: PasswordPolicy): Promise<string | null> {
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
