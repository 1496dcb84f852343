/** A server of the runtime that runs it: bare, or with the whole platform behind it. */

import { createWriteStream, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { createJsonLogger, silentLogger } from "../../lib/http/mod.ts";
import { createPlatform, MasterSecret } from "../../lib/mod.ts";
import { serveHere } from "../../runtime/server/serve_here.ts";
import { createLogSink } from "../../runtime/services/log_sink.ts";
import type { Scene } from "./http_stack.ts";

const [variant = "", file = ""] = process.argv.slice(2);
const { commits, answers } = JSON.parse(readFileSync(file, "utf8")) as Scene;
const byPath = new Map(Object.entries(answers));
const values = new Map([...byPath].map(([path, text]) => [path, JSON.parse(text) as unknown]));
const headers = {
  "content-type": "application/json",
  "x-request-id": "0123456789abcdef-1",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

function answer(path: string): string {
  if (variant === "bare") return byPath.get(path) ?? "";
  return JSON.stringify(values.get(path));
}

/** The parts of the two runtimes' own servers that are used here. */
declare const Bun: { serve(options: object): { readonly port: number } };
declare const Deno: {
  serve(options: object, handler: (request: Request) => Response): { readonly addr: { port: number } };
};

function respond(request: Request): Response {
  const { url } = request;
  return new Response(answer(url.slice(url.indexOf("/", 8))), { headers });
}

async function bare(): Promise<number> {
  if ("Bun" in globalThis) return Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: respond }).port;
  if ("Deno" in globalThis)
    return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, respond).addr.port;
  const server = createServer((incoming, outgoing) => {
    if (incoming.headers["if-none-match"] !== undefined) {
      outgoing.writeHead(304, headers).end();
      return;
    }
    const text = answer(incoming.url ?? "");
    outgoing.writeHead(200, { ...headers, "content-length": String(Buffer.byteLength(text)) });
    outgoing.end(text);
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const unreached = { limit: 100_000_000, windowMs: 6_000 };

async function grandstand(): Promise<string> {
  const store = createMemoryStore();
  for (const [partition, batch] of commits) await store.commit(partition, batch);
  const logger =
    variant === "grandstand"
      ? silentLogger
      : createJsonLogger({
          write: createLogSink(createWriteStream("/dev/null")).write,
          level: "info",
          clock: Date.now,
        });
  const platform = await createPlatform({
    store,
    logger,
    secret: new MasterSecret("a master secret for tests, long enough to be accepted"),
    // The load of one user is beyond what one user may ask.
    identity: { limits: "off" },
    defaultSpaceId: "0b000000-0000-4000-8000-000000000001",
    control: createControl,
    // Counted as always, and never reached.
    rateLimits: { control: unreached, "loyalty-read": unreached },
  });
  return (await serveHere(platform.fetch, { port: 0, onError: console.error })).url;
}

console.log(variant.startsWith("bare") ? `http://127.0.0.1:${await bare()}` : await grandstand());
