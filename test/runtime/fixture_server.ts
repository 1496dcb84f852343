/**
 * A server of the lifecycle tests: `serve` of the runtime that it runs on, over a handler that waits for the test. The
 * test speaks to it through requests, signals and stdin, and reads what happens on stdout.
 */

import process from "node:process";
import { object, string } from "valibot";
import { createHandler, type Handler, open, route, stream, streamedBody, text } from "../../lib/http/mod.ts";
import { serveHere } from "../../runtime/server/serve_here.ts";

const released = new Promise<void>(resolve => process.stdin.once("data", () => resolve()));

const bytes = "application/octet-stream";
const body = streamedBody({ description: "Bytes", maxBytes: 2 ** 30, mediaTypes: [bytes], example: "x" });

const kit = createHandler(
  [
    {
      name: "fixture",
      family: "problem",
      routes: [
        route({
          method: "POST",
          path: "/body",
          operation: "postBody",
          summary: "Read a body",
          auth: open,
          body: { schema: object({ word: string() }) },
          responses: { 200: { description: "Its word" } },
          handle: ({ body }) => text(200, body.word),
        }),
        route({
          method: "POST",
          path: "/upload",
          operation: "postUpload",
          summary: "Read a streamed body",
          auth: open,
          body,
          responses: { 200: { description: "The number of its bytes, and by how many the process grew" } },
          handle: async ({ body }) => text(200, await sizes(body)),
        }),
        route({
          method: "POST",
          path: "/echo",
          operation: "postEcho",
          summary: "Answer a streamed body with itself",
          auth: open,
          body,
          responses: { 200: { description: "The body", isStreamable: true, schema: string() } },
          handle: ({ body }) => stream(200, body, { "content-type": bytes }),
        }),
      ],
    },
  ],
  { bodyMsMax: 200 },
);

const handler: Handler = async (request, info) => {
  switch (new URL(request.url).pathname) {
    case "/address":
      return new Response(info?.address ?? "unknown");
    case "/hold":
      console.log("holding");
      await released;
      return new Response("held");
    case "/background":
      info?.waitUntil?.(released.then(() => console.log("background work done")));
      return new Response("started");
    case "/stream":
      return new Response(numbers());
    case "/listen":
      return new Response(endless(info?.stopping));
    case "/broken":
      throw new Error("a handler that breaks its promise");
    default:
      return await kit(request, info);
  }
};

/** Reads a stream more slowly than it could be sent. */
async function sizes(body: ReadableStream<Uint8Array>): Promise<string> {
  const before = process.memoryUsage().rss;
  let [length, growth] = [0, 0];
  for await (const chunk of body) {
    length += chunk.byteLength;
    growth = Math.max(growth, process.memoryUsage().rss - before);
    await new Promise(resolve => setImmediate(resolve));
  }
  return `${length} ${growth}`;
}

/** One line, and no end before the server stops. */
function endless(stopping: AbortSignal | undefined): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("listening\n"));
      stopping?.addEventListener("abort", () => controller.close());
    },
    cancel: () => console.log("gone"),
  });
}

/** 1 MiB in 16 chunks. */
function numbers(): ReadableStream<Uint8Array> {
  let count = 0;
  return new ReadableStream({
    pull(controller) {
      if (count === 16) controller.close();
      else controller.enqueue(new Uint8Array(65_536).fill(count++));
    },
  });
}

const server = await serveHere(handler, {
  port: 0,
  concurrentMax: Number(process.env.CONCURRENT_MAX ?? 100),
  graceMsMax: Number(process.env.GRACE_MS_MAX ?? 30_000),
});
process.on("SIGTERM", async () => {
  const stopping = server.stop({ drainMs: Number(process.env.DRAIN_MS ?? 0) });
  console.log("stopping");
  console.log(`stopped ${await stopping}`);
  process.exit();
});
console.log(`listening on ${server.url}`);
