/** Commands about workflows. */

import type { CommandSpec } from "../frame/command.ts";
import { checkCommand } from "./check.ts";
import { exampleCommand } from "./example.ts";
import { listWorkflows, registerWorkflow, removeWorkflow } from "./register.ts";
import { runWorkflow } from "./run.ts";

/** The commands `grandstand workflow`. */
export const workflowCommands: readonly CommandSpec[] = [
  listWorkflows,
  registerWorkflow,
  removeWorkflow,
  runWorkflow,
  checkCommand,
  exampleCommand,
];
