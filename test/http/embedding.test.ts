import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { object, string } from "valibot";
import { createMemoryLimiter, createMemoryStore } from "../../adapters/memory/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { type Area, json, type LogFields, open, route } from "../../lib/http/mod.ts";
import { createPlatform, type Platform, type PlatformOptions, silentLogger } from "../../lib/mod.ts";
import { ids, openPlatform, testSecret } from "../support/platform.ts";

function registration(email: string): string {
  const data = { email, password: "a long enough secret", nickname: "Fan" };
  return JSON.stringify({ projectId: ids.project, strategy: "email", provider: "managedPool", data });
}

function areaAt(path: `/${string}`): Area {
  const hello = route({
    method: "GET",
    path,
    operation: "sayHello",
    summary: "Say hello",
    auth: open,
    responses: { 200: { description: "A greeting", schema: object({ hello: string() }) } },
    handle: () => json(200, { hello: "world" }),
  });
  return { name: "own", family: "problem", routes: [hello] };
}

function platformWith(options: Partial<PlatformOptions> = {}): Promise<Platform> {
  return createPlatform({ store: createMemoryStore(), secret: testSecret, ...options });
}

/** Sends a request; answers status, body and header fields. */
async function call(
  { fetch }: Pick<Platform, "fetch">,
  path: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly body: string; readonly headers: Headers }> {
  const response = await fetch(new Request(`http://localhost${path}`, init));
  return { status: response.status, body: await response.text(), headers: response.headers };
}

describe("own areas", () => {
  it("are served and described beside those of the platform", async () => {
    const platform = await platformWith({ areas: [areaAt("/own/hello")] });
    assert.equal((await call(platform, "/own/hello")).body, '{"hello":"world"}');
    const { paths } = JSON.parse((await call(platform, "/openapi.json")).body);
    assert.ok("/own/hello" in paths && "/v1/user" in paths);
    assert.equal((await call(platform, "/own/hello", { method: "PUT" })).status, 405);
  });

  it("cannot take the routes of the platform", async () => {
    await assert.rejects(platformWith({ areas: [areaAt("/v1/user")] }), TypeError);
  });
});

describe("the router of a platform", () => {
  it("takes own routes, which have HEAD, OPTIONS and 405 like all others", async () => {
    const platform = await platformWith();
    platform.router.get("/hello/:name", ({ params }) => Response.json({ hello: params.name }));
    const hello = await call(platform, "/hello/fan?x=1", { headers: { origin: "https://app.example" } });
    assert.deepEqual([hello.status, hello.body], [200, '{"hello":"fan"}']);
    assert.ok(hello.headers.get("x-request-id"));
    assert.equal(hello.headers.get("access-control-allow-origin"), "*");
    const head = await call(platform, "/hello/fan", { method: "HEAD" });
    assert.deepEqual([head.status, head.body], [200, ""]);
    const put = await call(platform, "/hello/fan", { method: "PUT" });
    assert.deepEqual([put.status, put.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
    const options = await call(platform, "/hello/fan", { method: "OPTIONS" });
    assert.deepEqual([options.status, options.headers.get("allow")], [204, "GET, HEAD, OPTIONS"]);
  });

  it("serves the platform's own routes as before once it was extended", async () => {
    const platform = await platformWith();
    const plain = await platformWith();
    platform.router.get("/hello", () => new Response("hello"));
    for (const [method, path] of [
      ["GET", "/healthz"],
      ["HEAD", "/healthz"],
      ["OPTIONS", "/healthz"],
      ["DELETE", "/healthz"],
      ["GET", "/nothing/here"],
      ["GET", "/v1/nothing"],
      ["POST", "/v1/user"],
    ] as const) {
      const headers = { "x-request-id": "request-1" };
      const [extended, untouched] = await Promise.all(
        [platform, plain].map(one => call(one, path, { method, headers })),
      );
      assert.ok(extended !== undefined && untouched !== undefined);
      assert.deepEqual(
        { ...extended, headers: [...extended.headers] },
        { ...untouched, headers: [...untouched.headers] },
        `${method} ${path}`,
      );
    }
  });

  it("runs middleware before every route and after every answer", async () => {
    const platform = await platformWith();
    const seen: string[] = [];
    platform.router.before.push((request: Request) => {
      seen.push(new URL(request.url).pathname);
      if (request.headers.has("x-banned")) return new Response("banned", { status: 403 });
      return undefined;
    });
    platform.router.finally.push((response: Response) => {
      const headers = new Headers(response.headers);
      headers.set("x-served-by", "me");
      return new Response(response.body, { status: response.status, headers });
    });
    const health = await call(platform, "/healthz");
    assert.deepEqual([health.status, health.headers.get("x-served-by")], [200, "me"]);
    const banned = await call(platform, "/healthz", { headers: { "x-banned": "1" } });
    assert.deepEqual([banned.status, banned.body], [403, "banned"]);
    assert.equal((await call(platform, "/none")).status, 404);
    assert.deepEqual(seen, ["/healthz", "/healthz", "/none"]);
  });

  it("answers errors of own handlers as problems, and logs those of the server", async () => {
    const lines: [string, LogFields][] = [];
    const logger = {
      enabled: () => true,
      log: (_: string, event: string, fields: LogFields) => void lines.push([event, fields]),
    };
    const platform = await platformWith({ logger });
    platform.router.get("/busy", () => {
      throw new AppError("busy", "Cannot take more");
    });
    platform.router.get("/broken", async () => {
      throw new Error("secret detail");
    });
    const busy = await call(platform, "/busy");
    assert.deepEqual([busy.status, JSON.parse(busy.body).code], [503, "busy"]);
    const broken = await call(platform, "/broken");
    assert.equal(broken.status, 500);
    assert.doesNotMatch(broken.body, /secret/);
    assert.ok(lines.some(([, { error }]) => String(error).includes("secret detail")));
  });
});

describe("a base path", () => {
  const options = { basePath: "/api/grandstand", publicUrl: "https://club.example" };

  it("is in front of every path, own areas and routes included", async () => {
    const platform = await platformWith({ ...options, areas: [areaAt("/own/hello")] });
    platform.router.get("/mine", () => new Response("mine"));
    assert.equal((await call(platform, "/api/grandstand/healthz")).status, 200);
    assert.equal((await call(platform, "/api/grandstand/own/hello")).status, 200);
    assert.equal((await call(platform, "/api/grandstand/mine")).body, "mine");
    assert.equal((await call(platform, "/api/grandstand")).status, 200);
    for (const path of ["/", "/healthz", "/own/hello", "/mine", "/api/grandstandx/healthz"]) {
      assert.equal((await call(platform, path)).status, 404, path);
    }
  });

  it("is part of the addresses in replies, and leaves parameters intact", async () => {
    const platform = await platformWith(options);
    const { servers, paths } = JSON.parse((await call(platform, "/api/grandstand/openapi.json")).body);
    assert.deepEqual(servers, [{ url: "https://club.example/api/grandstand" }]);
    assert.ok("/healthz" in paths);
    const problem = JSON.parse((await call(platform, "/api/grandstand/projects/x/leaderboards/y")).body);
    assert.equal(problem.type, "https://club.example/api/grandstand/problems/validation_failed");
    const identity = JSON.parse((await call(platform, "/api/grandstand/v1/user/none")).body);
    assert.equal(identity.result, 0);
    const { body } = await call(platform, "/api/grandstand/problems/not_found");
    assert.equal(JSON.parse(body).code, "not_found");
  });
});

describe("createPlatform", () => {
  it("says what it expects of each option", async () => {
    const secret = testSecret;
    const store = createMemoryStore();
    const cases: [unknown, RegExp][] = [
      [undefined, /createPlatform\(\{ store, secret \}\)/],
      [{}, /store must be a store, such as createMemoryStore\(\) of "grandstand\/memory"/],
      [{ store }, /secret must be a MasterSecret/],
      [{ store, secret: "text" }, /secret must be a MasterSecret: new MasterSecret/],
      [{ store, secret, loger: {} }, /there is no option loger; there are store, secret/],
      [{ store, secret, publicUrl: "https://club.example/" }, /publicUrl must be an http or https URL/],
      [{ store, secret, basePath: "api" }, /basePath must be a path like \/api\/grandstand/],
      [{ store, secret, clientAddress: "10.0.0.1" }, /clientAddress must be a function, or an object like/],
      [{ store, secret, clientAddress: { trustedProxies: ["10.0.0.0/40"] } }, /clientAddress must be/],
      [{ store, secret, limiter: true }, /limiter must be a limiter, such as .* or "off"/],
      [{ store, secret, logger: console }, /logger must be a logger/],
      [{ store, secret, clock: 5 }, /clock must be a function/],
    ];
    for (const [options, message] of cases) {
      await assert.rejects(createPlatform(options as PlatformOptions), { name: "TypeError", message });
    }
  });

  it("refuses to mount an area that does not exist", async () => {
    const platform = await platformWith();
    assert.throws(() => platform.handler(["boards" as "loyalty"]), {
      name: "TypeError",
      message: /the area boards: the areas are identity, location/,
    });
  });

  it("counts the clients of a Hono server apart", async t => {
    const { platform } = await openPlatform(async clock => createMemoryStore({ clock }), {
      limiter: createMemoryLimiter(),
    });
    const app = new Hono().all("*", c =>
      platform.fetch(c.req.raw, { address: getConnInfo(c).remote.address }),
    );
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const statuses = new Set<number>();
    for (let client = 1; client <= 61; client++) {
      const asking = request({
        port,
        host: "127.0.0.1",
        localAddress: `127.0.0.${client}`,
        method: "POST",
        path: "/v1/user",
        headers: { "content-type": "application/json" },
      });
      asking.end(registration(`fan${client}@example.org`));
      const [answer] = (await once(asking, "response")) as [IncomingMessage];
      statuses.add(answer.resume().statusCode ?? 0);
    }
    assert.deepEqual([...statuses], [201]);
  });

  it("counts clients by the address that clientAddress finds", async () => {
    const rateLimits = { "sign-up-email": { limit: 1, windowMs: 60_000 } };
    const register = async (
      options: Pick<PlatformOptions, "clientAddress">,
      headers: Readonly<Record<string, string>>,
    ): Promise<number> => {
      const statuses = [];
      const { platform } = await openPlatform(async clock => createMemoryStore({ clock }), {
        limiter: createMemoryLimiter(),
        rateLimits,
        ...options,
      });
      for (const client of [1, 2]) {
        const fields = Object.entries(headers).map(([name, value]) => [
          name,
          value.replace("N", `${client}`),
        ]);
        const init = {
          method: "POST",
          headers: { "content-type": "application/json", ...Object.fromEntries(fields) },
          body: registration(`fan${client}@example.org`),
        };
        const url = "http://localhost/v1/user";
        statuses.push((await platform.fetch(new Request(url, init), { address: "10.0.0.1" })).status);
      }
      assert.equal(statuses[0], 201);
      return statuses[1] ?? 0;
    };
    const trusted = { trustedProxies: ["10.0.0.0/8"] };
    assert.equal(await register({ clientAddress: trusted }, { "x-forwarded-for": "192.0.2.N" }), 201);
    assert.equal(await register({ clientAddress: trusted }, { forwarded: "for=192.0.2.N" }), 201);
    assert.equal(await register({}, { "x-forwarded-for": "192.0.2.N" }), 429);
    assert.equal(
      await register({ clientAddress: { trustedProxies: [] } }, { forwarded: "for=192.0.2.N" }),
      429,
    );
    const byHeader = ({ headers }: Request) => headers.get("x-real-ip") ?? undefined;
    assert.equal(await register({ clientAddress: byHeader }, { "x-real-ip": "192.0.2.N" }), 201);
    assert.equal(await register({ clientAddress: byHeader }, { "x-real-ip": "192.0.2.7" }), 429);
  });

  it("limits wrong credentials by default", async () => {
    async function attempt(options: Partial<PlatformOptions>): Promise<Set<number>> {
      const platform = await platformWith(options);
      const headers = { "x-api-key": "gsk_none", "x-api-secret": "none", "x-platform-org-id": "none" };
      const path = "/api/audience/profile?user_ids=somebody";
      const statuses = new Set<number>();
      for (let count = 0; count < 70; count++) statuses.add((await call(platform, path, { headers })).status);
      return statuses;
    }
    assert.deepEqual([...(await attempt({}))], [401, 429]);
    assert.deepEqual([...(await attempt({ limiter: "off" }))], [401]);
  });

  it("logs warnings to the console unless it is given a logger", async t => {
    const warn = t.mock.method(console, "warn", () => {});
    const store = createMemoryStore();
    store.ping = () => Promise.reject(new Error("the store is down"));
    assert.equal((await call(await platformWith({ store }), "/readyz")).status, 503);
    const [line] = warn.mock.calls;
    assert.equal(line?.arguments[0], "grandstand: request_failed");
    assert.match(JSON.stringify(line?.arguments[1]), /the store is down/);
    await call(await platformWith({ store, logger: silentLogger }), "/readyz");
    assert.equal(warn.mock.callCount(), 1);
  });
});
