/**
 * Decisions of the store about commands: one command, or several of one user in their order.
 *
 * @module
 */

import type { Decision, Read, Rule, Stored, Write } from "../../../storage/mod.ts";
import { parseAccountNote, readAccountNote, signUpProjectOf } from "../../users/mod.ts";
import { onceMarkReads } from "../user/once_marks.ts";
import { type ProfileFields, pickFields } from "../user/profile_fields.ts";
import { emptyState, type UserState, withoutFutureTime } from "../user/state.ts";
import { beginProgress } from "../webhooks/progress.ts";
import {
  type AppliedCommand,
  applyCommand,
  type Command,
  type CommandContext,
  type CommandDecision,
} from "./command.ts";
import type { LimitUses } from "./limit_uses.ts";

/** Uses without any limit. */
export const noLimits: LimitUses = { isReached: () => false, missing: () => [] };

/** A command of a batch with the boards that it may change. */
export type BatchedCommand = { readonly command: Command } & Pick<CommandContext, "targets">;

/** Decisions about the first commands of a batch. */
export interface BatchDecision {
  /** One for each command that was decided, up to the first that must be run alone. */
  readonly decisions: readonly CommandDecision[];
  /** The error of the command after those, if that is why the batch ends there. */
  readonly error?: unknown;
}

/** Most writes of a batch, well below what a commit may carry. */
const batchWritesMax = 500;
const noReads: readonly Read[] = [];
const noWrites: readonly Write[] = [];
const notRemoved = Number.NEGATIVE_INFINITY;
const accountReads: readonly Read[] = [readAccountNote];

/** Makes the rule that decides one command. */
export function commandRule(
  context: CommandContext,
  command: Command,
): Rule<readonly Read[], CommandDecision> {
  const { once, refused, extraReads = noReads } = command;
  const account = context.readsAccount ? accountReads : noReads;
  const marks = once === undefined ? noReads : onceMarkReads(once, context.now);
  const profile = profileReads(context);
  const marksFrom = 1 + profile.length;
  const accountAt = marksFrom + marks.length;
  const extraFrom = accountAt + account.length;
  return {
    // Joined, not spread: an array that is spread is made larger than needed, and this is made for every action.
    reads: [context.states.query as Read].concat(profile, marks, account, extraReads, progressReads(context)),
    // A repeated id changes nothing, so a command with one may be decided again when its outcome is unknown.
    idempotent: once !== undefined || command.isIdempotent === true,
    apply(found) {
      const before = stateIn(context, found[0] as Stored | null);
      const isRepeated = hasMark(found, marksFrom, marks.length);
      const signUpProject = context.readsAccount
        ? signUpProjectOf(found[accountAt] as Stored | null)
        : context.foundProject;
      const removedAt = context.readsAccount
        ? (parseAccountNote(found[accountAt] as Stored | null)?.removedAt ?? notRemoved)
        : notRemoved;
      const results =
        extraReads.length === 0 ? extraReads : found.slice(extraFrom, extraFrom + extraReads.length);
      const { decision, isChanged, writes, recordCount } = applyCommand(context, command, {
        before,
        isNew: found[0] === null,
        isRepeated,
        removedAt,
        signUpProject,
        profile: profileIn(context, found),
        results,
      });
      if (!isChanged) return { writes: noWrites, answer: decision };
      const decided: Decision<CommandDecision> = {
        writes: writes.concat(context.states.put(decision.state), progressWrites(context, before, found)),
        answer: ({ results: ids }) =>
          decision.result === null ? decision : { ...decision, recordId: String(ids[recordCount - 1]) },
      };
      return refused === undefined ? decided : { ...decided, refused };
    },
  };
}

/**
 * Makes the rule that decides several commands of a user with one read and one commit. It stops before the first command that
 * throws, or that needs time to pass, uses of limits or another project; the caller runs that one alone.
 *
 * @param batch Commands without extra reads.
 */
export function batchRule(
  context: Omit<CommandContext, "targets">,
  batch: readonly BatchedCommand[],
): Rule<readonly Read[], BatchDecision> {
  const marksOf = batch.map(({ command: { once } }) =>
    once === undefined ? noReads : onceMarkReads(once, context.now),
  );
  const profileQuery = profileReads(context);
  return {
    reads: [context.states.query as Read].concat(profileQuery, ...marksOf, progressReads(context)),
    idempotent: batch.every(({ command }) => command.once !== undefined),
    apply(found) {
      const before = stateIn(context, found[0] as Stored | null);
      const ids = new Set<string>();
      const profile = profileIn(context, found);
      let from = 1 + profileQuery.length;
      let last: AppliedCommand["decision"] | null = null;
      let isChanged = false;
      const writes: Write[] = [];
      const decisions: CommandDecision[] = [];
      for (const [index, { command, targets }] of batch.entries()) {
        const marks = marksOf[index]?.length ?? 0;
        const id = command.once?.id;
        const state: UserState = last?.state ?? before;
        let applied: AppliedCommand;
        try {
          const isRepeated = (id !== undefined && ids.has(id)) || hasMark(found, from, marks);
          applied = applyCommand({ ...context, targets }, command, {
            before: state,
            isNew: last === null && found[0] === null,
            isRepeated,
            removedAt: notRemoved,
            signUpProject: null,
            profile,
            results: [],
          });
        } catch (error) {
          // With nothing decided before it, the error may rest on a state that is out of date: `decide` reads anew then.
          if (decisions.length === 0) throw error;
          return answered({ decisions, error });
        }
        const isFull = writes.length + applied.writes.length > batchWritesMax && decisions.length > 0;
        if (isFull || !isDecided(applied.decision, context)) break;
        from += marks;
        if (id !== undefined) ids.add(id);
        last = applied.decision;
        isChanged ||= applied.isChanged;
        writes.push(...applied.writes);
        decisions.push(applied.decision);
      }
      return answered({ decisions });

      function answered(answer: BatchDecision): ReturnType<Rule<readonly Read[], BatchDecision>["apply"]> {
        if (last === null || !isChanged) return { writes: noWrites, answer };
        const state = context.states.put(last.state);
        return { writes: writes.concat(state, progressWrites(context, before, found)), answer };
      }
    },
  };
}

/** True where the decision stands, false where something must be done before the command can be decided. */
export function isDecided(
  { projectId, missingUses, mustJoin, mustRegister, advanceTo }: CommandDecision,
  context: Pick<CommandContext, "projectId">,
): boolean {
  const isReady = missingUses.length === 0 && !mustJoin && !mustRegister && advanceTo === null;
  return isReady && projectId === context.projectId;
}

function stateIn(
  { states, partition, user, now }: Omit<CommandContext, "targets">,
  stored: Stored | null,
): UserState {
  return stored === null
    ? emptyState(user.projectId)
    : withoutFutureTime(states.valueOf(partition, stored), now);
}

/** Reads the custom fields of the user, second, where the configuration reads any. */
function profileReads({ config, profiles }: Omit<CommandContext, "targets">): readonly Read[] {
  return config.customFields.size === 0 ? noReads : [profiles.query];
}

function profileIn(
  { config, profiles, partition }: Omit<CommandContext, "targets">,
  found: readonly unknown[],
): ProfileFields | undefined {
  if (config.customFields.size === 0) return undefined;
  const stored = found[1] as Stored | null;
  return stored === null ? {} : pickFields(profiles.valueOf(partition, stored), config.customFields);
}

function hasMark(found: readonly unknown[], from: number, count: number): boolean {
  for (let index = from; index < from + count; index++) {
    if ((found[index] as ReadonlyMap<string, number>).size > 0) return true;
  }
  return false;
}

/** Reads how far webhooks are, last, where the space has any. */
function progressReads({ config, progress }: Omit<CommandContext, "targets">): readonly Read[] {
  return config.config.webhooks.length === 0 ? noReads : [progress.query];
}

/** Lets webhooks that are new to the user begin with this decision. */
function progressWrites(
  { config, progress, partition }: Omit<CommandContext, "targets">,
  before: UserState,
  found: readonly unknown[],
): readonly Write[] {
  const { webhooks } = config.config;
  if (webhooks.length === 0) return noWrites;
  const stored = found.at(-1) as Stored | null;
  const begun = beginProgress(webhooks, stored === null ? {} : progress.valueOf(partition, stored), before);
  return begun === null ? noWrites : [progress.put(begun)];
}
