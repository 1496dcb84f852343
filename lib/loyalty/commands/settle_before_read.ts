/**
 * Looks at what is recorded of a user, up to now: what time alone has changed is recorded first, for example that points have
 * lapsed, so that lists tell what balances show.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Remembered, Store } from "../../storage/mod.ts";
import { isDue } from "../engine/mod.ts";
import { type Member, memberPartition } from "../user/member.ts";
import type { UserState } from "../user/state.ts";
import type { Changes } from "./changes.ts";
import type { Happening } from "./command.ts";

/** Reads what is recorded of a user; a second time where something had to be recorded first. */
export type Look = <T>(member: Member, read: () => Promise<T>) => Promise<T>;

/** What looking needs. */
export interface LookOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly states: Remembered<UserState>;
  readonly changes: Pick<Changes, "change">;
}

const passing: Happening = { gain: { action: "", data: {} } };

/** Creates a way to look at what is recorded of users. Where nothing is due it takes one round trip, as the read itself. */
export function createLook({ store, clock, states, changes }: LookOptions): Look {
  return async (member, read) => {
    const partition = memberPartition(member);
    const [[stored], seen] = await Promise.all([store.read(partition, [states.query]), read()]);
    if (stored === null || !isDue(states.of(partition, stored), clock())) return seen;
    await changes.change(member, () => passing);
    return await read();
  };
}
