/**
 * Dead letters: actions that could not be applied, with the reason, until a back end replays them or 7 days have passed.
 *
 * Each is a record in a partition of its organisation, listed by a board in order of time. It is written before its message is
 * acknowledged, and a replayed action is queued before its dead letter is removed. A process that dies between the two leaves the
 * action in both, which is harmless: an action takes effect once under its id, and ids are remembered for 7 days.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock } from "../../../auth/mod.ts";
import type { ErrorCode } from "../../../base/errors/mod.ts";
import { Cache, mapConcurrent } from "../../../storage/background/mod.ts";
import {
  decide,
  type Partition,
  type Store,
  storageLimits,
  tenantPartition,
  type UserRecordKind,
  type UserRecords,
  type Write,
} from "../../../storage/mod.ts";
import { keyName } from "../../../storage/names.ts";
import { oldestOrganisations } from "../../directory/seed.ts";
import { decodeAction, encodeAction, type QueuedAction } from "./queued_action.ts";

const keptMs = 7 * 24 * 60 * 60 * 1_000;
/** Most dead letters of an organisation; a further one replaces the oldest. */
export const deadLettersMax = 10_000;
export const deadLetterPageMax = 100;
/** Most expired dead letters that adding one removes. */
const removedMax = 4;
/** Organisations whose dead letters are counted at a time. */
const countedAtOnce = 16;

/** An action that could not be applied. */
export interface DeadAction {
  readonly id: string;
  readonly action: QueuedAction;
  readonly reason: { readonly code: ErrorCode; readonly message: string };
  readonly attempts: number;
  /** The time of the last failure, Unix ms. */
  readonly at: number;
}

/** Users whose further actions would become dead letters too, with the times (Unix ms) until which they would. */
export type RefusedUsers = ReadonlyMap<string, number>;

type ActionKey = Pick<QueuedAction, "userId" | "actionId">;

type StoredDeadAction = Omit<DeadAction, "id" | "action"> & { readonly action: string };

const boardKey = "letters";
/** The board of the users whose actions are refused, by the time until which they are. */
const refusedKey = "refused_users";
const refusedAgeMs = 1_000;
const refusedOrganisationsMax = 1_000;

export class DeadLetterQueue {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #refusedUsers: Cache<RefusedUsers>;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#refusedUsers = new Cache({ entriesMax: refusedOrganisationsMax, maxAgeMs: refusedAgeMs, clock });
  }

  /** Returns the dead letters of these ids that exist. */
  async get(organisationId: string, ids: readonly string[]): Promise<readonly DeadAction[]> {
    if (ids.length === 0) return [];
    const reads = ids.map(id => ({ type: "record", key: recordKey(id) }) as const);
    const found = await this.#store.read(partitionOf(organisationId), reads);
    return found.flatMap((stored, index) => {
      const dead = stored === null ? null : parseDeadAction(ids[index] ?? "", stored.value);
      return dead === null ? [] : [dead];
    });
  }

  /** Lists dead letters of an organisation, newest first, with the number of all of them. */
  async list(
    organisationId: string,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly dead: readonly DeadAction[]; readonly size: number }> {
    const min = this.#clock() - keptMs + 1;
    const [{ entries, size }, expired] = await this.#store.read(partitionOf(organisationId), [
      { type: "board", key: boardKey, min, offset, limit, reverse: true },
      { type: "before", key: boardKey, score: min },
    ]);
    const ids = entries.map(({ member }) => member);
    return { dead: await this.get(organisationId, ids), size: size - expired };
  }

  /**
   * Adds or replaces a dead letter, and notes until when (Unix ms) further actions of its user would become such too, if that is
   * known. Returns whether an unexpired one was dropped to make room.
   */
  async add({ id, action, reason, attempts, at }: DeadAction, refusedUntil?: number): Promise<boolean> {
    const clock = this.#clock;
    const stored: StoredDeadAction = { action: encodeAction(action), reason, attempts, at };
    const expireAt = at + keptMs;
    const refused = { type: "score", op: "max", key: refusedKey, member: action.userId } as const;
    return await decide(this.#store, partitionOf(action.organisationId), {
      reads: [
        { type: "board", key: boardKey, limit: removedMax },
        { type: "board", key: refusedKey, max: this.#clock(), limit: removedMax },
      ],
      idempotent: true,
      apply([{ entries, size }, { entries: over }]) {
        const expiredUntil = clock() - keptMs;
        const surplus = size - deadLettersMax;
        const removed = entries.filter(
          ({ member, score }, index) => member !== id && (score <= expiredUntil || index <= surplus),
        );
        const writes: Write[] = [
          { type: "put", key: recordKey(id), value: JSON.stringify(stored), expireAt },
          { type: "put", key: actionKey(action), value: id, expireAt },
          { type: "score", op: "set", key: boardKey, member: id, score: at },
          ...removed.flatMap(({ member }) => removalOf(member)),
          ...over.map(({ member }): Write => ({ type: "unscore", key: refusedKey, member })),
          ...(refusedUntil === undefined ? [] : [{ ...refused, score: refusedUntil }]),
        ];
        return { writes, answer: removed.some(({ score }) => score > expiredUntil) };
      },
    });
  }

  /** Returns the users of an organisation whose further actions would become dead letters; at most a second old. */
  async refusedUsers(organisationId: string): Promise<RefusedUsers> {
    return await this.#refusedUsers.getOrLoad(organisationId, async () => {
      const limit = storageLimits.rangeLimitMax;
      const [{ entries }] = await this.#store.read(partitionOf(organisationId), [
        { type: "board", key: refusedKey, min: this.#clock() + 1, limit },
      ]);
      return { value: new Map(entries.map(({ member, score }) => [member, score])) };
    });
  }

  /** Notes that a worker begins to apply an action, and returns how many others have noted that of the same message. */
  async noteTry({ id, action }: Pick<DeadAction, "id" | "action">, worker: string): Promise<number> {
    const clock = this.#clock;
    const key = `tries:${id}`;
    return await decide(this.#store, partitionOf(action.organisationId), {
      reads: [{ type: "record", key }],
      idempotent: true,
      apply([stored]) {
        const workers: readonly string[] = stored === null ? [] : JSON.parse(stored.value);
        const others = workers.filter(name => name !== worker);
        const value = JSON.stringify([...others, worker]);
        return {
          writes: [{ type: "put", key, value, expireAt: clock() + keptMs }],
          answer: others.length,
        };
      },
    });
  }

  /** Returns the dead letter of each action; null if it has none. */
  async findByActions(
    organisationId: string,
    actions: readonly ActionKey[],
  ): Promise<readonly (DeadAction | null)[]> {
    const found: (DeadAction | null)[] = [];
    for (let from = 0; from < actions.length; from += storageLimits.readsMax) {
      const reads = actions
        .slice(from, from + storageLimits.readsMax)
        .map(action => ({ type: "record", key: actionKey(action) }) as const);
      const ids = (await this.#store.read(partitionOf(organisationId), reads)).map(id => id?.value ?? null);
      const dead = await this.get(
        organisationId,
        ids.filter(id => id !== null),
      );
      const byId = new Map(dead.map(one => [one.id, one]));
      found.push(...ids.map(id => (id === null ? null : (byId.get(id) ?? null))));
    }
    return found;
  }

  /**
   * Counts the dead letters of the 500 oldest organisations, and leaves out those without any. `spaceId` is the space of the
   * newest.
   */
  async count() {
    const organisations = await oldestOrganisations(this.#store);
    const counts = await mapConcurrent(organisations, countedAtOnce, async organisationId => {
      const { dead, size: count } = await this.list(organisationId, { offset: 0, limit: 1 });
      return dead.map(({ action }) => ({ organisationId, count, spaceId: action.spaceId }));
    });
    return counts.flat();
  }

  /** Removes dead letters; unknown ids are ignored. */
  async remove(organisationId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#store.commit(partitionOf(organisationId), { writes: ids.flatMap(removalOf) });
  }
}

const kinds: readonly UserRecordKind[] = [
  {
    name: "deadAction",
    description: "An action that could not take effect, with the reason",
    stored: ["letter", "action", "tries", "letters", "refused_users"].map(
      key => `organisation/dead_actions ${key}` as const,
    ),
    removal: "expires",
    reason: "Back ends can replay it for 7 days",
  },
  {
    name: "queuedAction",
    description: "An action that was accepted and is about to take effect",
    stored: ["platform/queue b", "platform/queue l", "platform/queue open"],
    removal: "expires",
    reason: "A worker refuses it, as it happened before the removal",
    leftOut: "It is in the history within seconds",
  },
  {
    name: "actionBatch",
    description: "The users and results of a bulk request",
    stored: ["organisation/action_batch batch"],
    removal: "expires",
    reason: "The result of a bulk request can be read for a day",
    leftOut: "The history has the actions",
  },
];

/** Creates the reader of the actions of a user that could not take effect. */
export function deadActionRecords(letters: Pick<DeadLetterQueue, "list">): UserRecords {
  return {
    kinds,
    async *read({ organisationId, userId }) {
      for (let offset = 0; ; offset += deadLetterPageMax) {
        const { dead, size } = await letters.list(organisationId, { offset, limit: deadLetterPageMax });
        for (const letter of dead)
          if (letter.action.userId === userId) yield { kind: "deadAction", data: letter };
        if (offset + deadLetterPageMax >= size) return;
      }
    },
  };
}

function partitionOf(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "dead_actions");
}

function recordKey(id: string): string {
  return keyName("letter", id);
}

/** The key of the record with the id of an action's dead letter. It only expires, so the dead letter may be gone. */
function actionKey({ userId, actionId }: ActionKey): string {
  return keyName("action", bytesToHex(sha256(utf8ToBytes(JSON.stringify([userId, actionId])))));
}

function removalOf(id: string): Write[] {
  return [
    { type: "delete", shape: "record", key: recordKey(id) },
    { type: "unscore", key: boardKey, member: id },
  ];
}

function parseDeadAction(id: string, value: string): DeadAction | null {
  const { action: encoded, ...rest } = JSON.parse(value) as StoredDeadAction;
  const action = decodeAction(encoded);
  return action === null ? null : { id, action, ...rest };
}
