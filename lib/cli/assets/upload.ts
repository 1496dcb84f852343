/** The command that uploads files. */

import { interrupted } from "../frame/client.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { exits, invalid, wrongUsage } from "../frame/errors.ts";
import type { OpenedFile } from "../frame/host.ts";
import { rows } from "../frame/output.ts";
import { pathOf } from "../frame/resources.ts";
import { spaceFlag } from "../orgs.ts";

/** Uploads at the same time. */
const uploadsAtOnce = 4;
/** Longest time in which the server reads a file from an address, in ms. */
const fetchMsMax = 150_000;
/** Longest upload from stdin, in ms. */
const uploadMsMax = 21_600_000;
/** Slowest upload that is waited for, in bytes per ms. */
const uploadBytesPerMs = 32;

interface Upload {
  readonly file: string;
  readonly id: string | null;
  readonly mime: string | null;
  readonly bytes: number | null;
  readonly result: "created" | "exists" | "failed";
  readonly error: string | null;
}

export const uploadAssets: CommandSpec = {
  words: ["assets", "upload"],
  summary: "Upload files to a space; a file that it has already is not stored again",
  args: [
    {
      name: "files",
      description: "Files or patterns such as *.png, - for stdin, or with --url https addresses",
      repeated: true,
    },
  ],
  flags: {
    space: spaceFlag,
    url: { description: "The arguments are addresses, which the server reads" },
    tag: { value: "tag", description: "A tag of new assets, by id or name", repeated: true },
  },
  changes: "Adds assets to the space",
  examples: [
    "assets upload logo.png",
    "assets upload *.png --tag Logos",
    "assets upload --url https://a.example/b.png",
  ],
  requests: 1,
  output: rows({
    file: ["FILE", "text"],
    id: ["ID", "text?"],
    mime: ["MIME", "text?"],
    bytes: ["SIZE", "whole?"],
    result: ["RESULT", "text"],
    error: [null, "text?"],
  }),
  exits: { [exits.failed]: "Some files failed; the others are stored", [exits.invalid]: "A tag is unknown" },
  async run({ args: names, flags: { space = "", url }, lists }, context) {
    const sources = await openAll(names, url !== undefined, context);
    const api = await context.api();
    await api.requireAllowed({ kind: "space", id: space });
    const tag = await tagIds(api, space, lists.tag ?? []);
    const { mapConcurrent } = await import("../../storage/background/map_concurrent.ts");
    const failures: unknown[] = [];
    let done = 0;
    const data = await mapConcurrent(sources, uploadsAtOnce, async ([file, opened]): Promise<Upload> => {
      try {
        const uploaded = await upload(api, {
          space,
          file,
          opened,
          tag,
          timeoutMs: context.settings.timeoutMs,
        });
        context.done(`uploaded ${file} as ${uploaded.id}`);
        return uploaded;
      } catch (error) {
        failures.push(error);
        const message = error instanceof Error ? error.message : String(error);
        return { file, id: null, mime: null, bytes: null, result: "failed", error: message };
      } finally {
        context.progress(`${++done}/${sources.length} uploading`);
      }
    });
    const isStopped = context.interruption().aborted;
    if (isStopped || failures.length === sources.length) throw isStopped ? interrupted() : failures[0];
    const notes = data.flatMap(({ file, error }) => (error === null ? [] : [`${file}: ${error}`]));
    return { data, notes, exit: failures.length === 0 ? exits.ok : exits.failed };
  },
};

type Source = readonly [name: string, opened: OpenedFile | null];

/** Opens all files; null for addresses. @throws {CliError} Some are missing or folders. */
async function openAll(
  names: readonly string[],
  areUrls: boolean,
  { files }: CliContext,
): Promise<readonly Source[]> {
  if (areUrls) return names.map(name => [name, null]);
  const all = (await Promise.all(names.map(name => matching(name, files)))).flat();
  const sources = await Promise.all(
    [...new Set(all)].map(async (name): Promise<Source> => [name, await files.open(name)]),
  );
  const missing = sources.filter(([, opened]) => opened === null).map(([name]) => name);
  if (missing.length === 0) return sources;
  throw wrongUsage(`There is no file ${missing.join(", ")}`, { code: "missing_file" });
}

/** Returns the files that a pattern stands for, where the shell left it as it is: it is quoted, or the shell of Windows. */
async function matching(name: string, files: CliContext["files"]): Promise<readonly string[]> {
  const [, start = "", folder = "", last = name] = /^((.*)[/\\])?([^/\\]*)$/.exec(name) ?? [];
  if (!/[*?]/.test(last) || (await files.open(name).catch(() => null)) !== null) return [name];
  const source = last
    .replace(/[^\w*?]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  const pattern = new RegExp(`^${/^[*?]/.test(last) ? "(?!\\.)" : ""}${source}$`, "s");
  const found = (await files.names(folder || start || ".")).filter(each => pattern.test(each));
  return found.length === 0 ? [name] : found.sort().map(each => start + each);
}

/** Finds tags by id or name. @throws {CliError} The space has none. */
async function tagIds(
  api: ControlApi,
  space: string,
  wanted: readonly string[],
): Promise<string | undefined> {
  if (wanted.length === 0) return undefined;
  const { data } = await api.all(pathOf({ kind: "space", id: space }, "tags"));
  const found = wanted.map(text => {
    const name = text.toLowerCase();
    return data.find(tag => tag.id === name || String(tag.attributes.name).toLowerCase() === name)?.id;
  });
  const unknown = wanted.filter((_, index) => found[index] === undefined);
  if (unknown.length === 0) return [...new Set(found)].join(",");
  throw invalid(`The space has no tag ${unknown.join(", ")}`, {
    next: `grandstand tags list --space ${space}`,
  });
}

async function upload(
  api: ControlApi,
  {
    space,
    file,
    opened,
    tag,
    timeoutMs,
  }: {
    readonly space: string;
    readonly file: string;
    readonly opened: OpenedFile | null;
    readonly tag: string | undefined;
    readonly timeoutMs: number;
  },
): Promise<Upload> {
  const target = { kind: "space", id: space } as const;
  const name = file === "-" ? "stdin" : file.split(/[/\\]/).at(-1);
  const { data, status } = await api.write("POST", pathOf(target, "assets"), {
    within: target,
    ...(opened === null
      ? { query: { url: file, tag }, timeoutMs: Math.max(timeoutMs, fetchMsMax) }
      : {
          query: { name, tag },
          stream: opened.stream,
          timeoutMs:
            opened.bytes === null ? uploadMsMax : timeoutMs + Math.ceil(opened.bytes / uploadBytesPerMs),
          isRepeatable: opened.bytes !== null,
        }),
  });
  const { mime, bytes } = data.attributes as { readonly mime: string; readonly bytes: number };
  return { file, id: data.id, mime, bytes, result: status === 201 ? "created" : "exists", error: null };
}
