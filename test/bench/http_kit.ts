/**
 * The cost that the HTTP kit adds to a request, in microseconds of processor time, without any server or bridge.
 *
 * The handler answers about 600 bytes of JSON behind a table of 110 routes. The baseline makes the same Response, with the
 * same header fields, in an async function; the difference is dispatch, checks and reply. Both run with the platform's
 * Response and with one that only keeps what it was given, as a runtime's bridge does. Requests are plain objects with a
 * URL and a header lookup, as a bridge makes them.
 *
 * Run: `npm run bench -- http_kit`
 *
 * @module
 */

import { array, integer, number, object, optional, pipe, regex, string, toNumber, uuid } from "valibot";
import {
  type AnyRoute,
  type Area,
  createHandler,
  type Handler,
  json,
  open,
  type ResponseFactory,
  route,
} from "../../lib/http/mod.ts";

const requestsPerSample = 50_000;
const rounds = 5;

const id = "0b6b9c52-5d0b-4a7e-9f61-6b0c7d1d2e3f";
const entries = Array.from({ length: 7 }, (_, rank) => ({
  rank: rank + 1,
  userId: id,
  score: 1000 - rank,
  name: `Fan ${rank}`,
}));
const answer = { message: "OK", data: { entries, total: 7 } };

const AnswerSchema = object({
  message: string(),
  data: object({
    entries: array(object({ rank: number(), userId: string(), score: number(), name: string() })),
    total: number(),
  }),
});

const page = object({ limit: optional(pipe(string(), regex(/^\d+$/), toNumber(), integer()), "10") });
const action = object({ user_id: string(), action: string(), points: pipe(string(), regex(/^\d+$/)) });

/** 110 routes: 36 resources with three each, one with its own query check, one with a body. */
function table(): Area {
  const routes: AnyRoute[] = [];
  const responses = { 200: { description: "-", schema: AnswerSchema } };
  const shared = { auth: open, summary: "-", responses } as const;
  const handle = () => json(200, answer);
  for (let n = 0; n < 36; n++) {
    const path = `/v1/api/resource${n}` as const;
    routes.push(
      route({ ...shared, method: "GET", path, operation: `list${n}`, handle }),
      route({ ...shared, method: "PUT", path, operation: `replace${n}`, handle }),
      route({
        ...shared,
        method: "GET",
        path: `${path}/:id`,
        operation: `get${n}`,
        params: object({ id: string() }),
        handle,
      }),
    );
  }
  const ids = object({ projectId: pipe(string(), uuid()), boardId: string() });
  const board = "/projects/:projectId/leaderboards/:boardId" as const;
  routes.push(
    route({
      ...shared,
      method: "GET",
      path: board,
      operation: "board",
      params: ids,
      query: page,
      handle,
    }),
    route({
      ...shared,
      method: "POST",
      path: "/actions",
      operation: "act",
      body: { schema: action },
      handle,
    }),
  );
  return { name: "bench", family: "problem", routes };
}

/** A request as a bridge makes it: nothing is built before it is asked for. */
function request(method: string, path: string, body = ""): Request {
  const fields: Record<string, string> = { host: "localhost", "user-agent": "bench", accept: "*/*" };
  const bytes = new TextEncoder().encode(body);
  if (body !== "") {
    fields["content-type"] = "application/json";
    fields["content-length"] = String(bytes.byteLength);
  }
  const headers = { get: (name: string) => fields[name] ?? null, has: (name: string) => name in fields };
  const url = `http://localhost:8787${path}`;
  return {
    method,
    url,
    headers,
    bodyUsed: false,
    arrayBuffer: async () => bytes.buffer,
  } as unknown as Request;
}

class KeptResponse {
  readonly status: number;
  readonly #body: unknown;
  readonly #headers: Record<string, string>;
  constructor(body: unknown, init: { status: number; headers: Record<string, string> }) {
    this.status = init.status;
    this.#body = body;
    this.#headers = init.headers;
  }
  get size(): number {
    return Object.keys(this.#headers).length + (this.#body === null ? 0 : 1);
  }
}

function bare(create: ResponseFactory): Handler {
  return async () =>
    create(JSON.stringify(answer), {
      status: 200,
      headers: {
        "x-request-id": "0123456789abcdef-1",
        "x-content-type-options": "nosniff",
        "content-type": "application/json",
        "cache-control": "no-store",
      },
    });
}

async function sample(handler: Handler, asked: Request, createResponse: ResponseFactory): Promise<number> {
  const info = { framed: true, createResponse };
  const before = process.cpuUsage();
  for (let n = 0; n < requestsPerSample; n++) {
    const response = await handler(asked, info);
    if (response.status !== 200) throw new Error(`Expected 200, got ${response.status}`);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requestsPerSample;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const factories: Record<string, ResponseFactory> = {
  "platform Response": (body, init) => new Response(body, init),
  "kept Response": (body, init) => new KeptResponse(body, init) as unknown as Response,
};
const requests: Record<string, Request> = {
  "GET literal path": request("GET", "/v1/api/resource17"),
  "GET one parameter": request("GET", `/v1/api/resource17/${id}`),
  "GET two parameters, uuid, query": request("GET", `/projects/${id}/leaderboards/overall?limit=10`),
  "POST 60-byte body": request(
    "POST",
    "/actions",
    '{"user_id":"fan-1","action":"goal","points":"10","extra":true}',
  ),
};

for (const [kind, create] of Object.entries(factories)) {
  const handlers = { bare: bare(create), kit: createHandler([table()]) };
  for (const [name, asked] of Object.entries(requests)) {
    const samples: { bare: number[]; kit: number[] } = { bare: [], kit: [] };
    for (let round = -1; round < rounds; round++) {
      const order = round % 2 === 0 ? (["bare", "kit"] as const) : (["kit", "bare"] as const);
      for (const which of order) {
        const us = await sample(handlers[which], asked, create);
        if (round >= 0) samples[which].push(us);
      }
    }
    const added = samples.kit.map((us, round) => us - (samples.bare[round] ?? Number.NaN));
    const figures = `bare ${median(samples.bare).toFixed(2)}  kit ${median(samples.kit).toFixed(2)}`;
    const raw = added.map(us => us.toFixed(2)).join(" ");
    console.log(`${kind}, ${name}: ${figures}  added ${median(added).toFixed(2)} us  (${raw})`);
  }
}
console.log(
  `node ${process.version}, answer of ${JSON.stringify(answer).length} bytes, table of ${table().routes.length}`,
);
