/**
 * The settings of a project's app: up to 4 MiB, in parts beside the record of the project, which the fan side reads. Parts have
 * the id of one change. They are written first; the record, which names that id, puts them in force.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { documentDigest } from "../../../fans/directory/loyalty_versions.ts";
import type { Store, Write } from "../../../storage/mod.ts";
import type { Field } from "../../table/mod.ts";
import {
  type BeforeChange,
  badAttribute,
  type Entity,
  homePartition,
  type Presented,
  projectCodec,
  projectKey,
  type Started,
} from "../kind.ts";
import type { ControlServices } from "../services.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import type { WorkTask } from "../work.ts";

const bytesMax = 4 * 1_048_576;
/** UTF-16 units of a part: at most 512 KiB of UTF-8. */
const partUnits = 174_000;
/** Parts of one commit, which has at most 8 MiB. */
const commitPartsMax = 8;
/** The board of a project that has the ids of settings which are not in force yet, or never will be. */
const stagedKey = "staged_settings";
/** Age in seconds from which settings that are not in force are removed. */
const stagedSecondsMax = 600;
const cleanedMax = 8;

/** Where settings are, as the project's record notes it. */
interface SettingsNote {
  readonly id: string;
  readonly parts: number;
  readonly digest: string;
  readonly bytes: number;
  /** The settings themselves, where they are only tried. */
  readonly tried?: readonly Field[];
}

const none: SettingsNote = { id: "", parts: 0, digest: documentDigest([]), bytes: 2 };

/** Writes the parts of new settings, and replaces the attribute by a note of them. */
export async function stageSettings(
  services: ControlServices,
  { id: projectId, input, isDry }: BeforeChange,
): Promise<Started | undefined> {
  const settings = input.attributes.settings as readonly Field[] | undefined;
  if (settings === undefined) return undefined;
  const text = JSON.stringify(settings);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > bytesMax)
    throw badAttribute(input, "settings", `Expected at most ${bytesMax} bytes of JSON, not ${bytes}`);
  const digest = documentDigest(settings);
  const home = { kind: "project", id: projectId } as const;
  const noted = (note: SettingsNote): Started => ({ attributes: { ...input.attributes, settings: note } });
  if (isDry) return noted({ ...none, digest, bytes, tried: settings });
  if (settings.length === 0) return noted(none);
  const note = {
    id: await services.places.newId(home),
    parts: Math.ceil(text.length / partUnits),
    digest,
    bytes,
  };
  const partition = homePartition(home);
  await services.work.expect(home);
  await writeParts(services, partition, note, text);
  return { ...noted(note), after: () => removeStaged(services.store, partition, note) };
}

/** Moves the note of new settings to the state of the project, and removes the parts that it replaces. */
export function settleSettings(entity: Entity, previous: Entity | null, tx: Transaction): Entity {
  const { settings, ...attributes } = entity.attributes;
  const next = settings as SettingsNote | undefined;
  const old = noteOf(previous);
  if (next === undefined) return entity;
  if (next.digest === old.digest) return { ...entity, attributes };
  if (next.parts > 0) {
    if (tx.get(keyOf(next, 0)) === null)
      throw new AppError("conflict", "Cannot change the settings as they took too long to arrive: try again");
    tx.effect({ type: "unscore", key: stagedKey, member: memberOf(next) });
  }
  for (const key of keysOf(old)) tx.put(key, null);
  return { ...entity, attributes, state: { ...entity.state, settings: next } };
}

/** Returns what an answer shows of a project's settings, which are read where they are shown. */
export function presentSettings(project: Entity, tx: Transaction): Pick<Presented, "lazy" | "meta"> {
  const note = noteOf(project);
  return {
    lazy: { settings: () => note.tried ?? readSettings(note, tx) },
    meta: { settings_digest: note.digest, settings_bytes: note.bytes },
  };
}

function readSettings(note: SettingsNote, tx: Transaction): unknown {
  if (note.parts === 0) return [];
  const keys = keysOf(note);
  for (const key of keys) tx.want(key);
  const parts = keys.map(key => tx.get<string>(key, { isGuarded: true }));
  return parts.includes(null) ? tx.readAgain() : JSON.parse(parts.join(""));
}

function noteOf(project: Entity | null): SettingsNote {
  return (project?.state?.settings as SettingsNote | undefined) ?? none;
}

function keyOf({ id }: SettingsNote, part: number): string {
  return `settings:${id}:${part}`;
}

function keysOf(note: SettingsNote): readonly string[] {
  return Array.from({ length: note.parts }, (_, part) => keyOf(note, part));
}

function memberOf({ id, parts }: SettingsNote): string {
  return `${id}:${parts}`;
}

async function writeParts(
  { store, clock }: ControlServices,
  partition: string,
  note: SettingsNote,
  text: string,
): Promise<void> {
  const score = Math.floor(clock() / 1_000);
  const listed: Write = { type: "score", op: "set", key: stagedKey, member: memberOf(note), score };
  const puts = keysOf(note).map((key, part): Write => {
    const start = part * partUnits;
    return { type: "put", key, value: JSON.stringify(text.slice(start, start + partUnits)) };
  });
  for (let start = 0; start < puts.length; start += commitPartsMax) {
    await store.commit(partition, { writes: [listed, ...puts.slice(start, start + commitPartsMax)] });
  }
}

/** Returns the task that removes settings which did not come into force, as a process died. */
export function settingsTask(store: Store): WorkTask {
  return async ({ kind, id }, now) => {
    if (kind !== "project") return null;
    const partition = homePartition({ kind, id });
    const [{ entries }] = await store.read(partition, [{ type: "board", key: stagedKey, limit: cleanedMax }]);
    for (const { member, score } of entries) {
      const due = (score + stagedSecondsMax) * 1_000;
      if (due > now) return due;
      const [noteId = "", parts = "0"] = member.split(":");
      await removeStaged(store, partition, { ...none, id: noteId, parts: Number(parts) });
    }
    return entries.length < cleanedMax ? null : now;
  };
}

async function removeStaged(store: Store, partition: string, note: SettingsNote): Promise<void> {
  await runTransaction(store, partition, {
    keys: [projectKey],
    steps: [
      tx => {
        const project = tx.get(projectKey);
        if (project !== null && noteOf(projectCodec.decode(project)).id === note.id) return;
        for (const key of keysOf(note)) tx.put(key, null);
        tx.effect({ type: "unscore", key: stagedKey, member: memberOf(note) });
      },
    ],
  });
}
