/** Reports of actions. An action that names an element is a vote, which its commit counts. */

import { isUuid } from "../../auth/crypto/mod.ts";
import { AppError, type ErrorCode, type FieldError, jsonPointer } from "../../base/errors/mod.ts";
import type { Read } from "../../storage/mod.ts";
import type { Command, CommandResult, MakeCommand } from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import { ownValue } from "./config/compiled.ts";
import type { ActionData, ActionDefinition } from "./config/document.ts";
import { type Action, applyAction, type ChangeOptions } from "./engine/apply_change.ts";

import { type CommandServices, type RunAllOutcome, runCommand, runCommands } from "./run.ts";
import type { SpaceUser } from "./user/state.ts";
import { MergedUserError, onAccount, requireUnmerged, type UserState } from "./user/state.ts";
import type { ElementSource, VotedElement } from "./votes/elements.ts";
import {
  type CountedVote,
  countedVote,
  countVote,
  factsOf,
  isKept,
  readStanding,
  readVote,
  requireRoom,
  standingIn,
  type Vote,
  voteClosed,
  voteLimit,
} from "./votes/votes.ts";

/** Services that reports need. */
interface ReportServices extends CommandServices {
  readonly elements: ElementSource;
}

export interface Reported {
  /** False where an action with the same id took effect before. */
  readonly isNew: boolean;
  /** The user's votes for the element that the action names; null: it is no vote. */
  readonly vote: CountedVote | null;
}

/** An element that a report names; undefined: it names none. */
type NamedElement = { readonly element: VotedElement | null; readonly isVerified: boolean } | undefined;

interface NamingReport {
  readonly user: SpaceUser;
  readonly report: ActionReport;
  readonly named?: NamedElement;
}

/** What this process knows of an element may be a second old, so it is read before the report is refused for it: closed counts before full. */
const readAgain: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["vote_closed", "vote_limit", "option"]);

/**
 * Applies an action; it has taken effect when the promise resolves, and boards follow in the background.
 *
 * @throws {AppError} `forbidden` where the caller may not report the action, `validation_failed` where its data are not as
 *   declared; for a vote also `vote_closed`, `vote_limit`, `option` and `email_not_verified`.
 */
export async function report(
  services: ReportServices,
  user: SpaceUser,
  reported: ActionReport,
): Promise<Reported> {
  if (reported.data.elementId !== undefined) return await reportNaming(services, user, reported);
  const { result } = await onAccount(user, of =>
    runCommand(services, of, (config, now) =>
      reportCommand(services, { user, report: reported }, config, now),
    ),
  );
  return { isNew: result !== null, vote: null };
}

/** Applies actions of one user in their order, up to the first that fails, with as few commits as possible. */
export async function reportAll(
  services: ReportServices,
  user: SpaceUser,
  reports: readonly ActionReport[],
): Promise<RunAllOutcome> {
  const named = await Promise.all(reports.map(each => namedElement(services, user, each)));
  const namings = reports.map((each, index): NamingReport => ({ user, report: each, named: named[index] }));
  const commands = namings.map(
    (naming): MakeCommand =>
      (config, now) =>
        reportCommand(services, naming, config, now),
  );
  const outcome = await runCommands(services, user, commands);
  if (!(outcome.error instanceof MergedUserError)) return await withTexts(services, namings, outcome);
  const kept = await withTexts(services, namings, { applied: outcome.applied });
  if (kept.error !== undefined) return kept;
  const account = { ...user, userId: outcome.error.account };
  const rest = await reportAll(services, account, reports.slice(outcome.applied));
  return { ...rest, applied: outcome.applied + rest.applied };
}

/** Keeps the texts of actions that took effect, up to the first that cannot be kept. */
async function withTexts(
  services: ReportServices,
  namings: readonly NamingReport[],
  outcome: RunAllOutcome,
): Promise<RunAllOutcome> {
  for (const [index, naming] of namings.slice(0, outcome.applied).entries()) {
    if (naming.named === undefined) continue;
    try {
      const vote = voteOf(naming);
      if (vote !== null) await keepText(services, naming, vote, Number.POSITIVE_INFINITY);
    } catch (error) {
      return { applied: index, error };
    }
  }
  return outcome;
}

async function reportNaming(
  services: ReportServices,
  user: SpaceUser,
  reported: ActionReport,
): Promise<Reported> {
  const attempt = (named: NamedElement): Promise<Reported> =>
    onAccount(user, async of => {
      const naming = { user, report: reported, named };
      const { result } = await runCommand(services, of, (config, now) =>
        reportCommand(services, naming, config, now),
      );
      const isNew = result !== null;
      const vote = voteOf(naming);
      if (vote === null) return { isNew, vote };
      const now = storeTime(services);
      const counted = await countedVote(services.store, of, { vote, isNew, now });
      const votes = isKept(vote.element) ? counted.vote.votes : Number.POSITIVE_INFINITY;
      await keepText(services, naming, vote, votes);
      return { isNew, vote: counted };
    });
  try {
    return await attempt(await namedElement(services, user, reported));
  } catch (error) {
    if (!(error instanceof AppError) || !readAgain.has(error.code)) throw error;
    return await attempt(await namedElement(services, user, reported, true));
  }
}

/**
 * Keeps the text of a vote after its commit, also of one that was counted before: a process may have died between. It is bound by
 * the number of votes, as the id of another action proves nothing.
 */
async function keepText(
  { elements }: Pick<ReportServices, "elements">,
  { user: { userId }, report: { actionId } }: NamingReport,
  { element, text }: Vote,
  textsMax: number,
): Promise<void> {
  if (text !== null) await elements.keepAnswer({ element, userId, actionId, text, textsMax });
}

async function namedElement(
  { elements }: Pick<ReportServices, "elements">,
  { userId }: SpaceUser,
  { data: { elementId } }: ActionReport,
  isCurrent = false,
): Promise<NamedElement> {
  if (typeof elementId !== "string" || !isUuid(elementId)) return undefined;
  const id = elementId.toLowerCase();
  const element = await (isCurrent ? elements.currentElement(id) : elements.element(id));
  if (element === null || !element.bounds.needsVerifiedUser) return { element, isVerified: true };
  return { element, isVerified: await elements.isVerifiedUser(element.projectId, userId) };
}

/**
 * Returns the vote of a report; null: it is none.
 *
 * @throws {AppError} `vote_closed`, `option` or `email_not_verified`.
 */
function voteOf({ user, report, named }: NamingReport): Vote | null {
  if (named === undefined) return null;
  const { element, isVerified } = named;
  const isGuarded = report.isClientReport || report.isGuarded === true;
  const projectId = user.projectId ?? report.projectId ?? element?.projectId;
  if (element === null || element.spaceId !== user.spaceId || element.projectId !== projectId) {
    if (isGuarded) throw voteClosed();
    return null;
  }
  if (isGuarded && !isVerified) {
    throw new AppError(
      "email_not_verified",
      "Cannot vote for the element before the user has proved an address",
    );
  }
  return readVote(element, report.data, isGuarded);
}

function storeTime({ store, clock }: Pick<ReportServices, "store" | "clock">): number {
  return store.now?.() ?? clock();
}

/** An action that a fan or a back end reports. */
export interface ActionReport {
  readonly action: string;
  readonly data: ActionData;
  /** Reports of one user with the same id take effect once; ids are remembered for 7 to 14 days. */
  readonly actionId?: string;
  /** True for reports of a fan's own device, which the action must allow. */
  readonly isClientReport: boolean;
  /** Checks the vote of a back end like that of a fan, which is always checked. @default false */
  readonly isGuarded?: boolean | undefined;
  /** The user's project as a back end names it; a user of another one refuses the action. @default unnamed */
  readonly projectId?: string | undefined;
  /** When the action happened, Unix ms; no later than now. @default now */
  readonly at?: number;
  /** Notes that its transactions show. @default none */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Checks that the caller may report the action and that its data are as declared.
 *
 * @throws {AppError} `forbidden` or `validation_failed`.
 */
export function requireReportable(config: CompiledConfig, report: ActionReport): void {
  const plan = config.actions.get(report.action);
  if (plan === undefined && !report.isClientReport) {
    throw new AppError(
      "forbidden",
      "Cannot report the action as the configuration of the space does not name it",
    );
  }
  if (plan === undefined || (report.isClientReport && !plan.definition.clientReportable)) {
    throw new AppError("forbidden", "Cannot report the action as it is not one that this caller may report");
  }
  const fields = dataErrors(plan.definition, report.data);
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot report the action as its data are not as declared", {
    fields,
  });
}

function reportCommand(
  services: ReportServices,
  of: NamingReport,
  config: CompiledConfig,
  now: number,
): Command {
  requireReportable(config, of.report);
  const { action: name, data, actionId: id, metadata, projectId } = of.report;
  const at = Math.min(of.report.at ?? now, now);
  const action: Action = { name, data, at, id, metadata };
  const vote = of.named === undefined ? null : voteOf(of);
  return {
    kind: "action",
    at,
    projectId,
    once: id === undefined ? undefined : { of: "action", id },
    scoring: { action: name, data },
    reads: vote === null ? undefined : firstReads(services, config, vote),
    apply: (state, [tally], options) => {
      requireUnmerged(state);
      if (vote === null) return applyAction(config, state, action, options);
      const votes = tally as ReadonlyMap<string, number> | undefined;
      return applyVote(config, state, { vote, votes, action, now: storeTime(services), options });
    },
    refused: vote?.isGuarded === true ? refuseVote : undefined,
  };
}

/** Applies the action of a vote, while its element is open, and counts the vote. Members by name, as spreads cost several µs. */
function applyVote(
  config: CompiledConfig,
  before: UserState,
  {
    vote,
    votes,
    action,
    now,
    options,
  }: {
    readonly vote: Vote;
    /** The votes before, where they were read. */
    readonly votes: ReadonlyMap<string, number> | undefined;
    readonly action: Action;
    readonly now: number;
    readonly options: ChangeOptions;
  },
): CommandResult {
  const { element, isGuarded } = vote;
  const moment = element.at(now);
  if (isGuarded && !moment.isOpen) throw voteClosed();
  if (votes !== undefined) requireRoom(vote, standingIn(votes, element));
  const facts = factsOf(vote, moment, now);
  const { name, data, at, id, metadata } = action;
  const outcome = applyAction(config, before, { name, data, at, id, metadata, element: facts }, options);
  const { publishedAt } = moment;
  if (publishedAt === null || !isKept(element)) return outcome;
  const { state, record, notifications, gained, diagnostics, fired } = outcome;
  const isAnswerKnown = facts.isRight !== undefined;
  const ms = Math.round(facts.seconds * 1_000);
  const { kept, writes } = countVote(state.votes, vote, { action: name, publishedAt, ms, isAnswerKnown });
  state.votes = kept;
  const awaitsAnswer = vote.options.length > 0 && !isAnswerKnown && !state.voterOf.includes(element.id);
  if (awaitsAnswer) state.voterOf = [...state.voterOf, element.id];
  return { state, record, notifications, gained, diagnostics, fired, writes };
}

function refuseVote(): never {
  throw voteLimit();
}

/** A use of a limit for all users is claimed before the commit, whose guards would come too late for a vote too many. */
function firstReads(services: ReportServices, config: CompiledConfig, vote: Vote): readonly Read[] {
  if (!vote.isGuarded || config.limitedRules.size === 0) return noReads;
  const { publishedAt } = vote.element.at(storeTime(services));
  return publishedAt === null ? noReads : [readStanding(vote.element, publishedAt)];
}

const noReads: readonly Read[] = [];

function dataErrors({ data: declared }: ActionDefinition, data: ActionData): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (declared === undefined) return errors;
  for (const name of Object.keys(data)) {
    const type = ownValue(declared, name);
    if (typeof data[name] === type) continue;
    const detail = type === undefined ? "Expected a declared property" : `Expected a ${type}`;
    errors.push({ pointer: jsonPointer("data", name), detail });
  }
  return errors;
}
