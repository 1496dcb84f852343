/**
 * Votes of a user as the API shows them.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { readMany, type Store } from "../../../storage/mod.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import type { ElementSource, VotedElement } from "./elements.ts";
import type { Standing, Vote } from "./guard.ts";
import { isKept, readStanding, readVotes, standingIn } from "./tally.ts";

/** A user's votes for an element. */
export interface OwnVotes extends Standing {
  readonly elementId: string;
}

/** The votes of a user after one of them. */
export interface CountedVote {
  readonly vote: OwnVotes;
  /** Tells if every vote names the right option alone. Absent unless the element tells the answer with the vote. */
  readonly isRight?: boolean;
}

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
  const { id: elementId, tellsAnswer, rightOption } = element;
  const counted = { vote: { elementId, ...standing } };
  if (!tellsAnswer || rightOption === null) return counted;
  return { ...counted, isRight: isRightChoice(standing, rightOption) };
}

/** Returns the votes of a user for the elements of an event, in the order of the event. */
export async function ownVotes(
  store: Store,
  elements: ElementSource,
  { user, eventId, now }: { readonly user: SpaceUser; readonly eventId: string; readonly now: number },
): Promise<readonly OwnVotes[]> {
  const event = await elements.elementsOf(eventId);
  const isOwn = event?.spaceId === user.spaceId && (user.projectId ?? event.projectId) === event.projectId;
  if (event === null || !isOwn)
    throw new AppError("not_found", "Cannot find the event in the user's project");
  const published = event.elements.flatMap(element => element.at(now).publishedAt ?? []);
  const tallies = await readMany(store, spaceUserPartition(user), readVotes(published));
  const all = new Map(tallies.flatMap(tally => [...tally]));
  return event.elements.flatMap(element => {
    const standing = standingIn(all, element);
    return standing === null ? [] : [{ elementId: element.id, ...standing }];
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
