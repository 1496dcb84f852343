/** The typed client against servers that are not the platform, or that break off: each has one clear outcome. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  apiKey,
  type ClientEnvironment,
  type ClientOptions,
  createClient,
  GrandstandError,
  leaderboards,
} from "../../../lib/client/mod.ts";
import { createManualTimer, settle } from "../../support/timer.ts";

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

const areas = { leaderboards };
const board = { projectId: "p", leaderboardId: "overall" };
const json = { "content-type": "application/json" };

describe("the typed client and a server that", () => {
  let server: Server;
  let url: string;
  let respond: Respond;
  let requests: IncomingMessage[];
  beforeEach(async () => {
    requests = [];
    server = createServer((request, response) => {
      requests.push(request);
      respond(request, response);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Pauses pass at once, and timeouts never come. */
  const timer: ClientEnvironment["timer"] = (task, ms) => {
    const immediate = ms < 15_000 ? setImmediate(task) : undefined;
    return () => clearImmediate(immediate);
  };

  async function ask(options: Partial<ClientOptions<typeof areas>> = {}): Promise<GrandstandError> {
    const client = createClient({ url, areas, timer, credentials: apiKey("key", "secret"), ...options });
    const error = await client.leaderboards.listHiddenUsers({ projectId: "p" }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof GrandstandError, String(error));
    return error;
  }
  const facts = ({ code, status, retryable }: GrandstandError) => [code, status, retryable, requests.length];

  it("answers HTML", async () => {
    for (const [status, attempts] of [
      [200, 1],
      [403, 1],
      [502, 4],
    ] as const) {
      requests = [];
      respond = (_, response) =>
        response.writeHead(status, { "content-type": "text/html" }).end("<h1>Hello</h1>");
      assert.deepEqual(facts(await ask()), ["bad_answer", status, status === 502, attempts]);
    }
  });

  it("answers JSON that is none of this API's", async () => {
    for (const body of [
      '"text"',
      "7",
      "null",
      "[]",
      '{"error":"no"}',
      '{"data":null,"errors":7}',
      '{"errors":[null]}',
    ]) {
      requests = [];
      respond = (_, response) => response.writeHead(400, json).end(body);
      assert.deepEqual(facts(await ask()), ["bad_answer", 400, false, 1], body);
    }
  });

  it("says 200 and means an error", async () => {
    for (const body of [
      { errors: [{ code: "forbidden", detail: "no", status: "403" }] },
      { result: 0, message: "no", data: { code: "forbidden", retryable: false, action: "none" } },
    ]) {
      requests = [];
      respond = (_, response) => response.writeHead(200, json).end(JSON.stringify(body));
      const error = await ask();
      assert.deepEqual(facts(error), ["forbidden", 200, false, 1]);
      assert.equal(error.message, "no");
    }
  });

  it("cuts the body off", async () => {
    respond = (_, response) => {
      response.writeHead(200, { ...json, "content-length": "100" }).write('{"data":[');
      setImmediate(() => response.destroy());
    };
    assert.deepEqual(facts(await ask()), ["network", 0, true, 4]);
    requests = [];
    respond = (_, response) => response.writeHead(200, json).end('{"data":[');
    assert.deepEqual(facts(await ask()), ["bad_answer", 200, false, 1]);
  });

  it("closes the connection, or is not there", async () => {
    respond = request => request.socket.destroy();
    assert.deepEqual(facts(await ask()), ["network", 0, true, 4]);
    requests = [];
    server.close();
    server.closeAllConnections();
    assert.deepEqual(facts(await ask()), ["network", 0, true, 0]);
  });

  it("never answers, or stops within an answer", async () => {
    for (const begin of [false, true]) {
      requests = [];
      const time = createManualTimer();
      respond = (_, response) => void (begin && response.writeHead(200, json).write('{"data":['));
      const failed = ask({ timer: time.timer, timeoutMs: 20_000, attemptsMax: 2, random: () => 0 });
      for (let attempt = 1; attempt <= 2; attempt++) {
        while (requests.length < attempt) {
          await settle();
          await time.advance(1);
        }
        await time.advance(20_000);
      }
      assert.deepEqual(facts(await failed), ["timeout", 0, true, 2]);
      assert.deepEqual(time.waiting, []);
    }
  });

  it("redirects elsewhere gets no credentials there", async t => {
    let strangers = 0;
    const stranger = createServer((_, response) => {
      strangers += 1;
      response.writeHead(200, json).end('{"data":[]}');
    });
    await once(stranger.listen(0, "127.0.0.1"), "listening");
    t.after(() => stranger.close());
    const location = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`;
    for (const status of [301, 302, 303, 307, 308]) {
      requests = [];
      respond = (_, response) => response.writeHead(status, { location }).end();
      assert.deepEqual(facts(await ask()), ["bad_answer", status, false, 1]);
    }
    assert.equal(strangers, 0);
  });

  it("links a list to another server, or to itself", async () => {
    const client = createClient({ url, areas, timer });
    const pages = client.leaderboards.listProjectLeaderboard(board) as unknown as AsyncIterable<unknown>;
    const read = async (list: AsyncIterable<unknown>) => {
      for await (const _ of list);
    };
    respond = (request, response) => {
      const links = request.url?.includes("cursor")
        ? {}
        : { next: "https://stranger.example/steal?page%5Bcursor%5D=2" };
      response.writeHead(200, json).end(JSON.stringify({ data: [1], links }));
    };
    await read(pages);
    assert.deepEqual(
      requests.map(request => request.url),
      ["/projects/p/leaderboards/overall", "/projects/p/leaderboards/overall?page%5Bcursor%5D=2"],
    );
    respond = (_, response) => {
      response
        .writeHead(requests.length < 10 ? 200 : 400, json)
        .end('{"data":[1],"links":{"next":"/?page=2"}}');
    };
    await assert.rejects(
      read(client.leaderboards.listProjectLeaderboard(board) as unknown as AsyncIterable<unknown>),
      { code: "bad_answer" },
    );
    assert.ok(requests.length < 10);
  });

  it("sends without an end", async () => {
    const chunk = "x".repeat(1_024 * 1_024);
    let sent = 0;
    respond = (_, response) => {
      response.writeHead(200, json);
      const more = (): void => {
        if (response.destroyed) return;
        if (sent > 200) return void response.end();
        sent += 1;
        response.write(chunk, more);
      };
      more();
    };
    assert.deepEqual(facts(await ask()), ["bad_answer", 200, false, 1]);
    assert.ok(sent < 100, `${sent} MiB`);
  });

  it("asks for a pause by the date of a wrong clock", async () => {
    const date = "Tue, 01 Jan 2030 00:00:00 GMT";
    const after = "Tue, 01 Jan 2030 00:01:30 GMT";
    respond = (_, response) =>
      response.writeHead(429, { ...json, date, "retry-after": after }).end('{"code":"rate_limited"}');
    const error = await ask();
    assert.deepEqual([error.retryAfterMs, ...facts(error)], [90_000, "rate_limited", 429, true, 1]);
  });
});
