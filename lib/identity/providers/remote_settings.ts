/**
 * How settings name the servers that vouch for users.
 *
 * @module
 */

import * as v from "valibot";
import { type RemoteIssuer, remoteAlgorithms, remoteUrl } from "../../auth/remote_issuers/mod.ts";
import type { Settings } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";

/** Longest audience or id of an application at another provider, in characters. */
export const audienceCharactersMax = 512;

/** An address that may be asked: https, or on the machine itself. */
export const RemoteUrlSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.check(text => remoteUrl(text) !== undefined, "Expected an https address"),
);

/** The name of this application at another provider. */
export const AudienceSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(audienceCharactersMax),
);

/** `{issuer, audience, algorithms?}`. */
export const RemoteIssuerSchema: v.GenericSchema<unknown, RemoteIssuer> = v.object({
  issuer: RemoteUrlSchema,
  audience: AudienceSchema,
  algorithms: v.exactOptional(v.pipe(v.array(v.picklist(remoteAlgorithms)), v.minLength(1))),
});

/**
 * Reads one section of settings, parsed once: the directory keeps the settings object for as long as it is unchanged.
 * Undefined where the settings have no such section.
 *
 * @throws {AppError} `internal_error`: the section is not valid.
 */
export function settingsReader<T>(
  schema: v.GenericSchema<unknown, T>,
  path: readonly [string, ...string[]],
): (settings: Settings) => T | undefined {
  const parsed = new WeakMap<Settings, { readonly value: T | undefined }>();
  function parse(settings: Settings): T | undefined {
    const found = path.reduce<unknown>(memberOf, settings);
    if (found === undefined) return undefined;
    const result = v.safeParse(schema, found);
    if (result.success) return result.output;
    const cause = v.flatten(result.issues);
    const message = `Cannot use the settings section ${path.join(".")} as it is not valid`;
    throw new AppError("internal_error", message, { cause });
  }
  return settings => {
    const known = parsed.get(settings) ?? { value: parse(settings) };
    parsed.set(settings, known);
    return known.value;
  };
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
