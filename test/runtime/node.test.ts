/** The Node entry from inside: what its lazy request and its plain response promise, over real connections. */

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { liveHeartbeatMs, liveListenersMax } from "../../lib/http/live_streams.ts";
import type { Handler } from "../../lib/http/mod.ts";
import { nodeResponse, serve, toNodeListener } from "../../runtime/node.ts";

async function open(context: TestContext, handler: Handler): Promise<string> {
  const server = createServer(toNodeListener(handler));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => close(server));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}

const plain: Handler = async (_, info) => {
  const create = info?.createResponse ?? nodeResponse;
  return create("grüß dich", { status: 200, headers: { "content-type": "text/plain;charset=utf-8" } });
};

function post(url: string, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: "POST", body, headers, duplex: "half" } as RequestInit);
}

function chunked(...texts: string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(encoder.encode(text));
      controller.close();
    },
  });
}

describe("a request on Node", () => {
  const readers: Readonly<Record<string, (request: Request) => Promise<unknown>>> = {
    bytes: async request => new TextDecoder().decode(await request.bytes()),
    text: request => request.text(),
    json: async request => JSON.stringify(await request.json()),
    arrayBuffer: async request => new TextDecoder().decode(await request.arrayBuffer()),
    "a stream": request => new Response(request.body).text(),
    "a clone": request => request.clone().text(),
    "bytes after its stream was looked at": async request => {
      assert.ok(request.body !== null);
      return new TextDecoder().decode(await request.bytes());
    },
  };

  for (const [name, read] of Object.entries(readers)) {
    it(`gives its body as ${name}, in one piece or many`, async context => {
      const url = await open(context, async request => new Response(String(await read(request))));
      const text = JSON.stringify({ word: "größer".repeat(20_000) });
      assert.equal(await (await post(url, text)).text(), text);
      assert.equal(await (await post(url, chunked('{"a":', "1}"))).text(), '{"a":1}');
    });
  }

  it("gives its body once", async context => {
    const url = await open(context, async request => {
      assert.equal(request.bodyUsed, false);
      await request.bytes();
      assert.equal(request.bodyUsed, true);
      await assert.rejects(request.bytes());
      await assert.rejects(request.text());
      await assert.rejects(request.arrayBuffer());
      return new Response("once");
    });
    assert.equal(await (await post(url, "x")).text(), "once");
  });

  it("has no body with GET", async context => {
    const url = await open(context, async request => {
      assert.equal(request.body, null);
      return new Response(String((await request.bytes()).byteLength));
    });
    assert.equal(await (await fetch(url)).text(), "0");
  });

  it("is a Request with method, URL and header fields", async context => {
    const url = await open(context, async request => {
      assert.ok(request instanceof Request);
      const { method, headers } = request;
      return Response.json([
        method,
        new URL(request.url).pathname,
        headers.get("X-One"),
        [...headers].length > 2,
      ]);
    });
    const answer = await fetch(`${url}/a%20b?c`, { method: "PUT", headers: { "x-one": "1" } });
    assert.deepEqual(await answer.json(), ["PUT", "/a%20b", "1", true]);
  });

  it("breaks off with its connection", async context => {
    const events = new EventEmitter();
    const url = await open(context, async request => {
      const aborted = once(request.signal, "abort");
      const broken = assert.rejects(request.bytes());
      events.emit("reading");
      await Promise.all([aborted, broken]);
      events.emit("broken");
      return new Response();
    });
    const [reading, broken] = [once(events, "reading"), once(events, "broken")];
    const socket = await dial(url);
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf");
    await reading;
    socket.destroy();
    await broken;
  });
});

describe("a response on Node", () => {
  it("is written with its length in bytes", async context => {
    const answer = await fetch(await open(context, plain));
    assert.equal(answer.headers.get("content-length"), "11");
    assert.equal(answer.headers.get("content-type"), "text/plain;charset=utf-8");
    assert.equal(await answer.text(), "grüß dich");
  });

  it("is a Response in every respect", async () => {
    const make = (): Response => nodeResponse('{"a":1}', { status: 201, headers: { "x-one": "1" } });
    const response = make();
    assert.ok(response instanceof Response);
    assert.deepEqual([response.status, response.ok, response.bodyUsed], [201, true, false]);
    assert.deepEqual(
      [response.type, response.url, response.redirected, response.statusText],
      ["default", "", false, ""],
    );
    assert.equal(response.headers.get("x-one"), "1");
    assert.equal(await response.clone().text(), '{"a":1}');
    assert.deepEqual(await response.json(), { a: 1 });
    assert.equal(response.bodyUsed, true);
    assert.equal((await make().arrayBuffer()).byteLength, 7);
    assert.equal((await make().blob()).size, 7);
    assert.ok(make().body instanceof ReadableStream);
    assert.equal(nodeResponse(null, { status: 404, headers: {} }).ok, false);
  });

  it("carries what was added to its header fields", async context => {
    const url = await open(context, async (request, info) => {
      const response = await plain(request, info);
      response.headers.set("x-added", "later");
      response.headers.append("set-cookie", "a=1");
      response.headers.append("set-cookie", "b=2");
      return response;
    });
    const answer = await fetch(url);
    assert.equal(answer.headers.get("x-added"), "later");
    assert.deepEqual(answer.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.equal(await answer.text(), "grüß dich");
  });

  it("without a body has no length with 204 and length 0 otherwise", async context => {
    const url = await open(context, async request => {
      const status = Number(new URL(request.url).pathname.slice(1));
      return nodeResponse(null, { status, headers: {} });
    });
    assert.equal((await fetch(`${url}/204`)).headers.get("content-length"), null);
    assert.equal((await fetch(`${url}/201`)).headers.get("content-length"), "0");
  });

  it("with a header field that cannot be written is 500, and is reported", async context => {
    const reported: unknown[] = [];
    const handler: Handler = async () => nodeResponse("x", { status: 200, headers: { "x-bad": "a\nb" } });
    const server = await serve(handler, { port: 0, onError: error => reported.push(error) });
    context.after(() => server.stop());
    assert.equal((await fetch(server.url)).status, 500);
    assert.equal(reported.length, 1);
  });

  it("reports a handler that throws, and continues", async context => {
    const reported: unknown[] = [];
    const handler: Handler = () => {
      throw new Error("broken");
    };
    const server = await serve(handler, { port: 0, onError: error => reported.push(error) });
    context.after(() => server.stop());
    assert.equal((await fetch(server.url)).status, 500);
    assert.equal((await fetch(server.url)).status, 500);
    assert.equal(reported.length, 2);
  });
});

describe("a server on Node", () => {
  it("refuses header fields beyond its limit", async context => {
    const server = await serve(plain, { port: 0 });
    context.after(() => server.stop());
    const answer = await fetch(server.url, { headers: { "x-large": "x".repeat(16_384) } });
    assert.equal(answer.status, 431);
    assert.equal(((await answer.json()) as { code: string }).code, "payload_too_large");
  });

  it("answers what is no valid request with a body and a request id", async context => {
    const server = await serve(plain, { port: 0 });
    context.after(() => server.stop());
    const requests = {
      "no HTTP": "hello\r\n\r\n",
      "two lengths": "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
      "no host": "GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
      "two hosts": "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\nconnection: close\r\n\r\n",
      "an invalid host": "GET / HTTP/1.1\r\nhost: a/b\r\nconnection: close\r\n\r\n",
    };
    for (const [what, request] of Object.entries(requests)) {
      const socket = await dial(server.url);
      socket.write(request);
      const chunks = (await socket.toArray()) as Buffer[];
      const [head = "", body = ""] = Buffer.concat(chunks).toString().split("\r\n\r\n");
      assert.match(head, /^HTTP\/1.1 400 /, what);
      const { code, requestId } = JSON.parse(body) as { code: string; requestId: string };
      assert.equal(code, "validation_failed", what);
      assert.ok(head.includes(`x-request-id: ${requestId}`), what);
      assert.match(head, /content-type: application\/problem\+json/, what);
    }
    const old = await dial(server.url);
    old.write("GET / HTTP/1.0\r\n\r\n");
    assert.match(Buffer.concat((await old.toArray()) as Buffer[]).toString(), /^HTTP\/1.1 200 /);
  });

  it("closes the connection of a client that continues sending after its answer", async context => {
    const server = await serve(plain, { port: 0 });
    context.after(() => server.stop());
    const socket = await dial(server.url);
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf");
    const closed = once(socket, "close");
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1.1 200 /);
    await closed;
  });

  it("stops without waiting for idle connections", async () => {
    const server = await serve(plain, { port: 0 });
    const socket = await dial(server.url);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "data");
    const closed = once(socket, "close");
    assert.equal(await server.stop(), true);
    await closed;
    assert.equal(await server.stop(), true);
  });

  it("rejects where it cannot listen", async context => {
    const first = await serve(plain, { port: 0 });
    context.after(() => first.stop());
    await assert.rejects(serve(plain, { port: Number(new URL(first.url).port) }), /EADDRINUSE/);
  });

  it("listens on IPv6 and reports IPv4 peers in IPv4 form", async context => {
    const handler: Handler = async (_, info) => new Response(info?.address);
    const server = await serve(handler, { port: 0, host: "::" });
    context.after(() => server.stop());
    const { port } = new URL(server.url);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), "127.0.0.1");
  });
});

async function dial(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

describe("the bounds of servers", () => {
  it("leave room for the signs of life of live boards, and for requests beside all their listeners", () => {
    assert.ok(liveHeartbeatMs * 2 < 65_000);
    assert.ok(liveListenersMax * 2 < 4_096);
  });
});
