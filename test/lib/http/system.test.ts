import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { bucketBounds, Metrics } from "../../../lib/base/metrics/mod.ts";
import { createHandler, createJsonLogger, type LogLevel, type Reply } from "../../../lib/http/mod.ts";
import { bodyOf, call, handlerOf, keptLog, throwing, withJson } from "./kit.ts";

describe("health", () => {
  it("is reported by every handler, also one without areas", async () => {
    const answer = await call(createHandler([]), "/healthz");
    assert.equal(answer.status, 200);
    assert.deepEqual(await bodyOf(answer), { status: "ok" });
  });

  it("is ready while the store answers", async () => {
    let asked = 0;
    const ready = async (): Promise<readonly []> => {
      asked++;
      return [];
    };
    assert.equal((await call(handlerOf([], { ready }), "/readyz")).status, 200);
    assert.equal(asked, 1);
  });

  it("is 503 with Retry-After when it does not, without saying why", async () => {
    const logger = keptLog();
    const ready = (): Promise<never> => Promise.reject(new Error("redis at 10.0.0.7 refused"));
    const answer = await call(handlerOf([], { ready, logger }), "/readyz");
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get("retry-after"), "1");
    const body = await bodyOf(answer);
    assert.equal(body.code, "storage_unavailable");
    assert.doesNotMatch(JSON.stringify(body), /10\.0\.0\.7/);
    assert.match(String(logger.lines[0]?.fields.error), /10\.0\.0\.7/);
  });
});

describe("the type of a problem", () => {
  it("is a URL that explains its code", async () => {
    const handler = handlerOf([{ handle: throwing(new AppError("out_of_stock", "Gone")) }]);
    const { type } = await bodyOf(await call(handler, "/things"));
    assert.equal(type, "/problems/out_of_stock");
    const answer = await call(handler, String(type));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("cache-control"), "public, max-age=300");
    assert.deepEqual(await bodyOf(answer), {
      code: "out_of_stock",
      status: 400,
      title: "Out of stock",
      retryable: false,
    });
    for (const code of ["unknown", "constructor", "__proto__"]) {
      assert.equal((await call(handler, `/problems/${code}`)).status, 404);
    }
  });
});

describe("metrics", () => {
  it("are absent unless enabled", async () => {
    assert.equal((await call(handlerOf([{}]), "/metrics")).status, 404);
  });

  it("count requests by method, route and status, with durations in seconds", async () => {
    let now = 0;
    const clock = (): number => now;
    const slow = {
      path: "/slow",
      operation: "slow",
      handle: () => {
        now += 30;
        return { status: 200 };
      },
    } as const;
    const handler = handlerOf([slow], { metrics: new Metrics(), servesMetrics: true, clock });
    await call(handler, "/slow");
    await call(handler, "/slow", { method: "HEAD" });
    await call(handler, "/nothing");
    const answer = await call(handler, "/metrics");
    assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const lines = (await answer.text()).split("\n");
    const name = "http_server_request_duration_seconds";
    const labels = 'http_request_method="GET",http_route="/slow",http_response_status_code="200"';
    for (const line of [
      `# TYPE ${name} histogram`,
      `${name}_bucket{${labels},le="0.025"} 0`,
      `${name}_bucket{${labels},le="0.05"} 2`,
      `${name}_bucket{${labels},le="10"} 2`,
      `${name}_bucket{${labels},le="+Inf"} 2`,
      `${name}_sum{${labels}} 0.06`,
      `${name}_count{${labels}} 2`,
      `${name}_count{http_request_method="_OTHER",http_response_status_code="404"} 1`,
      "# TYPE http_server_active_requests gauge",
      "http_server_active_requests 1",
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it("put a duration on a bound below it, and one beyond all bounds in +Inf", async () => {
    const durations = [1, 10_000, 10_001];
    let now = 0;
    const handle = () => {
      now += durations.shift() ?? 0;
      return { status: 200 };
    };
    const handler = handlerOf([{ operation: "edge", handle }], {
      metrics: new Metrics(),
      servesMetrics: true,
      clock: () => now,
    });
    for (let n = 0; n < 3; n++) await call(handler, "/things");
    const text = await (await call(handler, "/metrics")).text();
    assert.match(text, /http_route="\/things",http_response_status_code="200",le="0.001"} 1\n/);
    assert.match(text, /le="10"} 2\n/);
    assert.match(text, /le="\+Inf"} 3\n/);
    assert.deepEqual(
      [...bucketBounds].sort((a, b) => a - b),
      bucketBounds,
    );
  });
});

describe("the access log", () => {
  it("has a line per request with the route's pattern instead of the path", async () => {
    const logger = keptLog();
    let now = 0;
    const handle = () => {
      now += 12.3456;
      return { status: 200 };
    };
    const handler = handlerOf([{ path: "/things/:id", handle }], { logger, clock: () => now });
    const headers = { authorization: "Bearer hunter2", "x-api-secret": "hunter2" };
    await call(handler, "/things/hunter2?token=hunter2", { headers });
    assert.deepEqual(logger.lines, [
      {
        level: "info",
        event: "request",
        fields: {
          requestId: "request-1",
          method: "GET",
          route: "/things/:id",
          operation: "getXthingsXXid",
          status: 200,
          ms: 12.346,
        },
      },
    ]);
  });

  it("says nothing of paths that no route has, or of bodies", async () => {
    const logger = keptLog();
    const handler = handlerOf([{}], { logger });
    await call(handler, "/hunter2?hunter2", withJson({ password: "hunter2" }));
    assert.equal(logger.lines[0]?.fields.route, null);
    assert.equal(logger.lines[0]?.fields.status, 404);
    assert.doesNotMatch(JSON.stringify(logger.lines), /hunter2/);
  });

  it("does not even read the clock when the level filters it", async () => {
    let looks = 0;
    const written: string[] = [];
    const logger = createJsonLogger({ write: line => written.push(line), level: "warn" });
    const handler = handlerOf([{}], { logger, clock: () => ++looks });
    await call(handler, "/things");
    assert.equal(looks, 0);
    assert.deepEqual(written, []);
  });

  it("contains unexpected failures with the stack and the causes, at any level", async () => {
    const logger = keptLog();
    const error = new Error("outer", { cause: new TypeError("inner") });
    await call(handlerOf([{ operation: "fail", handle: throwing(error) }], { logger }), "/things");
    const [line] = logger.lines;
    assert.equal(line?.level, "error");
    assert.equal(line?.fields.requestId, "request-1");
    assert.equal(line?.fields.operation, "fail");
    assert.equal(line?.fields.error, "Error: outer; caused by TypeError: inner");
    assert.match(String(line?.fields.stack), /^ {4}at .*\.test\.(?:ts|mjs)/);
  });

  it("does not quote the text of a SyntaxError, follow endless causes or log a client's mistakes", async () => {
    const logger = keptLog();
    const parse = (): Reply => JSON.parse('{"password":hunter2}');
    await call(handlerOf([{ handle: parse }], { logger }), "/things");
    assert.equal(logger.lines[0]?.fields.error, "SyntaxError");
    assert.doesNotMatch(JSON.stringify(logger.lines), /hunter2/);
    logger.lines.length = 0;
    const endless = new Error("again");
    endless.cause = endless;
    await call(handlerOf([{ handle: throwing(endless) }], { logger }), "/things");
    assert.equal(String(logger.lines[0]?.fields.error).split("caused by").length, 4);
    logger.lines.length = 0;
    await call(handlerOf([], { logger }), "/nothing");
    assert.deepEqual(
      logger.lines.map(({ event }) => event),
      ["request"],
    );
  });
});

describe("the JSON logger", () => {
  function lines(level: LogLevel): { logger: ReturnType<typeof createJsonLogger>; written: string[] } {
    const written: string[] = [];
    return {
      written,
      logger: createJsonLogger({ write: line => written.push(line), level, clock: () => 1_700_000_000_000 }),
    };
  }

  it("writes one line per event, whatever the values hold", () => {
    const { logger, written } = lines("debug");
    logger.log("warn", "odd", { a: "two\nlines\r\n", n: 1.5, no: null, gone: undefined, yes: true });
    assert.deepEqual(written, [
      '{"time":"2023-11-14T22:13:20.000Z","level":"warn","event":"odd","a":"two\\nlines\\r\\n","n":1.5,"no":null,"yes":true}\n',
    ]);
  });

  it("writes three equal warnings a minute, counts the others, and tells their number with the next line", () => {
    const written: string[] = [];
    let now = 1_700_000_000_000;
    const logger = createJsonLogger({ write: line => written.push(line), clock: () => now });
    for (let time = 0; time < 64; time++) {
      logger.log("warn", "actions_not_taken", { topic: "actions:0", error: "READONLY" });
      logger.log("warn", "actions_not_taken", { topic: "actions:1", error: "READONLY" });
      logger.log("info", "request", { status: 200 });
    }
    now += 60_000;
    logger.log("error", "store_replaced", {});
    logger.log("warn", "actions_not_taken", { topic: "actions:0", error: "READONLY" });
    const warnings = written.map(line => JSON.parse(line)).filter(({ event }) => event !== "request");
    assert.equal(written.length - warnings.length, 64);
    assert.equal(warnings.length, 6 + 4);
    assert.deepEqual(
      warnings.slice(6).map(({ event, topic, repeated }) => [event, topic, repeated]),
      [
        ["actions_not_taken", "actions:0", 61],
        ["actions_not_taken", "actions:1", 61],
        ["store_replaced", undefined, undefined],
        ["actions_not_taken", "actions:0", undefined],
      ],
    );
  });

  it("counts no more than 256 different lines, and writes the others each time", () => {
    const { logger, written } = lines("warn");
    for (let round = 0; round < 4; round++) {
      for (let n = 0; n < 300; n++) logger.log("warn", "failed", { n });
    }
    assert.equal(written.length, 3 * 256 + 4 * 44);
  });

  it("writes its level and what is more severe", () => {
    const { logger, written } = lines("warn");
    for (const level of ["debug", "info", "warn", "error"] as const) {
      assert.equal(logger.enabled(level), level === "warn" || level === "error");
      logger.log(level, level, {});
    }
    assert.deepEqual(
      written.map(line => JSON.parse(line).event),
      ["warn", "error"],
    );
  });
});
