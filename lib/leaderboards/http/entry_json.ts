/**
 * Entries as JSON text.
 *
 * Lists of leaders are the hottest answer of the platform. A general serialiser spends most of its time on the names,
 * which are the same in every answer; here the text of a profile is made once and kept for as long as its object lives.
 *
 * @module
 */

import type { RankedEntry } from "../ranking/ranks.ts";

/** What a board shows of a user besides the place. */
export interface ShownProfile {
  readonly username: string;
}

/** The end of an entry's text, which follows from the user alone. */
interface Tail {
  readonly userId: string;
  readonly text: string;
}

const tails = new WeakMap<ShownProfile, Tail>();

/** The JSON text of entries: users in order, each with the profile at the same index. */
export function entriesJson(users: readonly RankedEntry[], profiles: readonly ShownProfile[]): string {
  let text = "";
  for (let index = 0; index < users.length; index++) {
    const [user, profile] = [users[index], profiles[index]];
    if (user === undefined || profile === undefined) break;
    text += index === 0 ? entryJson(user, profile) : `,${entryJson(user, profile)}`;
  }
  return text;
}

/** The JSON text of one entry. */
export function entryJson({ rank, score, userId }: RankedEntry, profile: ShownProfile): string {
  const known = tails.get(profile);
  const tail = known?.userId === userId ? known.text : tailOf(userId, profile);
  return `{"rank":${rank},"score":${score},${tail}`;
}

function tailOf(userId: string, profile: ShownProfile): string {
  const publicProfile = { username: profile.username };
  const text = JSON.stringify({ userId, publicProfile }).slice(1);
  tails.set(profile, { userId, text });
  return text;
}
