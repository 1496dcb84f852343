/**
 * Users whom another provider vouches for. They are known by issuer and subject and by nothing else: an e-mail address
 * never leads to a user here, because whoever controls an address at one provider need not be its owner at another.
 *
 * @module
 */

import { capabilityId, uuid } from "../../auth/crypto/mod.ts";
import { invalidToken } from "../../auth/mod.ts";
import { isPublicName } from "../../users/mod.ts";
import type { IdentityContext } from "../context.ts";
import { type Origin, type Provider, type User, unixSeconds } from "../users.ts";
import { usernameCharactersMax } from "./no_login.ts";

/** Somebody whom a provider vouches for. */
export interface VouchedIdentity {
  readonly provider: Provider;
  readonly origin: Origin;
  /** Name of a user that is made now. */
  readonly username: string;
}

/**
 * The user of an identity, made when it is met first. Racing first meetings make one user.
 *
 * @throws {AppError} `invalid_token`: the identity belongs to a user of another provider of the project.
 */
export async function originUser(
  { users, clock, random }: IdentityContext,
  projectId: string,
  { provider, origin, username }: VouchedIdentity,
): Promise<User> {
  const way = { kind: "origin", issuer: origin.issuer, subject: origin.subject } as const;
  const found = await users.byWay(projectId, way);
  const user = found ?? (await create());
  if (user.provider !== provider) throw invalidToken("provider");
  return user;

  async function create(): Promise<User> {
    const offered = { userId: uuid(random), externalId: capabilityId(random) };
    const ids = await users.claim(projectId, way, offered);
    return await users.create(projectId, {
      ...ids,
      provider,
      username,
      signUp: unixSeconds(clock),
      loginHistory: [],
      devices: [],
      appProfile: {},
      origin: { issuer: origin.issuer, subject: origin.subject },
    });
  }
}

/** The first name of somebody, as another provider tells them, that is fit to be a username; empty where none is. */
export function usernameFrom(...candidates: readonly unknown[]): string {
  const names = candidates.filter(candidate => typeof candidate === "string");
  return names.map(name => name.slice(0, usernameCharactersMax).toWellFormed()).find(isPublicName) ?? "";
}
