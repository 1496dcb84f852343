/** The leaderboards of all projects, as the rest of the platform uses them. */

import { LiveStreams } from "../../http/live_streams.ts";
import type { Logger, Timer } from "../../http/mod.ts";
import { systemTimer } from "../../storage/background/mod.ts";
import { repairDistinctScores } from "./scores/change_scores.ts";
import { type RebuildSource, type Rebuilt, rebuildBoard } from "./scores/rebuild.ts";
import { type BoardPath, type LeaderboardServices, resolveBoard } from "./scores/resolve_board.ts";
import { createEntryRemoval, createRetention, scoreRecords } from "./scores/retention.ts";
import {
  createRecordReader,
  createTargetResolver,
  type ReadRecordedScore,
  ScoreDelivery,
  type ScoreDeliveryOptions,
  scoreTargets,
} from "./scores/score_delivery.ts";

/** Writes to boards outside of requests, and streams them. */
export type Leaderboards = ReturnType<typeof createLeaderboards>;

interface LeaderboardOptions extends LeaderboardServices {
  readonly logger: Logger;
  readonly timer?: Timer;
  readonly readRecordedScore: ReadRecordedScore;
  readonly startTiming?: ScoreDeliveryOptions["startTiming"];
}

/** The boards as loyalty uses them. */
export type FedBoards = Pick<Leaderboards, "targets" | "deliver" | "removeUser">;

/** Creates the leaderboards of all projects. */
export function createLeaderboards({
  logger,
  timer = systemTimer,
  readRecordedScore,
  startTiming,
  ...services
}: LeaderboardOptions) {
  const { store, directory, clock } = services;
  const retention = createRetention(services);
  const delivery = new ScoreDelivery({
    store,
    startTiming,
    resolveTarget: createTargetResolver(services, retention),
    readScore: createRecordReader(services, readRecordedScore),
    onGivenUp: error => logger.log("warn", "board_update_deferred", { error: String(error) }),
    onRefused: (target, because, count) =>
      logger.log("warn", "board_update_refused", { target, because, count }),
  });
  return {
    ...retention,
    /** Lists the boards that an action of a project's user may change; `projectId` is null while none is known. */
    targets: scoreTargets.bind(null, directory),
    /** Delivers a user's scores in the background; calls `done` when all of them are applied, or left to a later delivery. */
    deliver: delivery.deliver.bind(delivery),
    /**
     * Rebuilds a board from recorded earnings, while it is read and fed.
     *
     * @throws {AppError} the errors of `resolveBoard`; `conflict` for a board whose scores back ends write.
     */
    async rebuild(
      { season, ...path }: BoardPath & { readonly season?: string },
      source: RebuildSource,
    ): Promise<Rebuilt> {
      const board = await resolveBoard(directory, path, { now: clock(), season });
      await retention.track(board);
      return await rebuildBoard(store, board, source);
    },
    /**
     * Recounts the distinct scores of a board with dense ranks, for example after it was declared dense.
     *
     * @throws {AppError} the errors of `resolveBoard`.
     */
    async repairRanks({ season, ...path }: BoardPath & { readonly season?: string }): Promise<void> {
      const { location } = await resolveBoard(directory, path, { now: clock(), season });
      if (location.rankStyle === "dense") await repairDistinctScores(store, location.shards[0]);
    },
    /** Removes a user from the boards of a project. */
    removeUser: createEntryRemoval(services),
    /** The records about a user, for copies of a person's data. */
    userRecords: scoreRecords(services),
    /** Streams boards, and what areas above stream beside them, to listeners. */
    live: new LiveStreams({
      clock,
      timer,
      onFailed: error => logger.log("warn", "live_stream_failed", { error: String(error) }),
    }),
    /** Resolves when no score waits for its board any more. */
    idle: (): Promise<void> => delivery.idle(),
  };
}
