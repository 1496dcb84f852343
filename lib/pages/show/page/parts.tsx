/** What several parts have: a title, the time left, what has become of the fan's vote, and the rows of a board. */

import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { GrandstandError, type LeaderboardEntry } from "../../../client/mod.ts";
import { titleOf } from "./content.tsx";
import type { Item, Show, Stat } from "./show.ts";
import { useSeconds, useTimeLeft } from "./show_time.ts";
import { duration, number, t } from "./texts.ts";
import type { OwnVote } from "./votes.ts";

export interface ItemProps {
  readonly show: Show;
  readonly item: Item;
}

export function Title({ item }: { readonly item: Item }) {
  return (
    <h2 id={`t-${item.id}`} dir="auto">
      {titleOf(item)}
    </h2>
  );
}

/** An answer that is public ends the voting. */
export function isOpen({ state, correct_option: answer = 0 }: Item): boolean {
  return state === "current" && answer === 0;
}

/** Returns when an element closes by its own duration; undefined: a stop or the end of the show closes it, which nobody waits for. */
export function deadlineOf({ closes_at_iso: closes, duration: own }: Item): number | undefined {
  return closes === undefined || own === undefined ? undefined : Date.parse(closes);
}

/** The time until a deadline, or that it is over. */
function Deadline({ show, at }: { readonly show: Show; readonly at: number }) {
  const left = useTimeLeft(show.time, at);
  const text = useComputed(() => (left.value > 0 ? duration(left.value) : t("timeUp")));
  const isShort = useComputed(() => left.value < 10_000);
  return (
    <button
      type="button"
      class="clock"
      data-short={isShort}
      title={t("timeIs")}
      onClick={() => show.say(left.value > 0 ? t("left", { time: text.value }) : text.value)}
    >
      <span role="timer">{text}</span>
    </button>
  );
}

export function Head({ show, item }: ItemProps) {
  const deadline = deadlineOf(item);
  return (
    <div class="head">
      <Title item={item} />
      {isOpen(item) && deadline !== undefined && <Deadline show={show} at={deadline} />}
      {!isOpen(item) && <span class="state">{t("timeUp")}</span>}
    </div>
  );
}

export function canVoteAgain(item: Item, own: OwnVote | null): boolean {
  if (own === null || own.state === "late") return own === null;
  if (own.state !== "counted" && own.state !== "refused" && own.state !== "verify") return false;
  return item.vote.perUser === 0 ? !isQuiz(item) : own.count < item.vote.perUser;
}

/** What others chose would tell the answer. */
export function isQuiz({ content_type: type }: Item): boolean {
  return type === "quiz" || type === "trivia";
}

type Votes = readonly number[] | undefined;

function hasVotes(votes: Votes): boolean {
  return votes?.some(each => each > 0) === true;
}

/** Results before the own vote sway it, so those of such elements are a step of their own. */
export function showsResults(
  item: Item,
  { own, votes }: { readonly own: OwnVote | null; readonly votes: Votes },
) {
  const hasVoted = own !== null && (own.count > 0 || own.state === "counted");
  if (isOpen(item) && isQuiz(item)) return false;
  return hasVotes(votes) && (hasVoted || !isOpen(item) || item.vote.resultsMode !== "vote");
}

/** What has become of the fan's vote. */
export function VoteLine({ own }: { readonly own: OwnVote | null }) {
  useSeconds(own?.state === "crowded");
  if (own === null) return null;
  const { state, until = 0 } = own;
  const seconds = Math.max(1, Math.ceil((until - performance.now()) / 1_000));
  return (
    <p class="vote" data-vote={state}>
      {state === "counted" ? `${t("counted")} ✓` : t(state, { seconds })}
    </p>
  );
}

/** The number of votes, or the step that shows them before the own vote. */
interface ResultsProps {
  readonly stat: Signal<Stat | undefined>;
  readonly isShown: boolean;
  /** Null: there is nothing to vote any more. */
  readonly onPeek: (() => void) | null;
}

export function Results({ stat, isShown, onPeek }: ResultsProps) {
  const votes = stat.value?.votes;
  if (votes === undefined) return null;
  if (isShown)
    return <p class="quiet">{t("votes", { count: votes.reduce((sum, each) => sum + each, 0) })}</p>;
  if (onPeek === null || !hasVotes(votes)) return null;
  return (
    <button type="button" class="plain" onClick={onPeek}>
      {t("seeResults")}
    </button>
  );
}

interface RowsProps {
  readonly entries: readonly LeaderboardEntry[];
  readonly userId: string | undefined;
}

/** Returns by how many places each entry climbed when places changed last; below 0 where it fell. */
export function useMoves(entries: readonly LeaderboardEntry[]): (entry: LeaderboardEntry) => number {
  const ranks = entries.map(({ userId, rank }) => [userId, rank] as const);
  const seen = useRef({ text: "", now: new Map(ranks), before: new Map(ranks) });
  const text = ranks.join();
  if (seen.current.text !== text) seen.current = { text, now: new Map(ranks), before: seen.current.now };
  const { before } = seen.current;
  return ({ userId, rank }) => (before.get(userId) ?? rank) - rank;
}

/** How far an entry has moved, in signs and in words. */
export function Moved({ by }: { readonly by: number }) {
  if (by === 0) return <span class="moved" />;
  const count = Math.abs(by);
  return (
    <span class="moved" data-up={by > 0}>
      <span aria-hidden="true">
        {by > 0 ? "▲" : "▼"}
        {number(count)}
      </span>
      <span class="hidden">{t("places", { count: by > 0 ? `+${number(count)}` : number(by) })}</span>
    </span>
  );
}

interface OwnRowsOptions {
  readonly id: string;
  /** Undefined: the rows are not asked for. */
  readonly leaders: Entries | undefined;
  readonly limit: number;
  /** Time between two looks, in ms. */
  readonly everyMs: number;
}

interface OwnRows {
  readonly entries: readonly LeaderboardEntry[];
  /** When they were read, by `performance.now()`. */
  readonly at: number;
}

/** Returns the fan's row of a board with those around it, of a fan who is not among the leaders. It changes without them. */
export function useOwnRows(show: Show, { id, leaders, limit, everyMs }: OwnRowsOptions): OwnRows | null {
  const rows = useSignal<OwnRows | null>(null);
  const userId = show.fan.value?.userId;
  const isAsked = userId !== undefined && leaders !== undefined && !has(leaders, userId);
  useEffect(() => {
    if (!isAsked) return;
    let timer: ReturnType<typeof setTimeout>;
    let isLeft = false;
    async function read(): Promise<void> {
      if (!document.hidden) {
        try {
          const entries = await show.listAround(id, userId ?? "", limit);
          if (!isLeft) rows.value = { entries, at: performance.now() };
        } catch (error) {
          // Somebody without a score has no place yet.
          if (!isLeft && error instanceof GrandstandError && error.code === "not_found") rows.value = null;
        }
      }
      if (!isLeft) timer = setTimeout(() => void read(), everyMs * (0.8 + 0.4 * Math.random()));
    }
    void read();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [id, userId, isAsked, show.points.value]);
  const { value: found } = rows;
  return isAsked && found !== null && has(found.entries, userId) ? found : null;
}

type Entries = readonly LeaderboardEntry[];

function has(entries: Entries, id: string): boolean {
  return entries.some(({ userId }) => userId === id);
}

/** The rows of a board, the fan's own one marked. */
export function Rows({ entries, userId }: RowsProps) {
  const movesOf = useMoves(entries);
  return (
    <ol class="rows">
      {entries.map(entry => (
        <li key={entry.userId} data-mine={entry.userId === userId} data-rank={entry.rank}>
          <span class="rank">{number(entry.rank)}</span>
          <span class="name" dir="auto">
            {entry.publicProfile.username || t("guest")}
            {entry.userId === userId && <span class="note">{t("you")}</span>}
          </span>
          <Moved by={movesOf(entry)} />
          <span class="points">{number(entry.score)}</span>
        </li>
      ))}
    </ol>
  );
}
