/**
 * The team's own accounts: users who have an account elsewhere, under an issuer that a project or the platform names.
 *
 * The id of such a user follows from issuer and subject, so that a back end can name users before they sign in.
 */

import * as v from "valibot";
import { isUuid, uuidOfName } from "../../auth/crypto/mod.ts";
import { AppError, invalidField } from "../../base/errors/mod.ts";
import type { Directory, Project, Space } from "../directory/mod.ts";
import type { Origin } from "./lookup_keys.ts";
import { defaultProjectOf, identitySetting } from "./settings.ts";

const accountNamespace = "8736dcc8-1110-4201-b59d-da7ac03ce9a5";

/** Longest external id, as that of a subject (OpenID Connect Core, section 2). */
export const accountIdCharactersMax = 255;
const accountIdShape = /^[\x20-\x7e]{1,255}$/;
/** What an external id must be. */
const accountIdExpectation = `Expected 1 to ${accountIdCharactersMax} printable ASCII characters`;

/** The external id of a user: the subject of the account at its issuer. */
export const AccountIdSchema = v.pipe(
  v.string(),
  v.description("Id of the user's account at the issuer that the project names, the subject of its tokens"),
  v.regex(accountIdShape, accountIdExpectation),
);

/**
 * Computes the user id of an account: its subject in lower case where that is a UUID, else the UUID of version 5 (RFC 9562) of
 * issuer, a blank and subject in the namespace `8736dcc8-1110-4201-b59d-da7ac03ce9a5`.
 *
 * @example
 * ```ts
 * import { accountUserId } from "grandstand";
 *
 * console.log(accountUserId("https://accounts.club.example", "fan-1966")); // e003a073-3ae7-5963-9299-db619edc6e10
 * ```
 */
export function accountUserId(issuer: string, subject: string): string {
  return isUuid(subject) ? subject.toLowerCase() : uuidOfName(accountNamespace, `${issuer} ${subject}`);
}

/** Tests if a stored identity is this one. Subjects that are UUIDs are equal in any case of their letters, and equal to no others. */
export function isSameAccount(stored: Origin | undefined, { issuer, subject }: Origin): boolean {
  if (stored?.issuer !== issuer) return false;
  return (
    stored.subject === subject || (isUuid(subject) && stored.subject.toLowerCase() === subject.toLowerCase())
  );
}

/** Returns why an external id names no user, or null. */
export function accountFault(issuer: string | undefined, externalId: unknown): string | null {
  if (typeof externalId !== "string" || !accountIdShape.test(externalId)) return accountIdExpectation;
  return issuer === undefined ? "Expected the id of a user, as the project names no accountIssuer" : null;
}

export class OwnAccounts {
  readonly #directory: Pick<Directory, "project">;
  readonly #issuer: string | undefined;

  /** `issuer` is that of projects that name none. */
  constructor(directory: Pick<Directory, "project">, issuer: string | undefined) {
    this.#directory = directory;
    this.#issuer = issuer;
  }

  /** Returns the issuer of a project's own accounts. */
  issuerOf(project: Project): string | undefined {
    return identitySetting(project, "accountIssuer") ?? this.#issuer;
  }

  /** Returns the issuer of accounts in requests about a space: that of its default project. Undefined if a setting is invalid too. */
  async issuerOfSpace(space: Space): Promise<string | undefined> {
    try {
      const project = await defaultProjectOf(this.#directory, space);
      return project === null ? this.#issuer : this.issuerOf(project);
    } catch (error) {
      if (error instanceof AppError && error.code === "provider_unavailable") return undefined;
      throw error;
    }
  }

  /** Returns the user of an account in requests about a space, or why an id names none. */
  async userOfSpace(
    space: Space,
    externalId: string,
  ): Promise<{ readonly userId: string } | { readonly fault: string }> {
    const issuer = await this.issuerOfSpace(space);
    const fault = accountFault(issuer, externalId);
    return fault === null ? { userId: accountUserId(issuer ?? "", externalId) } : { fault };
  }

  /** @throws {AppError} `validation_failed` at the pointer: the project names no issuer. */
  requireIssuer(project: Project, pointer: string): string {
    const issuer = this.issuerOf(project);
    if (issuer !== undefined) return issuer;
    const detail = "Expected a userId, as the project names no accountIssuer in settings.identity";
    throw invalidField("Cannot tell whose account this is", pointer, detail);
  }
}
