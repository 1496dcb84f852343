/**
 * Projects that demand more of credential-less and anonymous users than an external id: the signature of the session
 * record that was issued with it (`"identity": {"requireSignature": true}` in the project's settings).
 *
 * The members `timeStamp` and `signature` of that record then stand beside `externalId`: in the query of a GET, at the top
 * of the body of a noLogin PUT, and in `data` of an anonymous login. The rest of what is signed is known of the user.
 *
 * @module
 */

import * as v from "valibot";
import type { Project, Settings } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { SessionRecords } from "../sessions/session_records.ts";
import type { User } from "../users.ts";

/** What tells whether a record is a user's. */
export interface Verifier {
  readonly records: SessionRecords;
  readonly project: Project;
  /** The device that the record must be of; omitted: any of the user's. */
  readonly deviceId?: string;
}

/** What a request carries of the session record. */
export interface Presented {
  readonly timeStamp?: number | undefined;
  readonly signature?: string | undefined;
}

type Optional<S extends v.GenericSchema> = v.ExactOptionalSchema<S, undefined>;

/** The schemas of the members that present a record, where `I` is what a time is written as. */
export interface PresentedEntries<I> {
  readonly timeStamp: Optional<v.GenericSchema<I, number>>;
  readonly signature: Optional<v.GenericSchema<string, string>>;
}

const signature: PresentedEntries<number>["signature"] = v.exactOptional(
  v.pipe(v.string(), v.regex(/^[0-9A-F]{64}$/, "Expected a signature")),
);

/** The members of a body that present a record. */
export const presentedInBody: PresentedEntries<number> = {
  timeStamp: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  signature,
};

/** The parameters of a query that present a record. */
export const presentedInQuery: PresentedEntries<string> = {
  timeStamp: v.exactOptional(
    v.pipe(v.string(), v.regex(/^(?:0|[1-9]\d{0,14})$/, "Expected Unix seconds"), v.transform(Number)),
  ),
  signature,
};

const SectionSchema = v.optional(v.object({ requireSignature: v.optional(v.boolean(), false) }), {});
const demands = new WeakMap<Settings, boolean>();

/**
 * Whether a project demands signatures.
 *
 * @throws {AppError} `internal_error`: its settings are not valid.
 */
function demandsSignature({ settings }: Project): boolean {
  const known = demands.get(settings);
  if (known !== undefined) return known;
  const result = v.safeParse(SectionSchema, settings.identity);
  if (!result.success) {
    const cause = v.flatten(result.issues);
    throw new AppError("internal_error", "Cannot use the settings section identity as it is not valid", {
      cause,
    });
  }
  demands.set(settings, result.output.requireSignature);
  return result.output.requireSignature;
}

/**
 * Says whether a request must carry a signature and does not, before anything is looked up.
 *
 * @throws {AppError} `validation_failed`, with a pointer below `at` for each missing member.
 */
export function assertPresented(project: Project, presented: Presented, at: string): void {
  if (!demandsSignature(project)) return;
  const missing = (["timeStamp", "signature"] as const).filter(name => presented[name] === undefined);
  if (missing.length === 0) return;
  throw new AppError("validation_failed", "Cannot accept the request as its project demands signatures", {
    fields: missing.map(name => ({ pointer: `${at}${name}`, detail: "Is required" })),
  });
}

/** Whether the request may speak for the user: with the record of one of its devices, where the project demands that. */
export function speaksFor(user: User, presented: Presented, by: Verifier): boolean {
  const { records, project, deviceId } = by;
  if (!demandsSignature(project)) return true;
  const { timeStamp, signature: shown } = presented;
  if (timeStamp === undefined || shown === undefined) return false;
  const { userId, externalId, signUp, devices } = user;
  return devices
    .filter(device => deviceId === undefined || device.deviceId === deviceId)
    .some(device =>
      records.verify(project.id, {
        deviceId: device.deviceId,
        timeStamp,
        signature: shown,
        externalId,
        userId,
        signUp,
      }),
    );
}
