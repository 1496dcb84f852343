/**
 * Entries as JSON text.
 *
 * Lists of leaders are the hottest answer of the platform. A general serialiser spends most of its time on the names,
 * which are the same in every answer; here the text of a profile is made once and kept for as long as its object lives.
 *
 * @module
 */

import type { RankedUser } from "./board.ts";

/** What a board shows of a user besides the place. */
export interface ShownProfile {
  readonly username: string;
}

const profileTexts = new WeakMap<ShownProfile, string>();
const plainText = /^[\w.:@-]*$/;

/** The JSON text of entries: users in order, each with the profile at the same index. */
export function entriesJson(users: readonly RankedUser[], profiles: readonly ShownProfile[]): string {
  let text = "";
  for (let index = 0; index < users.length; index++) {
    const [user, profile] = [users[index], profiles[index]];
    if (user === undefined || profile === undefined) break;
    text += index === 0 ? entryJson(user, profile) : `,${entryJson(user, profile)}`;
  }
  return text;
}

/** The JSON text of one entry. */
export function entryJson({ rank, score, userId }: RankedUser, profile: ShownProfile): string {
  return `{"rank":${rank},"score":${score},"userId":${quoted(userId)},"publicProfile":${profileJson(profile)}}`;
}

function profileJson(profile: ShownProfile): string {
  const known = profileTexts.get(profile);
  if (known !== undefined) return known;
  const text = JSON.stringify({ username: profile.username });
  profileTexts.set(profile, text);
  return text;
}

function quoted(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}
