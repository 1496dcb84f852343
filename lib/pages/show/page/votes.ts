/**
 * The votes of the fan. A vote waits in the storage of the device until the server has answered it, under one action id for every try.
 */

import { type Signal, signal } from "@preact/signals";
import { type Client, GrandstandError, type loyalty } from "../../../client/mod.ts";
import { readStored, store } from "./stored.ts";

/** Longest pause between two tries, in ms. */
const pauseMsMax = 15_000;

export type VoteState =
  | "sending"
  | "waiting"
  | "crowded"
  | "counted"
  | "late"
  | "spent"
  | "refused"
  | "verify";

export interface OwnVote {
  readonly options: readonly number[];
  /** Number of votes that the server has counted. */
  readonly count: number;
  readonly state: VoteState;
  readonly isRight?: boolean | undefined;
  /** When a crowded server lets in, by `performance.now()`. */
  readonly until?: number | undefined;
}

interface Queued {
  readonly actionId: string;
  readonly action: string;
  readonly elementId: string;
  readonly options: readonly number[];
}

/** What votes need of the show. */
interface VotesOptions {
  readonly projectId: string;
  readonly eventId: string | null;
  /** Name of the action that reports a vote. */
  readonly action: string;
  /** True where votes are only shown, and never reported. */
  readonly isPreview: boolean;
  readonly loyalty: Client<{ readonly loyalty: typeof loyalty }>["loyalty"];
  /** Lets the fan have a session. */
  join(): Promise<unknown>;
  /** Follows the effects of a vote. */
  acted(): Promise<void>;
}

export class Votes {
  readonly #options: VotesOptions;
  readonly #key: string;
  readonly #own = new Map<string, Signal<OwnVote | null>>();
  #queue: readonly Queued[];
  #isSending = false;
  #wake: () => void = () => {};

  constructor(options: VotesOptions) {
    this.#options = options;
    this.#key = `grandstand:show:votes:${options.projectId}`;
    this.#queue = readStored<readonly Queued[]>(this.#key, []);
  }

  /** Returns the fan's vote for an element. */
  of(elementId: string): Signal<OwnVote | null> {
    const found = this.#own.get(elementId) ?? signal(null);
    this.#own.set(elementId, found);
    return found;
  }

  /** Sends what an earlier visit left. */
  start(): void {
    for (const { elementId, options } of this.#queue)
      this.of(elementId).value = { options, count: 0, state: "waiting" };
    window.addEventListener("online", () => this.#wake());
    void this.#send();
  }

  /** Number of votes that the server has not answered. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Casts a vote: it is shown at once, and called counted when the server has said so. */
  cast(elementId: string, options: readonly number[], action = this.#options.action): void {
    const own = this.of(elementId);
    const count = own.value?.count ?? 0;
    const ahead = this.#queue.filter(queued => queued.elementId === elementId).length;
    own.value = { options, count, state: "sending" };
    const actionId = `vote:${elementId}:${count + ahead + 1}`;
    this.#keep([...this.#queue, { actionId, action, elementId, options }]);
    void this.#send();
  }

  /** Reads the votes that the server has, which a reload or another device shows again. */
  async read(): Promise<void> {
    const { eventId } = this.#options;
    if (eventId === null) return;
    const listed = await this.#options.loyalty.listOwnVotes({ event_id: eventId });
    for (const { elementId, votes, options } of listed) {
      const own = this.of(elementId);
      if (own.value?.state === "sending" || this.#isQueued(elementId)) continue;
      const { isRight } = own.value ?? {};
      own.value = { options: options.map(({ option }) => option), count: votes, state: "counted", isRight };
    }
  }

  /** Forgets the votes of a fan who signed out. */
  forget(): void {
    for (const own of this.#own.values()) own.value = null;
    this.#keep([]);
  }

  #isQueued(elementId: string): boolean {
    return this.#queue.some(queued => queued.elementId === elementId);
  }

  #keep(queue: readonly Queued[]): void {
    this.#queue = queue;
    store(this.#key, queue);
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    for (let failures = 0, next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      try {
        await this.#report(next);
        failures = 0;
      } catch (error) {
        if (!(error instanceof GrandstandError) || !isPassing(error)) {
          this.#settle(next, { state: stateOf(error) });
          continue;
        }
        failures++;
        const ms = Math.max(error.retryAfterMs, Math.random() * Math.min(1_000 * 2 ** failures, pauseMsMax));
        const state = error.status === 429 ? "crowded" : "waiting";
        this.#mark(next, { state, until: performance.now() + ms });
        await this.#pause(ms);
      }
    }
    this.#isSending = false;
  }

  async #report(queued: Queued): Promise<void> {
    const { actionId, action, elementId, options } = queued;
    if (this.#options.isPreview) return this.#settle(queued, { state: "counted", count: 1 });
    await this.#options.join();
    const data = { elementId, ...(options.length > 0 && { option: options.join() }) };
    const answer = (await this.#options.loyalty.reportAction(
      { body: { action, actionId, data } },
      { attemptsMax: 1 },
    )) as Partial<{
      readonly isRight: boolean;
      readonly vote: { readonly votes: number; readonly options: readonly { readonly option: number }[] };
    }> | null;
    this.#settle(queued, {
      state: "counted",
      isRight: answer?.isRight,
      // An answer to an earlier try has the vote that took effect.
      ...(answer?.vote !== undefined && {
        count: answer.vote.votes,
        options: answer.vote.options.map(({ option }) => option),
      }),
    });
    void this.#options.acted();
  }

  #settle(queued: Queued, outcome: Partial<OwnVote>): void {
    this.#keep(this.#queue.filter(({ actionId }) => actionId !== queued.actionId));
    this.#mark(queued, outcome);
    if (outcome.state === "spent") void this.read().catch(() => {});
  }

  #mark({ elementId, options }: Queued, outcome: Partial<OwnVote>): void {
    const own = this.of(elementId);
    own.value = { options, count: own.value?.count ?? 0, state: "waiting", ...outcome };
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function isPassing(error: GrandstandError): boolean {
  return error.retryable || error.code === "network" || error.code === "timeout" || error.status === 429;
}

function stateOf(error: unknown): VoteState {
  const code = error instanceof GrandstandError ? error.code : "";
  if (code === "vote_closed") return "late";
  if (code === "vote_limit") return "spent";
  return code === "email_not_verified" ? "verify" : "refused";
}
