/** Traces: spans by the SDK of OpenTelemetry, and what other services get of a trace, with and without it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { after, before, beforeEach, describe, it } from "node:test";
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { createWebhookSender } from "../../adapters/outbound/webhook.ts";
import { openTracer } from "../../adapters/tracing/mod.ts";
import { createPassingTracer, lingerMsMax, RequestScope } from "../../adapters/tracing/passing_tracer.ts";
import { readTrace, type Tracer } from "../../lib/base/tracing/mod.ts";
import { createJsonLogger } from "../../lib/mod.ts";
import { type Answer, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource } from "./_control_examples.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const caller = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${caller}-01`;
const sent = { traceparent, tracestate: "vendor=1" };

describe("traces", { timeout: 60_000 }, () => {
  const exporter = new InMemorySpanExporter();
  const received: { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[] = [];
  const lines: Readonly<Record<string, unknown>>[] = [];
  let server: Server;
  let base: string;
  let spans: Tracer;

  before(async () => {
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    );
    spans = await openTracer();
    server = createServer(async (request, response) => {
      await request.toArray();
      received.push({ path: request.url, headers: request.headers });
      response.writeHead(200, { "content-type": "application/json" }).end('{"blocks":[]}');
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    base = `http://127.0.0.1:${address.port}`;
  });
  after(() => {
    trace.disable();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    exporter.reset();
    received.length = 0;
    lines.length = 0;
  });

  function open(tracer: Tracer): Promise<TestPlatform> {
    const networks = ["127.0.0.1"];
    const webhooks = [{ id: "crm", url: `${base}/webhook`, events: ["challengeCompleted"] }];
    return openPlatform(async clock => createMemoryStore({ clock }), {
      tracer,
      seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks } } },
      outbound: createOutbound({ networks }),
      webhooks: createWebhookSender({ networks }),
      logger: createJsonLogger({ write: line => lines.push(JSON.parse(line)) }),
    });
  }

  /** Completes a challenge, whose webhook is sent, by a request with these header fields. */
  async function act(world: TestPlatform, headers: Readonly<Record<string, string>>): Promise<Answer> {
    const fan = await world.fan("Sam");
    for (const outcome of ["exact", "right"]) await fan.act("prediction", { outcome });
    await world.platform.idle();
    exporter.reset();
    lines.length = 0;
    const body = { action: "prediction", data: { outcome: "wrong" } };
    const answer = await world.call("/api/loyalty/action", { token: fan.token, headers, body });
    assert.equal(answer.status, 200, answer.text);
    await world.platform.idle();
    return answer;
  }

  const named = (name: string): ReadableSpan =>
    exporter.getFinishedSpans().find(span => span.name === name) ?? assert.fail(name);

  it("have spans of a request, of its calls to the store and of what leaves the platform", async t => {
    const world = await open(spans);
    t.after(() => world.dispose());
    await act(world, sent);
    const request = named("POST /api/loyalty/action");
    assert.equal(request.kind, SpanKind.SERVER);
    assert.equal(request.spanContext().traceId, traceId);
    assert.equal(request.parentSpanContext?.spanId, caller);
    assert.deepEqual(request.attributes, {
      "http.request.method": "POST",
      "http.route": "/api/loyalty/action",
      "http.response.status_code": 200,
    });
    const [commit, webhook] = [named("store.commit"), named("webhook POST")];
    for (const span of [commit, webhook]) {
      assert.equal(span.spanContext().traceId, traceId);
      assert.equal(span.parentSpanContext?.spanId, request.spanContext().spanId);
    }
    assert.deepEqual(webhook.attributes, { "http.request.method": "POST", "server.address": "127.0.0.1" });
    const [{ headers } = assert.fail("no webhook")] = received;
    assert.equal(headers.traceparent, `00-${traceId}-${webhook.spanContext().spanId}-01`);
    assert.equal(headers.tracestate, "vendor=1");
    assert.equal(lines.find(({ event }) => event === "request")?.traceId, traceId);
  });

  it("name what failed without its message", async t => {
    let isFailing = false;
    const world = await openPlatform(
      async clock => {
        const store = createMemoryStore({ clock });
        const read = store.read.bind(store);
        return Object.assign(store, {
          read: (...[partition, queries]: Parameters<typeof read>) =>
            isFailing ? Promise.reject(new Error("a secret")) : read(partition, queries),
        });
      },
      { tracer: spans },
    );
    t.after(() => world.dispose());
    isFailing = true;
    const answer = await world.call(`/projects/${ids.project}/leaderboards/overall`);
    assert.equal(answer.status, 500);
    const request = named("GET /projects/:projectId/leaderboards/:leaderboardId");
    assert.equal(request.status.code, SpanStatusCode.ERROR);
    assert.equal(named("store.read").attributes["error.type"], "Error");
    const shown = exporter
      .getFinishedSpans()
      .map(({ attributes, status, events }) => ({ attributes, status, events }));
    assert.ok(!JSON.stringify(shown).includes("a secret"));
  });

  it("begin anew where the caller names none, or a malformed one", async t => {
    const world = await open(spans);
    t.after(() => world.dispose());
    const wrong = ["", "x", `00-${traceId}-${caller}`, `ff-${traceId}-${caller}-01`, `${traceparent}-more`]
      .concat(`00-${"0".repeat(32)}-${caller}-01`, `00-${traceId}-${"0".repeat(16)}-01`)
      .concat(traceparent.toUpperCase(), `${traceparent}, ${traceparent}`);
    for (const value of wrong) {
      exporter.reset();
      assert.equal(readTrace(new Headers({ traceparent: value })), null, value);
      await world.call("/healthz", { headers: { traceparent: value } });
      assert.notEqual(named("GET /healthz").spanContext().traceId, traceId, value);
      assert.equal(named("GET /healthz").parentSpanContext, undefined, value);
    }
    await world.call("/healthz", { headers: { traceparent: `01-${traceId}-${caller}-ff-later` } });
    assert.equal(exporter.getFinishedSpans().at(-1)?.spanContext().traceId, traceId);
    await world.call("/of/no/route");
    assert.equal(exporter.getFinishedSpans().at(-1)?.name, "_OTHER");
    exporter.reset();
    await world.platform.work();
    assert.deepEqual(exporter.getFinishedSpans(), []);
  });

  it("reach webhooks and backends of workflows without OpenTelemetry as they were sent", async t => {
    const world = await open(createPassingTracer(new RequestScope(() => performance.now())));
    t.after(() => world.dispose());
    await act(world, sent);
    const operator = await operatorHeaders(world);
    const created = await world.call("/api/v2/workflows", {
      headers: operator,
      body: resource("workflows", {
        name: "Line-up",
        endpoint_url: `${base}/backend`,
        availability: ["project"],
      }),
    });
    const path = `/api/v2/workflows/${created.json.data.id}/dispatch`;
    const body = { scope: { type: "projects", id: ids.project }, request: {} };
    for (const headers of [sent, { traceparent: "malformed" }]) {
      assert.equal((await world.call(path, { headers: { ...operator, ...headers }, body })).status, 200);
    }
    assert.deepEqual(
      received.map(({ path: at, headers }) => [at, headers.traceparent, headers.tracestate]),
      [
        ["/webhook", traceparent, "vendor=1"],
        ["/backend", traceparent, "vendor=1"],
        ["/backend", undefined, undefined],
      ],
    );
    assert.deepEqual(exporter.getFinishedSpans(), []);
  });

  it("are passed on where the API is installed and no SDK is registered", async t => {
    trace.disable();
    t.after(() =>
      trace.setGlobalTracerProvider(
        new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
      ),
    );
    const world = await open(await openTracer());
    t.after(() => world.dispose());
    await act(world, sent);
    assert.equal(received[0]?.headers.traceparent, traceparent);
    assert.equal(lines.find(({ event }) => event === "request")?.traceId, traceId);
  });

  it("end a minute after the answer for loops that the request began", async () => {
    let now = 0;
    const scope = new RequestScope<string>(() => now);
    let seen: () => string | null = () => "";
    await scope.run("a", async () => {
      const { AsyncResource } = await import("node:async_hooks");
      seen = AsyncResource.bind(() => scope.current);
    });
    now = lingerMsMax;
    assert.equal(seen(), "a");
    now += 1;
    assert.equal(seen(), null);
    assert.equal(scope.current, null);
  });
});
