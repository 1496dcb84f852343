/**
 * Scenarios: what users do and what they are expected to have then, played against a configuration without a server.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import { boardFaults, createBoardPreview } from "../../leaderboards/mod.ts";
import { compileConfig } from "../config/compile.ts";
import { fieldErrors } from "../config/fields.ts";
import { ScenariosSchema } from "./scenario_file.ts";
import { type ScenarioCheck, ScenarioPlayer } from "./scenario_player.ts";

export type { ScenarioCheck } from "./scenario_player.ts";

/**
 * Plays scenarios, each with users of its own. Limits for all users together and the stock of code pools never run out.
 *
 * @param document The configuration.
 * @throws {AppError} `validation_failed`, with the pointers of the errors in the scenarios.
 */
export function playScenarios(document: unknown, source: unknown): readonly ScenarioCheck[] {
  const config = compileConfig(document);
  const parsed = v.safeParse(ScenariosSchema, source);
  if (!parsed.success) throw invalid(fieldErrors(parsed.issues));
  const { boards, scenarios } = parsed.output;
  const faults = boardFaults(boards, "/boards");
  if (faults.length > 0) throw invalid(faults);
  const preview = createBoardPreview(boards, "/boards");
  const played = scenarios.map((scenario, index) =>
    new ScenarioPlayer(config, preview, `/scenarios/${index}`).play(scenario),
  );
  const errors = played.flatMap(({ errors }) => errors);
  if (errors.length > 0) throw invalid(errors);
  return played.flatMap(({ checks }) => checks);
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot play the scenarios as parts of them are not valid", {
    fields,
  });
}
