/**
 * Reported actions: the check that the caller may report them, and their command.
 *
 * @module
 */

import { AppError, type FieldError } from "../../errors/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData, ActionDefinition } from "../config/document.ts";
import { ownValue } from "../config/own_property.ts";
import { type Action, applyAction } from "../engine/mod.ts";
import type { Command } from "./command.ts";

/** An action that a fan or a back end reports. */
export interface ActionReport {
  readonly action: string;
  readonly data: ActionData;
  /** Reports of one user with the same id take effect once; ids are remembered for 7 to 14 days. */
  readonly actionId?: string;
  /** True for reports of a fan's own device, which the action must allow. */
  readonly isClientReport: boolean;
  /** When the action happened, Unix ms; no later than now. @default now */
  readonly at?: number;
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

/** Makes the command of a report. */
export function reportCommand(config: CompiledConfig, report: ActionReport, now: number): Command {
  const { action: name, data, actionId: id } = report;
  const at = Math.min(report.at ?? now, now);
  const action: Action = id === undefined ? { name, data, at } : { name, data, at, id };
  return {
    at,
    once: id === undefined ? undefined : { of: "action", id },
    scoring: { action: name, data },
    decide: (state, _, { isReached }) =>
      applyAction(config, state, action, { globalLimitReached: isReached }),
  };
}

function dataErrors({ data: declared }: ActionDefinition, data: ActionData): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (declared === undefined) return errors;
  for (const name of Object.keys(data)) {
    const type = ownValue(declared, name);
    if (typeof data[name] === type) continue;
    const pointer = `/data/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const detail = type === undefined ? "Expected a declared property" : `Expected a ${type}`;
    errors.push({ pointer, detail });
  }
  return errors;
}
