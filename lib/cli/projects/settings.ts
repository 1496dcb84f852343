/** Commands about the settings of projects: they move between a server and files, and no edit of others is lost. */

import { readBase, writeBase } from "../frame/base_file.ts";
import type { ArgumentSpec, CliContext, CommandSpec, FlagSpec } from "../frame/command.ts";
import type { ControlApi, Document } from "../frame/control_api.ts";
import { CliError, conflict, exits, explain, wrongUsage } from "../frame/errors.ts";
import { exitCodeFlag, idArgument } from "../frame/flags.ts";
import { record, rows } from "../frame/output.ts";
import type { Setting, SettingsDocument } from "./settings_document.ts";

const load = () => import("./settings_document.ts");

/** Most bytes of settings that are pushed without `--confirm`. */
const unconfirmedBytesMax = 2_097_152;
const nameDigits = 12;
const backupsMax = 100;

export const projectArgument: ArgumentSpec = idArgument("project", "Its id");
const fileFlag: FlagSpec = {
  value: "path",
  description: "The file with the settings; - is stdin",
  otherwise: "settings.json",
};

interface Remote extends SettingsDocument {
  readonly etag: string | null;
}

interface Base {
  readonly project: string;
  readonly digest: string;
}

async function readRemote(api: ControlApi, projectId: string): Promise<Remote> {
  const project = await api.read({ kind: "project", id: projectId }, { "fields[projects]": "settings" });
  const settings = project.data.attributes.settings as readonly Setting[];
  return { settings, ...noted(project), etag: project.etag };
}

function noted({ data: { meta } }: Document): Pick<SettingsDocument, "digest" | "bytes"> {
  return { digest: String(meta?.settings_digest), bytes: Number(meta?.settings_bytes) };
}

const diffSettings: CommandSpec = {
  words: ["projects", "settings", "diff"],
  summary: "Compare the settings in a file with those of a project",
  args: [projectArgument],
  flags: { file: fileFlag, "exit-code": exitCodeFlag },
  examples: ["projects settings diff $PROJECT", "projects settings diff $PROJECT --file - --exit-code"],
  output: rows({ op: "text", key: "text", pointer: "text", remote: "json", local: "json" }),
  async run({ args: [projectId = ""], flags: { file = "", "exit-code": exitCode } }, context) {
    const { differences, requireSettings } = await load();
    const local = await requireSettings(file, projectId, context);
    const remote = await readRemote(await context.api(), projectId);
    const data = differences(remote.settings, local.settings).map(({ op, key, pointer, from, to }) => {
      return { op, key, pointer, remote: from, local: to };
    });
    const notes = data.length === 0 ? ["No difference"] : [];
    return { data, notes, exit: exitCode !== undefined && data.length > 0 ? exits.differs : exits.ok };
  },
};

const pullSettings: CommandSpec = {
  words: ["projects", "settings", "pull"],
  summary: "Write the settings of a project to a file",
  args: [projectArgument],
  flags: {
    out: {
      value: "path",
      description: "The file, or - for stdout; otherwise backups/<project>/<digest>.json",
    },
    force: { description: "Overwrite a file with other settings" },
  },
  examples: ["projects settings pull $PROJECT", "projects settings pull $PROJECT --out settings.json"],
  output: record({ file: "text", digest: "text", bytes: "whole", settings: [null, "json"] }),
  exits: { [exits.conflict]: "The file has other settings" },
  async run({ args: [projectId = ""], flags: { out, force } }, context) {
    const { settings, digest, bytes } = await readRemote(await context.api(), projectId);
    const file = out ?? backupPath(backupFolder(projectId), digest);
    const text = `${JSON.stringify(settings, null, 2)}\n`;
    const data = { file, digest, bytes, settings: null };
    if (file === "-") return { data: { ...data, settings }, shown: text };
    const local = await localDigest(file, context);
    if (local !== null && local !== digest && force === undefined) {
      throw conflict(`${file} has other settings than the project`, {
        code: "local_changes",
        hint: "Push them, or give them up with --force",
        next: `grandstand projects settings diff ${projectId} --file ${file}`,
      });
    }
    // A file with equal settings keeps its layout.
    if (local !== digest) await context.files.writeText(file, text);
    await writeBase(file, { project: projectId, digest }, context);
    return { data };
  },
};

const pushSettings: CommandSpec = {
  words: ["projects", "settings", "push"],
  summary: "Replace the settings of a project by those in a file, unless somebody else changed them",
  args: [projectArgument],
  flags: {
    file: fileFlag,
    force: { description: "Replace settings that were changed since the last pull" },
    confirm: { description: "Push more than 2 MB" },
    "no-backup": { description: "Keep no copy of the replaced settings" },
    "backup-dir": { value: "path", description: "Folder of the copy; otherwise backups/<project>" },
  },
  changes: "Replaces all settings of the project",
  examples: ["projects settings push $PROJECT", "projects settings push $PROJECT --file show.json --json"],
  requests: 2,
  output: record({
    project: "text",
    keys: "texts",
    old_digest: ["OLD", "text"],
    new_digest: ["NEW", "text"],
    backup: "text?",
  }),
  exits: {
    [exits.failed]: "The copy cannot be written; nothing was sent",
    [exits.usage]: "More than 2 MB without --confirm",
    [exits.conflict]: "Others changed the settings, or the file was never pulled",
  },
  async run({ args: [projectId = ""], flags }, context) {
    const { file = "" } = flags;
    const { differences, requireSettings } = await load();
    const local = await requireSettings(file, projectId, context);
    if (local.bytes > unconfirmedBytesMax && flags.confirm === undefined) {
      throw wrongUsage(`${file} has ${local.bytes} bytes: give --confirm to push more than 2 MB`);
    }
    const api = await context.api();
    const target = { kind: "project", id: projectId } as const;
    await api.requireAllowed(target);
    const remote = await readRemote(api, projectId);
    const noteBase = async (digest: string): Promise<void> => {
      await writeBase(file, { project: projectId, digest }, context);
    };
    const data = { project: projectId, keys: [], old_digest: remote.digest, new_digest: local.digest };
    if (local.digest === remote.digest) {
      await noteBase(local.digest);
      return { data: { ...data, backup: null }, notes: ["No change: the project has these settings"] };
    }
    const folder = flags["backup-dir"] ?? backupFolder(projectId);
    if (flags.force === undefined) await requireBase({ file, projectId, local, remote, folder }, context);
    const backup = flags["no-backup"] === undefined ? await backUp(remote, folder, context) : null;
    const query = { "fields[projects]": "name" };
    const pushed = await api
      .change(target, { settings: local.settings }, { ifMatch: remote.etag, query })
      .catch(
        explain(412, ({ options }) =>
          conflict("Somebody else changed the project meanwhile; nothing was replaced", {
            ...options,
            next: `grandstand projects settings diff ${projectId} --file ${file}`,
          }),
        ),
      );
    context.done(`pushed the settings of project ${projectId}`);
    const { digest } = noted(pushed);
    await noteBase(digest);
    const changed = differences(remote.settings, local.settings);
    const keys = [...new Set(changed.map(({ key }) => key).filter(key => key !== ""))];
    return {
      data: { ...data, keys, new_digest: digest, backup },
      notes: digest === local.digest ? [] : [await normalised(api, projectId, local)],
    };
  },
};

async function normalised(api: ControlApi, projectId: string, local: SettingsDocument): Promise<string> {
  const { differences } = await load();
  const changed = differences(local.settings, (await readRemote(api, projectId)).settings);
  const keys = [...new Set(changed.map(({ key }) => key))];
  return `The server keeps other settings than it was sent: ${keys.join(", ")}`;
}

interface Push {
  readonly file: string;
  readonly projectId: string;
  readonly local: SettingsDocument;
  readonly remote: Remote;
  readonly folder: string;
}

/** @throws {CliError} The project has other settings than when the file was pulled, or it never was. */
async function requireBase({ file, projectId, local, remote, folder }: Push, context: CliContext) {
  const base = await readBase<Base>(file, { project: projectId }, context);
  if (base?.digest === remote.digest) return;
  const diff = `grandstand projects settings diff ${projectId} --file ${file}`;
  if (base === null) {
    throw conflict(`${file} was never pulled from the project: it could undo what others changed`, {
      code: "no_base",
      hint: "See what differs, then pull to another file, or push with --force",
      next: diff,
    });
  }
  const { differences, readSettings } = await load();
  const former = await readSettings(backupPath(folder, base.digest), context).catch(() => null);
  const changes = (to: readonly Setting[]): ReadonlySet<string> =>
    new Set(former === null ? [] : differences(former.settings, to).map(({ key }) => key));
  const [mine, theirs] = [changes(local.settings), changes(remote.settings)];
  const lists = {
    mine: [...mine].filter(key => !theirs.has(key)),
    theirs: [...theirs].filter(key => !mine.has(key)),
    both: [...mine].filter(key => theirs.has(key)),
  };
  throw conflict("The settings of the project were changed since the last pull", {
    code: "stale",
    hint: "Take the changes over into the file and pull to another one, or replace them with --force",
    next: diff,
    details:
      former?.digest === base.digest
        ? Object.entries(lists).flatMap(([who, keys]) =>
            keys.length === 0 ? [] : [`${who}: ${keys.join(", ")}`],
          )
        : [],
  });
}

/** Keeps a copy of settings and reads it back. @throws {CliError} It cannot be written, or is not what was written. */
async function backUp(
  { settings, digest }: SettingsDocument,
  folder: string,
  context: CliContext,
): Promise<string> {
  const failed = (reason: string): CliError =>
    new CliError(exits.failed, `Cannot keep a copy of the settings: ${reason}. Nothing was sent`, {
      code: "no_backup",
      hint: "Name another folder with --backup-dir, or give --no-backup",
    });
  try {
    for (let copy = 1; copy <= backupsMax; copy++) {
      const path = backupPath(folder, digest, copy);
      const found = await localDigest(path, context);
      if (found === digest) return path;
      // Somebody edits the copy that was pulled.
      if (found !== null) continue;
      await context.files.writeText(path, `${JSON.stringify(settings, null, 2)}\n`);
      if ((await localDigest(path, context)) === digest) return path;
      throw failed(`${path} is not what was written`);
    }
  } catch (error) {
    throw error instanceof CliError && error.options.code === "no_backup"
      ? error
      : failed(error instanceof Error ? error.message : String(error));
  }
  throw failed(`there are ${backupsMax} copies already`);
}

function backupFolder(projectId: string): string {
  return `backups/${projectId}`;
}

function backupPath(folder: string, digest: string, copy = 1): string {
  const name = digest.replace("sha256:", "").slice(0, nameDigits);
  return `${folder}/${name}${copy === 1 ? "" : `-${copy}`}.json`;
}

/** Returns the digest of the settings in a file; null if there is none, empty if it has no settings. */
async function localDigest(path: string, context: CliContext): Promise<string | null> {
  const { readSettings } = await load();
  const found = await readSettings(path, context).catch((error: unknown) => {
    if (error instanceof CliError && error.exit === exits.invalid) return { digest: "" };
    throw error;
  });
  return found?.digest ?? null;
}

export const settingsCommands: readonly CommandSpec[] = [diffSettings, pullSettings, pushSettings];
