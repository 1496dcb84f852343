/**
 * The guard of votes: an action that names an element takes part only while the element is open, for options that it has, and as
 * often as its producer allows.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import type { ActionData } from "../config/document.ts";
import { type ElementFacts, type ElementMoment, optionsOf, type VotedElement } from "./elements.ts";

/** A user's votes for an element. */
export interface Standing {
  readonly votes: number;
  /** The options that were chosen, by number. */
  readonly options: readonly { readonly option: number; readonly votes: number }[];
}

/** A vote that an action makes. */
export interface Vote {
  readonly element: VotedElement;
  readonly options: readonly number[];
  /** False for back ends that did not ask for the guard. */
  readonly isGuarded: boolean;
}

/**
 * Reads the vote of an action. Without the guard, an action whose options the element does not have is no vote.
 *
 * @throws {AppError} `option`: the element has no such options, or does not take as many.
 */
export function readVote(element: VotedElement, { option }: ActionData, isGuarded: boolean): Vote | null {
  const options = option === undefined ? [] : optionsOf(option);
  const fault = options === null ? wellFormed(element.options) : optionFault(element, options);
  if (options !== null && fault === null) return { element, options, isGuarded };
  if (!isGuarded) return null;
  throw new AppError("option", "Cannot vote for these options", {
    fields: [{ pointer: "/data/option", detail: fault ?? "" }],
  });
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

/** Creates the error for a user who has voted as often as allowed. */
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
