/** The loyalty engine of the platform, as it checks configurations and plays scenarios. It loads where it is needed. */

import { AppError, type FieldError } from "../../../../base/errors/mod.ts";
import { compileConfig } from "../../../../fans/loyalty/config/compile.ts";
import { playScenarios, type ScenarioCheck } from "../../../../fans/loyalty/views/scenario_player.ts";

export type { ScenarioCheck };

/** Lists what is wrong with a configuration. */
export function faultsOf(document: unknown): readonly FieldError[] {
  return attempt(() => void compileConfig(document)).faults;
}

export interface Played {
  readonly checks: readonly ScenarioCheck[];
  /** Faults of the scenarios, which then did not play. */
  readonly faults: readonly FieldError[];
}

export function play(document: unknown, scenarios: unknown): Played {
  const { value = [], faults } = attempt(() => playScenarios(document, scenarios));
  return { checks: value, faults };
}

function attempt<T>(run: () => T): { readonly value?: T; readonly faults: readonly FieldError[] } {
  try {
    return { value: run(), faults: [] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { faults: error.fields ?? [{ pointer: "", detail: error.message }] };
  }
}
