/**
 * Single use of views: an action reserves its view, takes effect, and leaves its answer for those who send it again.
 *
 * A user's views are one partition. A process that dies in between leaves a reservation, which ends after a minute.
 */

import { capabilityId } from "../auth/crypto/mod.ts";
import { utf8Length } from "../base/text/mod.ts";
import { decide, type Stored, tenantPartition } from "../storage/mod.ts";
import { keyName } from "../storage/names.ts";
import { partWrites, readParts } from "./parts.ts";
import type { WorkflowPorts } from "./ports.ts";
import { type Memory, payloadMsMax, type Seals } from "./seal.ts";
import { type Caller, contextIds } from "./verify.ts";

/** Time after which an action whose process died may be sent again, in ms. */
const reservationMs = 60_000;
/** Time for which an answer is kept for repetitions, in ms. */
const answerMs = 600_000;
/** Longer than any payload of the view counts: a poll may renew it once more before the view is used. */
const usedMs = 2 * payloadMsMax + 300_000;
/** Longest memory that travels with the payload, in bytes; a longer one is stored, and its id travels. */
const sealedBytesMax = 65_536;

type ViewRecord =
  | { readonly state: "reserved"; readonly action: string; readonly until: number; readonly by: string }
  | { readonly state: "used"; readonly action: string; readonly parts: number };

export type Reservation =
  | { readonly kind: "reserved"; readonly by: string }
  | { readonly kind: "busy" }
  /** The answer is null where it is no longer kept. */
  | { readonly kind: "used"; readonly action: string; readonly answer: string | null };

export class Views {
  readonly #ports: WorkflowPorts;
  readonly #seals: Seals;

  constructor(ports: WorkflowPorts, seals: Seals) {
    this.#ports = ports;
    this.#seals = seals;
  }

  /** Reserves a view for an action, unless it was used or is reserved. */
  async reserve(caller: Caller, nonce: string, action: string): Promise<Reservation> {
    const { store, random, clock } = this.#ports;
    const partition = partitionOf(caller);
    const key = keyName("view", nonce);
    const by = capabilityId(random);
    const found = await decide(store, partition, {
      reads: [{ type: "record", key }],
      idempotent: true,
      apply([stored]) {
        const now = clock();
        const view = parsed(stored);
        const isFree = view === null || (view.state === "reserved" && (view.until <= now || view.by === by));
        if (!isFree) return { writes: [], answer: view };
        const until = now + reservationMs;
        const value = JSON.stringify({ state: "reserved", action, until, by } satisfies ViewRecord);
        return { writes: [{ type: "put", key, value, expireAt: until }], answer: null };
      },
    });
    if (found === null) return { kind: "reserved", by };
    if (found.state === "reserved") return { kind: "busy" };
    const answer = await readParts(store, partition, "answer", nonce, found.parts);
    return { kind: "used", action: found.action, answer };
  }

  async use(caller: Caller, nonce: string, action: string, answer: string): Promise<void> {
    const { store, clock } = this.#ports;
    const now = clock();
    const { writes, count } = partWrites("answer", nonce, answer, now + answerMs);
    const value = JSON.stringify({ state: "used", action, parts: count } satisfies ViewRecord);
    await decide(store, partitionOf(caller), {
      reads: [],
      idempotent: true,
      apply: () => ({
        writes: [{ type: "put", key: keyName("view", nonce), value, expireAt: now + usedMs }, ...writes],
        answer: null,
      }),
    });
  }

  /** Frees a reserved view whose action had no effect. */
  async release(caller: Caller, nonce: string, by: string): Promise<void> {
    const key = keyName("view", nonce);
    await decide(this.#ports.store, partitionOf(caller), {
      reads: [{ type: "record", key }],
      idempotent: true,
      apply([stored]) {
        const view = parsed(stored);
        const isOwn = view?.state === "reserved" && view.by === by;
        return { writes: isOwn ? [{ type: "delete", shape: "record", key }] : [], answer: null };
      },
    });
  }

  async isUsed(caller: Caller, nonce: string): Promise<boolean> {
    const key = keyName("view", nonce);
    const [stored] = await this.#ports.store.read(partitionOf(caller), [{ type: "record", key }]);
    return parsed(stored)?.state === "used";
  }

  async seal(caller: Caller, memory: Memory): Promise<string> {
    const { store, random } = this.#ports;
    const text = JSON.stringify(memory);
    if (text.length * 3 <= sealedBytesMax || (utf8Length(text) ?? 0) <= sealedBytesMax)
      return this.#seals.seal(text, placeOf(caller));
    const id = capabilityId(random);
    const { writes, count } = partWrites("memory", id, text, memory.expiresAt);
    const committed = await store.commit(partitionOf(caller), { writes });
    if (!committed.ok) throw new Error("A commit without checks was refused");
    return this.#seals.seal(JSON.stringify({ stored: id, parts: count }), placeOf(caller));
  }

  /**
   * Opens a payload; null if it has expired.
   *
   * @throws {AppError} `validation_failed`: it is not a payload of this caller and context.
   */
  async open(caller: Caller, sealed: unknown): Promise<Memory | null> {
    const { store, clock } = this.#ports;
    let opened = JSON.parse(this.#seals.open(sealed, placeOf(caller)));
    if (typeof opened.stored === "string") {
      const text = await readParts(store, partitionOf(caller), "memory", opened.stored, opened.parts);
      opened = text === null ? null : JSON.parse(text);
    }
    return opened === null || opened.expiresAt <= clock() ? null : opened;
  }
}

function partitionOf({ context, user }: Caller) {
  return tenantPartition({ organisation: context.organisationId }, "workflow", user.id);
}

function placeOf({ context, user }: Caller): readonly string[] {
  return [user.id, ...contextIds(context)];
}

function parsed(stored: Stored | null): ViewRecord | null {
  return stored === null ? null : JSON.parse(stored.value);
}
