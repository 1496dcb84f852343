/**
 * The audit trail: one entry for each request that changed something, in the commit that changed it.
 *
 * @module
 */

import type { ResourceType } from "../authoring/mod.ts";
import type { Author } from "./access/authors.ts";
import type { Draft } from "./draft.ts";
import type { Circumstances, Input, Kind } from "./kind.ts";

/** The log of a home's audit trail. */
export const auditKey = "audit";
/** Entries of a home that are kept. */
const entriesMax = 10_000;
/** Changes of one entry that are told one by one. */
const changesMax = 100;

/** An entry as stored. */
export interface AuditRecord {
  /** Unix seconds. */
  readonly at: number;
  readonly userId: string | null;
  readonly tokenId: string | null;
  readonly requestId: string | null;
  readonly changes: readonly AuditChange[];
}

/** One change. */
export interface AuditChange {
  readonly op: "add" | "update" | "remove";
  readonly type: ResourceType;
  readonly id: string;
  /** Names of the written attributes. */
  readonly attributes?: readonly string[];
  /** The action that was asked for. */
  readonly action?: string;
}

/** An operation that the trail tells. */
interface Recorded {
  readonly op: AuditChange["op"];
  readonly kind: Kind;
  readonly id: string;
  readonly input: Pick<Input, "attributes" | "action">;
}

/** Notes what the operations of a request change, if they change anything. */
export function recordChanges(
  draft: Draft,
  operations: readonly Recorded[],
  { author, requestId }: { readonly author: Author; readonly requestId: string },
  { now }: Circumstances,
): null {
  if (draft.isUnchanged) return null;
  const changes = operations.slice(0, changesMax).map(({ op, kind, id, input }): AuditChange => {
    const attributes = Object.keys(input.attributes);
    return {
      ...{ op, type: kind.resource.type, id },
      ...(attributes.length === 0 ? {} : { attributes }),
      ...(input.action === null ? {} : { action: input.action }),
    };
  });
  const entry: AuditRecord = {
    at: now,
    userId: author.user.id,
    tokenId: author.token.id,
    requestId,
    changes,
  };
  draft.effect({
    type: "append",
    key: auditKey,
    value: JSON.stringify(entry),
    at: now * 1_000,
    maxLength: entriesMax,
  });
  return null;
}
