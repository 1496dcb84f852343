import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createApiClient } from "../../../lib/cli/api_client.ts";
import { commands } from "../../../lib/cli/keys.ts";
import { type CliContext, CliError, type CliInput, exits } from "../../../lib/cli/mod.ts";
import { cliContext } from "../../support/terminal.ts";

const platformUrl = "https://fans.example/";
const flags = { space: "0B000000-0000-4000-8000-000000000001", key: "gsk_1" };

function context(
  answer: (request: Request) => Response | Promise<Response>,
  pauses: number[] = [],
  controlUrl = platformUrl,
): CliContext {
  return cliContext({
    controlUrl,
    pause: ms => {
      pauses.push(ms);
      return Promise.resolve();
    },
    fetch: async request => await answer(request),
    timeLimit: ms => (ms === 30_000 ? AbortSignal.abort(new Error("late")) : new AbortController().signal),
    secret: "gss_1",
  });
}

const input = (more: Readonly<Record<string, string>> = {}): CliInput => ({
  args: [],
  flags: { ...flags, ...more },
  lists: {},
});

const failure = async (work: () => Promise<unknown> | unknown): Promise<CliError> => {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof CliError, String(error));
    return error;
  }
  throw new Error("It did not fail");
};

describe("the server of commands", () => {
  it("receives the key and a body as JSON, and is not redirected", async () => {
    const seen: Request[] = [];
    const server = await createApiClient(
      input(),
      context(request => {
        seen.push(request);
        return Response.json({ data: 1 }, { headers: { etag: '"v1"' } });
      }),
    );
    assert.equal(server.space, flags.space.toLowerCase());
    const reply = await server.send("/a", { method: "PUT", body: { b: 1 }, headers: { "if-match": "*" } });
    assert.deepEqual(reply, { status: 200, etag: '"v1"', json: { data: 1 } });
    const [request] = seen;
    assert.ok(request !== undefined);
    assert.equal(request.url, "https://fans.example/a");
    assert.equal(request.redirect, "manual");
    const names = ["x-api-key", "x-api-secret", "content-type", "if-match"];
    assert.deepEqual(
      names.map(name => request.headers.get(name)),
      ["gsk_1", "gss_1", "application/json", "*"],
    );
    assert.equal(await request.text(), '{"b":1}');
    await server.send("/a", { method: "POST", stream: () => new Blob(["file"]).stream() });
    assert.equal(seen[1]?.redirect, "error");
    assert.equal(await seen[1]?.text(), "file");
  });

  it(`is given up after ${30_000} ms`, async () => {
    const server = await createApiClient(
      input(),
      context(({ signal }) => {
        signal.throwIfAborted();
        return Response.json({});
      }),
    );
    const error = await failure(() => server.send("/a"));
    assert.deepEqual(
      [error.exit, error.message],
      [exits.unavailable, "Cannot reach https://fans.example: late"],
    );
  });

  it("receives a few retries while it is out of reach or busy", async () => {
    const pauses: number[] = [];
    const later = (status: number, after?: string) => () =>
      new Response("{}", { status, headers: after === undefined ? {} : { "retry-after": after } });
    const answers = [
      () => {
        throw new TypeError("refused");
      },
      later(503),
      later(429, "3"),
      () => Response.json({ data: 1 }),
    ];
    const asked = await createApiClient(
      input(),
      context(() => (answers.shift() ?? later(500))(), pauses),
    );
    assert.equal((await asked.send("/a", { method: "POST", body: {} })).status, 200);
    assert.deepEqual(pauses, [250 / 2, 250, 3_000]);
    for (const [status, after, expected] of [
      [503, "3600", Array(4 - 1).fill(8_000)],
      [504, "Wed, 21 Oct 2026 07:28:00 GMT", [125, 250, 500]],
      [500, "1", []],
      [412, "1", []],
    ] as const) {
      const waited: number[] = [];
      const client = await createApiClient(input(), context(later(status, after), waited));
      const { options } = await failure(() => client.send("/a"));
      assert.deepEqual([options.status, waited], [status, expected]);
    }
  });

  it("receives a request once if a repetition would take effect twice", async () => {
    for (const command of commands) {
      const [, name = ""] = command.words;
      if (name === "bootstrap") continue;
      let asked = 0;
      const given = {
        args: ["gsk_1"],
        flags: { ...flags, org: "o", name: "x" },
        lists: { permission: ["users:read"] },
      };
      const busy = context(() => {
        asked += 1;
        return new Response("{}", { status: 503 });
      });
      const error = await failure(() => command.run(given, busy));
      assert.deepEqual([error.exit, asked], [exits.unavailable, name === "list" ? 4 : 1], name);
    }
  });

  it("is https, or on this machine", async () => {
    const open = (url: string) =>
      createApiClient(
        input(),
        context(() => Response.json({}), [], url),
      );
    for (const url of [
      "https://a.example",
      "http://127.0.0.1:1",
      "http://localhost/base/",
      "http://[::1]:1",
    ]) {
      assert.ok(await open(url), url);
    }
    assert.equal((await open("http://localhost/base/")).url, "http://localhost/base");
    for (const url of ["http://a.example", "ftp://localhost", "a.example", "", "http://127.0.0.1.example"]) {
      assert.equal((await failure(() => open(url))).exit, exits.usage, url);
    }
  });

  it("reports errors in either form, and an answer without one", async () => {
    const asked = async (status: number, body: unknown) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const client = await createApiClient(
        input(),
        context(() => new Response(text, { status })),
      );
      return await failure(() => client.send("/a"));
    };
    const errors = [
      { code: "validation_failed", detail: "Is wrong", source: { pointer: "/a" } },
      { code: "validation_failed", detail: "Is odd", source: { parameter: "b" } },
    ];
    const many = await asked(400, { errors });
    assert.deepEqual([many.exit, many.options.details], [exits.invalid, ["/a: Is wrong", "b: Is odd"]]);
    const problem = await asked(403, { code: "insufficient_scope", detail: "Lacks it" });
    assert.deepEqual(
      [problem.exit, problem.message, problem.options.code],
      [exits.forbidden, "Lacks it", "insufficient_scope"],
    );
    for (const body of ["<html>", "", "null", "[]"]) {
      const strange = await asked(500, body);
      assert.deepEqual([strange.exit, strange.options.code], [exits.failed, "http_500"], body);
    }
  });
});
