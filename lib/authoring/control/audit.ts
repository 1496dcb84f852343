/** The audit trail: one entry for each request that changed something, in the commit that changed it. */

import { type Guard, route } from "../../http/mod.ts";
import { mapConcurrent } from "../../storage/background/mod.ts";
import { type ResourceType, resources, titleOf } from "../table/mod.ts";
import type { Author } from "./access/authors.ts";
import { requireAccess } from "./access/roles.ts";
import type { ResourceObject } from "./jsonapi/documents.ts";
import {
  answer,
  article,
  idOf,
  idParams,
  listViewOf,
  nameOf,
  nounOf,
  pageLinks,
  parameterOf,
  selfOf,
} from "./jsonapi/documents.ts";
import { listQuery, listSchema } from "./jsonapi/schemas.ts";
import type { Query } from "./jsonapi/types.ts";
import type { Circumstances, Entity, Input, Kind } from "./kind.ts";
import { homeNamed, homePartition } from "./kind.ts";
import type { ControlServices } from "./services.ts";
import type { Transaction } from "./transaction.ts";

export const auditKey = "audit";
/** Entries of a home that are kept. */
const entriesMax = 10_000;
const changesMax = 100;
const titleCharacters = 100;
const readsMax = 8;

export interface AuditRecord {
  /** Unix seconds. */
  readonly at: number;
  readonly userId: string | null;
  readonly tokenId: string | null;
  readonly requestId: string | null;
  readonly changes: readonly AuditChange[];
}

interface AuditChange {
  readonly op: "add" | "update" | "remove";
  readonly type: ResourceType;
  readonly id: string;
  /** The tag of the record after the change. */
  readonly etag?: string | undefined;
  /** What the resource is called after the change, or was before it was removed. */
  readonly title?: string | undefined;
  readonly attributes?: readonly string[] | undefined;
  readonly action?: string | undefined;
}

/** An operation that the trail lists. */
export interface Recorded {
  readonly op: AuditChange["op"];
  readonly kind: Kind;
  readonly id: string;
  readonly input: Pick<Input, "attributes" | "action">;
  readonly etag?: string | undefined;
  readonly entity: Entity | null;
}

/** Notes what the operations of a request change, if they change anything. */
export function recordChanges(
  tx: Transaction,
  operations: readonly Recorded[],
  { author, requestId }: { readonly author: Author; readonly requestId: string },
  { now }: Circumstances,
): null {
  if (tx.isUnchanged) return null;
  const changes = operations
    .slice(0, changesMax)
    .map(({ op, kind, id, input, etag, entity }): AuditChange => {
      const attributes = Object.keys(input.attributes);
      return {
        op,
        type: kind.resource.type,
        id,
        etag,
        title: titleOf(entity?.attributes ?? {}).slice(0, titleCharacters) || undefined,
        attributes: attributes.length === 0 ? undefined : attributes,
        action: input.action ?? undefined,
      };
    });
  appendAudit(tx, now, { userId: author.user.id, tokenId: author.token.id, requestId, changes });
  return null;
}

/** Adds an entry to the trail; without a user it is the platform that made the changes. */
export function appendAudit(
  tx: Transaction,
  now: number,
  { userId = null, tokenId = null, requestId = null, changes }: Partial<AuditRecord>,
): void {
  const value = JSON.stringify({ at: now, userId, tokenId, requestId, changes });
  tx.effect({ type: "append", key: auditKey, value, at: now * 1_000, maxLength: entriesMax });
}

export function auditRoutes(services: ControlServices, author: Guard<Author>) {
  return [
    auditRoute("organisations", services, author),
    auditRoute("spaces", services, author),
    auditRoute("projects", services, author),
  ];
}

function auditRoute<const T extends ResourceType>(
  under: T,
  services: ControlServices,
  author: Guard<Author>,
) {
  const resource = resources.audit_entries;
  const parameter = parameterOf(under);
  return route({
    method: "GET",
    path: `/api/v2/${under}/:${parameter}/audit`,
    operation: `list${nameOf(under)}Changes`,
    summary: `List the changes of ${article(nounOf(under))}`,
    description: `Lists the newest ${entriesMax} changes, newest first: what was changed, by whom, and by which token. Needs the role ${resource.read}.`,
    auth: author,
    params: idParams(under),
    query: listQuery(resource),
    responses: { 200: { description: "A page of the trail", schema: listSchema(resource) } },
    errors: ["not_found", "forbidden", "not_acceptable"],
    handle: async call => {
      const home = homeNamed({ type: under, id: idOf(call, under) });
      const access = { needed: resource.read, noun: nounOf(under) } as const;
      const { chain } = await requireAccess(services, call.principal, home, access);
      const { count, cursor } = listViewOf(resource, call.query as Query);
      const scope = {
        organisationId: chain.organisationId,
        spaceId: "",
        userId: call.principal.user.id,
        resource: `${under}/${home.id}/audit`,
        filters: {},
      };
      const after = services.cursors.open(scope, cursor, "page[cursor]");
      const from = after === undefined ? {} : { cursor: after };
      const [entries] = await services.store.read(homePartition(home), [
        { type: "log", key: auditKey, reverse: true, limit: count, ...from },
      ]);
      const records = entries.map(({ id, value }) => ({ id, record: JSON.parse(value) as AuditRecord }));
      const emails = await emailsOf(
        services,
        records.map(({ record }) => record.userId),
      );
      const data = records.map(({ id, record }) => entryObject(id, record, emails));
      const position = entries.length < count ? null : (entries.at(-1)?.id ?? null);
      const links = pageLinks(selfOf(services, call), services.cursors.seal(scope, position));
      return answer(call, { data, links }) as never;
    },
  });
}

async function emailsOf(
  { authors }: ControlServices,
  userIds: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const known = [...new Set(userIds)].filter(id => id !== null);
  const users = await mapConcurrent(known, readsMax, id => authors.user(id));
  return new Map(users.flatMap(user => (user === null ? [] : [[user.id, user.email]])));
}

function entryObject(
  id: string,
  { at, userId, tokenId, requestId, changes }: AuditRecord,
  emails: ReadonlyMap<string, string>,
): ResourceObject {
  const user_email = emails.get(userId ?? "") ?? null;
  return {
    type: "audit_entries",
    id,
    attributes: { at, user_id: userId, user_email, token_id: tokenId, request_id: requestId, changes },
  };
}
