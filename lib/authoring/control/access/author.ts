/**
 * Who calls: a person by one of their tokens.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import type { Home } from "../../../fans/directory/mod.ts";
import type { Role } from "../../table/mod.ts";

/** A person who authors. */
export interface AuthorUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly systemRole: "user" | "operator";
  /** Unix seconds. */
  readonly created: number;
}

/** A place where a token works, with everything below. */
export type TokenScope = Home;

/** A token without its secret. Times are Unix seconds. */
export interface TokenInfo {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** The beginning of its text. */
  readonly prefix: string;
  /** The most that it may do; null: whatever its owner may. */
  readonly roleCap: Role | null;
  /** Where it works; null: everywhere. */
  readonly scopes: readonly TokenScope[] | null;
  readonly created: number;
  readonly expires: number;
  /** True for the token of a login, of which the oldest ends where a user has too many tokens. */
  readonly isLogin?: boolean;
  /** Id of the token that the token of a dialogue was made with, and ends with. @default none: it is the token of a person */
  readonly parentId?: string | undefined;
  /** The one event that the token of a dialogue reaches, in the project of its scope. @default all of the scope */
  readonly eventId?: string | undefined;
  /** Address of the backend that the token of a dialogue is for. @default any */
  readonly audience?: string | undefined;
}

/** A token to create. */
export interface NewToken {
  readonly userId: string;
  readonly name: string;
  readonly roleCap?: Role | null;
  readonly scopes?: readonly TokenScope[] | null;
  /** Unix seconds. @default a year from now */
  readonly expires?: number | null;
  readonly isLogin?: boolean;
  /** Id of the token that makes one for a dialogue, which no list has. */
  readonly parentId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly audience?: string | undefined;
}

/** The caller of a request: a person by one of their tokens. */
export interface Author {
  readonly user: AuthorUser;
  readonly token: TokenInfo;
}

/** Returns where a token works, as the API shows it; null: everywhere. */
export function scopesOf({ scopes, eventId }: TokenInfo) {
  if (eventId !== undefined) return [{ type: "events", id: eventId }];
  return scopes?.map(({ kind, id }) => ({ type: `${kind}s`, id })) ?? null;
}

/** The kinds of tokens: those of persons, and those that backends of workflows get for one dialogue. */
export type TokenKind = "access" | "dialogue";

export function kindOf({ parentId }: TokenInfo): TokenKind {
  return parentId === undefined ? "access" : "dialogue";
}

/**
 * Refuses the tokens of dialogues, for what would outlive them or lead out of them.
 *
 * @throws {AppError} `forbidden`
 */
export function requirePerson({ token }: Author, act: string): void {
  if (kindOf(token) === "access") return;
  throw new AppError(
    "forbidden",
    `Cannot ${act} with the token of a dialogue: it works for one dialogue only`,
  );
}
