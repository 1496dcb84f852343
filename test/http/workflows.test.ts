/** The relay of workflows: what a backend gets, what it never gets, and what its answers become. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { after, before, beforeEach, it } from "node:test";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

interface Received {
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: assertions read members that only they know
  readonly body: any;
}

const view = { blocks: [{ type: "text", text: "Hello" }], unknown: [1] };
const eventScope: { readonly type: string; readonly id: string } = { type: "events", id: ids.event };
const every = ["organisation", "space", "project", "event"];

describeOnStores("the relay of workflows", open => {
  let server: Server;
  let base: string;
  const received: Received[] = [];
  let answer: (response: ServerResponse) => void;
  let world: TestPlatform;
  let operator: Readonly<Record<string, string>>;
  let limit: AbortController;

  before(async () => {
    server = createServer(async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      received.push({ headers: incoming.headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
      answer(response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    base = `http://127.0.0.1:${address.port}`;
    const outbound = createOutbound({ networks: ["127.0.0.1"], timeout: () => limit.signal });
    world = await openPlatform(open, { outbound, publicUrl: "https://api.example" });
    operator = await operatorHeaders(world);
  });
  after(() => {
    world.dispose();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
    limit = new AbortController();
    answer = response => json(response, 200, view);
  });

  function json(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  }

  async function register(attributes: object = {}, on = world, by = operator): Promise<string> {
    const made = { name: "Line-up", endpoint_url: `${base}/line-up`, availability: every, ...attributes };
    const created = await on.call("/api/v2/workflows", { headers: by, body: resource("workflows", made) });
    assert.equal(created.status, 201, created.text);
    return created.json.data.id;
  }

  let people = 0;
  /** Creates a person with a role, and returns a token of theirs. */
  async function person(role: string | null, path = `/projects/${ids.project}`) {
    const email = `p${people++}@example.com`;
    let roleId = "";
    if (role !== null) {
      const body = resource("scope_roles", { email, role });
      const granted = await world.call(`/api/v2${path}/roles`, { headers: operator, body });
      assert.equal(granted.status, 201, granted.text);
      roleId = granted.json.data.id;
    }
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate(email);
    return { roleId, ...(await authors.createToken({ userId, name: "Test" })) };
  }

  function dispatch(
    workflowId: string,
    token: string,
    { scope = eventScope, request = {} as object, headers = {} } = {},
  ): Promise<Answer> {
    const body = { scope, request };
    return world.call(`/api/v2/workflows/${workflowId}/dispatch`, { token, headers, body });
  }

  const bearer = (): string => received.at(-1)?.headers.authorization?.replace("Bearer ", "") ?? "";

  it("fills in the context, and sends a token of its own in place of the caller's", async () => {
    const [id, sam] = [await register(), await person("creator")];
    const request = {
      action: "go",
      taskId: "t",
      inputs: { name: "Ä" },
      payload: { _s: "v1.x" },
      context: { baseURL: "https://evil.example", organisationId: ids.otherOrganisation },
      more: true,
    };
    const sent = await dispatch(id, sam.token, { request, headers: { "idempotency-key": '"k-1"' } });
    assert.equal(sent.status, 200, sent.text);
    assert.deepEqual(sent.json, view);
    assert.equal(sent.headers.get("content-type"), "application/json");
    const [{ headers, body } = assert.fail()] = received;
    const { context: _, more: _more, ...rest } = request;
    const above = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
    const context = { baseURL: "https://api.example", ...above, eventId: ids.event };
    assert.deepEqual(body, { ...rest, context });
    assert.deepEqual(
      [headers.accept, headers["content-type"], headers["idempotency-key"]],
      ["application/json", "application/json", "k-1"],
    );
    assert.match(String(headers["user-agent"]), /^Grandstand-Authoring/);
    assert.notEqual(bearer(), sam.token);
    assert.ok(!JSON.stringify(received).includes(sam.token));
    const me = await world.call("/api/v2/me", { token: bearer() });
    assert.equal(me.json.data.id, sam.userId);
    for (const [scope, expected] of [
      [{ type: "organisations", id: ids.organisation }, { organisationId: ids.organisation }],
      [{ type: "projects", id: ids.project.toUpperCase() }, above],
    ] as const) {
      assert.equal((await dispatch(id, operator.authorization?.slice(7) ?? "", { scope })).status, 200);
      assert.deepEqual(received.at(-1)?.body, { context: { baseURL: "https://api.example", ...expected } });
    }
  });

  it("refuses whoever has no role in the scope, and workflows that do not run there", async () => {
    const [id, nobody, sam] = [await register(), await person(null), await person("viewer")];
    assert.equal((await dispatch(id, nobody.token)).status, 404);
    const relationships = { project: to("projects", ids.project) };
    const body = resource("events", { name: "Match" }, { relationships });
    const event = (await world.call("/api/v2/events", { headers: operator, body })).json.data.id;
    const unknown = event.slice(0, -1) + (event.endsWith("0") ? "1" : "0");
    for (const scope of [
      { type: "events", id: unknown },
      { type: "spaces", id: ids.space },
      { type: "projects", id: ids.otherProject },
      { type: "events", id: crypto.randomUUID() },
      { type: "events", id: `${ids.event.slice(0, -1)}9` },
      { type: "projects", id: ids.event },
    ]) {
      assert.equal((await dispatch(id, sam.token, { scope })).status, 404, JSON.stringify(scope));
    }
    assert.equal((await dispatch(crypto.randomUUID(), sam.token)).status, 404);
    const narrow = await register({ availability: ["project"] });
    const elsewhere = await dispatch(narrow, sam.token);
    assert.deepEqual([elsewhere.status, elsewhere.json.errors[0].code], [400, "not_available"]);
    assert.equal(elsewhere.json.errors[0].source.pointer, "/scope/type");
    const off = await register({ enabled: false });
    assert.deepEqual((await dispatch(off, sam.token)).json.errors[0].code, "not_available");
    const bad = await dispatch(id, sam.token, { request: { inputs: { name: 1 }, action: "" } });
    assert.deepEqual(
      [bad.status, bad.json.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)],
      [400, ["/request/action", "/request/inputs/name"]],
    );
    assert.equal(received.length, 0);
    assert.equal((await dispatch(id, sam.token)).status, 200);
  });

  it("gives a token for the scope and the role there, which ends with the caller's", async () => {
    const id = await register();
    const sam = await person("creator", `/spaces/${ids.space}`);
    await dispatch(id, sam.token);
    const token = bearer();
    const call = (path: string, options: object = {}) => world.call(`/api/v2${path}`, { token, ...options });
    assert.equal((await call(`/projects/${ids.project}/my_role`)).json.data.attributes.role, "none");
    assert.equal((await call(`/events/${ids.event}/my_role`)).json.data.attributes.role, "creator");
    assert.equal((await call(`/events/${ids.event}`)).status, 200);
    const { meta } = (await call("/me")).json;
    assert.deepEqual(meta.token, {
      kind: "dialogue",
      audience: `${base}/line-up`,
      scopes: [{ type: "events", id: ids.event }],
      role_cap: "creator",
    });
    for (const path of [`/spaces/${ids.space}`, `/organisations/${ids.organisation}`])
      assert.equal((await call(path)).status, 404, path);
    assert.equal((await call(`/projects/${ids.otherProject}`)).status, 404);
    const { json } = await world.call("/api/v2/access_tokens", { token: sam.token });
    assert.equal(json.data.length, 1);
    // The next requests carry the same token, so that a backend need not ask again; another caller never gets it.
    await dispatch(id, sam.token);
    assert.equal(bearer(), token);
    const second = (await world.platform.authors.createToken({ userId: sam.userId, name: "Second" })).token;
    await dispatch(id, second);
    assert.notEqual(bearer(), token);
    await dispatch(await register(), sam.token);
    assert.notEqual(bearer(), token);
    world.clock.advance(599_000);
    assert.equal((await call("/me")).status, 200);
    await dispatch(id, sam.token);
    const late = bearer();
    assert.notEqual(late, token);
    world.clock.advance(1_000);
    assert.equal((await call("/me")).status, 401);
    assert.equal((await world.call("/api/v2/me", { token: late })).status, 200);
    assert.equal(
      (await world.call(`/api/v2/access_tokens/${sam.id}`, { method: "DELETE", token: sam.token })).status,
      204,
    );
    world.clock.advance(1_000);
    assert.equal((await world.call("/api/v2/me", { token: late })).status, 401);
  });

  it("takes a role away from dialogues that run", async () => {
    const id = await register();
    const sam = await person("creator");
    await dispatch(id, sam.token);
    const token = bearer();
    const rename = () =>
      world.call(`/api/v2/events/${ids.event}`, {
        token,
        method: "PATCH",
        body: resource("events", { name: "Final" }, { id: ids.event }),
      });
    assert.equal((await rename()).status, 204);
    const path = `/api/v2/scope_roles/${sam.roleId}`;
    const lower = resource("scope_roles", { role: "viewer" }, { id: sam.roleId });
    assert.equal((await world.call(path, { method: "PATCH", headers: operator, body: lower })).status, 204);
    world.clock.advance(1_000);
    assert.equal((await rename()).status, 403);
    await dispatch(id, sam.token);
    assert.notEqual(bearer(), token);
    assert.equal((await world.call(path, { method: "DELETE", headers: operator })).status, 204);
    world.clock.advance(1_000);
    assert.equal((await rename()).status, 404);
    assert.equal((await dispatch(id, sam.token)).status, 404);
  });

  it("gives backends no token that makes more of itself", async () => {
    const id = await register();
    const ada = await person("admin", `/organisations/${ids.organisation}`);
    const body = (more: object) =>
      resource("access_tokens", {
        name: "Run",
        kind: "dialogue",
        scopes: [{ type: "organisations", id: ids.organisation }],
        ...more,
      });
    const made = await world.call("/api/v2/access_tokens", { token: ada.token, body: body({}) });
    assert.equal(made.status, 201, made.text);
    const { kind, role_cap, expires_at, token: minted } = made.json.data.attributes;
    assert.deepEqual([kind, role_cap], ["dialogue", "admin"]);
    assert.equal(expires_at, Math.floor(world.clock.now() / 1_000) + 600);
    await dispatch(id, ada.token, { scope: { type: "organisations", id: ids.organisation } });
    for (const token of [minted, bearer()]) {
      const call = (path: string, options: object = {}) => world.call(path, { token, ...options });
      const role = resource("scope_roles", { email: "friend@example.com", role: "admin" });
      const refused: readonly (readonly [string, object])[] = [
        ["/api/v2/access_tokens", {}],
        ["/api/v2/access_tokens", { body: body({}) }],
        ["/api/v2/access_tokens", { body: resource("access_tokens", { name: "Long" }) }],
        [`/api/v2/access_tokens/${ada.id}`, { method: "DELETE" }],
        [`/api/v2/workflows/${id}/dispatch`, { body: { scope: eventScope, request: {} } }],
        [`/api/v2/organisations/${ids.organisation}/roles`, { body: role }],
        [`/api/v2/scope_roles/${ada.roleId}`, { method: "DELETE" }],
        [`/api/v2/organisations/${ids.organisation}/api_keys`, {}],
      ];
      for (const [path, options] of refused) {
        const { status, text } = await call(path, options);
        assert.equal(status, 403, `${path}: ${text}`);
        assert.match(text, /token of a dialogue/, path);
      }
      assert.equal((await call(`/api/v2/organisations/${ids.otherOrganisation}`)).status, 404);
      assert.equal((await call(`/api/v2/spaces/${ids.space}`)).status, 200);
    }
    assert.equal((await world.call("/api/v2/me", { token: ada.token })).status, 200);
  });

  it("makes tokens of dialogues within the caller's limits alone", async () => {
    const sam = await person("creator");
    const { authors } = world.platform;
    const scopes = [{ kind: "project", id: ids.project }] as const;
    const viewer = await authors.createToken({ userId: sam.userId, name: "CI", roleCap: "viewer", scopes });
    const make = (token: string, attributes: object) =>
      world.call("/api/v2/access_tokens", {
        token,
        body: resource("access_tokens", { name: "Run", kind: "dialogue", ...attributes }),
      });
    const inProject = { scopes: [{ type: "projects", id: ids.project }] };
    const own = await make(viewer.token, { ...inProject, role_cap: "admin" });
    assert.deepEqual([own.status, own.json.data.attributes.role_cap], [201, "viewer"]);
    const less = await make(sam.token, { ...inProject, role_cap: "viewer" });
    assert.equal(less.json.data.attributes.role_cap, "viewer");
    const elsewhere = { scopes: [{ type: "spaces", id: ids.space }] };
    assert.equal((await make(viewer.token, elsewhere)).status, 404);
    const now = Math.floor(world.clock.now() / 1_000);
    for (const [attributes, pointer] of [
      [{}, "/data/attributes/scopes"],
      [{ scopes: [...inProject.scopes, ...elsewhere.scopes] }, "/data/attributes/scopes"],
      [{ ...inProject, expires_at: now + 601 }, "/data/attributes/expires_at"],
    ] as const) {
      const { status, json } = await make(sam.token, attributes);
      assert.deepEqual([status, json.errors[0].source.pointer], [422, pointer]);
    }
    const brief = await authors.createToken({ userId: sam.userId, name: "Brief", expires: now + 60 });
    assert.equal((await make(brief.token, inProject)).json.data.attributes.expires_at, now + 60);
    // They are in no list, so no number of them is in the way of a login.
    for (let count = 0; count < 100; count++) await make(sam.token, inProject);
    assert.equal((await authors.tokens(sam.userId)).length, 3);
    await authors.createToken({ userId: sam.userId, name: "Another" });
  });

  it("passes refusals on with their explanations, and names what is broken", async () => {
    const [id, sam] = [await register(), await person("viewer")];
    const problem = { title: "No", detail: "Not <b>now</b>", _secret: "x" };
    const rows: readonly (readonly [string, (response: ServerResponse) => void, number, string, string?])[] =
      [
        ["400", r => json(r, 400, problem), 400, "validation_failed"],
        ["401", r => json(r, 401, problem), 502, "provider_error"],
        ["403", r => json(r, 403, problem), 403, "forbidden"],
        ["403 in HTML", r => r.writeHead(403).end("<h1>No</h1>"), 403, "forbidden"],
        ["404", r => json(r, 404, problem), 502, "provider_error"],
        ["409", r => json(r, 409, problem), 409, "conflict", "1"],
        ["409 with a time", r => json(r, 409, problem, { "retry-after": "3" }), 409, "conflict", "3"],
        ["413", r => json(r, 413, problem), 413, "payload_too_large"],
        ["415", r => json(r, 415, problem), 415, "unsupported_media_type"],
        ["422", r => json(r, 422, problem), 422, "unprocessable"],
        ["429", r => json(r, 429, problem, { "retry-after": "7" }), 429, "rate_limited", "7"],
        [
          "429 for ever",
          r => json(r, 429, problem, { "retry-after": "999999999" }),
          429,
          "rate_limited",
          "3600",
        ],
        ["500", r => json(r, 500, problem), 502, "provider_error"],
        ["503", r => json(r, 503, problem, { "retry-after": "5" }), 503, "provider_unavailable", "5"],
        ["204", r => r.writeHead(204).end(), 502, "provider_error"],
        ["a redirect", r => r.writeHead(307, { location: base }).end(), 502, "provider_error"],
        ["HTML", r => r.writeHead(200, { "content-type": "text/html" }).end("<p>"), 502, "provider_error"],
        ["no type", r => r.writeHead(200).end("{}"), 502, "provider_error"],
        [
          "broken JSON",
          r => r.writeHead(200, { "content-type": "application/json" }).end("{"),
          502,
          "provider_error",
        ],
        ["a list", r => json(r, 200, []), 502, "provider_error"],
        ["null", r => json(r, 200, null), 502, "provider_error"],
        ["2 MB and more", r => json(r, 200, { blocks: "x".repeat(2 * 1_048_576) }), 502, "provider_error"],
        ["gzip", r => r.writeHead(200, { "content-encoding": "gzip" }).end(), 502, "provider_error"],
        ["no UTF-8", r => r.writeHead(200).end(Buffer.from([0xc3, 0x28])), 502, "provider_error"],
        [
          "a break",
          r => r.writeHead(200, { "content-length": "9" }).write("{", () => r.destroy()),
          502,
          "provider_error",
        ],
        ["silence", () => limit.abort(), 504, "provider_timeout"],
        [
          "a slow body",
          r => r.writeHead(200, { "content-type": "application/json" }).write("{", () => limit.abort()),
          504,
          "provider_timeout",
        ],
      ];
    for (const [what, respond, status, code, retryAfter] of rows) {
      limit = new AbortController();
      answer = respond;
      received.length = 0;
      const refused = await dispatch(id, sam.token);
      const [error] = refused.json.errors;
      assert.deepEqual(
        [refused.status, error.code, received.length],
        [status, code, 1],
        `${what}: ${refused.text}`,
      );
      if (retryAfter !== undefined) assert.equal(refused.headers.get("retry-after"), retryAfter, what);
      assert.match(error.detail, /Line-up/, what);
      assert.ok(!/_secret|127\.0\.0\.1|<h1>/.test(refused.text), what);
      if (status < 429 && what.length === 3) assert.match(error.detail, /Not <b>now<\/b>/, what);
    }
    limit = new AbortController();
    answer = response => json(response, 401, problem);
    await dispatch(id, sam.token);
    const doubted = bearer();
    answer = response => json(response, 200, view);
    assert.equal((await dispatch(id, sam.token)).status, 200);
    assert.notEqual(bearer(), doubted);
  });

  it("registers addresses that name no user", async () => {
    for (const endpoint_url of [
      "https://a:b@workflows.example/",
      "ftp://workflows.example/",
      "workflows.example",
    ]) {
      const made = { name: "Line-up", endpoint_url, availability: ["event"] };
      const body = resource("workflows", made);
      const refused = await world.call("/api/v2/workflows", { headers: operator, body });
      assert.deepEqual(
        [refused.status, refused.json.errors[0].source.pointer],
        [422, "/data/attributes/endpoint_url"],
      );
    }
  });

  it("posts to allowed addresses alone", async () => {
    const sam = await person("viewer");
    for (const endpoint_url of [
      "http://10.0.0.1/",
      "http://[::1]/",
      "https://169.254.169.254/latest",
      "http://127.0.0.1:1/",
    ]) {
      const refused = await dispatch(await register({ endpoint_url }), sam.token);
      assert.deepEqual([refused.status, refused.json.errors[0].code], [502, "provider_error"], endpoint_url);
    }
    assert.equal(received.length, 0);
  });

  it("keeps nothing: a repeated key is the backend's to recognise", async () => {
    const [id, sam] = [await register(), await person("viewer")];
    const headers = { "idempotency-key": "k-2" };
    let count = 0;
    answer = response => json(response, 200, { blocks: [], count: ++count });
    assert.equal((await dispatch(id, sam.token, { headers })).json.count, 1);
    const again = await dispatch(id, sam.token, { headers });
    assert.deepEqual([again.json.count, again.headers.get("idempotent-replayed")], [2, null]);
    assert.equal((await dispatch(id, sam.token, { headers: { "idempotency-key": " " } })).status, 400);
  });

  it("takes five requests a second from each author, by all tokens together", async t => {
    const limited = await openPlatform(open, { limiter: createMemoryLimiter({ clock: () => 0 }) });
    t.after(() => limited.dispose());
    const by = await operatorHeaders(limited);
    const id = await register({}, limited, by);
    const user = await limited.platform.authors.findOrCreate("op@example.com");
    const other = (await limited.platform.authors.createToken({ userId: user.id, name: "Other" })).token;
    const answers: Answer[] = [];
    for (let count = 0; count < 11; count++) {
      const headers = count % 2 === 0 ? by : { authorization: `Bearer ${other}` };
      const body = { scope: eventScope, request: {} };
      answers.push(await limited.call(`/api/v2/workflows/${id}/dispatch`, { headers, body }));
    }
    assert.equal(answers.filter(({ status }) => status === 200).length, 10);
    assert.equal(answers.at(-1)?.headers.get("ratelimit-policy"), '"workflow";q=10;w=2');
    assert.equal(answers.at(-1)?.headers.get("retry-after"), "3");
  });

  it("says what is missing where the platform calls no other servers", async t => {
    const alone = await openPlatform(open, { outbound: null });
    t.after(() => alone.dispose());
    const by = await operatorHeaders(alone);
    const id = await register({}, alone, by);
    const body = { scope: eventScope, request: {} };
    const refused = await alone.call(`/api/v2/workflows/${id}/dispatch`, { headers: by, body });
    assert.deepEqual([refused.status, refused.json.errors[0].code], [400, "not_available"]);
    assert.match(refused.json.errors[0].detail, /calls no other servers/);
  });
});
