/** Apps of tests, a server that has their files, and an author who registers them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { TestContext } from "node:test";
import type { Outbound } from "../../lib/base/outbound/outbound.ts";
import { type Answer, type CallOptions, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

/** The address of the catalogue. */
export const catalogueUrl = "http://127.0.0.1:8787/apps/catalogue/1.0.0/spec.json";

/** A specification. */
export const spec = {
  name: "Match",
  id: "match",
  version: "1.0.0",
  base_apps_url: "https://apps.example",
  extra: 1,
};
/** Its content types. */
export const poll = {
  name: "Poll",
  content_type: "poll",
  question: [{ key: "question", field: "text", mandatory: true }],
  option: [{ key: "text", field: "text" }],
  options_number: { min: 2, max: 4 },
};
export const elements = [
  poll,
  { name: "Fan cam", content_type: "fan_cam", custom_fields: [{ properties: [] }] },
];

/** Returns a field. */
export const field = (key: string, value: unknown) => ({ key, values: { all: value } });
/** The question of a complete poll. */
export const question = {
  fields: [field("question", "Who wins?")],
  options: ["Home", "Away"].map(text => ({ fields: [field("text", text)] })),
};

/** Serves the files of apps by path. */
export class AppServer {
  readonly files = new Map<string, string>();
  agents: (string | undefined)[] = [];
  type = "application/json";
  #server: Server | null = null;
  base = "";

  async start(): Promise<void> {
    this.#server = createServer((request, response) => {
      this.agents.push(request.headers["user-agent"]);
      const file = this.files.get(request.url ?? "");
      if (file === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": this.type }).end(file);
    });
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    assert.ok(typeof address === "object" && address !== null);
    this.base = `http://127.0.0.1:${address.port}`;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** Publishes an app and returns its address. */
  publish(name: string, root: unknown = spec, items: unknown = elements): string {
    const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
    this.files.set(`/${name}/spec.json`, textOf(root));
    this.files.set(`/${name}/elements.json`, textOf(items));
    return `${this.base}/${name}/spec.json`;
  }
}

/** An author of a platform. */
export interface AppAuthor {
  readonly world: TestPlatform;
  readonly call: (path: string, options?: CallOptions) => Promise<Answer>;
  addApp(specUrl: string, spaceId?: string): Promise<Answer>;
  addProject(appId: string, attributes?: object): Promise<Answer>;
  /** Creates a record and returns its id. */
  create(type: string, attributes: object, relationships: object): Promise<string>;
  patch(type: string, id: string, attributes: object, relationships?: object): Promise<Answer>;
}

/** Opens a platform with an author. */
export async function openAuthor(
  t: TestContext,
  open: Parameters<typeof openPlatform>[0],
  outbound?: Outbound | null,
): Promise<AppAuthor> {
  const world = await openPlatform(open, outbound === undefined ? {} : { outbound });
  t.after(() => world.dispose());
  const headers = await operatorHeaders(world);
  const call: AppAuthor["call"] = (path, options = {}) =>
    world.call(`/api/v2${path}`, { ...options, headers: { ...headers, ...options.headers } });
  const post = (type: string, attributes: object, relationships: object) =>
    call(`/${type}`, { body: resource(type, attributes, { relationships }) });
  return {
    world,
    call,
    addApp: (spec_url, spaceId = ids.space) => post("apps", { spec_url }, { space: to("spaces", spaceId) }),
    addProject: (appId, attributes = { name: "App" }) =>
      post("projects", attributes, { space: to("spaces", ids.space), app: to("apps", appId) }),
    async create(type, attributes, relationships) {
      const answer = await post(type, attributes, relationships);
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data.id;
    },
    patch: (type, id, attributes, relationships) =>
      call(`/${type}/${id}`, {
        method: "PATCH",
        body: resource(type, attributes, relationships === undefined ? { id } : { id, relationships }),
      }),
  };
}

/** Returns the pointers of the errors of an answer. */
export function pointersOf({ json }: Answer): readonly string[] {
  return json.errors.map(({ source }: { source: { pointer: string } }) => source.pointer);
}
