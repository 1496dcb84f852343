/** The contents of events, in transactions. */

import { AppError } from "../../../base/errors/mod.ts";
import {
  type Contents,
  type ContentsEntry,
  contentsKey,
  elementTimesOf,
  noContents,
} from "../../table/mod.ts";
import type { Entity } from "../entity.ts";
import type { Input } from "../kind.ts";
import type { Transaction } from "../transaction.ts";

export function eventKey(id: string): string {
  return `event:${id}`;
}

/** The key of an event template. */
export function templateKey(id: string): string {
  return `template:${id}`;
}

/** Returns the contents of an event or template. */
export function contentsOf(tx: Transaction, ownerId: string): Contents {
  return tx.get<Contents>(contentsKey(ownerId)) ?? noContents;
}

/** Returns the id of the event of an element. */
export function eventOf({ refs }: Entity): string {
  return refs.event ?? "";
}

/** Returns an element as its event lists it. */
export function entryOf(entity: Entity, parent: string | undefined): ContentsEntry {
  const { startMode, startOffset, publishedAt, revokedAt } = elementTimesOf(entity);
  const planned = startMode === "timecode" ? { offset: startOffset } : {};
  return {
    id: entity.id,
    ...(parent === undefined ? {} : { parent }),
    ...(publishedAt === null ? planned : { at: publishedAt }),
    ...(revokedAt === null ? {} : { isRevoked: true }),
  };
}

/** Puts the elements of an event into another order. */
export function orderElements(tx: Transaction, eventId: string, ids: readonly string[], input: Input): void {
  const { rev, elements } = contentsOf(tx, eventId);
  const byId = new Map(elements.map(entry => [entry.id, entry]));
  const ordered = [...new Set(ids)].flatMap(id => byId.get(id) ?? []);
  if (ordered.length !== elements.length || ids.length !== elements.length) {
    const detail = `Expected each of the ${elements.length} elements of the event once`;
    throw new AppError("conflict", "Cannot order the elements as the event has others", {
      fields: [{ pointer: `${input.pointer}/relationships/elements/data`, detail }],
    });
  }
  if (ordered.some((entry, index) => entry !== elements[index]))
    tx.put(contentsKey(eventId), { rev: rev + 1, elements: ordered });
}
