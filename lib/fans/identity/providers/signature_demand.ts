/**
 * Projects that demand the signature of the session record with the external id of a noLogin or anonymous user
 * (`"identity": {"requireSignature": true}`).
 *
 * The members `timeStamp` and `signature` then accompany `externalId`: in the query of a GET, at the top of the body of a
 * noLogin PUT, and in `data` of an anonymous login. The other signed members are known of the user.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../../base/errors/mod.ts";
import { integerParameter } from "../../../http/mod.ts";
import type { Project } from "../../directory/mod.ts";
import type { SessionRecords } from "../sessions/session_records.ts";
import { identitySetting } from "../settings.ts";
import type { User } from "../users.ts";

const SignatureSchema = v.pipe(
  v.string(),
  v.description("Signature of the session record, if the project demands one"),
  v.regex(/^[0-9A-F]{64}$/, "Expected a signature"),
);

const recordTime = "Time of the session record in Unix seconds, if the project demands its signature";

/** The members of a body that present a record. */
export const signatureInBody = {
  timeStamp: v.exactOptional(v.pipe(v.number(), v.description(recordTime), v.safeInteger(), v.minValue(0))),
  signature: v.exactOptional(SignatureSchema),
};

/** The members of a session record in a request. */
export type PresentedSignature = v.InferOutput<v.ObjectSchema<typeof signatureInBody, undefined>>;

/** The parameters of a query that present a record. */
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
export function isSignedFor(
  user: User,
  { timeStamp, signature }: PresentedSignature,
  by: { readonly records: SessionRecords; readonly project: Project; readonly deviceId?: string },
): boolean {
  const { records, project, deviceId } = by;
  if (!identitySetting(project, "requireSignature")) return true;
  if (timeStamp === undefined || signature === undefined) return false;
  return user.devices
    .filter(device => deviceId === undefined || device.deviceId === deviceId)
    .some(device => records.isOf(project.id, user, { deviceId: device.deviceId, timeStamp, signature }));
}
