import type { CommandSpec } from "../frame/command.ts";
import { pullCommand, pushCommand, validateCommand } from "./files.ts";
import { rollbackCommand, versionsCommand } from "./history.ts";
import { reconcileCommand, reverseCommand } from "./ledger.ts";
import { testCommand } from "./scenarios.ts";
import { dryRunCommand, replayCommand } from "./users.ts";

/** Commands that begin with `loyalty`. */
export const loyaltyCommands: readonly CommandSpec[] = [
  validateCommand,
  testCommand,
  pullCommand,
  pushCommand,
  versionsCommand,
  rollbackCommand,
  replayCommand,
  dryRunCommand,
  reconcileCommand,
  reverseCommand,
];
