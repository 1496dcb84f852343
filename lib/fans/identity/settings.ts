/**
 * The section `identity` of a project's settings, and the members of a space's settings that name an issuer.
 *
 * Seeds are checked before they are written. A stored member is parsed when it is first needed, once per settings object; an
 * invalid one refuses the operations that need it, and no others.
 */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { type RemoteIssuer, remoteAlgorithms, remoteUrl } from "../../auth/remote_issuers/mod.ts";
import { AppError, type FieldError } from "../../base/errors/mod.ts";
import { fieldErrors } from "../../http/requests/validate.ts";
import { memoize } from "../../storage/background/mod.ts";
import type { Directory, Project, Settings, Space } from "../directory/mod.ts";
import { MailSettingsSchema } from "./providers/managed_pool/mails.ts";
import { providerNames } from "./users.ts";

const audienceCharactersMax = 512;
const memberPathCharactersMax = 128;
/** Time after which clients may ask whether an operator has corrected a setting, in ms. */
const invalidSettingRetryMs = 60_000;

const RemoteUrlSchema = v.pipe(
  v.string(),
  v.check(text => remoteUrl(text) !== undefined, "Expected an https address"),
);
const AudienceSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(audienceCharactersMax));
const PathSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(memberPathCharactersMax));

const RemoteIssuerSchema = v.object({
  issuer: v.pipe(RemoteUrlSchema, v.description("Issuer of the tokens, exactly as they spell it")),
  audience: v.pipe(AudienceSchema, v.description("Id of this application at the issuer")),
  algorithms: v.exactOptional(
    v.pipe(
      v.array(v.picklist(remoteAlgorithms)),
      v.minLength(1),
      v.description("Accepted signature algorithms; RS256, ES256 and EdDSA unless set"),
    ),
  ),
});

const returnOriginsMax = 20;

const LoginSchema = v.object({
  returnOrigins: v.pipe(
    v.array(
      v.pipe(
        RemoteUrlSchema,
        v.check(text => URL.canParse(text) && new URL(text).origin === text, "Expected an origin"),
      ),
    ),
    v.minLength(1),
    v.maxLength(returnOriginsMax),
    v.description("Origins of the app's pages to which the provider may send users back"),
  ),
  scope: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.maxLength(audienceCharactersMax),
        v.regex(
          /^(?:[\x21\x23-\x5b\x5d-\x7e]+ )*openid(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/,
          "Expected scopes with openid",
        ),
      ),
      "openid profile email",
    ),
    v.description("Scopes that the app asks for"),
  ),
  responseMode: v.exactOptional(
    v.pipe(v.picklist(["query", "form_post"]), v.description("How the provider sends the code")),
  ),
});

/** An issuer that the redirect flow may lead to. */
const LoginIssuerSchema = v.object({
  ...RemoteIssuerSchema.entries,
  login: v.exactOptional(v.pipe(LoginSchema, v.description("Offers the redirect flow of the provider"))),
});

const TokenDebugSchema = v.object({
  style: v.literal("userinfo+tokenDebug"),
  issuer: v.pipe(AudienceSchema, v.description("Names the provider in the keys of its users")),
  appId: v.pipe(AudienceSchema, v.description("Id of the application that tokens must be issued for")),
  tokenDebug: v.pipe(
    v.object({
      url: RemoteUrlSchema,
      tokenParameter: v.optional(PathSchema, "access_token"),
      appIdMember: v.optional(PathSchema, "app_id"),
      subjectMember: v.optional(PathSchema, "user_id"),
      validMember: v.exactOptional(PathSchema),
    }),
    v.description("Endpoint that returns application and user of a token; members are dotted paths"),
  ),
  userinfo: v.pipe(
    v.object({
      url: RemoteUrlSchema,
      subjectMember: v.optional(PathSchema, "sub"),
      nicknameMember: v.optional(PathSchema, "name"),
      emailMember: v.optional(PathSchema, "email"),
      emailVerifiedMember: v.optional(PathSchema, "email_verified"),
    }),
    v.description("Endpoint that returns the profile for the token as bearer; members are dotted paths"),
  ),
});

const IdTokenSchema = v.object({ style: v.literal("idToken"), ...LoginIssuerSchema.entries });

const SocialSchema = v.variant("style", [TokenDebugSchema, IdTokenSchema]);

const DefaultProjectSchema = v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase());

/** The section `identity` of a project's settings. */
export const IdentitySettingsSchema = v.object({
  providers: v.pipe(
    v.optional(v.array(v.picklist(providerNames))),
    v.description("Providers that the project offers; all unless set"),
  ),
  requireSignature: v.pipe(
    v.optional(v.boolean(), false),
    v.description(
      "Demand the signature of the session record with every external id and repeated registration",
    ),
  ),
  registration: v.pipe(
    v.optional(v.picklist(["open", "closed"]), "open"),
    v.description("`closed` refuses new users of the managed pool"),
  ),
  recoveryAuth: v.pipe(
    v.optional(v.picklist(["bearer", "optional"]), "bearer"),
    v.description(
      "`optional` serves forgotten passwords and the verification of addresses without a client or access token",
    ),
  ),
  emailVerification: v.pipe(
    v.optional(v.picklist(["off", "optional", "required"]), "off"),
    v.description("`optional` verifies addresses on request, `required` refuses logins before"),
  ),
  codeLogin: v.pipe(
    v.optional(v.picklist(["off", "on"]), "off"),
    v.description("`on` lets users of the managed pool log in with a mailed code, without a password"),
  ),
  codeLoginLink: v.pipe(
    v.optional(RemoteUrlSchema),
    v.description("Page of the app to which mails with such a code link; its fragment gets address and code"),
  ),
  mails: v.pipe(
    v.optional(MailSettingsSchema),
    v.description("Sender and words of the mails to fans, by language and kind"),
  ),
  deviceCheck: v.pipe(
    v.optional(v.picklist(["any", "session"]), "any"),
    v.description("`session` accepts checks for the device of the session only"),
  ),
  hostedIdp: v.pipe(v.optional(LoginIssuerSchema), v.description("OpenID provider of `hostedIdp` users")),
  accountIssuer: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.maxLength(audienceCharactersMax),
        v.regex(/^\S+$/, "Expected text without spaces"),
      ),
    ),
    v.description(
      "Issuer of the team's own accounts, exactly as tokens spell it: the ids of their users follow from it and their subject",
    ),
  ),
  socialOne: v.pipe(v.optional(SocialSchema), v.description("Social provider")),
  socialTwo: v.pipe(v.optional(SocialSchema), v.description("Social provider")),
  socialThree: v.pipe(v.optional(SocialSchema), v.description("Social provider")),
});

/** Lists the faults of the section `identity` of a project's settings; `pointer` is the place of the settings. */
export function identityFaults({ identity }: Settings, pointer: string): FieldError[] {
  return identity === undefined ? [] : faultsOf(WrittenSchema, identity, `${pointer}/identity`);
}

// Object schemas accept arrays as objects without members.
const WrittenSchema = v.pipe(
  v.custom<object>(value => !Array.isArray(value), "Expected an object"),
  v.strictObject(IdentitySettingsSchema.entries),
);

/** Lists the faults of `issuer` and `defaultProjectId` in a space's settings. */
export function spaceIssuerFaults({ issuer, defaultProjectId }: Settings, pointer: string): FieldError[] {
  return [
    ...(issuer === undefined ? [] : faultsOf(RemoteIssuerSchema, issuer, `${pointer}/issuer`)),
    ...(defaultProjectId === undefined
      ? []
      : faultsOf(DefaultProjectSchema, defaultProjectId, `${pointer}/defaultProjectId`)),
  ];
}

function faultsOf(schema: v.GenericSchema, value: unknown, pointer: string): FieldError[] {
  return fieldErrors(v.safeParse(schema, value).issues, pointer);
}

/** A provider of opaque tokens, which one endpoint explains and another exchanges for a profile. */
export type TokenDebugSettings = v.InferOutput<typeof TokenDebugSchema>;
export type IdTokenSettings = v.InferOutput<typeof IdTokenSchema>;
export type SocialSettings = v.InferOutput<typeof SocialSchema>;

export const socialProviders = ["socialOne", "socialTwo", "socialThree"] as const;
export type SocialProvider = (typeof socialProviders)[number];

type IdentitySettings = v.InferOutput<typeof IdentitySettingsSchema>;
type SettingName = keyof IdentitySettings;

const parsedSettings = memoize((_: Settings) => new Map<SettingName, unknown>());

/**
 * Reads a setting of a project's section `identity`; the same object for as long as the settings are unchanged.
 *
 * @throws {AppError} `provider_unavailable`: the setting is invalid.
 */
export function identitySetting<N extends SettingName>({ settings }: Project, name: N): IdentitySettings[N] {
  const parsed = parsedSettings(settings);
  if (parsed.has(name)) return parsed.get(name) as IdentitySettings[N];
  const schema: v.GenericSchema = IdentitySettingsSchema.entries[name];
  const value = parseSetting(schema, sectionOf(settings)[name], `identity.${name}`) as IdentitySettings[N];
  parsed.set(name, value);
  return value;
}

/**
 * Tests if a project offers a provider. Unknown names in its list offer nothing, and switch nothing off.
 *
 * @throws {AppError} `provider_unavailable`: the setting is no list.
 */
export function isProviderEnabled(project: Project, provider: string): boolean {
  const { providers } = sectionOf(project.settings);
  if (Array.isArray(providers)) return providers.includes(provider);
  return identitySetting(project, "providers") === undefined;
}

/** Tests if users may log in with a mailed code. Invalid settings offer nothing. */
export function offersCodeLogin({ settings }: Project): boolean {
  const { codeLogin, providers = ["managedPool"] } = sectionOf(settings);
  return codeLogin === "on" && Array.isArray(providers) && providers.includes("managedPool");
}

/**
 * Reads the issuer of a project's `hostedIdp` users.
 *
 * @throws {AppError} `unsupported_provider`: the project has none; `provider_unavailable`: the setting is invalid.
 */
export function hostedIssuer(project: Project): RemoteIssuer {
  const issuer = identitySetting(project, "hostedIdp");
  if (issuer !== undefined) return issuer;
  throw new AppError(
    "unsupported_provider",
    "Cannot serve the request as the project has no hosted provider",
  );
}

/**
 * Reads a provider that offers the redirect flow.
 *
 * @throws {AppError} `not_available`: this one does not; `provider_unavailable`: the setting is invalid.
 */
export function loginIssuer(project: Project, provider: "hostedIdp" | SocialProvider) {
  const issuer = identitySetting(project, provider);
  if (issuer !== undefined && "login" in issuer && issuer.login !== undefined)
    return { ...issuer, login: issuer.login };
  throw new AppError("not_available", "Cannot log in this way as the project does not offer it");
}

/**
 * Reads `issuer` and `defaultProjectId` of a space's settings: the issuer whose ID tokens it accepts, and the project of their
 * users.
 *
 * @throws {AppError} `invalid_credentials`: the space accepts no ID tokens; `provider_unavailable`: a member is invalid.
 */
export function spaceIssuer({ settings }: Space) {
  const found = parsedIssuer(settings);
  if (found !== null) return found;
  throw new AppError("invalid_credentials", "Cannot accept an ID token as the space names no issuer of them");
}

/**
 * Returns the project that `defaultProjectId` of a space names; null if it names none of the space.
 *
 * @throws {AppError} `provider_unavailable`: the setting is invalid.
 */
export async function defaultProjectOf(
  directory: Pick<Directory, "project">,
  { id, settings: { defaultProjectId } }: Space,
): Promise<Project | null> {
  if (defaultProjectId === undefined) return null;
  const project = await directory.project(
    parseSetting(DefaultProjectSchema, defaultProjectId, "defaultProjectId"),
  );
  return project?.spaceId === id ? project : null;
}

const parsedIssuer = memoize(({ issuer, defaultProjectId }: Settings) => {
  if (issuer === undefined || defaultProjectId === undefined) return null;
  return {
    issuer: parseSetting(RemoteIssuerSchema, issuer, "issuer"),
    projectId: parseSetting(DefaultProjectSchema, defaultProjectId, "defaultProjectId"),
  };
});

/** Lists the issuers whose tokens a project and its space accept, with the names of their settings; invalid ones are left out. */
export function issuersOf(
  { settings }: Project,
  space: Space | null,
): readonly { readonly setting: string; readonly issuer: RemoteIssuer }[] {
  const { identity = {} } = settings as { readonly identity?: Readonly<Record<string, unknown>> };
  return [
    ...["hostedIdp", ...socialProviders].map(name => [`identity.${name}`, identity[name]] as const),
    ["space.issuer", space?.settings.issuer] as const,
  ].flatMap(([setting, value]) => {
    const { success, output } = v.safeParse(RemoteIssuerSchema, value);
    return success ? [{ setting, issuer: output }] : [];
  });
}

function sectionOf({ identity = {} }: Settings): Readonly<Record<string, unknown>> {
  if (typeof identity !== "object" || identity === null || Array.isArray(identity))
    throw invalidSetting("identity", "no object");
  return identity as Readonly<Record<string, unknown>>;
}

function parseSetting<T>(schema: v.GenericSchema<unknown, T>, value: unknown, path: string): T {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw invalidSetting(path, v.flatten(result.issues));
}

/** Creates the error for an invalid stored setting: one of the server, so that it is logged with its cause. */
export function invalidSetting(path: string, cause: unknown): AppError {
  return new AppError(
    "provider_unavailable",
    `Cannot serve the request as the setting ${path} is not valid: an operator has to correct it`,
    { cause, retryAfterMs: invalidSettingRetryMs },
  );
}
