/**
 * The votes of the fan. A vote waits in the storage of the device until the server has answered it, under one action id for every try, and
 * is sent for the fan who cast it alone.
 */

import { type Signal, signal } from "@preact/signals";
import { type Client, type FanUser, GrandstandError, type loyalty } from "../../../client/mod.ts";

/** Longest pause between two tries, in ms. */
const pauseMsMax = 15_000;
/** Longest time that a vote waits for the screen, in ms. */
const unseenMs = 200;
/** Most votes that a device keeps, of all its fans; the newest stay. */
const queuedMax = 200;

type VoteState =
  | "sending"
  | "waiting"
  | "crowded"
  | "away"
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

/** What a vote says: options, and the text of an answer. */
export interface Ballot {
  readonly options: readonly number[];
  readonly text?: string;
}

/** A vote that the server has counted. */
export interface CountedVote {
  readonly elementId: string;
  /** Numbers of the options, from 1. */
  readonly options: readonly number[];
  /** Whether it was right, where that is public after the own vote. */
  readonly isRight?: boolean | undefined;
}

interface Queued extends Ballot {
  /** Null: cast before anybody was signed in, for the fan who signs in next. */
  readonly userId: string | null;
  readonly actionId: string;
  readonly action: string;
  readonly elementId: string;
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
  join(): Promise<FanUser>;
  /** Follows the effects of a vote that was counted. */
  acted(vote: CountedVote): void;
}

export class Votes {
  /** Number of votes of this fan that the server has not answered. */
  readonly waiting = signal(0);
  readonly #options: VotesOptions;
  readonly #key: string;
  readonly #own = new Map<string, Signal<OwnVote | null>>();
  #userId: string | null = null;
  #isSending = false;
  #sending = new AbortController();
  #wake: () => void = () => {};
  #again: ReturnType<typeof setTimeout> | undefined;
  #unread = 0;

  constructor(options: VotesOptions) {
    this.#options = options;
    this.#key = `grandstand:show:votes:${options.projectId}`;
    window.addEventListener("online", () => this.hurry());
  }

  /** Returns the fan's vote for an element. */
  of(elementId: string): Signal<OwnVote | null> {
    const found = this.#own.get(elementId) ?? signal(null);
    this.#own.set(elementId, found);
    return found;
  }

  /**
   * Shows and sends the votes of a fan; those of others wait until they sign in again.
   *
   * @param heirOf The guest whose account it is now.
   */
  belongTo(userId: string | null, heirOf: string | null = null): void {
    this.#sending.abort();
    clearTimeout(this.#again);
    this.#sending = new AbortController();
    this.#userId = userId;
    for (const own of this.#own.values()) own.value = null;
    if (userId === null) {
      this.waiting.value = 0;
      return;
    }
    this.#change(queue =>
      queue.map(each => (each.userId === null || each.userId === heirOf ? { ...each, userId } : each)),
    );
    for (const { elementId, options } of this.#mine())
      this.of(elementId).value = { options, count: 0, state: "sending" };
    void this.#send();
  }

  /** Shows the votes of a fan whose session ended. */
  showKept(userId: string): void {
    for (const { elementId, options } of this.#queue().filter(each => each.userId === userId))
      this.of(elementId).value = { options, count: 0, state: "away" };
  }

  /** Sends what waits now. */
  hurry(): void {
    this.#wake();
    void this.#send();
  }

  /** Casts a vote: it is shown at once, and called counted when the server has said so. */
  cast(elementId: string, ballot: Ballot, action = this.#options.action): void {
    const own = this.of(elementId);
    const count = own.value?.count ?? 0;
    const ahead = this.#mine().filter(queued => queued.elementId === elementId).length;
    own.value = { options: ballot.options, count, state: "sending" };
    const actionId = `vote:${elementId}:${count + ahead + 1}`;
    const queued = { ...ballot, userId: this.#userId, actionId, action, elementId };
    this.#change(queue => [...queue, queued].slice(-queuedMax));
    afterPaint(() => void this.#send());
  }

  /** Reads the votes that the server has, which a reload or another device shows again; later once more if it cannot. */
  async read(): Promise<void> {
    const { eventId } = this.#options;
    if (eventId === null) return;
    clearTimeout(this.#again);
    const userId = this.#userId;
    const listed = await this.#options.loyalty.listOwnVotes({ event_id: eventId }).catch((error: unknown) => {
      if (this.#userId === userId) this.#readAgain(error);
      throw error;
    });
    if (this.#userId !== userId) return;
    this.#unread = 0;
    const queued = new Set(this.#mine().map(({ elementId }) => elementId));
    for (const { elementId, votes, options, isRight } of listed) {
      const own = this.of(elementId);
      if (own.value?.state === "sending" || queued.has(elementId)) continue;
      own.value = { options: options.map(({ option }) => option), count: votes, state: "counted", isRight };
    }
  }

  #readAgain(error: unknown): void {
    if (!(error instanceof GrandstandError) || !isPassing(error)) return;
    clearTimeout(this.#again);
    this.#unread++;
    this.#again = setTimeout(() => void this.read().catch(() => {}), pauseAfter(this.#unread, error));
  }

  /** Reads the queue, which tabs share. */
  #queue(): readonly Queued[] {
    const stored = readStored<readonly Queued[]>(this.#key, []);
    return Array.isArray(stored) ? stored : [];
  }

  #mine(): readonly Queued[] {
    return this.#queue().filter(({ userId }) => userId === this.#userId);
  }

  #change(change: (queue: readonly Queued[]) => readonly Queued[]): void {
    store(this.#key, change(this.#queue()));
    this.waiting.value = this.#mine().length;
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    let failures = 0;
    for (let next = this.#mine()[0]; next !== undefined; next = this.#mine()[0]) {
      try {
        await this.#report(next);
        failures = 0;
      } catch (error) {
        const isOther = this.#userId !== next.userId;
        if (isOther || (error instanceof GrandstandError && error.code === "aborted")) continue;
        // The session is over: the vote waits until the fan is back.
        if (error instanceof GrandstandError && error.status === 401) {
          this.#mark(next, { state: "away" });
          break;
        }
        if (!(error instanceof GrandstandError) || !isPassing(error)) {
          this.#settle(next, { state: stateOf(error) });
          continue;
        }
        failures++;
        const ms = pauseAfter(failures, error);
        const state = error.status === 429 || error.status === 503 ? "crowded" : "waiting";
        this.#mark(next, { state, until: performance.now() + ms });
        await this.#pause(ms);
      }
    }
    this.#isSending = false;
  }

  async #report(queued: Queued): Promise<void> {
    const { userId, actionId, action, elementId, options, text } = queued;
    if (this.#options.isPreview) return this.#settle(queued, { state: "counted", count: 1 });
    if (userId === null) {
      const fan = await this.#options.join();
      if (this.#userId === null) this.belongTo(fan.userId);
      return;
    }
    const data = {
      elementId,
      ...(options.length > 0 && { option: options.join() }),
      ...(text !== undefined && { text }),
    };
    const answer = (await this.#options.loyalty.reportAction(
      { body: { action, actionId, data } },
      { attemptsMax: 1, signal: this.#sending.signal },
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
    this.#options.acted({ elementId, options, isRight: answer?.isRight });
  }

  #settle(settled: Queued, outcome: Partial<OwnVote>): void {
    const { userId, actionId } = settled;
    this.#change(queue => queue.filter(each => each.userId !== userId || each.actionId !== actionId));
    if (this.#userId !== userId) return;
    this.#mark(settled, outcome);
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

/** Runs a task in the frame after the one that shows the press, as a slow device needs a while to send; soon where nothing is drawn. */
function afterPaint(task: () => void): void {
  const timer = setTimeout(task, unseenMs);
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      clearTimeout(timer);
      setTimeout(task);
    }),
  );
}

/** Returns how long to wait after so many failures in a row, in ms. */
function pauseAfter(failures: number, { retryAfterMs }: GrandstandError): number {
  return Math.max(retryAfterMs, Math.random() * Math.min(1_000 * 2 ** failures, pauseMsMax));
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

/** Values that the storage of the browser refused. */
const memory = new Map<string, string>();

function readStored<T>(key: string, otherwise: T): T {
  let text = memory.get(key) ?? null;
  try {
    text ??= localStorage.getItem(key);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

function store(key: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(key, text);
    memory.delete(key);
  } catch {
    memory.set(key, text);
  }
}
