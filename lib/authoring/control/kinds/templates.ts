/** Blueprints of events. Their elements are listed like those of events, and found through the blueprint alone. */

import { AppError } from "../../../base/errors/mod.ts";
import { contentsKey, elementKey, resources } from "../../table/mod.ts";
import { contentsOf, eventKey, noteChange, stagedWrites, templateKey } from "../contents.ts";
import { copiedFrom, finishCopy } from "../copies.ts";
import { type Entity, eventCodec, type Kind, ownRecords } from "../kind.ts";
import type { ControlServices } from "../services.ts";
import type { Transaction } from "../transaction.ts";

export const templatesKey = "templates";
const templatesMax = 500;

export function templateKind(services: ControlServices): Kind {
  return {
    resource: resources.event_templates,
    records: ownRecords(templateKey),
    wants: id => [contentsKey(id)],
    list: listOf,
    present: ({ id }, tx, { isListed = false }) => ({
      attributes: {
        element_count: contentsOf(tx, id).elements.length,
        ...(isListed ? {} : { elements: elementsOf(tx, id) }),
      },
    }),
    changed(template, tx, change) {
      const { id } = template;
      const { previous, input, now } = change;
      noteChange(tx, id, template, change);
      if (previous !== null) return;
      const all = listOf(tx);
      if (all.length >= templatesMax)
        throw new AppError("conflict", `Cannot add another template: the project has ${templatesMax}`);
      tx.put(templatesKey, [...all, id]);
      if (input.copied !== undefined) finishCopy(tx, id, input.copied, now);
    },
    removed({ id }, tx, { now }) {
      tx.put(
        templatesKey,
        listOf(tx).filter(each => each !== id),
      );
      // What is not listed does not exist; the work deletes it.
      const ids = contentsOf(tx, id).elements.map(element => element.id);
      for (const write of ids.length === 0 ? [] : stagedWrites(id, ids, now * 1_000)) tx.effect(write);
      tx.put(contentsKey(id), null);
    },
    beforeRemoval: (_, home) => services.work.expect(home),
    async before(change) {
      if (!change.isNew) return undefined;
      const source = {
        relationship: "event",
        keyOf: eventKey,
        codec: eventCodec,
        as: "template",
      } as const;
      return await copiedFrom(services, change, source);
    },
  };
}

function listOf(tx: Transaction): readonly string[] {
  return tx.get<readonly string[]>(templatesKey) ?? [];
}

function elementsOf(tx: Transaction, id: string): readonly unknown[] {
  const { elements } = contentsOf(tx, id);
  for (const entry of elements) tx.want(elementKey(entry.id), { isGuarded: true });
  return elements.map(entry => {
    const { attributes = {} } = tx.get<Entity>(elementKey(entry.id), { isGuarded: true }) ?? {};
    return { ...entry, ...attributes };
  });
}
