/** Settings of projects as documents: reading them from files, and how two of them differ. */

import { jsonPointer } from "../../base/errors/mod.ts";
import {
  isMembers,
  isSame,
  type Difference as JsonDifference,
  differences as jsonDifferences,
  parsedJson,
} from "../../base/json/mod.ts";
import { documentDigest } from "../../fans/directory/loyalty_versions.ts";
import { canonicalJson } from "../../http/requests/body.ts";
import type { CliContext } from "../frame/command.ts";
import { invalid, missingFile } from "../frame/errors.ts";

const settingsBytesMax = 4 * 1_048_576;
/** Most bytes of a file, which may be indented. */
const fileBytesMax = 4 * settingsBytesMax;

/** A setting; `values` has its value by locale, or for `all`. */
export interface Setting {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface SettingsDocument {
  readonly settings: readonly Setting[];
  /** `sha256:` and the digest of the canonical form. */
  readonly digest: string;
  readonly bytes: number;
}

function settingsDocument(settings: readonly Setting[]): SettingsDocument {
  const bytes = new TextEncoder().encode(canonicalJson(settings)).length;
  return { settings, digest: documentDigest(settings), bytes };
}

/**
 * Reads settings from a file; null if there is none.
 *
 * @throws {CliError} They are no JSON, no list of settings with keys of their own, or too large; every fault is named.
 */
export async function readSettings(path: string, { files }: CliContext): Promise<SettingsDocument | null> {
  const text = await files.readText(path, fileBytesMax);
  if (text === null) return null;
  const value = parsed(text) ?? (path === "-" ? null : (await files.read(path))?.document);
  const faults = faultsOf(value);
  if (faults.length > 0) {
    const located = path === "-" ? null : await files.read(path).catch(() => null);
    const details = faults.map(
      ([pointer, detail]) => `${located?.locate(pointer) ?? path}${pointer && ` ${pointer}`}: ${detail}`,
    );
    throw invalid(`The settings in ${path} are not valid`, { details });
  }
  const document = settingsDocument(value as readonly Setting[]);
  if (document.bytes <= settingsBytesMax) return document;
  throw invalid(
    `The settings in ${path} have ${document.bytes} bytes: at most ${settingsBytesMax} are possible`,
  );
}

/** Reads settings from a file. @throws {CliError} As {@linkcode readSettings}, and if there is no such file. */
export async function requireSettings(
  path: string,
  projectId: string,
  context: CliContext,
): Promise<SettingsDocument> {
  const document = await readSettings(path, context);
  if (document !== null) return document;
  throw missingFile(path, { next: `grandstand projects settings pull ${projectId} --out ${path}` });
}

/** Parses JSON quickly; undefined where it is none or repeats a name, whose position the reader of documents reports. */
function parsed(text: string): unknown {
  const value = parsedJson(text);
  // Outside of texts, every colon is that of a member.
  const members = text.replace(/"(?:[^"\\]|\\.)*"/g, "").split(":").length - 1;
  return membersOf(value) === members ? value : undefined;
}

function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, member) => sum + membersOf(member), own);
}

type Fault = readonly [pointer: string, detail: string];

function faultsOf(value: unknown): readonly Fault[] {
  if (!Array.isArray(value)) return [["", 'Expected a list of {"key", "values"}']];
  const keys = new Map<string, number>();
  return value.flatMap((item: unknown, index): readonly Fault[] => {
    if (!isMembers(item)) return [[`/${index}`, 'Expected {"key", "values"}']];
    const { key, values } = item as Partial<Setting>;
    const first = typeof key === "string" ? keys.get(key) : undefined;
    if (typeof key === "string" && first === undefined) keys.set(key, index);
    const faults: readonly (Fault | false)[] = [
      (typeof key !== "string" || key === "") && [`/${index}/key`, "Expected a text"],
      first !== undefined && [`/${index}/key`, `Expected another key than that of /${first}`],
      !isMembers(values) && [`/${index}/values`, "Expected an object"],
    ];
    return faults.filter(fault => fault !== false);
  });
}

export interface Difference extends Pick<JsonDifference, "op"> {
  readonly key: string;
  /** JSON Pointer into the setting. */
  readonly pointer: string;
  /** Null: there is none. */
  readonly from: unknown;
  readonly to: unknown;
}

export function differences(from: readonly Setting[], to: readonly Setting[]): readonly Difference[] {
  const found = jsonDifferences(byKey(from), byKey(to), { hasWholeLists: true });
  if (found.length > 0) {
    return found.map(({ op, path: [key = "", ...rest], from: before = null, to: after = null }) => {
      return { op, key: String(key), pointer: jsonPointer(...rest), from: before, to: after };
    });
  }
  const [old, now] = [from, to].map(settings => settings.map(({ key }) => key));
  return isSame(old, now) ? [] : [{ op: "order", key: "", pointer: "", from: old, to: now }];
}

function byKey(settings: readonly Setting[]): Readonly<Record<string, Setting>> {
  return Object.fromEntries(settings.map(setting => [setting.key, setting]));
}
