/**
 * Looks at what is recorded of a user, up to now: what time alone has changed is recorded first, for example that points have
 * lapsed, so that lists tell what balances show.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { RecordCache, Store } from "../../storage/mod.ts";
import { isDue } from "../engine/mod.ts";
import { type Member, memberPartition } from "../user/member.ts";
import type { UserState } from "../user/state.ts";
import type { Command } from "./command.ts";
import type { CommandRunner } from "./command_runner.ts";

/** Reads what is recorded of a user; a second time where something had to be recorded first. */
export type SettleBeforeRead = <T>(member: Member, read: () => Promise<T>) => Promise<T>;

/** What looking needs. */
export interface SettleBeforeReadOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly states: RecordCache<UserState>;
  readonly changes: Pick<CommandRunner, "run">;
}

const passing: Command = { scoring: { action: "", data: {} } };

/** Creates a way to look at what is recorded of users. Where nothing is due it takes one round trip, as the read itself. */
export function createSettleBeforeRead({
  store,
  clock,
  states,
  changes,
}: SettleBeforeReadOptions): SettleBeforeRead {
  return async (member, read) => {
    const partition = memberPartition(member);
    const [[stored], seen] = await Promise.all([store.read(partition, [states.query]), read()]);
    if (stored === null || !isDue(states.valueOf(partition, stored), clock())) return seen;
    await changes.run(member, () => passing);
    return await read();
  };
}
