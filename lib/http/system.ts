/** The area that every handler brings: health, readiness, the OpenAPI document and metrics. */

import * as v from "valibot";
import { AppError, type ErrorCode } from "../base/errors/mod.ts";
import { type Metrics, metricsMediaType } from "../base/metrics/mod.ts";
import { errorFacts } from "./errors/failure.ts";
import { json, jsonText, text } from "./replies/replies.ts";
import { named } from "./requests/validate.ts";
import { type AnyRoute, type Area, type JsonText, open, route } from "./route.ts";

interface SystemOptions {
  /** Resolves with warnings when requests can be served, rejects when they cannot. */
  readonly ready: () => Promise<readonly ReadinessWarning[]>;
  /** The OpenAPI document; built on the first request for it. */
  readonly document: () => Promise<unknown>;
  /** The registry behind `GET /metrics`; null leaves the route out. */
  readonly metrics: Metrics | null;
}

const HealthSchema = named("Health", v.object({ status: v.literal("ok") }));
const WarningSchema = v.object({
  code: v.pipe(
    v.picklist(["keys_are_evicted", "not_persistent", "no_worker"]),
    v.description("What endangers the data of the store, or keeps accepted actions waiting"),
  ),
  detail: v.pipe(v.string(), v.description("What the operator should do")),
});
const ReadinessSchema = named(
  "Readiness",
  v.object({
    status: v.literal("ok"),
    warnings: v.exactOptional(
      v.pipe(v.array(WarningSchema), v.description("Absent where there is nothing to warn of")),
    ),
  }),
);

/** Something that an operator should put right, while requests can be served. */
export type ReadinessWarning = v.InferOutput<typeof WarningSchema>;
const ProblemCodeSchema = named(
  "ProblemCode",
  v.object({
    code: v.pipe(v.string(), v.description("The code of the error")),
    status: v.pipe(v.number(), v.integer(), v.description("The HTTP status that it is answered with")),
    title: v.pipe(v.string(), v.description("A short summary, the same for every error of the code")),
    retryable: v.pipe(v.boolean(), v.description("Says that the same request may succeed later")),
  }),
);

export function systemArea(options: SystemOptions): Area {
  const routes = [healthRoute(), readyRoute(options.ready), documentRoute(options.document), problemRoute()];
  const { metrics } = options;
  return {
    name: "system",
    family: "problem",
    routes: metrics === null ? routes : [...routes, metricsRoute(metrics)],
  };
}

function healthRoute(): AnyRoute {
  return route({
    method: "GET",
    path: "/healthz",
    operation: "getHealth",
    summary: "Check the process",
    description: "Answers as long as the process handles requests, whatever state the store is in.",
    auth: open,
    responses: { 200: { description: "The process answers", schema: HealthSchema } },
    handle: () => json(200, { status: "ok" }),
  });
}

function readyRoute(ready: SystemOptions["ready"]): AnyRoute {
  return route({
    method: "GET",
    path: "/readyz",
    operation: "getReadiness",
    summary: "Check the store",
    description:
      "Answers 200 where the store is reachable, takes writes and holds the data that the process started with, for load " +
      "balancers, and 503 from the moment that the server begins to stop.",
    auth: open,
    responses: { 200: { description: "Requests can be served", schema: ReadinessSchema } },
    errors: ["storage_unavailable", "outcome_unknown", "busy"],
    handle: async () => {
      const warnings = await ready().catch((cause: unknown) => {
        if (cause instanceof AppError) throw cause;
        throw new AppError("storage_unavailable", "Cannot serve requests", { cause });
      });
      return json(200, { status: "ok", ...(warnings.length === 0 ? {} : { warnings }) });
    },
  });
}

const publicFor5Minutes = { "cache-control": "public, max-age=300" };

function documentRoute(document: () => Promise<unknown>): AnyRoute {
  let written: JsonText<Record<string, unknown>> | null = null;
  return route({
    method: "GET",
    path: "/openapi.json",
    operation: "getOpenapi",
    summary: "Get the OpenAPI document",
    description:
      "Describes every operation of this deployment, own areas included, as an OpenAPI 3.1 document.",
    auth: open,
    responses: {
      200: {
        description: "The document",
        schema: named("OpenapiDocument", v.record(v.string(), v.unknown())),
      },
    },
    cache: "public",
    handle: async () => {
      written ??= JSON.stringify(await document()) as JsonText<Record<string, unknown>>;
      return jsonText(written, publicFor5Minutes);
    },
  });
}

/** The `type` of problems is an address of this route. */
function problemRoute(): AnyRoute {
  return route({
    method: "GET",
    path: "/problems/:code",
    operation: "getProblem",
    summary: "Explain an error code",
    description:
      "Returns the HTTP status and the title of an error code. The `type` of a problem leads here.",
    auth: open,
    params: v.object({ code: v.pipe(v.string(), v.description("The `code` of an error body")) }),
    responses: { 200: { description: "The meaning of the code", schema: ProblemCodeSchema } },
    errors: ["not_found"],
    cache: "public",
    handle: ({ params: { code } }) => {
      if (!isErrorCode(code)) throw new AppError("not_found", "Cannot find an error of this code");
      const { status, title, retryable } = errorFacts[code];
      return json(200, { code, status, title, retryable }, publicFor5Minutes);
    },
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorFacts, code);
}

function metricsRoute(metrics: Metrics): AnyRoute {
  return route({
    method: "GET",
    path: "/metrics",
    operation: "getMetrics",
    summary: "Get the metrics of the process",
    description: "Returns the metrics of the process that answers, in the Prometheus text form.",
    auth: open,
    responses: { 200: { description: "The metrics" } },
    handle: async () => text(200, await metrics.render(), { "content-type": metricsMediaType }),
  });
}
