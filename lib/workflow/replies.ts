/** Responses of a workflow: answers, problem documents, and cross-origin fields where origins are named. */

import { uuid } from "../auth/crypto/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import { failureReply, problemFamily } from "../http/errors/failure.ts";
import { logFailure, type ResponseFactory } from "../http/mod.ts";
import { ControlError } from "./api.ts";
import type { WorkflowPorts } from "./ports.ts";

export class Replies {
  readonly #ports: WorkflowPorts;
  readonly #origins: readonly string[];

  constructor(ports: WorkflowPorts, origins: readonly string[]) {
    this.#ports = ports;
    this.#origins = origins;
  }

  /**
   * Answers a preflight request of a named origin; null for a POST, whose answer follows.
   *
   * @throws {AppError} `method_not_allowed`
   */
  preflight(request: Request): Response | null {
    if (request.method === "POST") return null;
    const cors = this.#cors(request);
    if (request.method === "OPTIONS" && "access-control-allow-origin" in cors) {
      const headers = {
        ...cors,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization, content-type, idempotency-key",
        "access-control-max-age": "600",
      };
      return new Response(null, { status: 204, headers });
    }
    throw new AppError("method_not_allowed", "A workflow takes POST alone", { headers: { allow: "POST" } });
  }

  json(request: Request, text: string, create: ResponseFactory): Response {
    const headers = {
      "content-type": "application/json",
      "cache-control": "no-store",
      ...this.#cors(request),
    };
    return create(text, { status: 200, headers });
  }

  failure(request: Request, error: unknown): Response {
    const { name, random, logger } = this.#ports;
    const context = {
      family: problemFamily,
      operation: name,
      challenge: "Bearer",
      scopes: [],
      requestId: uuid(random),
      path: new URL(request.url).pathname,
      publicUrl: "",
    } as const;
    const known =
      error instanceof ControlError && error.status === 401
        ? new AppError("invalid_token", error.safeMessage, { cause: error })
        : error;
    logFailure(known, context, logger);
    const { status, json, headers } = failureReply(known, context);
    return new Response(JSON.stringify(json), {
      status,
      headers: { ...headers, "cache-control": "no-store", ...this.#cors(request) },
    });
  }

  #cors({ headers }: Request): Readonly<Record<string, string>> {
    if (this.#origins.length === 0) return {};
    const origin = headers.get("origin");
    if (origin === null || !this.#origins.includes(origin)) return { vary: "origin" };
    return {
      vary: "origin",
      "access-control-allow-origin": origin,
      "access-control-expose-headers": "retry-after",
    };
  }
}
