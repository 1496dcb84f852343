/**
 * Tasks as answers show them.
 *
 * @module
 */

import { alert, loader, View, type ViewContent } from "./blocks.ts";
import type { Block, DialogueTask } from "./dialogue/mod.ts";
import type { TaskDefinition } from "./task_runs.ts";
import type { TaskRecord } from "./tasks.ts";

/** The view of a running task whose own is not known. */
export const noView: ViewContent = { blocks: [loader()], actions: [] };

/** Shows a completed task that has no handler. */
export function showDone(): View {
  return new View([alert("success", "Done")]);
}

/** Shows a failed task that has no handler: frontends show its error. */
export function showFailed(): View {
  return new View([]);
}

/** Returns the member `task` of an answer. */
export function shownTask(task: TaskRecord, definition: TaskDefinition | undefined): DialogueTask {
  const { id, state, progress, failure } = task;
  return {
    id,
    state: state === "completed" || state === "failed" ? state : "running",
    ...(progress === null ? {} : { progress }),
    ...(definition === undefined || state !== "running" ? {} : { pollIntervalMs: definition.pollMs }),
    ...(failure === undefined ? {} : { error: failure.safeMessage }),
  };
}

/** Returns the blocks of a running task's view with its message and progress in the first loader, which is added if there is none. */
export function withProgress(
  blocks: readonly Block[],
  { message, progress }: { readonly message: string | null; readonly progress: number | null },
): readonly Block[] {
  const at = blocks.findIndex(({ type }) => type === "loader");
  const found = blocks[at] as ReturnType<typeof loader> | undefined;
  const shown = { ...loader(message ?? found?.text, progress ?? found?.progress) };
  return found === undefined ? [...blocks, shown] : blocks.with(at, shown);
}
