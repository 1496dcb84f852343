import { deadLettersCommand } from "./actions/dead_letters.ts";
import type { CommandSpec } from "./command.ts";
import { decryptCommand } from "./export/decrypt.ts";
import { createExportCommand, listExportsCommand, showExportCommand } from "./export/jobs.ts";
import { bootstrapCommand } from "./keys/bootstrap.ts";
import { createCommand, listCommand, revokeCommand, rotateCommand } from "./keys/manage.ts";
import { rebuildCommand } from "./leaderboards/rebuild.ts";
import { pullCommand, pushCommand, validateCommand } from "./loyalty/files.ts";
import { rollbackCommand, versionsCommand } from "./loyalty/history.ts";
import { reconcileCommand, reverseCommand } from "./loyalty/ledger.ts";
import { dryRunCommand, replayCommand } from "./loyalty/users.ts";
import { indexUsersCommand } from "./users/index_users.ts";
import { enableCommand, webhookLettersCommand, webhooksCommand } from "./webhooks/manage.ts";

/** Every command, in the order in which the help lists them. */
export const commands: readonly CommandSpec[] = [
  validateCommand,
  pullCommand,
  pushCommand,
  versionsCommand,
  rollbackCommand,
  replayCommand,
  dryRunCommand,
  reconcileCommand,
  reverseCommand,
  rebuildCommand,
  bootstrapCommand,
  createCommand,
  listCommand,
  rotateCommand,
  revokeCommand,
  deadLettersCommand,
  createExportCommand,
  listExportsCommand,
  showExportCommand,
  decryptCommand,
  indexUsersCommand,
  webhooksCommand,
  enableCommand,
  webhookLettersCommand,
];
