/** Sends changes of elements in batches, and says what each fault is about. */

import { Batches, type Change } from "../../authoring/table/element_batches.ts";
import { pathOfToken } from "../../authoring/table/references.ts";
import type { CliContext } from "../frame/command.ts";
import type { ControlApi, Write } from "../frame/control_api.ts";
import { CliError } from "../frame/errors.ts";
import type { ResourceObject } from "../frame/resources.ts";

export async function listElements(api: ControlApi, eventId: string): Promise<readonly ResourceObject[]> {
  const { data } = await api.all(`/events/${encodeURIComponent(eventId)}/elements`);
  return data.toSorted((a, b) => Number(a.attributes.position) - Number(b.attributes.position));
}

interface SendOptions extends Omit<Write, "document"> {
  /** Names what a change is about, for errors at a pointer into its data. @default its id and the pointer */
  readonly where?: (change: Change, pointer: string) => string | undefined;
}

/** Sends changes, all or none of each 500, and returns the ids of what they created by paths. */
export async function sendChanges(
  { api: open, done, progress }: CliContext,
  changes: readonly Change[],
  { where = idAndPointer, ...write }: SendOptions,
): Promise<ReadonlyMap<string, string | null>> {
  const api = await open();
  let sent = 0;
  const batches = new Batches<Change>(new Map(), async (operations, batch) => {
    const results = await api.operations(operations, write).catch((error: unknown) => {
      throw located(error, (index, pointer) => {
        const change = batch[index];
        return change && where(change, pointer.replace(/^\/attributes/, ""));
      });
    });
    sent += batch.length;
    progress(`${sent} of ${changes.length} operations`);
    if (write.isDryRun !== true) done(`${sent} of ${changes.length} operations`);
    return results.map(({ id }) => id);
  });
  for (const change of changes) await batches.push(change, change);
  await batches.flush();
  return batches.ids;
}

function idAndPointer({ id }: Change, pointer: string): string {
  return `${pathOfToken(id) ?? id}${pointer}`;
}

export function located(
  error: unknown,
  name: (index: number, pointer: string) => string | undefined,
): unknown {
  if (!(error instanceof CliError)) return error;
  const details = (error.options.details ?? []).map(line =>
    line.replace(
      /^\/atomic:operations\/(\d+)(?:\/data)?([^:\s]*)/,
      (whole, index, pointer) => name(Number(index), pointer) ?? whole,
    ),
  );
  return new CliError(error.exit, error.message, { ...error.options, details });
}
