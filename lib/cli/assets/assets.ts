/** Commands about assets, the files of a space. */

import { id, whole } from "../frame/checks.ts";
import { interrupted } from "../frame/client.ts";
import type { ArgumentSpec, CliContext, CommandSpec } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { exits, invalid, wrongUsage } from "../frame/errors.ts";
import { idArgument, idFlag, spaceFlag, yesFlag } from "../frame/flags.ts";
import type { OpenedFile } from "../frame/host.ts";
import { type Fields, fieldsOf, record, rows } from "../frame/output.ts";
import { documentOf, pathOf, type ResourceObject, relation, type Target } from "../frame/resources.ts";

const pageMax = 100;
const pagesMax = 100_000;

const assetArgument: ArgumentSpec = idArgument("asset", "Its id");
const assetFields: Fields = {
  id: "text",
  name: "text",
  mime: "text",
  bytes: ["SIZE", "whole"],
  tags: "texts",
  uploader: "text?",
  alt_text: [null, "text"],
  url: [null, "text"],
  created_at: ["CREATED", "time"],
};

async function readAsset(
  api: ControlApi,
  assetId: string,
): Promise<{ readonly asset: ResourceObject; readonly etag: string | null; readonly within: Target }> {
  const { data: asset, etag } = await api.get(`/assets/${assetId}`);
  return { asset, etag, within: { kind: "space", id: relation(asset, "space") ?? "" } };
}

const deleteAsset: CommandSpec = {
  words: ["assets", "delete"],
  summary: "Delete an asset; its address ends at once",
  args: [assetArgument],
  flags: { yes: yesFlag },
  changes: "Removes the asset and its file",
  examples: ["assets delete $ASSET --yes"],
  requests: 2,
  output: record({ id: "text", name: "text" }),
  async run({ args: [assetId = ""] }, { api, confirm }) {
    const control = await api();
    const { asset, etag, within } = await readAsset(control, assetId);
    await control.requireAllowed(within);
    await confirm(`Delete asset ${asset.attributes.name} (${assetId})`);
    await control.write("DELETE", `/assets/${assetId}`, { within, ifMatch: etag });
    return { data: { id: assetId, name: asset.attributes.name } };
  },
};

const listAssets: CommandSpec = {
  words: ["assets", "list"],
  summary: "List a page of the assets of a space, newest first",
  flags: {
    space: spaceFlag,
    mime: { value: "type", description: "Of this media type alone, such as image/png or image/*" },
    tag: idFlag("With this tag alone"),
    uploader: idFlag("Of this uploader alone"),
    page: { value: "number", description: "The page", otherwise: "1", check: whole(1, pagesMax) },
    limit: {
      value: "number",
      description: "Assets on a page",
      otherwise: String(pageMax),
      check: whole(1, pageMax),
    },
  },
  examples: ["assets list", "assets list --mime image/* --page 2 --json"],
  output: rows(assetFields),
  async run({ flags: { space = "", mime, tag, uploader, page, limit } }, { api }) {
    const path = pathOf({ kind: "space", id: space }, "assets");
    const list = await (await api()).get<readonly ResourceObject[]>(path, {
      "filter[mime]": mime,
      "filter[tag]": tag,
      "filter[uploader]": uploader,
      "page[number]": page,
      "page[count]": limit,
      include: "tags,uploader",
    });
    const nameOf = (type: string, one: string | null): unknown => list.included(type, one)?.attributes.name;
    const data = list.data.map(asset => {
      const tags = tagsOf(asset).map(one => nameOf("tags", one) ?? one);
      const by = relation(asset, "uploader");
      return { ...fieldsOf(assetFields, asset), tags, uploader: nameOf("users", by) ?? by };
    });
    const { total } = list.meta;
    const left = Number(total) - Number(page) * Number(limit);
    const notes = left > 0 ? [`${left} more: --page ${Number(page) + 1}`] : [];
    return { data, meta: { page: { number: Number(page), size: Number(limit), total } }, notes };
  },
};

function tagsOf({ relationships }: ResourceObject): readonly string[] {
  const data = relationships?.tags?.data;
  return Array.isArray(data) ? data.map(tag => tag.id) : [];
}

function countCommand(word: "media-types" | "uploaders", summary: string, fields: Fields): CommandSpec {
  return {
    words: ["assets", word],
    summary,
    flags: { space: spaceFlag },
    examples: [`assets ${word}`],
    output: rows(fields),
    async run({ flags: { space = "" } }, { api }) {
      const path = pathOf({ kind: "space", id: space }, word.replace("-", "_"));
      const { data } = await (await api()).get<readonly ResourceObject[]>(path);
      return { data: data.map(one => fieldsOf(fields, one)) };
    },
  };
}

function tagCommand(word: "tag" | "untag"): CommandSpec {
  const isAdding = word === "tag";
  return {
    words: ["assets", word],
    summary: isAdding ? "Add tags to an asset" : "Take tags off an asset",
    args: [assetArgument, { name: "tags", description: "Ids of tags", repeated: true, check: id }],
    changes: "Changes the tags of the asset",
    examples: [`assets ${word} $ASSET $TAG`],
    requests: 2,
    output: record({ id: ["ASSET", "text"], tags: "texts" }),
    exits: { [exits.invalid]: "A tag is unknown; nothing was changed" },
    async run({ args: [assetId = "", ...tags] }, context) {
      const api = await context.api();
      const { asset, within } = await readAsset(api, assetId);
      const document = { data: tags.map(tag => ({ type: "tags", id: tag })) };
      const path = `/assets/${assetId}/relationships/tags`;
      await api.write(isAdding ? "POST" : "DELETE", path, { within, document });
      const before = tagsOf(asset);
      const after = isAdding ? [...new Set([...before, ...tags])] : before.filter(tag => !tags.includes(tag));
      return { data: { id: assetId, tags: after } };
    },
  };
}

const changedFields: Fields = { id: "text", name: "text", alt_text: ["ALT", "text"] };

const updateAsset: CommandSpec = {
  words: ["assets", "update"],
  summary: "Change the name or the alternative text of an asset",
  args: [assetArgument],
  flags: {
    name: { value: "text", description: "Its name" },
    "alt-text": { value: "text", description: "What it shows; empty for decoration", allowsEmpty: true },
  },
  changes: "Changes the asset",
  examples: ["assets update $ASSET --name logo.png", 'assets update $ASSET --alt-text "Club crest"'],
  requests: 2,
  output: record(changedFields),
  async run({ args: [assetId = ""], flags: { name, "alt-text": alt } }, { api }) {
    if (name === undefined && alt === undefined) throw wrongUsage("assets update needs --name or --alt-text");
    const control = await api();
    const { within } = await readAsset(control, assetId);
    const document = documentOf("assets", { name, alt_text: alt }, { id: assetId });
    const { data } = await control.write("PATCH", `/assets/${assetId}`, { within, document });
    return { data: fieldsOf(changedFields, data) };
  },
};

const uploadsAtOnce = 4;
const fetchMsMax = 150_000;
const uploadMsMax = 21_600_000;
const uploadBytesPerMs = 32;

interface Upload {
  readonly file: string;
  readonly id: string | null;
  readonly mime: string | null;
  readonly bytes: number | null;
  readonly result: "created" | "exists" | "failed";
  readonly error: string | null;
}

const uploadAssets: CommandSpec = {
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
  output: rows({
    file: "text",
    id: "text?",
    mime: "text?",
    bytes: ["SIZE", "whole?"],
    result: "text",
    error: [null, "text?"],
  }),
  exits: { [exits.failed]: "Some files failed; the others are stored", [exits.invalid]: "A tag is unknown" },
  async run({ args: names, flags: { space = "", url }, lists }, context) {
    const sources = await openAll(names, url !== undefined, context);
    const api = await context.api();
    await api.requireAllowed({ kind: "space", id: space });
    const tag = await tagIds(api, space, lists.tag ?? []);
    const { mapConcurrent } = await import("../../storage/background/mod.ts");
    const failures: unknown[] = [];
    let done = 0;
    const data = await mapConcurrent(sources, uploadsAtOnce, async ([file, opened]): Promise<Upload> => {
      try {
        const uploaded = await upload(api, space, [file, opened], tag, context.settings.timeoutMs);
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
  space: string,
  [file, opened]: Source,
  tag: string | undefined,
  timeoutMs: number,
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

export const commands: readonly CommandSpec[] = [
  deleteAsset,
  listAssets,
  countCommand("media-types", "List the media types in use in a space, the most frequent first", {
    mime: "text",
    count: "whole",
  }),
  tagCommand("tag"),
  tagCommand("untag"),
  updateAsset,
  uploadAssets,
  countCommand("uploaders", "List who has uploaded assets of a space, the busiest first", {
    id: "text",
    name: "text",
    count: "whole",
  }),
];
