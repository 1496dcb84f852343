/**
 * Members of requests of the managed pool.
 *
 * @module
 */

import * as v from "valibot";
import { passwordUnitsMax } from "../../../../auth/passwords/mod.ts";
import { isPublicName } from "../../../users/mod.ts";
import { DeviceIdSchema } from "../../operations.ts";
import { ExternalIdSchema } from "../fields.ts";
import { signatureInBody } from "../signature_demand.ts";

const nicknameCharactersMax = 100;
const termsCharactersMax = 256;
const codeCharactersMax = 32;

/** The provider of these operations. */
export const managedPool = { strategies: ["email"], providers: ["managedPool"] } as const;

const wellFormed = v.check((text: string) => text.isWellFormed(), "Expected well-formed Unicode");

/** A password to verify: any that could once be chosen. */
export const PasswordSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(passwordUnitsMax), wellFormed);

/** A new password. The password policy checks it, and refuses it as `weak_password`. */
export const NewPasswordSchema = v.pipe(
  v.string(),
  v.description("8 to 1,024 characters, and no common one"),
);

/** A code as a user types it. */
export const CodeSchema = v.pipe(
  v.string(),
  v.description("The mailed code; whatever is no digit is left out"),
  v.minLength(1),
  v.maxLength(codeCharactersMax),
  wellFormed,
);

const NicknameSchema = v.pipe(
  v.string(),
  v.description("Name that everybody may see, or an empty text"),
  v.maxLength(nicknameCharactersMax),
  v.check(name => name === "" || isPublicName(name), "Expected visible text without control characters"),
);
const TermsSchema = v.pipe(
  v.string(),
  v.description("Consent to a set of terms"),
  v.maxLength(termsCharactersMax),
  wellFormed,
);

/** The members of a profile. */
export const profileEntries = {
  nickname: v.exactOptional(NicknameSchema),
  "custom:terms_optin1": v.exactOptional(TermsSchema),
  "custom:terms_optin2": v.exactOptional(TermsSchema),
};

/** The capability of an anonymous user: both ids, and the signature if the project demands one. */
export const anonymousPairEntries = {
  externalId: v.exactOptional(ExternalIdSchema),
  deviceId: v.exactOptional(DeviceIdSchema),
  ...signatureInBody,
};
