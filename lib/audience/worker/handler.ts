/**
 * Brings one action to its end: it takes effect, or it becomes a dead letter.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { AudienceMember } from "../member.ts";
import { pause, type Timer } from "./alarm.ts";
import type { DeadLetter, DeadLetters } from "./dead_letters.ts";
import { reasonOf, verdictOf } from "./failure_policy.ts";
import type { QueuedAction } from "./queued_action.ts";
import { Slots } from "./slots.ts";

/** How often an action is tried, and handed out to workers that end over it, before it becomes a dead letter. */
export const attemptsMax = 5;
/** Pause after the first failure of an action, in ms; each further one is twice as long. */
export const retryPauseMsMin = 50;
/**
 * Most actions that a worker applies side by side. They keep a store busy; with more of them under way each would hold its
 * memory for longer, and the collector of garbage would copy most of it.
 */
export const appliedAtOnceMax = 64;
/** Pause between two tries while the store is out of reach, in ms. */
export const outagePauseMs = 250;

/** What users' loyalty takes actions by. */
export interface ActionSink {
  /** Applies an action; it has taken effect when the promise resolves, once under its id. */
  report(
    member: AudienceMember,
    report: {
      readonly action: string;
      readonly data: QueuedAction["data"];
      readonly actionId: string;
      readonly isClientReport: boolean;
      /** When it happened, Unix ms. */
      readonly at: number;
    },
  ): Promise<unknown>;
}

/** What handling needs. */
export interface HandlerOptions {
  readonly sink: ActionSink;
  readonly deadLetters: DeadLetters;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly logger: Logger;
}

/** An action as it was taken from the queue. */
export interface TakenAction {
  /** Id of its message. */
  readonly id: string;
  readonly action: QueuedAction;
  /** How often it has been handed out, this time included. */
  readonly handOuts: number;
}

/** Whether the worker may still act; a promise where it has to wait for that. */
export type Permit = () => boolean | Promise<boolean>;

/** Resolves with true when the action is at its end, with false where it is another worker's by now. Never rejects. */
export type ActionHandler = (taken: TakenAction, permit: Permit) => Promise<boolean>;

/** Applies an action as a back end's report. */
export function applyAction(sink: ActionSink, queued: QueuedAction): Promise<unknown> {
  const { organisationId, spaceId, userId, action, data, actionId, at } = queued;
  const member = { organisationId, spaceId, userId, projectId: null };
  return sink.report(member, { action, data, actionId, at, isClientReport: false });
}

/** Creates a handler. */
export function createActionHandler(options: HandlerOptions): ActionHandler {
  const { sink, clock, timer } = options;
  const slots = new Slots(appliedAtOnceMax);

  /** Applies the action once there is a place; answers false where it is another worker's by then. */
  async function applyInTurn(action: QueuedAction, permit: Permit): Promise<boolean> {
    const place = slots.take();
    if (place !== undefined) await place;
    try {
      const permitted = permit();
      if (!(permitted === true || (await permitted))) return false;
      await applyAction(sink, action);
      return true;
    } finally {
      slots.release();
    }
  }

  return async (taken, permit) => {
    const { id, action, handOuts } = taken;
    const ended = (reason: DeadLetter["reason"], attempts: number): Promise<boolean> =>
      bury(options, { id, action, reason, attempts, at: clock() }, permit);
    if (handOuts > attemptsMax) {
      const message = "The workers that had the action ended before it did";
      return await ended({ code: "internal_error", message }, handOuts - 1);
    }
    for (let failures = 0; ; ) {
      try {
        return await applyInTurn(action, permit);
      } catch (error) {
        const verdict = verdictOf(error);
        if (verdict !== "outage") failures += 1;
        if (verdict === "refused" || failures >= attemptsMax) return await ended(reasonOf(error), failures);
        await pause(timer, verdict === "outage" ? outagePauseMs : retryPauseMsMin * 2 ** (failures - 1));
      }
    }
  };
}

/** Keeps the letter, however long the store is out of reach: the action is not settled before. */
async function bury(
  { deadLetters, timer, logger }: HandlerOptions,
  letter: DeadLetter,
  permit: Permit,
): Promise<boolean> {
  const { organisationId, spaceId } = letter.action;
  while (await permit()) {
    try {
      const isCrowded = await deadLetters.keep(letter);
      logger.log("warn", "action_dead", { organisationId, spaceId, code: letter.reason.code });
      if (isCrowded) logger.log("error", "dead_letter_dropped", { organisationId });
      return true;
    } catch (error) {
      logger.log("warn", "dead_letter_deferred", { organisationId, error: String(error) });
      await pause(timer, outagePauseMs);
    }
  }
  return false;
}
