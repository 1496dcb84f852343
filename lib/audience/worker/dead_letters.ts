/**
 * Actions that could not take effect, with the reason, until somebody replays them.
 *
 * They are in a partition of their organisation: a record each, and a board that lists them by time. A letter is written before
 * its message is settled, and a replayed action is queued before its letter goes; a process that ends in between leaves the
 * action in both places, which is harmless, because it takes effect once under its id. That is remembered for 7 days, and for
 * no longer is a letter kept.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock } from "../../auth/mod.ts";
import type { ErrorCode } from "../../errors/mod.ts";
import {
  decide,
  keyName,
  type Partition,
  type Store,
  storageLimits,
  tenantPartition,
  type Write,
} from "../../storage/mod.ts";
import { decodeAction, encodeAction, type QueuedAction } from "./queued_action.ts";

/** How long a letter is kept, in ms. */
export const deadLetterMsMax: number = 7 * 24 * 60 * 60 * 1_000;
/** Most letters of an organisation; the oldest goes where there would be more. */
export const deadLettersMax = 10_000;
/** Most letters that one list shows. */
export const deadLetterPageMax = 100;
/** How many letters that are over, at most, one new letter clears away. */
const clearedMax = 4;

/** An action that could not take effect. */
export interface DeadLetter {
  /** Names the letter: that of its message. */
  readonly id: string;
  readonly action: QueuedAction;
  readonly reason: { readonly code: ErrorCode; readonly message: string };
  /** How often it was tried. */
  readonly attempts: number;
  /** When it was given up, Unix ms. */
  readonly at: number;
}

/** A part of the letters, newest first. */
export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[];
  /** Number of all letters. */
  readonly size: number;
}

/** Keeps dead letters. */
export interface DeadLetters {
  /** Keeps a letter. Keeping it again replaces it. Answers whether an older one had to go for it. */
  keep(letter: DeadLetter): Promise<boolean>;
  /** Letters of an organisation, from `offset` on, newest first. */
  list(
    organisationId: string,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<DeadLetterPage>;
  /** The letters of these ids that there are. */
  get(organisationId: string, ids: readonly string[]): Promise<readonly DeadLetter[]>;
  /** The letters of these actions, in their order; null where there is none. */
  ofActions(
    organisationId: string,
    actions: readonly Pick<QueuedAction, "userId" | "actionId">[],
  ): Promise<readonly (DeadLetter | null)[]>;
  /** Forgets letters; unknown ids are ignored. */
  remove(organisationId: string, ids: readonly string[]): Promise<void>;
}

interface Stored {
  readonly action: string;
  readonly reason: DeadLetter["reason"];
  readonly attempts: number;
  readonly at: number;
}

const boardKey = "letters";

/** Creates the dead letters of all organisations. */
export function createDeadLetters({ store, clock }: { store: Store; clock: Clock }): DeadLetters {
  async function get(organisationId: string, ids: readonly string[]): Promise<readonly DeadLetter[]> {
    if (ids.length === 0) return [];
    const reads = ids.map(id => ({ type: "record", key: letterKey(id) }) as const);
    const found = await store.read(partitionOf(organisationId), reads);
    return found.flatMap((stored, index) => {
      const letter = stored === null ? null : parsed(ids[index] ?? "", stored.value);
      return letter === null ? [] : [letter];
    });
  }
  return {
    async keep(letter) {
      const { id, action, reason, attempts, at } = letter;
      const value = JSON.stringify({ action: encodeAction(action), reason, attempts, at } satisfies Stored);
      const partition = partitionOf(action.organisationId);
      return await decide(store, partition, {
        reads: [{ type: "board", key: boardKey, limit: clearedMax }],
        idempotent: true,
        apply([{ entries, size }]) {
          const now = clock();
          const surplus = size - deadLettersMax;
          const over = entries.filter(
            ({ member, score }, index) =>
              member !== id && (score <= now - deadLetterMsMax || index <= surplus),
          );
          const isCrowded = over.some(({ score }) => score > now - deadLetterMsMax);
          const writes: Write[] = [
            { type: "put", key: letterKey(id), value, expireAt: at + deadLetterMsMax },
            { type: "put", key: actionKey(action), value: id, expireAt: at + deadLetterMsMax },
            { type: "score", op: "set", key: boardKey, member: id, score: at },
            ...over.flatMap(({ member }) => removal(member)),
          ];
          return { writes, answer: isCrowded };
        },
      });
    },
    async list(organisationId, { offset, limit }) {
      const min = clock() - deadLetterMsMax + 1;
      const query = { type: "board", key: boardKey, min, offset, limit, reverse: true } as const;
      const over = { type: "before", key: boardKey, score: min } as const;
      const [{ entries, size }, past] = await store.read(partitionOf(organisationId), [query, over]);
      const letters = await get(
        organisationId,
        entries.map(({ member }) => member),
      );
      return { letters, size: size - past };
    },
    get,
    async ofActions(organisationId, actions) {
      const partition = partitionOf(organisationId);
      const letters: (DeadLetter | null)[] = [];
      for (let from = 0; from < actions.length; from += storageLimits.readsMax) {
        const some = actions.slice(from, from + storageLimits.readsMax);
        const names = await store.read(
          partition,
          some.map(action => ({ type: "record", key: actionKey(action) }) as const),
        );
        const known = names.flatMap(name => (name === null ? [] : [name.value]));
        const byId = new Map((await get(organisationId, known)).map(letter => [letter.id, letter]));
        letters.push(...names.map(name => (name === null ? null : (byId.get(name.value) ?? null))));
      }
      return letters;
    },
    async remove(organisationId, ids) {
      if (ids.length === 0) return;
      await store.commit(partitionOf(organisationId), { writes: ids.flatMap(removal) });
    },
  };
}

function partitionOf(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "dead_actions");
}

function letterKey(id: string): string {
  return keyName("letter", id);
}

/** Where it is noted which letter an action has: it goes by itself, and names a letter that may be gone. */
function actionKey({ userId, actionId }: Pick<QueuedAction, "userId" | "actionId">): string {
  return keyName("action", bytesToHex(sha256(utf8ToBytes(JSON.stringify([userId, actionId])))));
}

function removal(id: string): Write[] {
  return [
    { type: "delete", shape: "record", key: letterKey(id) },
    { type: "unscore", key: boardKey, member: id },
  ];
}

function parsed(id: string, value: string): DeadLetter | null {
  const { action: encoded, reason, attempts, at } = JSON.parse(value) as Stored;
  const action = decodeAction(encoded);
  return action === null ? null : { id, action, reason, attempts, at };
}
