/** Commands about assets, the files of a space. */

import { id, whole } from "../frame/checks.ts";
import type { ArgumentSpec, CommandSpec } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { exits, wrongUsage } from "../frame/errors.ts";
import type { Target } from "../frame/kinds.ts";
import { type Fields, fieldsOf, record, rows } from "../frame/output.ts";
import { documentOf, pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import { spaceFlag } from "../orgs.ts";
import { uploadAssets } from "./upload.ts";

/** Assets on a page. */
const pageMax = 100;
const pagesMax = 100_000;

const assetArgument: ArgumentSpec = { name: "asset", description: "Its id", check: id };
const assetFields: Fields = {
  id: ["ID", "text"],
  name: ["NAME", "text"],
  mime: ["MIME", "text"],
  bytes: ["SIZE", "whole"],
  tags: ["TAGS", "texts"],
  uploader: ["UPLOADER", "text?"],
  alt_text: [null, "text"],
  url: [null, "text"],
  created_at: ["CREATED", "time"],
};

/** Reads an asset, and what it belongs to. */
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
  flags: { yes: { description: "Do not ask" } },
  changes: "Removes the asset and its file",
  examples: ["assets delete $ASSET --yes"],
  requests: 2,
  output: record({ id: ["ID", "text"], name: ["NAME", "text"] }),
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
    tag: { value: "id", description: "With this tag alone", check: id },
    uploader: { value: "id", description: "Of this uploader alone", check: id },
    page: { value: "number", description: "The page", otherwise: "1", check: whole(1, pagesMax) },
    limit: {
      value: "number",
      description: "Assets on a page",
      otherwise: String(pageMax),
      check: whole(1, pageMax),
    },
  },
  examples: ["assets list", "assets list --mime image/* --page 2 --json"],
  requests: 1,
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

/** `assets media-types` and `assets uploaders`. */
function countCommand(word: "media-types" | "uploaders", summary: string, fields: Fields): CommandSpec {
  return {
    words: ["assets", word],
    summary,
    flags: { space: spaceFlag },
    examples: [`assets ${word}`],
    requests: 1,
    output: rows(fields),
    async run({ flags: { space = "" } }, { api }) {
      const path = pathOf({ kind: "space", id: space }, word.replace("-", "_"));
      const { data } = await (await api()).get<readonly ResourceObject[]>(path);
      return { data: data.map(one => fieldsOf(fields, one)) };
    },
  };
}

/** `assets tag` and `assets untag`. */
function tagCommand(word: "tag" | "untag"): CommandSpec {
  const isAdding = word === "tag";
  return {
    words: ["assets", word],
    summary: isAdding ? "Add tags to an asset" : "Take tags off an asset",
    args: [assetArgument, { name: "tags", description: "Ids of tags", repeated: true, check: id }],
    changes: "Changes the tags of the asset",
    examples: [`assets ${word} $ASSET $TAG`],
    requests: 2,
    output: record({ id: ["ASSET", "text"], tags: ["TAGS", "texts"] }),
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

const changedFields: Fields = { id: ["ID", "text"], name: ["NAME", "text"], alt_text: ["ALT", "text"] };

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
    const attributes = {
      ...(name === undefined ? {} : { name }),
      ...(alt === undefined ? {} : { alt_text: alt }),
    };
    const document = documentOf("assets", attributes, { id: assetId });
    const { data } = await control.write("PATCH", `/assets/${assetId}`, { within, document });
    return { data: fieldsOf(changedFields, data) };
  },
};

/** Commands that begin with `assets`. */
export const assetsCommands: readonly CommandSpec[] = [
  deleteAsset,
  listAssets,
  countCommand("media-types", "List the media types in use in a space, the most frequent first", {
    mime: ["MIME", "text"],
    count: ["COUNT", "whole"],
  }),
  tagCommand("tag"),
  tagCommand("untag"),
  updateAsset,
  uploadAssets,
  countCommand("uploaders", "List who has uploaded assets of a space, the busiest first", {
    id: ["ID", "text"],
    name: ["NAME", "text"],
    count: ["COUNT", "whole"],
  }),
];
