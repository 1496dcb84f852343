/**
 * The area that every handler brings: health, readiness, the OpenAPI document and metrics.
 *
 * @module
 */

import { boolean, number, object, picklist, string } from "valibot";
import { AppError, type ErrorCode } from "../errors/mod.ts";
import { errorFacts } from "./errors/status.ts";
import { type Meters, metricsMediaType } from "./metrics.ts";
import { json, jsonText } from "./replies/replies.ts";
import { type AnyRoute, type Area, open, type Reply, route } from "./routing/route.ts";

/** What the area tells of. */
export interface SystemOptions {
  /** Resolves when requests can be served, rejects when they cannot. */
  readonly ready: () => Promise<void>;
  /** The OpenAPI document; built on the first request for it. */
  readonly document: () => unknown;
  /** The meters behind `GET /metrics`; null leaves the route out. */
  readonly meters: Meters | null;
}

const statusSchema = object({ status: picklist(["ok"]) });

/** Builds the area. */
export function systemArea(options: SystemOptions): Area {
  const routes = [healthRoute(), readyRoute(options.ready), documentRoute(options.document), problemRoute()];
  const { meters } = options;
  return {
    name: "system",
    family: "problem",
    routes: meters === null ? routes : [...routes, metricsRoute(meters)],
  };
}

function healthRoute(): AnyRoute {
  return route({
    method: "GET",
    path: "/healthz",
    operation: "getHealth",
    summary: "Tell whether the process answers",
    auth: open,
    responses: { 200: { description: "It does", schema: statusSchema } },
    handle: () => json(200, { status: "ok" }),
  });
}

function readyRoute(ready: () => Promise<void>): AnyRoute {
  async function handle(): Promise<Reply> {
    try {
      await ready();
    } catch (cause) {
      throw new AppError("storage_unavailable", "Cannot serve requests: the store does not answer", {
        cause,
      });
    }
    return json(200, { status: "ok" });
  }
  return route({
    method: "GET",
    path: "/readyz",
    operation: "getReadiness",
    summary: "Tell whether the store answers",
    auth: open,
    responses: { 200: { description: "It does", schema: statusSchema } },
    errors: ["storage_unavailable"],
    handle,
  });
}

function documentRoute(document: () => unknown): AnyRoute {
  let written: string | null = null;
  function handle(): Reply {
    written ??= JSON.stringify(document());
    return jsonText(written, { "cache-control": "public, max-age=300" });
  }
  return route({
    method: "GET",
    path: "/openapi.json",
    operation: "getOpenapi",
    summary: "Describe every route as an OpenAPI 3.1 document",
    auth: open,
    responses: { 200: { description: "The document" } },
    cache: "public",
    handle,
  });
}

/** The addresses that problems have as their type lead here. */
function problemRoute(): AnyRoute {
  return route({
    method: "GET",
    path: "/problems/:code",
    operation: "getProblem",
    summary: "Tell what a code of an error means",
    auth: open,
    params: object({ code: string() }),
    responses: {
      200: {
        description: "Its status, its title, and whether the same request may succeed later",
        schema: object({ code: string(), status: number(), title: string(), retryable: boolean() }),
      },
    },
    errors: ["not_found"],
    cache: "public",
    handle: ({ params: { code } }) => {
      if (!isErrorCode(code)) throw new AppError("not_found", "Cannot find an error of this code");
      const { status, title, retryable } = errorFacts[code];
      return jsonText(JSON.stringify({ code, status, title, retryable }), {
        "cache-control": "public, max-age=300",
      });
    },
  });
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorFacts, text);
}

function metricsRoute(meters: Meters): AnyRoute {
  return route({
    method: "GET",
    path: "/metrics",
    operation: "getMetrics",
    summary: "Tell request counts and durations in the Prometheus text form",
    auth: open,
    responses: { 200: { description: "The metrics" } },
    handle: () => ({ status: 200, text: meters.render(), headers: { "content-type": metricsMediaType } }),
  });
}
