/**
 * What fans and back ends report, and whether they may.
 *
 * @module
 */

import { AppError, type FieldError } from "../../errors/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData, ActionDefinition } from "../config/document.ts";
import { ownValue } from "../config/own_property.ts";
import { type Action, applyAction, type Outcome } from "../engine/mod.ts";
import type { UserState } from "../user/state.ts";
import type { Command } from "./command.ts";
import type { LimitUses } from "./limit_uses.ts";

/** What a fan or a back end reports. */
export interface ActionReport {
  readonly action: string;
  readonly data: ActionData;
  /** Reports of one user with the same id within `onceGenerationMs` take effect once. */
  readonly actionId?: string;
  /** Whether a fan's own device reports it, and the action must be marked for that. */
  readonly isClientReport: boolean;
  /**
   * When it happened, Unix ms: it counts no later than now and no earlier than what happened to the user last. @default now
   */
  readonly at?: number;
}

/**
 * Checks that a report is one that its caller may make, and that its data are as the action declares.
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
  const fields = dataFaults(plan.definition, report.data);
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot report the action as its data are not as declared", {
    fields,
  });
}

/** The happening that a report is. */
export function reportCommand(config: CompiledConfig, report: ActionReport, now: number): Command {
  const { action, data, actionId } = report;
  const gain = { action, data };
  const at = Math.min(report.at ?? now, now);
  const told: Action =
    actionId === undefined ? { name: action, data, at } : { name: action, data, at, id: actionId };
  function decide(
    settled: UserState,
    _: readonly unknown[],
    { isReached: globalLimitReached }: LimitUses,
  ): Outcome {
    return applyAction(config, settled, told, { globalLimitReached });
  }
  if (actionId === undefined) return { at, scoring: gain, decide };
  return { at, once: { of: "action", id: actionId }, scoring: gain, decide };
}

function dataFaults({ data: declared }: ActionDefinition, data: ActionData): readonly FieldError[] {
  const faults: FieldError[] = [];
  if (declared === undefined) return faults;
  for (const name of Object.keys(data)) {
    const type = ownValue(declared, name);
    if (typeof data[name] === type) continue;
    const pointer = `/data/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    faults.push({
      pointer,
      detail: type === undefined ? "Expected a declared property" : `Expected a ${type}`,
    });
  }
  return faults;
}
