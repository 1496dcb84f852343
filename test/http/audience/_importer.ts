/** A back end that imports and exports files of users. */

import assert from "node:assert/strict";
import { createMemoryBlobs } from "../../../adapters/memory/mod.ts";
import type { Permission } from "../../../lib/auth/mod.ts";
import type { ClientInfo } from "../../../lib/http/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import type { OpenStore } from "../../support/stores.ts";
import { backEnd } from "./_back_end.ts";

export const base = "/v1/api/audience/internal";
export const csv = "text/csv";
export const lines = "application/x-ndjson";

// biome-ignore lint/suspicious/noExplicitAny: parsed JSON, which the tests compare
export type Json = any;

/** A back end that imports files. */
export interface Importer {
  readonly world: TestPlatform;
  /** Sends a file, and returns the answer as it comes. */
  send(
    type: string,
    body: BodyInit,
    options?: { readonly query?: string; readonly info?: ClientInfo },
  ): Promise<Response>;
  /** Imports a file, and returns the lines of the answer. */
  lines(type: string, body: BodyInit, query?: string): Promise<readonly Json[]>;
  profile(userId: string): Promise<Json>;
}

/** Calls as a back end with a key of one permission. */
export async function importer(
  world: TestPlatform,
  permission: Permission = "users:write",
): Promise<Importer> {
  const { key, secret } = await world.platform.apiKeys.create({
    organisationId: ids.organisation,
    name: "Files",
    permissions: [permission],
  });
  const credentials = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
  const api = await backEnd(world, ["users:read"]);
  const send: Importer["send"] = async (type, body, { query = "", info } = {}) => {
    const headers = { ...credentials, "content-type": type };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    return await world.platform.fetch(
      new Request(`http://club.example${base}/users/import${query}`, init),
      info,
    );
  };
  return {
    world,
    send,
    async lines(type, body, query = "") {
      const response = await send(type, body, { query });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.equal(response.headers.get("content-type"), lines);
      return text
        .trimEnd()
        .split("\n")
        .map(line => JSON.parse(line));
    },
    async profile(userId) {
      const { json } = await api(`${base}/profiles?user_ids=${userId}`);
      return json.users[0].data;
    },
  };
}

/** Exports all users in plain text. */
export async function exported(
  { platform }: TestPlatform,
  format: "csv" | "json",
  fields = ["userId", "displayName", "preferences", "customFields", "metrics", "createdAt", "inventory"],
): Promise<string> {
  const { exportId } = await platform.exports.request({
    organisationId: ids.organisation,
    spaceId: ids.space,
    keyId: "files",
    requestId: "1",
    format,
    encrypt: false,
    notify: null,
    fields,
  });
  await platform.exports.idle();
  const found = await platform.exports.find({ organisationId: ids.organisation, exportId });
  assert.ok(found !== null && found.job.status === "completed", JSON.stringify(found?.job.error));
  const link = platform.exports.linkOf(found.job, found.job.expiresAt);
  return await (await platform.fetch(new Request(link))).text();
}

/** Opens a platform with exports, and a back end of it. */
export async function opened(
  open: OpenStore,
  options: Parameters<typeof openPlatform>[1] = {},
): Promise<Importer> {
  const blobs = createMemoryBlobs();
  return await importer(await openPlatform(open, { blobs, exports: { intervalMs: 0 }, ...options }));
}
