/**
 * Texts that fans send to an element which asks for them. Producers read them and choose which are shown; nothing in them
 * names the fan.
 */

import { digestOf } from "../../base/text/mod.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import type { SentText } from "../../fans/loyalty/votes/elements.ts";
import { decide, type LogEntry, type Store } from "../../storage/mod.ts";
import { answersKey, elementKey } from "../table/contents.ts";

/** Most texts of an element; of more the newest are kept. */
export const answersMax = 5_000;
/** Time for which it is known that an action has sent its text: as long as ids of actions are, in ms. */
const sentMs = 14 * 24 * 60 * 60 * 1_000;
/** Most actions of a user of which that is known for an element. */
const sentMax = 100;

export interface SentAnswer {
  readonly id: string;
  readonly text: string;
  /** Unix ms. */
  readonly at: number;
}

interface AnswersServices {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
}

/** Keeps a text, once for its action and as often as the user has voted. */
export async function keepAnswer(
  { store, clock }: AnswersServices,
  { element, userId, actionId, text, textsMax }: SentText,
): Promise<void> {
  const sentKey = `sent:${element.id}:${await digestOf(userId)}`;
  const action = actionId === undefined ? null : await digestOf(actionId);
  const now = clock();
  await decide(store, directoryPartition("project", element.projectId), {
    reads: [
      { type: "record", key: elementKey(element.id) },
      { type: "record", key: sentKey },
    ],
    idempotent: action !== null,
    apply([stored, noted]) {
      const sent = noted === null ? [] : (JSON.parse(noted.value) as readonly (string | null)[]);
      const isKept = (action !== null && sent.includes(action)) || sent.length >= textsMax;
      if (stored === null || isKept) return { writes: [], answer: null };
      const value = JSON.stringify([...sent, action].slice(-sentMax));
      return {
        writes: [
          { type: "put", key: sentKey, value, expireAt: now + sentMs },
          {
            type: "append",
            key: answersKey(element.id),
            value: JSON.stringify({ text }),
            at: now,
            maxLength: answersMax,
          },
        ],
        answer: null,
      };
    },
  });
}

/** Reads a page of the texts of an element, newest first. */
export async function listAnswers(
  store: Store,
  { projectId, id }: { readonly projectId: string; readonly id: string },
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<readonly SentAnswer[]> {
  const after = cursor === undefined ? {} : { cursor };
  const [entries] = await store.read(directoryPartition("project", projectId), [
    { type: "log", key: answersKey(id), reverse: true, limit, ...after },
  ]);
  return entries.map(answerOf);
}

/** Most texts that one millisecond may have. */
const alikeMax = 1_000;

/** Finds texts of an element by their ids; null for those that are not there. */
export async function findAnswers(
  store: Store,
  { projectId, id }: { readonly projectId: string; readonly id: string },
  ids: readonly string[],
): Promise<readonly (SentAnswer | null)[]> {
  const times = ids.map(each => Number(/^(\d{1,15})-\d+$/.exec(each)?.[1] ?? 0));
  const found = await store.read(
    directoryPartition("project", projectId),
    times.map(at => ({ type: "log", key: answersKey(id), from: at, to: at, limit: alikeMax }) as const),
  );
  return ids.map((each, index) => {
    const entry = found[index]?.find(other => other.id === each);
    return entry === undefined ? null : answerOf(entry);
  });
}

function answerOf({ id, at, value }: LogEntry): SentAnswer {
  return { id, at, text: (JSON.parse(value) as { readonly text: string }).text };
}
