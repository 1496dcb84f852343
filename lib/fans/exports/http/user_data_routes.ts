/** The copy of everything that is kept about one person. */

import type { GenericSchema } from "valibot";
import * as v from "valibot";
import { isoTime } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { type Guard, named, route, stream } from "../../../http/mod.ts";
import { UserIdSchema } from "../../../http/requests/validate.ts";
import type { UserRecord, UserRecordKind } from "../../../storage/mod.ts";
import type { Exports } from "../exports.ts";

/** A kind of record in a copy. */
export interface DescribedKind extends Omit<UserRecordKind, "name" | "stored"> {
  readonly kind: string;
  /** Descriptions of the members of its data by path, with `*` for each entry of a list or map. */
  readonly members?: Readonly<Record<string, string>>;
}

/** Everything that is kept about users. */
export interface UserData {
  readonly kinds: readonly UserRecordKind[];
  /** Returns the kinds as a copy describes them. */
  describe(): Promise<readonly DescribedKind[]>;
  /** Returns the schemas of the data of records, as a copy shows them, by kind. */
  dataSchemas(): Promise<Readonly<Record<string, GenericSchema>>>;
  /** Yields the records about a user, and about those who were merged into it. */
  read(
    organisationId: string,
    userId: string,
  ): AsyncGenerator<UserRecord & { readonly userId: string }, void>;
}

const text = (description: string) => v.pipe(v.string(), v.description(description));

const documentEntries = {
  format: v.pipe(v.literal(1), v.description("Changes only where members go or change their meaning")),
  organisationId: v.string(),
  userId: v.string(),
  createdAt: v.pipe(v.string(), v.isoTimestamp()),
  kinds: v.pipe(
    v.array(
      named(
        "UserDataKind",
        v.object({
          kind: v.string(),
          description: v.string(),
          removal: v.pipe(
            v.picklist(["removed", "expires", "stays"]),
            v.description("What a removal of the user does with it"),
          ),
          reason: v.exactOptional(text("Why a removal leaves it, and for how long")),
          leftOut: v.exactOptional(text("Why `records` has none of it")),
          members: v.exactOptional(
            v.pipe(
              v.record(v.string(), v.string()),
              v.description(
                "What each member of `data` is, by its path: names joined by dots, `*` for each entry of a list or map. What your apps sent ends a path. Without `members` the data are a text",
              ),
            ),
          ),
        }),
      ),
    ),
    v.description("All kinds of records that are kept about users, whether this one has any or not"),
  ),
};

/** Returns the schema of records of a kind, or of any. */
const recordOf = <K extends GenericSchema, D extends GenericSchema>(kind: K, data: D) =>
  v.object({
    userId: text("The user, or one who was merged into it"),
    kind,
    projectId: v.exactOptional(text("The project that it belongs to; otherwise the organisation")),
    data,
  });

const UserDataSchema = v.object({
  ...documentEntries,
  records: v.array(
    recordOf(
      text("One of `kinds`"),
      v.pipe(
        v.union([v.record(v.string(), v.unknown()), v.string()]),
        v.description(
          "As stored, with the members that its kind describes. Times are texts in UTC; credentials read `not shown`",
        ),
      ),
    ),
  ),
});

/** Returns the schema of a document with the records of each kind. */
function exactSchema(dataByKind: Readonly<Record<string, GenericSchema>>): GenericSchema {
  const records = Object.entries(dataByKind).map(([kind, data]) =>
    named(`UserData${kind.charAt(0).toUpperCase()}${kind.slice(1)}`, recordOf(v.literal(kind), data)),
  );
  return named("UserData", v.object({ ...documentEntries, records: v.array(v.union(records)) }));
}

/** A back end that is authorized for exports. */
export interface ExportCaller {
  readonly space: { readonly id: string; readonly organisationId: string };
  readonly keyId: string;
}

export interface UserDataContext {
  readonly exports: Pick<Exports, "clock" | "record">;
  /** Requires the permission `users:export`. */
  readonly exporter: Guard<ExportCaller, "space_id">;
  readonly userData: UserData;
}

export function userDataRoute({ exports, exporter, userData }: UserDataContext) {
  return route({
    method: "GET",
    path: "/v1/api/audience/internal/users/:userId/data",
    operation: "getUserData",
    summary: "Get everything that is kept about a user",
    description:
      "One document with the records of every area and with all kinds of records that exist, what a removal does with each, and why. Sent while it is read; the export trail has an entry.",
    auth: exporter,
    params: v.object({ userId: v.pipe(UserIdSchema, v.description("Id of the user")) }),
    responses: {
      200: {
        description: "The document",
        schema: UserDataSchema,
        described: async () => exactSchema(await userData.dataSchemas()),
        isStreamed: true,
      },
    },
    errors: ["not_found"],
    handle: async ({ principal, params: { userId }, requestId }) => {
      const { organisationId } = principal.space;
      const records = userData.read(organisationId, userId);
      const first = await records.next();
      if (first.done === true) {
        throw new AppError("not_found", "Cannot find data of the user: nothing is kept under this id");
      }
      const at = exports.clock();
      const entry = { at, event: "user_data", userId, actor: principal.keyId, requestId } as const;
      await exports.record(organisationId, entry);
      const kinds = await userData.describe();
      const head = { format: 1, organisationId, userId, createdAt: isoTime(at), kinds };
      const start = `${JSON.stringify(head).slice(0, -1)},"records":[${JSON.stringify(first.value)}`;
      return stream(200, documentStream(start, records), { "content-type": "application/json" });
    },
  });
}

/** Reads the next records when the client has taken those before. */
function documentStream(start: string, records: AsyncGenerator<unknown, void>): ReadableStream<Uint8Array> {
  const utf8 = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(utf8.encode(start)),
    async pull(controller) {
      const { done, value } = await records.next();
      controller.enqueue(utf8.encode(done === true ? "]}" : `,${JSON.stringify(value)}`));
      if (done === true) controller.close();
    },
    async cancel() {
      await records.return();
    },
  });
}
