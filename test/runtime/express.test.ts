/** The Node entry inside a real Express application, with and without parsers of bodies in front of it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Handler } from "../../lib/http/mod.ts";
import { toNodeListener } from "../../runtime/node.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";

const path = fileURLToPath(new URL("node_modules/express/index.js", import.meta.url));
const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
const skip = !existsSync(path) && !isRequired && "express is not installed: npm ci --prefix test/runtime";

/** The used part of Express. */
interface Application {
  use(...handlers: readonly unknown[]): void;
  listen(port: number, host: string): Server;
}
interface Express {
  (): Application;
  json(options?: object): RequestListener;
  text(options?: object): RequestListener;
  raw(options?: object): RequestListener;
}

const registration = {
  projectId: ids.project,
  strategy: "simplified",
  provider: "noLogin",
  data: { username: "Jürgen" },
};

function post(url: string, body: BodyInit | null): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body, duplex: "half" } as RequestInit);
}

describe("a platform behind Express", { skip }, () => {
  let express: Express;
  let world: TestPlatform;
  before(async () => {
    express = (await import(path)).default;
    world = await openPlatform(async clock => createMemoryStore({ clock }));
  });
  after(() => world.dispose());

  async function serve(context: TestContext, ...handlers: readonly unknown[]): Promise<string> {
    const app = express();
    app.use(...handlers);
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    context.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const parsers: Readonly<Record<string, (from: Express) => readonly RequestListener[]>> = {
    "no parser": () => [],
    "express.json()": from => [from.json()],
    "express.text()": from => [from.text({ type: "*/*" })],
    "express.raw()": from => [from.raw({ type: "*/*" })],
  };
  for (const [name, create] of Object.entries(parsers)) {
    it(`reads bodies behind ${name}, of known length and in chunks`, async context => {
      const url = await serve(context, ...create(express), toNodeListener(world.platform.fetch));
      const text = JSON.stringify(registration);
      for (const body of [text, new Blob([text]).stream()]) {
        const answer = await post(`${url}/v1/user`, body);
        assert.equal(answer.status, 200, await answer.clone().text());
        const { data } = (await answer.json()) as { data: { username: string } };
        assert.equal(data.username, "Jürgen");
      }
    });

    it(`says at once that a body is missing behind ${name}`, async context => {
      const url = await serve(context, ...create(express), toNodeListener(world.platform.fetch));
      for (const body of ["", new Blob([]).stream()]) {
        const answer = await post(`${url}/v1/user`, body);
        assert.equal(answer.status, 400);
        assert.match(await answer.text(), /it is missing/);
      }
    });
  }

  const readers: Readonly<Record<string, (request: Request) => Promise<string>>> = {
    bytes: async request => new TextDecoder().decode(await request.bytes()),
    text: request => request.text(),
    json: async request => JSON.stringify(await request.json()),
    arrayBuffer: async request => new TextDecoder().decode(await request.arrayBuffer()),
    "a stream": request => new Response(request.body).text(),
  };
  for (const [name, read] of Object.entries(readers)) {
    it(`gives a parsed body as ${name}`, async context => {
      const echo: Handler = async request => new Response(await read(request));
      const url = await serve(context, express.json(), toNodeListener(echo));
      assert.equal(await (await post(url, '{ "a": "ü" }')).text(), '{"a":"ü"}');
    });
  }

  it("prefers the bytes as they were sent where Express keeps them", async context => {
    const verify = (request: { rawBody?: Buffer }, _: unknown, bytes: Buffer): void => {
      request.rawBody = bytes;
    };
    const echo: Handler = async request => new Response(await request.bytes());
    const url = await serve(context, express.json({ verify }), toNodeListener(echo));
    assert.equal(await (await post(url, '{ "a": 1.0 }')).text(), '{ "a": 1.0 }');
  });

  it("is 500, and says why in the log, where a middleware has read a body and kept nothing", async context => {
    const swallow = (request: IncomingMessage, _: unknown, next: () => void): void => {
      request.resume().on("end", next);
    };
    const url = await serve(context, swallow, toNodeListener(world.platform.fetch));
    assert.equal((await post(`${url}/v1/user`, JSON.stringify(registration))).status, 500);
  });

  it("serves under a path of the application", async context => {
    const url = await serve(context, "/club", express.json(), toNodeListener(world.platform.fetch));
    assert.equal((await fetch(`${url}/club/healthz`)).status, 200);
    assert.equal((await post(`${url}/club/v1/user`, JSON.stringify(registration))).status, 200);
    assert.equal((await fetch(`${url}/club/nothing`)).status, 404);
  });
});
