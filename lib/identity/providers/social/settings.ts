/**
 * How a project sets up its social providers: `settings.identity.socialOne`, `socialTwo` and `socialThree`.
 *
 * Every address is configured; a client never names one. Two styles cover what providers offer:
 *
 * - `idToken`: `{style, issuer, audience, algorithms?}`, the provider issues ID tokens (OpenID Connect);
 * - `userinfo+tokenDebug`: `{style, issuer, appId, tokenDebug: {url, …}, userinfo: {url, …}}`, the provider issues opaque
 *   tokens, tells in one place whom and which application a token is for, and in another one who that is. What an address
 *   needs besides the token, such as a key of the application, stands in its query.
 *
 * @module
 */

import * as v from "valibot";
import type { RemoteIssuer } from "../../../auth/remote_issuers/mod.ts";
import type { Settings } from "../../../directory/mod.ts";
import { AudienceSchema, RemoteIssuerSchema, RemoteUrlSchema, settingsReader } from "../remote_settings.ts";

/** The social providers. */
export const socialProviders = ["socialOne", "socialTwo", "socialThree"] as const;
/** A social provider. */
export type SocialProvider = (typeof socialProviders)[number];

/** Longest path to a member of an answer, in characters. */
export const memberPathCharactersMax = 128;

const path = v.pipe(v.string(), v.minLength(1), v.maxLength(memberPathCharactersMax));

const TokenDebugSchema = v.object({
  style: v.literal("userinfo+tokenDebug"),
  issuer: AudienceSchema,
  appId: AudienceSchema,
  tokenDebug: v.object({
    url: RemoteUrlSchema,
    tokenParameter: v.optional(path, "access_token"),
    appIdMember: v.optional(path, "app_id"),
    subjectMember: v.optional(path, "user_id"),
    validMember: v.exactOptional(path),
  }),
  userinfo: v.object({
    url: RemoteUrlSchema,
    subjectMember: v.optional(path, "sub"),
    nicknameMember: v.optional(path, "name"),
    emailMember: v.optional(path, "email"),
    emailVerifiedMember: v.optional(path, "email_verified"),
  }),
});

const IdTokenSchema = v.intersect([v.object({ style: v.literal("idToken") }), RemoteIssuerSchema]);

/** A provider that tells whom an opaque token is for. Members are named by dotted paths into the answers. */
export interface TokenDebugSettings {
  readonly style: "userinfo+tokenDebug";
  /** Names the provider in the key of its users. */
  readonly issuer: string;
  /** The application that tokens must be for. */
  readonly appId: string;
  readonly tokenDebug: {
    readonly url: string;
    /** The parameter of the query that carries the token. @default "access_token" */
    readonly tokenParameter: string;
    /** @default "app_id" */
    readonly appIdMember: string;
    /** @default "user_id" */
    readonly subjectMember: string;
    /** Must be `true`. @default an answer with status 200 is enough */
    readonly validMember?: string;
  };
  /** Is asked with the token as bearer. */
  readonly userinfo: {
    readonly url: string;
    /** @default "sub" */
    readonly subjectMember: string;
    /** @default "name" */
    readonly nicknameMember: string;
    /** @default "email" */
    readonly emailMember: string;
    /** @default "email_verified" */
    readonly emailVerifiedMember: string;
  };
}

/** A provider that issues ID tokens. */
export interface IdTokenSettings extends RemoteIssuer {
  readonly style: "idToken";
}

/** How one provider is set up. */
export type SocialSettings = TokenDebugSettings | IdTokenSettings;

const SocialSchema: v.GenericSchema<unknown, SocialSettings> = v.union([TokenDebugSchema, IdTokenSchema]);

const readers: Readonly<Record<SocialProvider, (settings: Settings) => SocialSettings | undefined>> = {
  socialOne: settingsReader(SocialSchema, ["identity", "socialOne"]),
  socialTwo: settingsReader(SocialSchema, ["identity", "socialTwo"]),
  socialThree: settingsReader(SocialSchema, ["identity", "socialThree"]),
};

/**
 * How a provider is set up, undefined where it is not; the same object for as long as the settings are unchanged.
 *
 * @throws {AppError} `internal_error`: the section is not valid.
 */
export function socialSettings(settings: Settings, provider: SocialProvider): SocialSettings | undefined {
  return readers[provider](settings);
}
