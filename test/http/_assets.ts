/** A client that uploads files and reads them. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Answer, ids, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A client of the control API that sends files. */
export async function clientOf(world: TestPlatform) {
  const credentials = await operatorHeaders(world);
  const call = (path: string, { headers = {}, ...rest }: Sent = {}): Promise<Answer> =>
    world.call(`/api/v2${path}`, { ...rest, headers: { ...credentials, ...headers } });
  return {
    call,
    /** Uploads a file, whatever its bytes are. */
    async upload(
      query: Readonly<Record<string, string>>,
      body: BodyInit,
      { space = ids.space as string, headers = {} } = {},
    ): Promise<Answer> {
      const target = `http://localhost/api/v2/spaces/${space}/assets?${new URLSearchParams(query)}`;
      const init = { method: "POST", body, duplex: "half", headers: { ...credentials, ...headers } };
      const response = await world.platform.fetch(new Request(target, init as RequestInit));
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
    },
    async tag(name: string): Promise<string> {
      const relationships = { space: to("spaces", ids.space) };
      const made = await call("/tags", { body: resource("tags", { name }, { relationships }) });
      assert.equal(made.status, 201, made.text);
      return made.json.data.id;
    },
  };
}

/** Reads a public file. */
export function read(world: TestPlatform, url: string, init: RequestInit = {}): Promise<Response> {
  return world.platform.fetch(new Request(url, init));
}

/** Returns the digest of a file. */
export function digestOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}
