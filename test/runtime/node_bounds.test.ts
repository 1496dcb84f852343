/** The bounds of the Node server: those that Node enforces, and its patience with clients and handlers. */

import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Handler } from "../../lib/http/mod.ts";
import { serve } from "../../runtime/node.ts";

/** A connection to a server, whose first request is sent. */
async function asked(url: string, request: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(request);
  return socket;
}

const answering: Handler = async () => new Response("done");

describe("the Node server", () => {
  it("makes Node close connections beyond its bounds", async context => {
    const servers: HttpServer[] = [];
    const note = (message: unknown): void => {
      servers.push((message as { readonly server: HttpServer }).server);
    };
    subscribe("http.server.request.start", note);
    context.after(() => unsubscribe("http.server.request.start", note));
    const server = await serve(answering, { port: 0 });
    context.after(() => server.stop());
    await (await fetch(server.url)).text();
    const [found] = servers;
    assert.deepEqual(
      [found?.maxConnections, found?.headersTimeout, found?.requestTimeout, found?.keepAliveTimeout],
      [16_384, 10_000, 30_000, 65_000],
    );
  });

  it("gives the body of a streaming route any time, and other requests theirs", async context => {
    const servers: HttpServer[] = [];
    const note = (message: unknown): void => {
      servers.push((message as { readonly server: HttpServer }).server);
    };
    subscribe("http.server.request.start", note);
    context.after(() => unsubscribe("http.server.request.start", note));
    const begun: (() => void)[] = [];
    const reading: Handler = async (request, info) => {
      if (request.url.endsWith("/stream")) info?.expectStream?.(request);
      const text = request.text();
      begun.shift()?.();
      return new Response(await text);
    };
    const server = await serve(reading, { port: 0 });
    context.after(() => server.stop());
    const post = "HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab";
    async function begin(path: string): Promise<Socket> {
      const isRead = new Promise<void>(resolve => begun.push(resolve));
      const socket = await asked(server.url, `POST ${path} ${post}`);
      await isRead;
      return socket;
    }
    const streaming = await begin("/stream");
    const other = await begin("/other");
    const [found] = servers;
    assert.ok(found !== undefined);
    const refused = once(other, "data");
    // Node takes the longer of the two for the whole request.
    found.headersTimeout = 1;
    found.requestTimeout = 1;
    await setTimeout(5);
    checkTimeouts(found);
    assert.match(String((await refused)[0]), /^HTTP\/1.1 408 /);
    streaming.write("cde");
    assert.match(String((await once(streaming, "data"))[0]), /^HTTP\/1.1 200 [\s\S]*abcde/);
    // The next request of the connection has the usual time.
    const again = new Promise<void>(resolve => begun.push(resolve));
    streaming.write(`POST /other ${post}`);
    await again;
    const second = once(streaming, "data");
    await setTimeout(5);
    checkTimeouts(found);
    assert.match(String((await second)[0]), /^HTTP\/1.1 408 /);
  });

  it("discards the rest of an unread body for 2 s", async context => {
    const server = await served(context, answering);
    const socket = await asked(server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbegun");
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1.1 200 /);
    await turns();
    context.mock.timers.tick(2_000 - 1);
    await turns();
    assert.equal(socket.closed, false);
    const closed = once(socket, "close");
    socket.resume();
    context.mock.timers.tick(1);
    await closed;
  });

  it("waits at most 10 s for requests in flight when it stops", async context => {
    let begun = (): void => {};
    const beginning = new Promise<void>(resolve => {
      begun = resolve;
    });
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const server = await serve(
      () => {
        begun();
        return new Promise(() => {});
      },
      { port: 0 },
    );
    const socket = await asked(server.url, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await beginning;
    let finished: boolean | undefined;
    const stopped = server.stop().then(all => {
      finished = all;
    });
    context.mock.timers.tick(10_000 - 1);
    await turns();
    assert.deepEqual([finished, socket.closed], [undefined, false]);
    const closed = once(socket, "close");
    socket.resume();
    context.mock.timers.tick(1);
    await Promise.all([stopped, closed]);
    assert.equal(finished, false);
  });
});

/** Makes Node look for requests that have taken too long now, which it does every 2 s. */
function checkTimeouts(server: HttpServer): void {
  const symbol = Object.getOwnPropertySymbols(server).find(({ description }) =>
    description?.endsWith("connectionsCheckingInterval"),
  );
  const interval: unknown = symbol === undefined ? undefined : Reflect.get(server, symbol);
  (interval as { _onTimeout(): void })._onTimeout();
}

/** Serves under mocked timers and returns the address. */
async function served(context: TestContext, handler: Handler): Promise<string> {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const server = await serve(handler, { port: 0 });
  context.after(() => server.stop());
  return server.url;
}

/** Lets pending input and output of this process arrive. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
}
