/** Members that requests of several providers share. */

import * as v from "valibot";
import { AppError } from "../../../base/errors/mod.ts";
import { isShallow } from "../../../base/json/mod.ts";
import { canonicalEmail, utf8Length } from "../../../base/text/mod.ts";
import { integerParameter } from "../../../http/mod.ts";
import type { Project } from "../../directory/mod.ts";
import { isPublicName } from "../../users/mod.ts";
import { appProfile } from "../operations.ts";
import type { SessionRecords } from "../sessions/session_records.ts";
import { identitySetting } from "../settings.ts";
import type { User } from "../users.ts";

export const usernameCharactersMax = 100;
/** Largest application profile, in UTF-8 bytes of its JSON text: 16 KiB. */
export const appProfileBytesMax = 16_384;
/** Deepest nesting of an application profile; the profile itself is the first level. */
export const appProfileDepthMax = 8;
const externalIdCharactersMax = 128;
const emailBytesMax = 254;

/** An external id, known to its user only. */
export const ExternalIdSchema = v.pipe(
  v.string(),
  v.description("External id of the user, a capability"),
  v.minLength(1),
  v.maxLength(externalIdCharactersMax),
);

export const UsernameSchema = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(usernameCharactersMax),
  v.check(name => name === "" || isPublicName(name), "Expected visible text without control characters"),
);

/** An e-mail address (RFC 5321, section 4.5.3.1.3) in its canonical form. Only its form is checked. */
export const EmailSchema = v.pipe(
  v.string(),
  v.trim(),
  v.maxLength(emailBytesMax),
  v.check(email => isEmail(canonicalEmail(email)), "Expected an e-mail address"),
  v.transform(canonicalEmail),
);

/**
 * An address of a new account or of a change. Characters that programs take for quotes, comments, lists or names
 * (RFC 5322, section 3.2.3) are refused: no mail could be sent there.
 */
export const NewEmailSchema = v.pipe(
  EmailSchema,
  v.check(
    email => !/[<>()[\]\\,;:"]/.test(email),
    'Expected an e-mail address without any of < > ( ) [ ] \\ , ; : "',
  ),
);

export const AppProfileSchema = v.pipe(
  appProfile,
  v.check(
    profile => isShallow(profile, appProfileDepthMax),
    `Expected at most ${appProfileDepthMax} levels of objects and arrays`,
  ),
);

/** @throws {AppError} `payload_too_large`: the profile has more than 16 KiB. */
export function assertAppProfileFits(profile: Readonly<Record<string, unknown>>): void {
  const bytes = utf8Length(JSON.stringify(profile));
  if (bytes === undefined || bytes > appProfileBytesMax) {
    throw new AppError(
      "payload_too_large",
      `Cannot keep the appProfile as it is too large, at most ${appProfileBytesMax} bytes of JSON are kept`,
    );
  }
}

/** Tests for text around exactly one @, without white space or control characters, of an acceptable length. */
function isEmail(value: string): boolean {
  if (!value.isWellFormed() || /[\s\p{C}]/u.test(value)) return false;
  const at = value.indexOf("@");
  const isSplit = at > 0 && at === value.lastIndexOf("@") && at < value.length - 1;
  const bytes = utf8Length(value) ?? 0;
  return isSplit && bytes <= emailBytesMax;
}

const SignatureSchema = v.pipe(
  v.string(),
  v.description("Signature of the session record, if the project demands one"),
  v.regex(/^[0-9A-F]{64}$/, "Expected a signature"),
);

const recordTime = "Time of the session record in Unix seconds, if the project demands its signature";

export const signatureInBody = {
  timeStamp: v.exactOptional(v.pipe(v.number(), v.description(recordTime), v.safeInteger(), v.minValue(0))),
  signature: v.exactOptional(SignatureSchema),
};

export type PresentedSignature = v.InferOutput<v.ObjectSchema<typeof signatureInBody, undefined>>;

export const signatureInQuery = {
  timeStamp: v.exactOptional(
    integerParameter({
      description: recordTime,
      maximum: 999_999_999_999_999,
    }),
  ),
  signature: v.exactOptional(SignatureSchema),
};

/**
 * Demands a signature of requests of projects that want one, before anything is looked up.
 *
 * @throws {AppError} `validation_failed`, with a pointer below `at` for each missing member.
 */
export function assertSignaturePresent(project: Project, presented: PresentedSignature, at: string): void {
  if (!identitySetting(project, "requireSignature")) return;
  const missing = (["timeStamp", "signature"] as const).filter(name => presented[name] === undefined);
  if (missing.length === 0) return;
  throw new AppError("validation_failed", "Cannot accept the request as its project demands signatures", {
    fields: missing.map(name => ({ pointer: `${at}${name}`, detail: "Is required" })),
  });
}

/** Tests if a request carries the signed record of one of the user's devices, if the project demands that. */
export async function isSignedFor(
  user: User,
  { timeStamp, signature }: PresentedSignature,
  by: { readonly records: SessionRecords; readonly project: Project; readonly deviceId?: string },
): Promise<boolean> {
  const { records, project, deviceId } = by;
  if (!identitySetting(project, "requireSignature")) return true;
  if (timeStamp === undefined || signature === undefined) return false;
  const devices = user.devices.filter(device => deviceId === undefined || device.deviceId === deviceId);
  const checks = devices.map(device =>
    records.isOf(project.id, user, { deviceId: device.deviceId, timeStamp, signature }),
  );
  return (await Promise.all(checks)).includes(true);
}
