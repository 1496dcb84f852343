/** Tokens of dialogues, which the backends of workflows get in place of the token of the caller. */

import type { Role } from "../../table/mod.ts";
import { notFound } from "../kind.ts";
import type { ControlServices } from "../services.ts";
import { type Author, requirePerson, type TokenInfo, type TokenScope } from "./authors.ts";
import { isRoleAtLeast } from "./roles.ts";

/** Longest life of the token of a dialogue, in seconds. */
export const dialogueSecondsMax = 600;

interface DialogueTokenRequest {
  readonly name: string;
  readonly scope: TokenScope;
  /** The event of the dialogue, in the project of the scope. @default all of the scope */
  readonly eventId?: string | undefined;
  /** Address of the backend that gets the token: another one refuses it. @default any backend */
  readonly audience?: string | undefined;
  /** The most that it may do. @default what the caller may do there */
  readonly roleCap?: Role | null;
  /** Unix seconds. @default ten minutes from now */
  readonly expires?: number | null;
}

/**
 * Creates a token that works in one scope, does no more than its caller may do there, and ends with the caller's token or after ten
 * minutes. It is in no list, so any number of dialogues may run.
 *
 * @throws {AppError} `not_found`: no such scope, or none in which the caller has a role; `forbidden`: the caller is a dialogue.
 */
export async function createDialogueToken(
  { authors, roles, clock }: Pick<ControlServices, "authors" | "roles" | "clock">,
  author: Author,
  { name, scope, eventId, audience, roleCap = null, expires = null }: DialogueTokenRequest,
): Promise<TokenInfo & { readonly token: string }> {
  requirePerson(author, "create a token");
  const chain = await roles.chain(scope);
  const role = chain === null ? "none" : (await roles.roleIn(author, chain)).role;
  if (role === "none") throw notFound(scope.kind);
  const { user, token } = author;
  return await authors.createToken({
    userId: user.id,
    name,
    roleCap: roleCap !== null && isRoleAtLeast(role, roleCap) ? roleCap : role,
    scopes: [scope],
    eventId,
    audience,
    expires: Math.min(
      expires ?? Number.POSITIVE_INFINITY,
      Math.floor(clock() / 1_000) + dialogueSecondsMax,
      token.expires,
    ),
    parentId: token.id,
  });
}
