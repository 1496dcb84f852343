/**
 * The guard of votes: an action that names an element takes part only while the element is open, for options that it has, and as
 * often as its producer allows.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { readMany } from "../../../storage/board_pages.ts";
import type { Add, Partition, ReadTally, Store, Write } from "../../../storage/mod.ts";
import type { ActionData } from "../config/document.ts";
import type { UserState } from "../user/state.ts";
import { type SpaceUser, spaceUserPartition } from "../user/state.ts";
import {
  type ElementFacts,
  type ElementMoment,
  type ElementSource,
  optionsOf,
  type VotedElement,
} from "./elements.ts";

export interface Standing {
  readonly votes: number;
  /** The options that were chosen, by number. */
  readonly options: readonly { readonly option: number; readonly votes: number }[];
}

export interface Vote {
  readonly element: VotedElement;
  readonly options: readonly number[];
  /** What the user writes; null where the element takes no text, or none was sent. */
  readonly text: string | null;
  /** False for back ends that did not ask for the guard. */
  readonly isGuarded: boolean;
}

/**
 * Reads the vote of an action. Without the guard, an action whose options the element does not have is no vote.
 *
 * @throws {AppError} `option`: the element has no such options, or does not take as many. `validation_failed`: the text is empty or too long.
 */
export function readVote(
  element: VotedElement,
  { option, text: sent }: ActionData,
  isGuarded: boolean,
): Vote | null {
  const text = element.textMax === 0 || sent === undefined ? null : sent;
  if (text !== null && !isText(text, element.textMax)) {
    if (!isGuarded) return null;
    throw new AppError("validation_failed", "Cannot send the text to the element", {
      fields: [{ pointer: "/data/text", detail: `Expected a text of 1 to ${element.textMax} characters` }],
    });
  }
  const options = option === undefined ? [] : optionsOf(option);
  const fault = options === null ? wellFormed(element.options) : optionFault(element, options);
  if (options !== null && fault === null) return { element, options, text, isGuarded };
  if (!isGuarded) return null;
  throw new AppError("option", "Cannot vote for these options", {
    fields: [{ pointer: "/data/option", detail: fault ?? "" }],
  });
}

function isText(value: unknown, lengthMax: number): value is string {
  return (
    typeof value === "string" && value.trim() !== "" && [...value].length <= lengthMax && value.isWellFormed()
  );
}

function wellFormed(options: number): string {
  return options === 0
    ? "Expected none, as the element has no options"
    : `Expected numbers of options from 1 to ${options}, separated by commas`;
}

function optionFault({ options: count, bounds }: VotedElement, options: readonly number[]): string | null {
  if (options.some(option => option > count)) return wellFormed(count);
  if (count === 0) return null;
  const { optionsMin: least, optionsMax } = bounds;
  const most = optionsMax === 0 ? count : optionsMax;
  const isWithin = options.length >= least && options.length <= most;
  return isWithin ? null : `Expected ${least === most ? least : `${least} to ${most}`} different options`;
}

/** Creates the error for an action that names an element which takes no votes from the user now. */
export function voteClosed(): AppError {
  return new AppError("vote_closed", "Cannot vote for the element as it is not open in a show of the user");
}

export function voteLimit(): AppError {
  return new AppError(
    "vote_limit",
    "Cannot vote for the element again: the user has voted as often as allowed",
  );
}

/** Returns what rules may read of a vote that is made at a time of the store. */
export function factsOf(
  { element, options }: Pick<Vote, "element" | "options">,
  { publishedAt, answerAt }: Pick<ElementMoment, "publishedAt" | "answerAt">,
  now: number,
): ElementFacts {
  const { id, type, points, rightOption, tellsAnswer } = element;
  const ms = publishedAt === null ? 0 : Math.max(0, Math.round(now - publishedAt));
  const isKnown = rightOption !== null && (tellsAnswer || (answerAt !== null && answerAt <= now));
  const facts = { id, type, points, seconds: ms / 1_000 };
  return isKnown ? { ...facts, isRight: options.length === 1 && options[0] === rightOption } : facts;
}

/**
 * Checks that a user may vote once more.
 *
 * @throws {AppError} `vote_limit`.
 */
export function requireRoom({ element: { bounds }, options }: Vote, standing: Standing | null): void {
  const { perUser, perOption } = bounds;
  const votesFor = (option: number): number =>
    standing?.options.find(each => each.option === option)?.votes ?? 0;
  const isFull = perUser > 0 && (standing?.votes ?? 0) >= perUser;
  if (isFull || (perOption > 0 && options.some(option => votesFor(option) >= perOption))) throw voteLimit();
}

export interface OwnVotes extends Standing {
  readonly elementId: string;
}

interface Verdict {
  /** Tells if every vote names the right option alone. Absent unless the element tells the answer with the vote. */
  readonly isRight?: boolean;
}

/** The votes of a user after one of them. */
export interface CountedVote extends Verdict {
  readonly vote: OwnVotes;
}

/** The votes of a user in a list of them. */
export interface ListedVotes extends OwnVotes, Verdict {}

/** Returns the votes of a user for the element of a vote that was counted. */
export async function countedVote(
  store: Store,
  user: SpaceUser,
  { vote, isNew, now }: { readonly vote: Vote; readonly isNew: boolean; readonly now: number },
): Promise<CountedVote> {
  const { element, options, isGuarded } = vote;
  const { publishedAt } = element.at(now);
  const own: Standing = { votes: 1, options: options.map(option => ({ option, votes: 1 })) };
  const isOnly =
    (isNew && isGuarded && element.bounds.perUser === 1) || !isKept(element) || publishedAt === null;
  const standing = isOnly ? own : ((await readOne(store, user, element, publishedAt)) ?? own);
  return { vote: { elementId: element.id, ...standing }, ...verdictOf(element, standing) };
}

/** Returns whether votes are right, where the element tells the answer with the vote. */
function verdictOf({ tellsAnswer, rightOption }: VotedElement, standing: Standing): Verdict {
  return tellsAnswer && rightOption !== null ? { isRight: isRightChoice(standing, rightOption) } : {};
}

/** Returns the votes of a user for the elements of an event, in the order of the event. */
export async function ownVotes(
  store: Store,
  elements: ElementSource,
  { user, eventId, now }: { readonly user: SpaceUser; readonly eventId: string; readonly now: number },
): Promise<readonly ListedVotes[]> {
  const event = await elements.elementsOf(eventId);
  const isOwn = event?.spaceId === user.spaceId && (user.projectId ?? event.projectId) === event.projectId;
  if (event === null || !isOwn)
    throw new AppError("not_found", "Cannot find the event in the user's project");
  const published = event.elements.flatMap(element => element.at(now).publishedAt ?? []);
  const tallies = await readMany(store, spaceUserPartition(user), readVotes(published));
  const all = new Map(tallies.flatMap(tally => [...tally]));
  return event.elements.flatMap(element => {
    const standing = standingIn(all, element);
    return standing === null ? [] : [{ elementId: element.id, ...standing, ...verdictOf(element, standing) }];
  });
}

/** Tests if every vote names the right option and no other. */
export function isRightChoice({ votes, options }: Standing, rightOption: number): boolean {
  const [first, ...others] = options;
  return others.length === 0 && first?.option === rightOption && first.votes === votes;
}

async function readOne(
  store: Store,
  user: SpaceUser,
  element: VotedElement,
  publishedAt: number,
): Promise<Standing | null> {
  const [tally] = await store.read(spaceUserPartition(user), [readStanding(element, publishedAt)]);
  return standingIn(tally, element);
}

/** Length of the time of publication whose elements share a tally, in ms. */
const generationMs = 28 * 24 * 60 * 60 * 1_000;
/** Tallies that are kept, the newest: votes are known for a year after the publication of their element. */
const generationsMax = 13;
/** Most fields of a tally. A vote has one for each option, and five more once it is paid. */
const voteFieldsMax = 6_000;
const fieldsOfVote = 5;
/** Most fields that a user takes over from a merged one, in one commit. */
const movedFieldsMax = 800;

const fields = {
  votes: (id: string): string => id,
  option: (id: string, option: number): string => `${id} ${option}`,
  /** Sum of the times from the publication to each vote that was reported as this action, in ms and one more for each. */
  time: (id: string, name: string): string => `${id} by ${name}`,
  /** Votes that were reported as this action and whose answer the user learnt with the vote. */
  known: (id: string, name: string): string => `${id} known ${name}`,
  /** Number of the reveal that paid for the votes of this action last. */
  round: (id: string, name: string): string => `${id} round ${name}`,
  /** Time of the history record of that payment, in Unix ms. */
  paid: (id: string, name: string): string => `${id} paid ${name}`,
};

/** Tests if votes for the element are kept: without any bound, nobody's votes are. */
export function isKept({ bounds: { perUser, perOption }, options }: VotedElement): boolean {
  return perUser > 0 || (perOption > 0 && options > 0);
}

/** The tallies that a user has, oldest first, each with the most fields that it may have. */
type Kept = UserState["votes"];

/**
 * Counts a vote: returns the tallies after it, and the writes.
 *
 * @throws {AppError} `vote_limit`: the tally has no room.
 */
export function countVote(
  kept: Kept,
  { element, options, isGuarded }: Vote,
  of: {
    readonly action: string;
    readonly publishedAt: number;
    readonly ms: number;
    /** True if the user learns the answer with the vote. */
    readonly isAnswerKnown: boolean;
  },
): { readonly kept: Kept; readonly writes: readonly Write[] } {
  const { id, bounds } = element;
  const generation = generationOf(of.publishedAt);
  const counted = withFields(kept, generation, fieldsOfVote + options.length);
  const key = votesKey(generation);
  const writes: Write[] = [addition(key, fields.votes(id), isGuarded ? bounds.perUser : 0)];
  for (const option of options) {
    writes.push(addition(key, fields.option(id, option), isGuarded ? bounds.perOption : 0));
  }
  writes.push({ type: "add", key, field: fields.time(id, of.action), by: of.ms + 1 });
  if (of.isAnswerKnown) writes.push(addition(key, fields.known(id, of.action), 0));
  if (counted.length <= generationsMax) return { kept: counted, writes };
  const dropped = counted.slice(0, -generationsMax).map(([each]) => removal(each));
  return { kept: counted.slice(-generationsMax), writes: [...writes, ...dropped] };
}

/** Adds one to a field, up to a bound; 0: without one. */
function addition(key: string, field: string, max: number): Add {
  return max === 0 ? { type: "add", key, field, by: 1 } : { type: "add", key, field, by: 1, max };
}

function withFields(kept: Kept, generation: number, more: number): Kept {
  const index = kept.findIndex(([each]) => each === generation);
  const fieldsAfter = (kept[index]?.[1] ?? 0) + more;
  if (fieldsAfter > voteFieldsMax) throw voteLimit();
  const entry = [generation, fieldsAfter] as const;
  return index === -1 ? [...kept, entry].sort(([a], [b]) => a - b) : kept.with(index, entry);
}

/** Returns the reads of the user's votes for elements that were published at these times. */
function readVotes(publishedAt: readonly number[]): readonly ReadTally[] {
  const generations = new Set(publishedAt.map(generationOf));
  return [...generations].map(generation => ({ type: "tally", key: votesKey(generation) }));
}

/** Returns the read of what {@linkcode standingIn} needs of an element. */
export function readStanding({ id, options }: VotedElement, publishedAt: number): ReadTally {
  const numbers = Array.from({ length: options }, (_, index) => fields.option(id, index + 1));
  return { type: "tally", key: votesKey(generationOf(publishedAt)), fields: [fields.votes(id), ...numbers] };
}

/** Returns a user's votes for an element; null: there is none. */
export function standingIn(
  tally: ReadonlyMap<string, number>,
  { id, options: count }: Pick<VotedElement, "id" | "options">,
): Standing | null {
  const votes = tally.get(fields.votes(id)) ?? 0;
  if (votes === 0) return null;
  const options = Array.from({ length: count }, (_, index) => {
    const option = index + 1;
    return { option, votes: tally.get(fields.option(id, option)) ?? 0 };
  });
  return { votes, options: options.filter(each => each.votes > 0) };
}

/** Votes of a user by generation, as far as another user can take them over in one commit. */
export type MovedVotes = ReadonlyMap<number, readonly (readonly [field: string, by: number])[]>;

/** Reads the votes of a user who is being merged, the newest generation first, up to the bound of a commit. */
export async function readMovedVotes(
  store: Store,
  partition: Partition,
  { votes }: Pick<UserState, "votes">,
): Promise<MovedVotes> {
  const moved = new Map<number, readonly (readonly [string, number])[]>();
  let room = movedFieldsMax;
  for (const [generation] of votes.toReversed()) {
    const [tally] = await store.read(partition, [{ type: "tally", key: votesKey(generation) }]);
    if (tally.size > room) break;
    room -= tally.size;
    moved.set(generation, [...tally]);
  }
  return moved;
}

/** Returns the reads of what a user has in the generations of another one's votes. */
export function readVotesBeside(moved: MovedVotes): readonly ReadTally[] {
  return [...moved.keys()].map(generation => ({ type: "tally", key: votesKey(generation) }));
}

/** Gives a user the votes of another one for elements without an own vote. `tallies` are the results of {@linkcode readVotesBeside}. */
export function receiveVotes(
  kept: Kept,
  moved: MovedVotes,
  tallies: readonly ReadonlyMap<string, number>[],
): { readonly kept: Kept; readonly writes: readonly Write[] } {
  const counts = new Map(kept);
  const writes = [...moved].flatMap(([generation, votes], index) => {
    const isOwn = (field: string): boolean => tallies[index]?.has(elementOf(field)) === true;
    const received = votes.filter(([field]) => !isOwn(field));
    if (received.length > 0) counts.set(generation, (counts.get(generation) ?? 0) + received.length);
    return received.map(([field, by]): Add => ({ type: "add", key: votesKey(generation), field, by }));
  });
  return { kept: [...counts].sort(([a], [b]) => a - b), writes };
}

/** What a reveal knows of a user's votes for an element that were reported as an action. */
export interface RevealState {
  readonly standing: Standing;
  /** Mean time from the publication to a vote that was reported as the action, in ms. */
  readonly ms: number;
  /** True if no vote was reported as the action, or one of them showed the answer. */
  readonly isSettled: boolean;
  readonly round: number;
  readonly paidAt: number;
}

export function readRevealState(
  element: VotedElement,
  publishedAt: number,
  actions: readonly string[],
): ReadTally {
  const { id } = element;
  const { key, fields: counted = [] } = readStanding(element, publishedAt);
  const byAction = actions.flatMap(name => [
    ...[fields.time(id, name), fields.known(id, name)],
    ...[fields.round(id, name), fields.paid(id, name)],
  ]);
  return { type: "tally", key, fields: [...counted, ...byAction] };
}

/** Returns the result of the read for one of its actions; null: the user did not vote. */
export function revealStateIn(
  tally: ReadonlyMap<string, number>,
  element: VotedElement,
  action: string,
): RevealState | null {
  const standing = standingIn(tally, element);
  if (standing === null) return null;
  const countOf = (field: (id: string, name: string) => string) => tally.get(field(element.id, action)) ?? 0;
  return {
    standing,
    ms: Math.max(0, Math.round(countOf(fields.time) / standing.votes) - 1),
    isSettled: countOf(fields.time) === 0 || countOf(fields.known) > 0,
    round: countOf(fields.round),
    paidAt: countOf(fields.paid),
  };
}

/** Returns the writes that note a reveal: its number, and the time of its payment, 0 where there is none. */
export function revealWrites(
  { id }: VotedElement,
  {
    publishedAt,
    action,
    before,
  }: { readonly publishedAt: number; readonly action: string; readonly before: RevealState },
  { round, paidAt }: { readonly round: number; readonly paidAt: number },
): readonly Write[] {
  const key = votesKey(generationOf(publishedAt));
  return [
    { type: "add", key, field: fields.round(id, action), by: round - before.round },
    { type: "add", key, field: fields.paid(id, action), by: paidAt - before.paidAt },
  ];
}

export function votesKeys({ votes }: Pick<UserState, "votes">): readonly string[] {
  return votes.map(([generation]) => votesKey(generation));
}

function elementOf(field: string): string {
  return field.split(" ", 1)[0] ?? "";
}

function removal(generation: number): Write {
  return { type: "delete", shape: "tally", key: votesKey(generation) };
}

function votesKey(generation: number): string {
  return `votes:${generation}`;
}

function generationOf(publishedAt: number): number {
  return Math.floor(publishedAt / generationMs);
}
