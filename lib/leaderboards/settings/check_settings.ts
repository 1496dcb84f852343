/** Checks what settings say of boards before they are used. */

import { AppError, type FieldError } from "../../errors/mod.ts";
import { compileWhen } from "../scores/score_targets.ts";
import { parseBoards } from "./board_settings.ts";

/** The sections of settings that declare boards. */
export const boardSections = ["leaderboards", "eventLeaderboards"] as const;

/**
 * The faults of the boards that the settings of a project or event declare, conditions included; empty where there are none.
 *
 * @param pointer JSON Pointer to the settings in their document.
 */
export function boardFaults(settings: Readonly<Record<string, unknown>>, pointer: string): FieldError[] {
  return boardSections.flatMap(name => {
    const section = `${pointer}/${name}`;
    return faultsOf(() =>
      parseBoards(settings[name], section).flatMap(({ source }, index) =>
        source.type === "action" ? whenFaults(source.when, `${section}/${index}/source/when`) : [],
      ),
    );
  });
}

function whenFaults(when: unknown, pointer: string): FieldError[] {
  return faultsOf(() => {
    compileWhen(when, pointer);
    return [];
  });
}

function faultsOf(check: () => FieldError[]): FieldError[] {
  try {
    return check();
  } catch (error) {
    if (error instanceof AppError && error.code === "validation_failed") return [...(error.fields ?? [])];
    throw error;
  }
}
