/** The upload of a file, which becomes an asset unless the space has it already. */

import * as v from "valibot";
import { AppError, type ErrorCode, invalidField } from "../../../base/errors/mod.ts";
import { OutboundError } from "../../../base/outbound/outbound.ts";
import { route, streamedBody } from "../../../http/mod.ts";
import { retry } from "../../../storage/background/mod.ts";
import { fileName, resources } from "../../table/mod.ts";
import { requireAccess } from "../access/roles.ts";
import type { ResourceObject } from "../jsonapi/documents.ts";
import { type AuthorCall, answer, idOf, idParams } from "../jsonapi/documents.ts";
import { documentSchema } from "../jsonapi/schemas.ts";
import { type Home, homePartition, type Input, type Kind, unknownRelated } from "../kind.ts";
import { requireRoom, unknownTags } from "../kinds/assets.ts";
import { runTransaction } from "../transaction.ts";
import { type ResourceRoutesContext, write } from "../write.ts";
import { type AssetFiles, type FileFacts, fileBytesMax, type NewFile } from "./files.ts";

/** Time in ms in which a file has to arrive from another server. */
const fetchMsMax = 120_000;
/** Most attempts to create an asset whose file others store and remove at the same time. */
const attemptsMax = 5;

export interface AssetRoutesContext extends ResourceRoutesContext {
  readonly files: AssetFiles;
  readonly kind: Kind;
}

const uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const tagIds = v.pipe(
  v.string(),
  v.regex(new RegExp(`^${uuid}(,${uuid}){0,19}$`, "i"), "Expected up to 20 ids, separated by commas"),
  v.description("Ids of its tags, separated by commas"),
);

export function uploadRoute(context: AssetRoutesContext) {
  const { services, author, files } = context;
  const schema = documentSchema(resources.assets);
  return route({
    method: "POST",
    path: "/api/v2/spaces/:spaceId/assets",
    operation: "uploadAsset",
    summary: "Upload a file",
    description:
      "The body is the file; its media type is found in its contents. The position of a photo (JPEG, PNG, WebP, HEIC, AVIF) is removed, and SVG is stored in UTF-8, so that `bytes` and `sha256` may differ from those of the file sent. A file that the space has already is not stored again: the answer is 200 with its asset. Needs the role creator.",
    auth: author,
    params: idParams("spaces"),
    query: v.strictObject({
      name: v.optional(
        v.pipe(fileName, v.description("Name of the file; needed unless `url` ends with one")),
      ),
      url: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(2_048),
          v.description("The https address of the file, in place of a body. The platform reads it"),
        ),
      ),
      tag: v.optional(tagIds),
    }),
    body: streamedBody({
      description: "The file",
      maxBytes: fileBytesMax,
      mediaTypes: ["*/*"],
      example: "Hello",
    }),
    responses: {
      201: { description: "The new asset", schema },
      200: { description: "The asset that has the file already", schema },
    },
    errors: ["not_found", "forbidden", "conflict", "not_available", "not_acceptable"],
    handle: async call => {
      const { name: given, url, tag } = call.query;
      const tags = tag?.toLowerCase().split(",") ?? [];
      const home: Home = { kind: "space", id: idOf(call, "spaces") };
      await requireAccess(services, call.principal, home, { needed: "creator", noun: "space" });
      const declared = url === undefined ? Number(call.request.headers.get("content-length") ?? 1) : 1;
      await Promise.all([requireTags(context, home, tags), requireRoom(services, home, declared)]);
      const id = await services.places.newId(home);
      const name = given ?? nameIn(url);
      const file = url === undefined ? { name, body: call.body } : await fetched(context, name, url);
      const { data, isNew } = await removingAfterFailure(context, { id, home }, async begin => {
        const facts = await files.put(home, id, file);
        begin();
        const more = {
          refs: { space: home.id, uploader: call.principal.user.id },
          links: { tags: { add: tags } },
        };
        return await createAsset(call, context, { id, home, name, facts, more });
      });
      const headers = { etag: String(data.meta?.etag), location: data.links?.self ?? "" };
      return answer(call, { data }, headers, isNew ? 201 : 200) as never;
    },
  });
}

function nameIn(url = ""): string {
  const segment = URL.canParse(url) ? (new URL(url).pathname.split("/").at(-1) ?? "") : "";
  const name = v.safeParse(fileName, segment.includes("%") ? unescaped(segment) : segment);
  if (!name.success)
    throw invalidField("Cannot store the file without a name", "name", "Expected the name of the file");
  return name.output;
}

function unescaped(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}

/** @throws {AppError} `validation_failed`: the address leads to no file. */
async function fetched({ services }: AssetRoutesContext, name: string, url: string): Promise<NewFile> {
  const { outbound, userAgent } = services;
  if (outbound === null)
    throw new AppError("not_available", "Cannot read the address as the platform reads none: send the file");
  const faultOf = (error: unknown): AppError => {
    const reason = error instanceof OutboundError ? error.message : "the file ended early";
    return invalidField("Cannot read the file from its address", "url", `Expected a public file: ${reason}`);
  };
  const request = { url, accept: "*/*", userAgent, msMax: fetchMsMax };
  const { status, body } = await outbound.get(request).catch((error: unknown) => {
    throw faultOf(error);
  });
  if (status === 200) return { name, body, faultOf };
  await body.cancel().catch(() => {});
  throw faultOf(new OutboundError("connection", `the server answers with ${status}`));
}

/** @throws {AppError} `not_found`: before a file is read that could not be tagged. */
async function requireTags({ services }: AssetRoutesContext, home: Home, tags: readonly string[]) {
  if (tags.length === 0) return;
  const [unknown = []] = await runTransaction(services.store, homePartition(home), {
    keys: [],
    steps: [tx => unknownTags(tx, tags)],
  });
  if (unknown.length > 0) throw unknownRelated({ pointer: "/data" }, "tags");
}

/** Failures that say nothing of whether the asset was created. */
const unclear: ReadonlySet<ErrorCode> = new Set(["storage_unavailable", "outcome_unknown"]);

/** Removes the file of an asset that was not created. Where that is unclear, or fails, background work does later. */
async function removingAfterFailure<T>(
  { files }: AssetRoutesContext,
  { id, home }: Pick<NewAsset, "id" | "home">,
  create: (begin: () => void) => Promise<T>,
): Promise<T> {
  let isBegun = false;
  try {
    return await create(() => {
      isBegun = true;
    });
  } catch (error) {
    const isUnclear = !(error instanceof AppError) || unclear.has(error.code);
    if (!isBegun || !isUnclear) await files.remove(home, id).catch(() => {});
    throw error;
  }
}

interface NewAsset {
  readonly id: string;
  readonly home: Home;
  readonly name: string;
  readonly facts: FileFacts;
  readonly more: Partial<Input>;
}

/** Creates the asset of a stored file, or removes the file where the space has it already. */
async function createAsset(
  call: AuthorCall,
  context: AssetRoutesContext,
  { id, home, name, facts: { kindAs, ...facts }, more: given }: NewAsset,
): Promise<{ readonly data: ResourceObject; readonly isNew: boolean }> {
  const { kind, files, reader, services } = context;
  const parent = { type: "spaces", id: home.id } as const;
  const more = { ...given, attributes: { name, ...facts, ...kindAs(name) } };
  let conflict: AppError | undefined;
  async function createOnce(): Promise<{ data: ResourceObject; isNew: boolean } | undefined> {
    try {
      const { data } = await write(call, { op: "add", kind, id, parent, more, pointer: "/data" }, context);
      return { data, isNew: true };
    } catch (error) {
      if (!(error instanceof AppError && error.code === "conflict")) throw error;
      conflict = error;
      const same = await files.find(home, facts.sha256);
      // Others may have removed it meanwhile.
      const view = { include: [], fields: new Map() };
      const found =
        same === null ? null : await reader.one(call.principal, "assets", same.id, view).catch(ignoreMissing);
      if (found !== null) {
        await files.remove(home, id);
        return { data: await lookedAtAgain(call, context, found.data, kindAs), isNew: false };
      }
      await requireRoom(services, home, facts.bytes);
      return undefined;
    }
  }
  return await retry(createOnce, { attemptsMax, exhausted: () => conflict });
}

/** Corrects what an asset says of its file, where the same file is known better by now. */
async function lookedAtAgain(
  call: AuthorCall,
  context: AssetRoutesContext,
  asset: ResourceObject,
  kindAs: FileFacts["kindAs"],
): Promise<ResourceObject> {
  const { name, ...before } = asset.attributes;
  const kind = kindAs(String(name));
  if (before.mime === kind.mime && before.width === kind.width && before.height === kind.height) return asset;
  const more = { attributes: { ...kind } };
  const update = { op: "update", kind: context.kind, id: asset.id, more, pointer: "/data" } as const;
  return (await write(call, update, context)).data;
}

function ignoreMissing(error: unknown): null {
  if (error instanceof AppError && error.code === "not_found") return null;
  throw error;
}
