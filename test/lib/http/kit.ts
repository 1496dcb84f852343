import { object, string } from "valibot";
import {
  type AnyRoute,
  type Area,
  createHandler,
  type Handler,
  type HandlerOptions,
  json,
  type LogFields,
  type Logger,
  open,
  type Reply,
} from "../../../lib/http/mod.ts";

/** Parts of a test route; the rest is filled in. */
export type Sketch = Partial<AnyRoute>;

/** A route that returns its input, unless the test says otherwise. */
export function sketch(parts: Sketch): AnyRoute {
  const { method = "GET", path = "/things" } = parts;
  const names = [...path.matchAll(/:(\w+)/g)].map(match => match[1] ?? "");
  const params = object(Object.fromEntries(names.map(name => [name, string()])));
  const operation = `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]/g, "X")}`;
  return {
    operation,
    summary: "A test",
    auth: open,
    responses: { 200: { description: "Done" } },
    handle: call => json(200, { params: call.params, query: call.query, body: call.body }),
    ...(names.length === 0 ? {} : { params }),
    ...parts,
    method,
    path,
  };
}

/** One area of sketches in a family. */
export function area(sketches: readonly Sketch[], family: Area["family"] = "problem"): Area {
  return { name: family === "problem" ? "things" : "people", family, routes: sketches.map(sketch) };
}

/** A handler of one problem area, with the request id `request-1`. */
export function handlerOf(sketches: readonly Sketch[], options: HandlerOptions = {}): Handler {
  return createHandler([area(sketches)], { requestId: () => "request-1", ...options });
}

/** Calls a handler under a made-up address. */
export function call(handler: Handler, path: string, init: RequestInit = {}): Promise<Response> {
  return handler(new Request(`http://platform.test${path}`, init));
}

/** The init of a request with a JSON body. */
export function withJson(value: unknown, method = "POST"): RequestInit {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** The JSON body of an answer. */
export async function bodyOf(answer: Response | Promise<Response>): Promise<Record<string, unknown>> {
  return (await (await answer).json()) as Record<string, unknown>;
}

/** The `errors` of a problem. */
export async function errorsOf(answer: Response | Promise<Response>): Promise<unknown> {
  return (await bodyOf(answer)).errors;
}

/** A handler function that throws. */
export function throwing(error: unknown): () => Reply {
  return () => {
    throw error;
  };
}

/** A logger that keeps its lines. */
export function keptLog(): Logger & {
  readonly lines: { level: string; event: string; fields: LogFields }[];
} {
  const lines: { level: string; event: string; fields: LogFields }[] = [];
  return { lines, enabled: () => true, log: (level, event, fields) => lines.push({ level, event, fields }) };
}
