/**
 * Atomic Operations (JSON:API 1.1): up to 500 changes of one project, space or organisation, of which all are made or none.
 *
 * Source: https://jsonapi.org/ext/atomic/
 */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { AppError, jsonPointer } from "../../base/errors/mod.ts";
import { describedText, named, route } from "../../http/mod.ts";
import { jsonApiMediaType } from "../../http/requests/body.ts";
import { type Operation, type ResourceType, replaceIds } from "../table/mod.ts";
import { type AuthorCall, answer, isDryRun, writeErrors } from "./jsonapi/documents.ts";
import type { ResourceObject } from "./jsonapi/input.ts";
import { bodyBytesMax, dryRun, exampleId, SentResource } from "./jsonapi/schemas.ts";
import type { Home } from "./kind.ts";
import { type Kind, unprocessable } from "./kind.ts";
import { together } from "./transaction.ts";
import type { WriteOperation } from "./write.ts";
import { chanceOf, newId, type Once, onceOf, type ResourceRoutesContext } from "./write.ts";

const atomicMediaType = `${jsonApiMediaType};ext="https://jsonapi.org/ext/atomic"`;
const operationsMax = 500;

const RefSchema = v.strictObject({
  type: describedText("Type of the resource"),
  id: v.exactOptional(describedText("Its id")),
  lid: v.exactOptional(describedText("The local id that an earlier operation gave to it")),
  relationship: v.exactOptional(describedText("The relationship that is changed")),
});
const OperationSchema = v.strictObject({
  op: v.pipe(v.picklist(["add", "update", "remove"]), v.description("What is done")),
  ref: v.exactOptional(v.pipe(RefSchema, v.description("The resource, where `data` does not name it"))),
  data: v.exactOptional(
    v.pipe(
      v.nullable(v.union([SentResource, v.array(v.strictObject({ ...RefSchema.entries }))])),
      v.description("The resource object, or the resources of a relationship"),
    ),
  ),
  meta: v.exactOptional(
    v.strictObject({
      if_match: v.exactOptional(describedText("Entity tags of which one must be current, as in `If-Match`")),
    }),
  ),
});
const OperationsBody = named(
  "Operations",
  v.strictObject({
    "atomic:operations": v.pipe(
      v.array(OperationSchema),
      v.minLength(1),
      v.maxLength(operationsMax),
      v.description("The operations, which are made in order"),
    ),
  }),
);
const ResultsSchema = named(
  "OperationResults",
  v.object({
    "atomic:results": v.pipe(
      v.array(
        v.object({
          data: v.exactOptional(
            v.pipe(v.record(v.string(), v.unknown()), v.description("The resource; none if it was removed")),
          ),
          meta: v.exactOptional(
            v.pipe(
              v.object({ etag: describedText("Its entity tag") }),
              v.description("Facts about the resource"),
            ),
          ),
        }),
      ),
      v.description("What each operation left"),
    ),
    meta: v.exactOptional(
      v.pipe(v.record(v.string(), v.unknown()), v.description("`dry_run` if nothing was written")),
    ),
  }),
);
type SentOperation = v.InferOutput<typeof OperationSchema>;

const neededOperation: Readonly<Record<SentOperation["op"], Operation>> = {
  add: "create",
  update: "change",
  remove: "remove",
};

export function operationsRoute(context: ResourceRoutesContext) {
  const { author, writer, services } = context;
  return route({
    method: "POST",
    path: "/api/v2/operations",
    operation: "makeOperations",
    summary: "Make many changes at once",
    description: `Makes up to ${operationsMax} changes, or none of them. All records belong to one project, space or organisation. An operation may name records that an earlier one creates by their \`lid\`, in relationships and as \`{"lid": …}\` in attributes. A \`lid\` that is a UUID stands for the id inside texts of attributes as well.`,
    auth: author,
    query: v.strictObject(dryRun),
    body: {
      schema: OperationsBody,
      maxBytes: bodyBytesMax,
      mediaTypes: [jsonApiMediaType, atomicMediaType],
      example: {
        "atomic:operations": [{ op: "add", data: exampleSpace }],
      },
    },
    responses: { 200: { description: "What the operations left", schema: ResultsSchema } },
    errors: writeErrors,
    handle: async call => {
      const isDry = isDryRun(call);
      const once = onceOf(call);
      const operations = await resolved(call, once, context);
      const left = await writer.write({
        author: call.principal,
        operations,
        requestId: call.requestId,
        isDry,
        shown: { base: services.base, fields: new Map(), isListed: false },
        once,
      });
      const results = left.map(data =>
        data === null ? {} : { data, meta: { etag: String(data.meta?.etag) } },
      );
      const document = { "atomic:results": results, ...(isDry ? { meta: { dry_run: true } } : {}) };
      return answer(call, document as never, {}, 200, atomicMediaType) as never;
    },
  });
}

const exampleSpace = {
  type: "spaces",
  attributes: { name: "Stadium" },
  relationships: { organisation: { data: { type: "organisations", id: exampleId } } },
};

/** What the operations of a body have named and made so far. */
interface Known {
  readonly lids: Map<string, string>;
  /** Ids by local ids that are UUIDs; null: a later operation creates the record. */
  readonly inTexts: Map<string, string | null>;
  readonly homes: Map<string, Home>;
}

async function resolved(
  call: AuthorCall,
  once: Once | null,
  context: ResourceRoutesContext,
): Promise<readonly WriteOperation[]> {
  const { "atomic:operations": sent } = call.body as v.InferOutput<typeof OperationsBody>;
  const known: Known = { lids: new Map(), inTexts: new Map(), homes: new Map() };
  for (const { op, data } of sent) {
    const lid = op !== "add" || Array.isArray(data) ? undefined : data?.lid;
    if (lid !== undefined && isUuid(lid)) known.inTexts.set(lid.toLowerCase(), null);
  }
  const failures: AppError[] = [];
  const operations: WriteOperation[] = [];
  for (const [index, operation] of sent.entries()) {
    const own = { ...context, random: chanceOf(once, index, context.random) };
    try {
      operations.push(await resolvedOperation(operation, `/atomic:operations/${index}`, known, own));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw together(failures);
  return operations;
}

async function resolvedOperation(
  { op, ref, data = null, meta }: SentOperation,
  at: string,
  known: Known,
  context: ResourceRoutesContext,
): Promise<WriteOperation> {
  const pointer = `${at}/data`;
  const ifMatch = meta?.if_match;
  const object = data === null || Array.isArray(data) ? undefined : withIds(data, pointer, known);
  if (op === "add") {
    if (object === undefined || ref !== undefined)
      throw unprocessable({ pointer: at, detail: "Expected a resource object as `data` and no `ref`" });
    return await addition(object, at, known, context);
  }
  const target = ref ?? object;
  if (target === undefined)
    throw unprocessable({ pointer: at, detail: "Expected `ref` or a resource object" });
  const where = ref === undefined ? pointer : `${at}/ref`;
  const kind = kindOf(target.type, op, `${where}/type`, context);
  const id = target.id?.toLowerCase() ?? idOfLid(target, `${where}/lid`, known);
  const common = { op, kind, id, ifMatch, pointer, at };
  if (op === "remove") return common;
  const relationship = ref?.relationship;
  if (relationship !== undefined) {
    const linked = withIds(
      { type: target.type, relationships: { [relationship]: { data } } },
      pointer,
      known,
    );
    return { ...common, object: linked };
  }
  if (object?.type !== target.type || (object.id?.toLowerCase() ?? id) !== id)
    throw unprocessable({ pointer, detail: "Expected the resource object that `ref` names" });
  return { ...common, object };
}

async function addition(
  object: ResourceObject,
  at: string,
  { lids, inTexts, homes }: Known,
  context: ResourceRoutesContext,
): Promise<WriteOperation> {
  const pointer = `${at}/data`;
  const kind = kindOf(object.type, "add", `${pointer}/type`, context);
  if (object.id !== undefined)
    throw new AppError("forbidden", "Cannot take an id of the client: send a `lid` instead", {
      fields: [{ pointer: `${pointer}/id`, detail: "Is set by the platform" }],
    });
  const { id, home } = await newId(kind, object, undefined, context, homes);
  if (home !== null) homes.set(id, home);
  const { type, lid } = object;
  if (lid !== undefined) {
    const name = nameOf(type, lid);
    if (lids.has(name))
      throw unprocessable({
        pointer: `${pointer}/lid`,
        detail: "Expected a lid that no other operation has",
      });
    lids.set(name, id);
    if (isUuid(lid)) inTexts.set(lid.toLowerCase(), id);
  }
  return { op: "add", kind, id, object, pointer, at };
}

/** Returns the kind of a type that the operation may be made with. Records that are created under a path have a route of their own. */
function kindOf(
  type: string,
  op: SentOperation["op"],
  pointer: string,
  { kinds }: ResourceRoutesContext,
): Kind {
  const isPossible = ({ resource }: Kind): boolean =>
    resource.operations.includes(neededOperation[op]) &&
    !(op === "add" && resource.isCreatedUnderParent === true);
  const kind = Object.hasOwn(kinds, type) ? kinds[type as ResourceType] : undefined;
  if (kind !== undefined && isPossible(kind)) return kind;
  const possible = Object.values(kinds).filter(isPossible);
  const names = possible.map(({ resource }) => resource.type).join(", ");
  throw unprocessable({ pointer, detail: `Expected a type that ${op} takes: ${names}` });
}

/** Returns a resource object whose local ids are replaced by ids. */
function withIds(object: ResourceObject, pointer: string, known: Known): ResourceObject {
  const { type, id, lid, attributes, relationships } = object;
  // Related records have their own place for local ids.
  const related = { ...known, inTexts: new Map() };
  return {
    type,
    id,
    lid,
    attributes: replaced(attributes, `${pointer}/attributes`, known),
    relationships: replaced(relationships, `${pointer}/relationships`, related),
  } as ResourceObject;
}

/** In relationships a local id stands beside a type; alone it is that of an element, as the value of a field. */
function replaced(value: unknown, pointer: string, known: Known): unknown {
  if (typeof value === "string") return textWithIds(value, pointer, known);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, index) => replaced(item, `${pointer}/${index}`, known));
  const { lid, type, ...rest } = value as { readonly lid?: unknown; readonly type?: unknown };
  if (typeof lid === "string" && Object.keys(rest).length === 0) {
    const name = { type: typeof type === "string" ? type : "elements", lid };
    const id = idOfLid(name, `${pointer}/lid`, known);
    return type === undefined ? id : { type, id };
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const at = pointer + jsonPointer(key);
      return [textWithIds(key, at, known), replaced(member, at, known)];
    }),
  );
}

function textWithIds(text: string, pointer: string, { inTexts }: Known): string {
  if (inTexts.size === 0) return text;
  return replaceIds(text, lid => {
    const id = inTexts.get(lid);
    if (id === null) throw unprocessable({ pointer, detail: "Expected the lid of an earlier operation" });
    return id;
  });
}

function idOfLid(
  { type, lid = "" }: { readonly type: string; readonly lid?: string | undefined },
  pointer: string,
  { lids }: Known,
): string {
  const id = lids.get(nameOf(type, lid));
  if (id !== undefined) return id;
  throw unprocessable({ pointer, detail: "Expected an id, or the lid of an earlier operation" });
}

function nameOf(type: string, lid: string): string {
  return `${type} ${lid}`;
}
