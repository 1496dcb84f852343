/** The bounds of the Node server: those that Node enforces, and its patience with clients and handlers. */

import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
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
