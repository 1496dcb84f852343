/**
 * The import of users from a file, in constant memory: batches of rows are applied while the next ones arrive, and each row has its
 * result in the answer at once. Rows say what is to be, so that a file may be imported again, wherever it broke off.
 */

import * as v from "valibot";
import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import { type Immutable, named } from "../../../http/mod.ts";
import { isUserId, userIdExpectation } from "../../../http/requests/validate.ts";
import type { Space } from "../../directory/mod.ts";
import type {
  AccountImports,
  ImportedAccount,
} from "../../identity/providers/managed_pool/account_imports.ts";
import type { SpaceUser } from "../../loyalty/mod.ts";
import { BodyErrors, withUserId } from "../batch/items.ts";
import {
  applyPerUser,
  type ItemError,
  ItemErrorSchema,
  ItemErrors,
  type ItemResult,
  type ItemServices,
  itemErrorOf,
} from "../batch/results.ts";
import type { Profiles } from "../profile/profiles.ts";
import { checkUpdate, type ProfileUpdate, type UpdateRules } from "../profile/updates.ts";
import type { FindColumn } from "../search/columns.ts";
import { type FileRow, type ImportFormat, readRows, updateOf } from "./rows.ts";

const batchRowsMax = 1_000;
/** Characters of rows after which a batch is applied. */
const batchCharacters = 1_048_576;
/** Bytes of results that wait for the client before the import does. */
const waitingBytesMax = 1_048_576;
/** Longest time for which a client may take none of the results that wait, in ms. */
const untakenMsMax = 30_000;

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const ImportedRowSchema = named(
  "ImportedRow",
  v.object({
    row: v.pipe(v.number(), v.integer(), v.description("Its number in the file, from 1, without the header")),
    userId: v.exactOptional(v.string()),
    status: v.pipe(
      v.picklist(["changed", "unchanged", "failed", "unknown", "new", "known"]),
      v.description(
        "A failed row was not applied. One whose status is unknown may have been: the store did not answer for several seconds. A dry run says `new` of a user who would be created, and `known` of any other",
      ),
    ),
    version: v.exactOptional(v.pipe(count, v.description("The version of the profile"))),
    transactionId: v.exactOptional(v.pipe(v.string(), v.description("The transaction of changed metrics"))),
    error: v.exactOptional(ItemErrorSchema),
  }),
);

/** The last line of an answer. */
const ImportSummarySchema = named(
  "ImportSummary",
  v.object({
    summary: v.object({
      total: count,
      changed: count,
      unchanged: count,
      failed: count,
      unknown: count,
      new: v.exactOptional(v.pipe(count, v.description("Rows of users whom a dry run does not know"))),
      known: v.exactOptional(v.pipe(count, v.description("Rows of users whom a dry run knows"))),
    }),
    error: v.exactOptional(
      v.pipe(
        ItemErrorSchema,
        v.description(
          "Why the import ended before the file did. `total` rows have a result, none after them was applied",
        ),
      ),
    ),
  }),
);

export const ImportLineSchema = named("ImportLine", v.union([ImportedRowSchema, ImportSummarySchema]));

type ImportedRow = Immutable<v.InferOutput<typeof ImportedRowSchema>>;
type ImportSummary = Immutable<v.InferOutput<typeof ImportSummarySchema>>;

interface ImportServices extends ItemServices {
  readonly profiles: Profiles;
  readonly accountImports: AccountImports;
}

interface ImportFile {
  readonly space: Space;
  readonly body: ReadableStream<Uint8Array>;
  readonly format: ImportFormat;
  readonly find: FindColumn;
  readonly rules: UpdateRules;
  readonly userOf: (userId: string) => SpaceUser;
  /** Leaves out rows that are as they should be. */
  readonly onlyFailed: boolean;
  /** Checks the rows, and changes nothing. */
  readonly isDryRun: boolean;
  /** Aborted when the server begins to stop. */
  readonly stopping?: AbortSignal | undefined;
}

/**
 * Imports a file, and returns the lines of the answer.
 *
 * @throws {AppError} The file cannot be read from its beginning, or its columns are not those of exports; nothing was applied.
 */
export async function importUsers(
  services: ImportServices,
  file: ImportFile,
): Promise<ReadableStream<Uint8Array>> {
  const reader = file.body.getReader();
  const end = (): void => void reader.cancel().catch(() => {});
  const batches = batchesOf(readRows(reader, file));
  try {
    // Faults of the header refuse the request, as long as it has no answer.
    const first = await batches.next();
    return lineStream(importLines(services, file, { first, batches, end }), services, end);
  } catch (error) {
    end();
    throw error;
  }
}

type Batch = readonly FileRow[];

async function* batchesOf(rows: AsyncGenerator<FileRow, void>): AsyncGenerator<Batch, void> {
  let batch: FileRow[] = [];
  let characters = 0;
  for await (const read of rows) {
    characters += read.characters;
    batch.push(read);
    if (batch.length < batchRowsMax && characters < batchCharacters) continue;
    yield batch;
    [batch, characters] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

interface OpenFile {
  readonly first: IteratorResult<Batch, void>;
  readonly batches: AsyncGenerator<Batch, void>;
  readonly end: () => void;
}

async function* importLines(
  services: ImportServices,
  file: ImportFile,
  { first, batches, end }: OpenFile,
): AsyncGenerator<string, void> {
  const counts = { changed: 0, unchanged: 0, failed: 0, unknown: 0, new: 0, known: 0 };
  const errors = new ItemErrors(services.logger);
  let error: ItemError | null = null;
  try {
    let next: Promise<IteratorResult<Batch, void>> = Promise.resolve(first);
    for (;;) {
      const { done, value: batch } = await untilStopped(next, file.stopping);
      if (done === true) break;
      // The next rows arrive while these are applied. If the import ends before, nothing awaits them.
      next = batches.next();
      next.catch(() => {});
      const results = await applyRows(services, file, batch);
      for (const { status } of results) counts[status] += 1;
      yield results
        .filter(({ status }) => !file.onlyFailed || reported.includes(status))
        .map(result => `${JSON.stringify(result)}\n`)
        .join("");
    }
  } catch (reason) {
    error = errors.outcomeOf(reason).error ?? null;
  } finally {
    end();
  }
  const total = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const { new: unknownUsers, known, ...applied } = counts;
  const tried = file.isDryRun ? { new: unknownUsers, known } : {};
  const summary: ImportSummary = {
    summary: { total, ...applied, ...tried },
    ...(error === null ? {} : { error }),
  };
  yield `${JSON.stringify(summary)}\n`;
}

/** What a client hears of that asks for failed rows alone. */
const reported: readonly ImportedRow["status"][] = ["failed", "unknown", "new"];

async function untilStopped<T>(next: Promise<T>, stopping: AbortSignal | undefined): Promise<T> {
  if (stopping === undefined) return await next;
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () =>
      reject(new AppError("busy", "Cannot go on with the import: the server stops; send the file again"));
  });
  stopping.addEventListener("abort", stop);
  if (stopping.aborted) stop();
  try {
    return await Promise.race([stopped, next]);
  } finally {
    stopping.removeEventListener("abort", stop);
  }
}

type CheckedRow =
  | { readonly row: number; readonly update: ProfileUpdate & { readonly account: ImportedAccount | null } }
  | { readonly row: number; readonly update: null; readonly failed: ImportedRow };

async function applyRows(
  services: ImportServices,
  { find, rules, space, userOf, isDryRun }: ImportFile,
  batch: Batch,
): Promise<readonly ImportedRow[]> {
  const { accountImports } = services;
  const rows = batch.map(row => checkRow(row, find, rules, accountImports));
  const updates = rows.flatMap(({ update }) => (update === null ? [] : [update]));
  const applied = await applyPerUser(
    updates,
    ({ userId }) => userId,
    async update => {
      const user = userOf(update.userId);
      if (isDryRun)
        return { status: (await services.profiles.get(user)) === null ? "succeeded" : "duplicate" };
      const { account } = update;
      const isNew = account !== null && (await accountImports.create(space, update.userId, account));
      const change = { ...update, isImport: true };
      const { version, transactionId, isChanged } = await services.profiles.change(user, change);
      const status = isChanged || isNew ? "succeeded" : "duplicate";
      return { status, version, ...(transactionId === null ? {} : { transactionId }) };
    },
    services,
  );
  const results = applied.values();
  return rows.map(checked => {
    if (checked.update === null) return checked.failed;
    return rowResult(checked.row, results.next().value as ItemResult, isDryRun ? triedStatuses : statuses);
  });
}

const statuses = {
  succeeded: "changed",
  duplicate: "unchanged",
  failed: "failed",
  unknown: "unknown",
} as const;
const triedStatuses = { ...statuses, succeeded: "new", duplicate: "known" } as const;

function rowResult(
  row: number,
  { index: _, id: __, status, ...result }: ItemResult,
  statuses: Readonly<Record<Exclude<ItemResult["status"], "queued">, ImportedRow["status"]>>,
): ImportedRow {
  return { row, ...result, status: status === "queued" ? "unknown" : statuses[status] };
}

function checkRow(
  read: FileRow,
  find: FindColumn,
  rules: UpdateRules,
  accountImports: AccountImports,
): CheckedRow {
  const { row } = read;
  if (read.values === null) return { row, update: null, failed: failedRow(row, { detail: read.fault }) };
  const { accountIssuer } = rules;
  const faults = new BodyErrors();
  const { externalId, userId: given, email, emailVerified, passwordHash, ...values } = read.values;
  const named = given == null ? { externalId } : { userId: given, externalId };
  const { userId } = externalId == null ? { userId: given } : withUserId(named, [], accountIssuer, faults);
  const [fault] = faults.fields;
  if (fault !== undefined) return { row, update: null, failed: failedRow(row, fault) };
  const { content, errors } = updateOf(values, find);
  if (!isUserId(userId)) {
    const error = { pointer: "/userId", detail: userIdExpectation };
    return { row, update: null, failed: failedRow(row, error) };
  }
  const account =
    email == null && passwordHash == null ? null : { email, emailVerified, passwordHash, externalId };
  const accountFault = account === null ? null : accountImports.faultOf(account, userId);
  if (accountFault !== null) return { row, update: null, failed: failedRow(row, accountFault, userId) };
  try {
    const [error] = errors;
    if (error === undefined) return { row, update: { ...checkUpdate(content, rules), userId, account } };
    return { row, update: null, failed: failedRow(row, error, userId) };
  } catch (error) {
    const [first] = error instanceof AppError ? (error.fields ?? []) : [];
    if (first === undefined) throw error;
    return { row, update: null, failed: failedRow(row, first, userId) };
  }
}

function failedRow(row: number, { pointer, detail }: Partial<FieldError>, userId?: string): ImportedRow {
  const error = itemErrorOf(
    { code: "validation_failed", message: `Cannot import the row: ${detail}` },
    pointer,
  );
  return { row, ...(userId === undefined ? {} : { userId }), status: "failed", error };
}

/** Sends lines while the client takes them, and gives up one that takes none. */
function lineStream(
  lines: AsyncGenerator<string, void>,
  { timer }: Pick<ImportServices, "timer">,
  end: () => void,
): ReadableStream<Uint8Array> {
  const utf8 = new TextEncoder();
  let disarm = (): void => {};
  async function nextText(): Promise<string | null> {
    for (;;) {
      const { done, value } = await lines.next();
      if (done === true) return null;
      if (value !== "") return value;
    }
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        disarm();
        const text = await nextText();
        if (text === null) return controller.close();
        controller.enqueue(utf8.encode(text));
        if ((controller.desiredSize ?? 0) > 0) return;
        disarm = timer(() => {
          end();
          controller.error(new Error(`The client took no results for ${untakenMsMax / 1000} seconds`));
        }, untakenMsMax);
      },
      async cancel() {
        disarm();
        end();
        await lines.return();
      },
    },
    { highWaterMark: waitingBytesMax, size: chunk => chunk?.byteLength ?? 0 },
  );
}
