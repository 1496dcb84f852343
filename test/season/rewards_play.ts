/**
 * Plays a season of rewards on processes that die at any moment: unanswered reports are sent again, and every sixth
 * report is sent again although it was.
 */

import type { Random } from "../../adapters/conformance/random.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { createDyingStore, type DyingStore } from "../support/dying_store.ts";
import { testSecret } from "../support/platform.ts";
import { leagueIds } from "./league.ts";
import { inParallel } from "./play.ts";
import type { FanAction, Round } from "./rewards_actions.ts";
import type { Timeline } from "./timeline.ts";

/** Most operations of a process before it dies, where it is to die in a round. */
const operationsLeftMax = 150;
const sweepsMax = 20;
/** Longer than a process keeps the users that it sweeps for itself. */
const sweepAgainMs = 61_000;
/** Time before a round at which users are swept. */
const sweptBeforeMs = 25 * 60_000;
/** Time after a round: longer than a registration lasts, and before the boards of its week or month close. */
const sweptAfterMs = 90 * 60_000;
const width = 64;

interface Process {
  readonly store: DyingStore;
  readonly platform: Platform;
}

/** Parts of a season. */
export interface RewardsOptions {
  readonly store: Store;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly rounds: readonly Round[];
  /** Number of processes that share the load. */
  readonly processes: number;
}

/** The user of a fan. */
export function memberOf(fan: number): Parameters<Platform["loyalty"]["report"]>[0] {
  const { organisation: organisationId, space: spaceId, project: projectId } = leagueIds;
  const userId = `1f000000-0000-4000-8000-${String((fan * 7_919) % 1_000_003).padStart(12, "0")}`;
  return { organisationId, spaceId, projectId, userId };
}

/** A process over the store of a league. */
export function openProcess(store: Store, { now: clock }: Timeline): Promise<Platform> {
  return createPlatform({ store, secret: testSecret, clock, defaultSpaceId: leagueIds.space });
}

/** Plays the rounds. */
export async function playRewards(options: RewardsOptions): Promise<RewardsSeason> {
  const season = new RewardsSeason(options);
  for (const [index, round] of options.rounds.entries()) {
    await season.play(round);
    const next = options.rounds[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    if (next - round.at > 2 * sweptAfterMs) await season.sweep(round.at + sweptAfterMs);
  }
  await season.idle();
  return season;
}

/** A running season. */
export class RewardsSeason {
  /** Processes that have died. */
  deaths = 0;
  /** Reports that were sent: at first, as they were not answered, and although they were. */
  readonly sent: Record<"first" | "unanswered" | "again", number> = { first: 0, unanswered: 0, again: 0 };
  readonly #options: RewardsOptions;
  #processes: Promise<Process>[] = [];

  constructor(options: RewardsOptions) {
    this.#options = options;
  }

  async play({ at, arrivals, byFan }: Round): Promise<void> {
    await this.sweep(at - sweptBeforeMs);
    const { random } = this.#options;
    if (random.chance(0.5)) await this.#condemn(random.integer(this.#options.processes));
    for (const arrival of arrivals) await this.#send(arrival);
    const fans = byFan.filter(actions => actions.length > 0);
    await inParallel(
      fans.map(actions => async () => {
        for (const action of actions) await this.#send(action);
      }),
      width,
    );
    await this.idle();
  }

  /** Lets a process find what others left behind, and let time pass for those who are away. */
  async sweep(at: number): Promise<void> {
    for (let turn = 0; turn < sweepsMax; turn++) {
      const { store, platform } = await this.#process(turn);
      const moment = at + turn * sweepAgainMs;
      const swept = await this.#options.timeline.at(moment, () =>
        platform.loyalty.sweep().then(
          async ({ failed }) => {
            await platform.leaderboards.prune();
            return failed === 0;
          },
          (error: unknown) => mournedOrThrown(store, error),
        ),
      );
      if (swept && !store.isDead) return;
    }
    throw new Error(`Cannot sweep: it failed ${sweepsMax} times`);
  }

  async idle(): Promise<void> {
    for (const process of this.#processes) await (await process).platform.idle();
  }

  async #condemn(index: number): Promise<void> {
    const { random } = this.#options;
    const when = random.pick(["before", "after"] as const);
    (await this.#process(index)).store.dieAt({ at: random.integer(operationsLeftMax), when });
  }

  /** A process that lives; one that has died is replaced. */
  async #process(turn: number): Promise<Process> {
    const { processes, store: shared, timeline } = this.#options;
    const index = turn % processes;
    const known = await this.#processes[index];
    if (known !== undefined && !known.store.isDead) return known;
    // The first process to notice replaces it.
    if (known === undefined || (await this.#processes[index]) === known) {
      if (known !== undefined) this.deaths += 1;
      const store = createDyingStore(shared);
      this.#processes[index] = openProcess(store, timeline).then(platform => ({ store, platform }));
    }
    return await this.#process(turn);
  }

  async #send(action: FanAction): Promise<void> {
    const { random } = this.#options;
    const first = random.integer(this.#options.processes);
    const isSentAgain = random.integer(6) === 0;
    this.sent.first += 1;
    if (isSentAgain && random.chance(0.5)) {
      this.sent.again += 1;
      await Promise.all([this.#deliver(action, first), this.#deliver(action, first + 1)]);
      return;
    }
    await this.#deliver(action, first);
    if (!isSentAgain) return;
    this.sent.again += 1;
    await this.#deliver(action, first + 1);
  }

  /** Sends a report until it is answered. */
  async #deliver({ id, fan, action, data, at }: FanAction, turn: number): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const { store, platform } = await this.#process(turn + attempt);
      const report = { action, actionId: id, data, isClientReport: false };
      const isAnswered = await this.#options.timeline.at(at, () =>
        platform.loyalty.report(memberOf(fan), report).then(
          () => true,
          (error: unknown) => mournedOrThrown(store, error),
        ),
      );
      if (isAnswered) return;
      this.sent.unanswered += 1;
    }
  }
}

/** Only what a process did that has died may go wrong. */
function mournedOrThrown({ isDead }: DyingStore, error: unknown): false {
  if (isDead) return false;
  throw error;
}
