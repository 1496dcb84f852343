/** Routes of assets beside those of the table: uploads, what is in use, and the public files. */

import * as v from "valibot";
import { AppError } from "../../../base/errors/mod.ts";
import { json, named, open, route } from "../../../http/mod.ts";
import { byteReply } from "../../../http/replies/byte_reply.ts";
import { mapConcurrent } from "../../../storage/background/mod.ts";
import { fileName, uuidText } from "../../table/mod.ts";
import { requireAccess } from "../access/roles.ts";
import { idOf, idParams, selfOf } from "../jsonapi/documents.ts";
import { type Home, homePartition } from "../kind.ts";
import { assetTallies } from "../kinds/assets.ts";
import { type AssetRoutesContext, uploadRoute } from "./upload.ts";

/** Most media types or uploaders that are listed; those with the most assets come first. */
const usesMax = 1_000;
const namesAtOnce = 16;

export function assetRoutes(context: AssetRoutesContext) {
  return [uploadRoute(context), mediaTypesRoute(context), uploadersRoute(context), fileRoute(context)];
}

const count = v.pipe(v.number(), v.description("Number of assets"));

function usesSchema<const T extends string, E extends v.ObjectEntries>(name: string, type: T, attributes: E) {
  const data = v.object({
    type: v.literal(type),
    id: v.pipe(v.string(), v.description("What is counted")),
    attributes: v.object({ ...attributes, count }),
  });
  return named(name, v.object({ data: v.array(data), links: v.object({ self: v.string() }) }));
}

const MediaTypesSchema = usesSchema("MediaTypesInUse", "media_types", {
  mime: v.pipe(v.string(), v.description("Media type")),
});
const UploadersSchema = usesSchema("Uploaders", "users", {
  name: v.pipe(v.string(), v.description("Name of the person")),
});

function mediaTypesRoute(context: AssetRoutesContext) {
  return route({
    method: "GET",
    path: "/api/v2/spaces/:spaceId/media_types",
    operation: "listSpaceMediaTypes",
    summary: "List the media types in use",
    description: "Media types of the assets of the space, the most frequent first. Needs the role viewer.",
    auth: context.author,
    params: idParams("spaces"),
    responses: { 200: { description: "The media types", schema: MediaTypesSchema } },
    errors: ["not_found"],
    handle: async call => {
      const uses = await usesOf(context, call, "mime");
      const data = uses.map(([mime, used]) => ({
        type: "media_types",
        id: mime,
        attributes: { mime, count: used },
      }));
      return json(200, { data, links: { self: selfOf(context.services, call) } }) as never;
    },
  });
}

function uploadersRoute(context: AssetRoutesContext) {
  const { services, author } = context;
  return route({
    method: "GET",
    path: "/api/v2/spaces/:spaceId/uploaders",
    operation: "listSpaceUploaders",
    summary: "List who has uploaded",
    description: "People who uploaded assets of the space, the busiest first. Needs the role viewer.",
    auth: author,
    params: idParams("spaces"),
    responses: { 200: { description: "The people", schema: UploadersSchema } },
    errors: ["not_found"],
    handle: async call => {
      const uses = await usesOf(context, call, "uploader");
      const data = await mapConcurrent(uses, namesAtOnce, async ([id, used]) => {
        const user = await services.authors.user(id);
        return { type: "users", id, attributes: { name: user?.name ?? "", count: used } };
      });
      return json(200, { data, links: { self: selfOf(services, call) } }) as never;
    },
  });
}

async function usesOf(
  { services }: AssetRoutesContext,
  call: Parameters<typeof idOf>[0],
  by: keyof typeof assetTallies,
): Promise<readonly (readonly [string, number])[]> {
  const home: Home = { kind: "space", id: idOf(call, "spaces") };
  await requireAccess(services, call.principal, home, { needed: "viewer", noun: "space" });
  const [tally] = await services.store.read(homePartition(home), [{ type: "tally", key: assetTallies[by] }]);
  const uses = [...tally].filter(([, used]) => used > 0);
  return uses.sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, usesMax);
}

/** Types that browsers may show or play in place; others are saved. */
const shownTypes = /^(image|audio|video|font|text)\/|^application\/(pdf|json)$/;
/** Types that run nothing; a policy would stop browsers' own viewers of them. */
const playedTypes = /^(audio|video)\/|^application\/pdf$/;

function fileRoute({ files }: AssetRoutesContext) {
  return route({
    method: "GET",
    path: "/assets/:spaceId/:sha256/:name",
    operation: "readAssetFile",
    summary: "Read the file of an asset, or a range of its bytes",
    description:
      "The public address of an asset. Its contents never change, so that everybody may keep them. Supports one `Range`, `If-Range`, `If-Match` and `If-None-Match`.",
    auth: open,
    params: v.object({
      spaceId: v.pipe(v.string(), v.description("Id of the space")),
      sha256: v.pipe(v.string(), v.description("Digest of the file, in hexadecimal digits")),
      name: v.pipe(v.string(), v.description("The name under which a browser saves it")),
    }),
    responses: {
      200: { description: "The file" },
      206: { description: "The bytes of the range" },
      304: { description: "The client has it" },
      416: { description: "The file has no such bytes" },
    },
    errors: ["not_found", "precondition_failed"],
    cache: "public",
    handle: async ({ request, params: { spaceId, sha256, name } }) => {
      const isPossible = v.is(uuidText, spaceId) && /^[0-9a-f]{64}$/.test(sha256) && v.is(fileName, name);
      const home: Home = { kind: "space", id: spaceId.toLowerCase() };
      const found = isPossible ? await files.find(home, sha256) : null;
      if (found === null) throw noFile();
      const { id, mime, bytes } = found;
      return await byteReply(request, {
        etag: `"${sha256}"`,
        size: bytes,
        headers: fieldsOf(mime, name),
        async open(range) {
          const body = await files.open(home, id, range);
          if (body === null) throw noFile();
          return body;
        },
      });
    },
  });
}

function fieldsOf(mime: string, name: string): Readonly<Record<string, string>> {
  const plain = name.replace(/[^\w.-]/g, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/g, each => `%${each.charCodeAt(0).toString(16)}`);
  const disposition = shownTypes.test(mime) ? "inline" : "attachment";
  return {
    "content-type": mime.startsWith("text/") ? `${mime}; charset=utf-8` : mime,
    "content-disposition": `${disposition}; filename="${plain}"; filename*=UTF-8''${encoded}`,
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "cross-origin",
    ...(playedTypes.test(mime)
      ? {}
      : { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox" }),
  };
}

function noFile(): AppError {
  return new AppError("not_found", "Cannot find the file: there is none at this address, or it was removed");
}
