/**
 * What requests of the managed pool carry.
 *
 * @module
 */

import * as v from "valibot";
import { passwordUnitsMax } from "../../../auth/passwords/mod.ts";
import { utf8Length } from "../../../text/mod.ts";
import { isPublicName } from "../../../users/mod.ts";
import { UuidSchema } from "../../operations.ts";
import { externalIdCharactersMax } from "../no_login.ts";
import { type PresentedEntries, presentedInBody } from "../signature_demand.ts";

/** Longest e-mail address, in UTF-8 bytes (RFC 5321, section 4.5.3.1.3). */
export const emailBytesMax = 254;
/** Longest nickname, in characters. */
export const nicknameCharactersMax = 100;
/** Longest answer to the question whether a user agrees to some terms, in characters. */
export const termsCharactersMax = 256;
/** Longest text that is taken for a code, in characters. */
export const codeCharactersMax = 32;

type OptionalText = v.ExactOptionalSchema<v.GenericSchema<string, string>, undefined>;

/** An e-mail address as its owner writes it. Whether mail reaches it is not a question of its form. */
export const EmailSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.maxLength(emailBytesMax),
  v.check(isEmail, "Expected an e-mail address"),
);

/** A password that is to be verified: whatever somebody may once have been allowed to choose. */
export const PasswordSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(passwordUnitsMax),
  v.check(text => text.isWellFormed(), "Expected well-formed Unicode"),
);

/** A password that is to be set. Its length is judged with the rest of it, and told as `weak_password`. */
export const NewPasswordSchema: v.GenericSchema<string, string> = v.string();

/** A code, or what somebody takes for one. */
export const CodeSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(codeCharactersMax),
  v.check(text => text.isWellFormed(), "Expected well-formed Unicode"),
);

/** A name that everybody may see, or none. */
export const NicknameSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.maxLength(nicknameCharactersMax),
  v.check(name => name === "" || isPublicName(name), "Expected visible text without control characters"),
);

/** What a client may say about the user beside the credentials. */
export const traits: {
  readonly nickname: OptionalText;
  readonly "custom:terms_optin1": OptionalText;
  readonly "custom:terms_optin2": OptionalText;
} = {
  nickname: v.exactOptional(NicknameSchema),
  "custom:terms_optin1": v.exactOptional(text(termsCharactersMax)),
  "custom:terms_optin2": v.exactOptional(text(termsCharactersMax)),
};

/** The capability of an anonymous user: both ids, and the rest of the signed record where the project demands it. */
export const anonymousPair: PresentedEntries<number> & {
  readonly externalId: OptionalText;
  readonly deviceId: OptionalText;
} = {
  externalId: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(externalIdCharactersMax))),
  deviceId: v.exactOptional(UuidSchema),
  ...presentedInBody,
};

function text(charactersMax: number): v.GenericSchema<string, string> {
  return v.pipe(
    v.string(),
    v.maxLength(charactersMax),
    v.check(value => value.isWellFormed(), "Expected well-formed Unicode"),
  );
}

/** Something before and after exactly one @, no white space or control characters, and an acceptable length. */
function isEmail(value: string): boolean {
  if (!value.isWellFormed() || /[\s\p{C}]/u.test(value)) return false;
  const at = value.indexOf("@");
  const isSplit = at > 0 && at === value.lastIndexOf("@") && at < value.length - 1;
  const bytes = utf8Length(value) ?? 0;
  return isSplit && bytes <= emailBytesMax;
}
