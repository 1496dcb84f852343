/** One way from `node:http` to the same Fetch handler, named by the first argument. */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { FastResponse, toNodeHandler } from "srvx/node";
import type { Handler, ResponseFactory } from "../../lib/http/mod.ts";
import { toNodeListener } from "../../runtime/node.ts";

const entries = Array.from({ length: 6 }, (_, index) => ({
  userId: `0f0a7b0e-5c1e-4c53-9b7e-00000000000${index}`,
  rank: index + 1,
  score: 1_000 - index,
  username: `Fan ${index}`,
}));
const utf8 = new TextDecoder("utf-8", { fatal: true });

function answerGet(): string {
  return JSON.stringify({ message: "OK", data: { entries, total: 6, limit: 10 } });
}

function answerPost(text: string): string {
  const { action } = JSON.parse(text) as { action: string };
  return JSON.stringify({ message: "OK", data: action });
}

function headersOf(authorization: unknown): Record<string, string> {
  return {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-request-id": typeof authorization === "string" ? "0123456789abcdef" : "none",
  };
}

/** The handler under every bridge. `read` is the bridge's fastest way to a body. */
function handlerWith(read: (request: Request) => Promise<string>, factory: ResponseFactory): Handler {
  return async (request, info) => {
    const headers = headersOf(request.headers.get("authorization"));
    const text = request.method === "POST" ? answerPost(await read(request)) : answerGet();
    return (info?.createResponse ?? factory)(text, { status: 200, headers });
  };
}

async function readBuffer(request: Request): Promise<string> {
  return utf8.decode(await request.arrayBuffer());
}

async function readBytes(request: Request): Promise<string> {
  return utf8.decode(await ("bytes" in request ? request.bytes() : (request as Request).arrayBuffer()));
}

const globalResponse: ResponseFactory = (body, init) => new Response(body, init);

function bare(incoming: IncomingMessage, outgoing: ServerResponse): void {
  function answer(text: string): void {
    const headers = headersOf(incoming.headers.authorization);
    headers["content-length"] = String(Buffer.byteLength(text));
    outgoing.writeHead(200, headers);
    outgoing.end(text);
  }
  if (incoming.method !== "POST") {
    answer(answerGet());
    return;
  }
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => answer(answerPost(utf8.decode(Buffer.concat(chunks)))));
}

async function naive(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const handler = handlerWith(readBuffer, globalResponse);
  const { method = "GET", rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const body = method === "GET" ? {} : { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" };
  const response = await handler(
    new Request(`http://localhost${incoming.url}`, { method, headers, ...body }),
  );
  const text = await response.text();
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(text);
}

const listeners: Readonly<Record<string, () => RequestListener>> = {
  bare: () => bare,
  grandstand: () => toNodeListener(handlerWith(readBytes, globalResponse)),
  // Its default: it replaces the global Request and Response.
  hono: () => getRequestListener(request => handlerWith(readBuffer, globalResponse)(request)),
  srvx: () => {
    const factory: ResponseFactory = (body, init) => new FastResponse(body, init);
    return toNodeHandler(request => handlerWith(one => one.text(), factory)(request)) as RequestListener;
  },
  naive: () => (incoming, outgoing) => void naive(incoming, outgoing),
};

const listener = listeners[process.argv[2] ?? ""];
if (listener === undefined) throw new Error(`Name one of ${Object.keys(listeners).join(", ")}`);
const server = createServer(listener());
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
