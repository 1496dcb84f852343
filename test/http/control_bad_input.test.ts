/**
 * Bad input to the control API, row by row: each has its status and its place, and writes nothing. What every operation of the platform
 * refuses is in bad_input.test.ts, hostile_input.test.ts and fuzz.test.ts.
 */

import assert from "node:assert/strict";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, it, type TestContext } from "node:test";
import { safeParse } from "valibot";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { type Resource, resources } from "../../lib/authoring/table/mod.ts";
import { jsonDepthMax } from "../../lib/http/requests/body.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { type WatchedStore, watching } from "../support/watched_store.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";
import {
  type Example,
  examplesFor,
  type Operation,
  operationsOf,
  targetOf,
  validExamples,
} from "./_operations.ts";

/** A request, the status of its answer, and the pointers, parameters or header that it names; null: any. */
type Row = readonly [
  method: string,
  path: string,
  body: unknown,
  status: number,
  places: readonly string[] | null,
];

type Data = Readonly<Record<string, unknown>> & { readonly attributes?: Readonly<Record<string, unknown>> };

/** Names with characters that terminals or readers take for something else. */
const strangeNames = ["a\u0000b", "a\nb", "a\u001b[31mb", "a\u202eb", "a\u2066b", "\u0007"];
/** Values of which some fit no schema. */
const strangeValues: readonly unknown[] = [{ x: [] }, [[{}]], true, -1.5, "\u0000", "x".repeat(300)];

class Subject {
  readonly world: TestPlatform;
  readonly store: WatchedStore;
  readonly headers: Readonly<Record<string, string>>;

  constructor(world: TestPlatform, store: WatchedStore, headers: Readonly<Record<string, string>>) {
    this.world = world;
    this.store = store;
    this.headers = headers;
  }

  static async open(t: TestContext, open: OpenStore): Promise<Subject> {
    const stores: WatchedStore[] = [];
    const outbound = createOutbound({ networks: ["127.0.0.1"] });
    const world = await openPlatform(
      watching(open, store => void stores.push(store)),
      { outbound },
    );
    t.after(() => world.dispose());
    const [store] = stores;
    assert.ok(store !== undefined);
    return new Subject(world, store, await operatorHeaders(world));
  }

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    const { headers } = this;
    return this.world.call(`/api/v2${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  async create(type: string, attributes: object, relationships: object): Promise<string> {
    const made = await this.call("POST", `/${type}`, resource(type, attributes, { relationships }));
    assert.equal(made.status, 201, made.text);
    return made.json.data.id;
  }

  async refuse(rows: readonly Row[]): Promise<void> {
    for (const [method, path, body, status, places] of rows) {
      const { store } = this;
      store.changes.length = 0;
      const answer = await this.call(method, path, body);
      const exchange = `${method} ${path} ${JSON.stringify(body)?.slice(0, 400)}: ${answer.text.slice(0, 600)}`;
      assert.equal(answer.status, status, exchange);
      const named = answer.json.errors.flatMap(
        ({ source = {} }: { source?: Record<string, string> }) => source.pointer ?? source.parameter ?? [],
      );
      if (places !== null) assert.deepEqual(named.toSorted(), places.toSorted(), exchange);
      // That a token was used is noted, whatever for.
      const kept = store.changes.filter(
        ({ partition, batch }) =>
          /directory|author|access_token/.test(partition) && !batch.writes.every(({ key }) => key === "use"),
      );
      assert.deepEqual(kept, [], exchange);
    }
  }
}

/** Returns the rows that the definition of a resource gives for its creation or change. */
function rowsOf(definition: Resource, operation: Operation, example: Example): Row[] {
  const { method } = operation;
  const path = targetOf(operation, example).replace("/api/v2", "");
  const isNew = method === "POST";
  const data = (example.body as { readonly data: Data }).data;
  const row = (part: object, status: number, ...places: string[]): Row => [
    method,
    path,
    { data: { ...data, ...part } },
    status,
    places,
  ];
  const attributes = (part: object, ...names: string[]): Row =>
    row(
      { attributes: { ...data.attributes, ...part } },
      422,
      ...names.map(name => `/data/attributes/${name}`),
    );
  const rows: Row[] = [
    row({ type: "moons" }, 409, "/data/type"),
    row({ type: 1 }, 400, "/data/type"),
    row({ attributes: [] }, 400, "/data/attributes"),
    row({ relationships: 1 }, 400, "/data/relationships"),
    row({ colour: 1 }, 400, "/data/colour"),
    row(
      { relationships: { ...(data.relationships as object), moon: to("events", ids.event) } },
      422,
      "/data/relationships/moon",
    ),
    isNew
      ? row({ id: ids.event }, 403, "/data/id")
      : row({ id: "0c000000-0000-4000-8000-0000000000ff" }, 409, "/data/id"),
    attributes({ colour: 1, "mo/on": 1 }, "colour", "mo~1on"),
    [method, `${path}?colour=red`, example.body, 400, ["colour"]],
    [method, `${path}?dry_run=maybe`, example.body, 400, ["dry_run"]],
    [method, path, { ...(example.body as object), extra: 1 }, 400, ["/extra"]],
    [method, path, [], 400, null],
    [method, path, { data: [data] }, 400, ["/data"]],
    [method, path, `{"data":${"[".repeat(jsonDepthMax)}${"]".repeat(jsonDepthMax)}}`, 400, null],
  ];
  for (const [name, { schema, write = "always", nullable }] of Object.entries(definition.attributes)) {
    if (write === "never") rows.push(attributes({ [name]: 1 }, name));
    if (write === "never" || (write === "create" && !isNew)) continue;
    const wrong = strangeValues.find(value => !safeParse(schema, value).success);
    if (wrong === undefined) continue;
    const [, , body, status] = attributes({ [name]: wrong });
    // Faults of a list are at its members.
    rows.push([method, path, body, status, null]);
    if (nullable !== true) rows.push(attributes({ [name]: null }, name));
  }
  if (definition.attributes.name !== undefined)
    rows.push(...strangeNames.map(name => attributes({ name }, "name")));
  return rows;
}

/** Files of apps that are none: what a server answers to the paths below an address. */
const badFiles: Readonly<Record<string, (response: ServerResponse) => void>> = {
  html: response => void response.setHeader("content-type", "text/html").end("<html></html>"),
  text: response => void response.end("<html></html>"),
  large: response => void response.end(JSON.stringify({ text: "x".repeat(2_097_152) })),
  recursive: response => void response.writeHead(302, { location: "/recursive/spec.json" }).end(),
  deep: response => void response.end(`${"[".repeat(200_000)}${"]".repeat(200_000)}`),
  endless: response => {
    const pump = (): void => {
      while (!response.destroyed && response.write(" ".repeat(65_536)));
    };
    response.on("drain", pump);
    pump();
  },
};

describeOnStores("bad input to the control API", open => {
  let base = "";
  let server: Server;
  before(async () => {
    server = createServer((request, response) => {
      response.setHeader("content-type", "application/json");
      badFiles[request.url?.split("/")[1] ?? ""]?.(response);
    });
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it("is a body that does not fit the definition of its resource", async t => {
    const subject = await Subject.open(t, open);
    const examples = await validExamples(subject.world);
    const operations = (await operationsOf(subject.world)).filter(({ hasBody }) => hasBody);
    let tried = 0;
    for (const definition of Object.values(resources) as readonly Resource[]) {
      const path = new RegExp(`^/api/v2/((?!.*relationships/).*/)?${definition.type}(/\\{\\w+\\})?$`);
      for (const operation of operations.filter(each => path.test(each.path))) {
        const [example] = examplesFor(operation, examples);
        assert.ok(example !== undefined);
        const params = { ...example.params };
        if (params.spaceId !== undefined) params.spaceId = ids.space;
        await subject.refuse(rowsOf(definition, operation, { ...example, params }));
        tried += 1;
      }
    }
    assert.ok(tried >= 15, `${tried} operations were tried`);
  });

  it("is a body of another kind for a route that the table does not make", async t => {
    const subject = await Subject.open(t, open);
    const clone = `/events/${ids.event}/clone`;
    const check = { type: "spec_checks", attributes: { spec_url: "https://apps.example/spec.json" } };
    const login = { type: "sessions", attributes: { email: "op@example.com" } };
    const app = `/projects/${ids.project}/relationships/app`;
    const order = `/events/${ids.event}/relationships/elements`;
    await subject.refuse([
      ["POST", clone, { data: { type: "elements" } }, 409, ["/data/type"]],
      ["POST", clone, { data: { type: "events", id: ids.event } }, 403, ["/data/id"]],
      ["POST", clone, resource("events", { duration: 5 }), 422, ["/data/attributes/duration"]],
      ["POST", clone, resource("events", { name: 5 }), 422, ["/data/attributes/name"]],
      ["POST", "/apps/validate_spec_url", { data: { ...check, type: "apps" } }, 409, ["/data/type"]],
      ["POST", "/apps/validate_spec_url", { data: { ...check, id: ids.event } }, 403, ["/data/id"]],
      ["POST", "/apps/validate_spec_url", { data: { ...check, attributes: {} } }, 422, null],
      ["POST", "/sessions", { data: { ...login, type: "users" } }, 409, ["/data/type"]],
      ["POST", "/sessions/x/verify", resource("users", { code: "1" }), 409, ["/data/type"]],
      ["POST", "/sessions", resource("sessions", { email: "no address" }), 400, ["/data/attributes/email"]],
      ["POST", "/sessions/x/verify", resource("sessions", { code: 1 }), 400, null],
      ["PATCH", app, { data: null }, 400, ["/data"]],
      ["PATCH", app, to("events", ids.event), 400, ["/data/type"]],
      ["PATCH", app, to("apps", ids.event), 404, ["/data/id"]],
      ["PATCH", order, to("elements", ids.event), 400, ["/data"]],
      ["PATCH", order, { data: [{ type: "events", id: ids.event }] }, 400, ["/data/0/type"]],
      ["PATCH", order, { data: [{ type: "elements", id: ids.event }] }, 409, ["/data"]],
      ["GET", "/events/x", undefined, 400, ["eventId"]],
    ]);
  });

  it("is a parameter that a route does not know, by name", async t => {
    const subject = await Subject.open(t, open);
    const examples = await validExamples(subject.world);
    const many = Array.from({ length: 65 }, (_, n) => `a${n}=1`).join("&");
    for (const operation of await operationsOf(subject.world)) {
      if (operation.family !== "jsonApi" || /loyalty|api_keys|webhooks/.test(operation.path)) continue;
      const [example] = examplesFor(operation, examples);
      if (!operation.path.startsWith("/api/v2/") || example === undefined) continue;
      const params = { ...example.params };
      if (params.spaceId !== undefined) params.spaceId = ids.space;
      const path = targetOf(operation, { ...example, params, query: {} }).replace("/api/v2", "");
      const { method } = operation;
      const body = operation.hasBody ? example.body : undefined;
      const rows: Row[] = [
        [method, `${path}?colour=red`, body, 400, null],
        [method, `${path}?${many}`, body, 400, null],
        [method, `${path}?include=moon`, body, 400, ["include"]],
      ];
      if (method === "GET") rows.push([method, `${path}?page%5Bsize%5D=1`, body, 400, ["page[size]"]]);
      await subject.refuse(rows);
    }
  });

  it("is a cursor of another list", async t => {
    const subject = await Subject.open(t, open);
    const project = { project: to("projects", ids.project) };
    for (const name of ["A", "B"]) await subject.create("events", { name }, project);
    const events = `/projects/${ids.project}/events`;
    const page = await subject.call("GET", `${events}?page[count]=1`);
    const cursor = new URL(page.json.links.next).searchParams.get("page[cursor]");
    assert.ok(cursor !== null);
    const following = `page[count]=1&page[cursor]=${encodeURIComponent(cursor)}`;
    assert.equal((await subject.call("GET", `${events}?${following}`)).status, 200);
    const others = [
      `${events}?sort=name&${following}`,
      `${events}?filter[state]=future&${following}`,
      `/projects/${ids.otherProject}/events?${following}`,
      `/projects/${ids.project}/event_templates?${following}`,
      `/organisations/${ids.organisation}/spaces?${following}`,
      `/spaces/${ids.space}/assets?${following}`,
      `${events}?page[cursor]=${encodeURIComponent(cursor).slice(0, -2)}`,
    ];
    const answers = await Promise.all(others.map(path => subject.call("GET", path)));
    assert.deepEqual(
      answers.map(({ status, json }) => [status, json.errors?.[0]?.source?.parameter]),
      others.map(path => [400, path.includes("sort=name") ? "sort" : "page[cursor]"]),
    );
  });

  it("is a cycle of parents, in one request or several", async t => {
    const subject = await Subject.open(t, open);
    const event = await subject.create("events", { name: "Show" }, { project: to("projects", ids.project) });
    const inEvent = { event: to("events", event) };
    const poll = { content_type: "poll" };
    const [a, b, c] = [
      await subject.create("elements", poll, inEvent),
      await subject.create("elements", poll, inEvent),
      await subject.create("elements", poll, inEvent),
    ];
    const under = (id: string, parent: string) =>
      resource("elements", {}, { id, relationships: { parent: to("elements", parent) } });
    const moved = await subject.call("PATCH", `/elements/${b}`, under(b, a));
    assert.equal(moved.status, 204, moved.text);
    const pointer = "/data/relationships/parent";
    const update = (id: string, parent: string) => ({ op: "update", data: under(id, parent).data });
    await subject.refuse([
      ["PATCH", `/elements/${a}`, under(a, a), 422, [pointer]],
      ["PATCH", `/elements/${a}`, under(a, b), 422, [pointer]],
      ["PATCH", `/elements/${a}`, under(a, c), 422, [pointer]],
      ["PATCH", `/elements/${c}`, under(c, b), 422, [pointer]],
      ["PATCH", `/elements/${c}`, under(c, event), 404, [pointer]],
      [
        "POST",
        "/operations",
        { "atomic:operations": [update(b, c), update(c, b)] },
        422,
        [`/atomic:operations/1${pointer}`],
      ],
    ]);
  });

  it("is an operation that cannot be made", async t => {
    const subject = await Subject.open(t, open);
    const project = { project: to("projects", ids.project) };
    const event = await subject.create("events", { name: "Show" }, project);
    const other = await subject.create(
      "events",
      { name: "Show" },
      { project: to("projects", ids.otherProject) },
    );
    const add = (lid: string, more: object = {}) => ({
      op: "add",
      data: { type: "events", lid, attributes: { name: lid }, relationships: project, ...more },
    });
    const element = (lid: string) => ({
      op: "add",
      data: {
        type: "elements",
        attributes: { content_type: "poll" },
        relationships: { event: { data: { type: "events", lid } } },
      },
    });
    const rename = (id: string) => ({
      op: "update",
      data: { type: "events", id, attributes: { name: "New" } },
    });
    const at = (path: string) => [`/atomic:operations${path}`];
    const rows: readonly (readonly [
      operations: unknown,
      status: number,
      places: readonly string[] | null,
    ])[] = [
      [Array.from({ length: 501 }, () => rename(event)), 400, at("")],
      [[], 400, at("")],
      [{}, 400, at("")],
      [[1], 400, at("/0")],
      [[{ op: "move" }], 400, at("/0/op")],
      [[{ ...rename(event), href: "/events" }], 400, at("/0/href")],
      [[{ op: "update" }], 422, at("/0")],
      [[{ op: "remove" }], 422, at("/0")],
      [[{ op: "add", ref: { type: "events", id: event }, data: rename(event).data }], 422, at("/0")],
      [[add("a"), add("a")], 422, at("/1/data/lid")],
      [[element("a"), add("a")], 422, at("/0/data/relationships/event/data/lid")],
      [[add("a"), { op: "remove", ref: { type: "elements", lid: "a" } }], 422, at("/1/ref/lid")],
      [[{ op: "remove", ref: { type: "events", lid: "a" } }, add("a")], 422, at("/0/ref/lid")],
      [[rename(event), rename(other)], 422, at("/1")],
      [[add("a"), add("b", { relationships: { project: to("projects", ids.otherProject) } })], 422, at("/1")],
      [[rename(event), { op: "remove", ref: { type: "moons", id: event } }], 422, at("/1/ref/type")],
      [[rename(event), { op: "remove", ref: { type: "events", id: "x" } }], 404, at("/1")],
      [
        [rename(event), { op: "update", data: { type: "events", id: event, attributes: { moon: 1 } } }],
        422,
        at("/1/data/attributes/moon"),
      ],
      [
        [add("a", { attributes: { name: 1 } }), add("b", { attributes: { colour: 1 } })],
        422,
        [
          ...at("/0/data/attributes/name"),
          ...at("/1/data/attributes/colour"),
          ...at("/1/data/attributes/name"),
        ],
      ],
    ];
    await subject.refuse(
      rows.map(([operations, status, places]): Row => {
        return ["POST", "/operations", { "atomic:operations": operations }, status, places];
      }),
    );
  });

  it("is an app whose files are none", async t => {
    const subject = await Subject.open(t, open);
    const relationships = { space: to("spaces", ids.space) };
    await subject.refuse(
      Object.keys(badFiles).map(name => {
        const body = resource("apps", { spec_url: `${base}/${name}/spec.json` }, { relationships });
        return ["POST", "/apps", body, 422, ["/data/attributes/spec_url", "/data/attributes/spec_url"]];
      }),
    );
  });
});
