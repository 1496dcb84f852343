import { deadLettersCommand } from "./actions.ts";
import type { CommandSpec } from "./command.ts";
import { createExportCommand, decryptCommand, listExportsCommand, showExportCommand } from "./exports.ts";
import { bootstrapCommand, createCommand, listCommand, revokeCommand, rotateCommand } from "./keys.ts";
import { pullCommand, pushCommand, validateCommand } from "./loyalty/files.ts";
import { rollbackCommand, versionsCommand } from "./loyalty/history.ts";
import { reconcileCommand, reverseCommand } from "./loyalty/ledger.ts";
import { testCommand } from "./loyalty/scenarios.ts";
import { dryRunCommand, replayCommand } from "./loyalty/users.ts";
import { bootstrapOperatorCommand } from "./operators.ts";
import { clientTokenCommand } from "./projects.ts";
import { listSigningKeysCommand, revokeSigningKeyCommand, rotateSigningKeysCommand } from "./signing_keys.ts";
import { applySeedCommand, doctorCommand, indexUsersCommand, rebuildCommand } from "./store.ts";
import { enableCommand, webhookDeadLettersCommand, webhooksCommand } from "./webhooks.ts";

/** Every command, in the order in which the help lists them. */
export const commands: readonly CommandSpec[] = [
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
  rebuildCommand,
  bootstrapOperatorCommand,
  bootstrapCommand,
  createCommand,
  listCommand,
  rotateCommand,
  revokeCommand,
  listSigningKeysCommand,
  rotateSigningKeysCommand,
  revokeSigningKeyCommand,
  clientTokenCommand,
  deadLettersCommand,
  createExportCommand,
  listExportsCommand,
  showExportCommand,
  decryptCommand,
  indexUsersCommand,
  applySeedCommand,
  webhooksCommand,
  enableCommand,
  webhookDeadLettersCommand,
  doctorCommand,
];
