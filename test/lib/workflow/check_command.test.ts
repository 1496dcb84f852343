/** `grandstand workflow check`, and the backend of its guide. */

import assert from "node:assert/strict";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import type { CliHost } from "../../../lib/cli/mod.ts";
import type { Handler } from "../../../lib/http/mod.ts";
import { publicUrlDefault } from "../../../lib/platform/options.ts";
import { type CheckOutcome, conformanceChecks } from "../../../lib/workflow/conformance/mod.ts";
import { host } from "../../../runtime/commands/host.ts";
import { textOf } from "../../repo/files.ts";
import { ids, openPlatform } from "../../support/platform.ts";
import { runCli } from "../../support/terminal.ts";
import { type BackendFault, openBackend } from "./_faulty_backend.ts";

const guide = textOf("lib/workflow/conformance/README.md");
const memoryStore: CliHost["memoryStore"] = async () => createMemoryStore();
const resultsOf = (checks: readonly CheckOutcome[], result: string): readonly string[] =>
  checks.filter(check => check.result === result).map(({ id }) => id);

/** Runs the command against a backend in memory; nothing listens on a port. */
async function check(line: string, fault?: BackendFault) {
  const handlers: Handler[] = [];
  const urls = ["http://control.example", "http://foreign.example"];
  const { fetch } = openBackend({
    control: "http://control.example",
    expiredToken: "",
    fetch: async request => {
      const index = urls.indexOf(new URL(request.url).origin);
      return (await handlers[index]?.(request, {})) ?? new Response(null, { status: 502 });
    },
    fault,
  });
  const serve: CliHost["serve"] = async (_, handler) => {
    handlers.push(handler);
    return { url: urls[handlers.length - 1] ?? "", stop: async () => true };
  };
  return await runCli(`workflow check http://127.0.0.1:3000 ${line}`, {
    fetch,
    files: new Map([["logo.txt", "no image"]]),
    host: { serve, memoryStore },
  });
}

describe("workflow check", () => {
  it("passes the backend of the guide in all that is mandatory, over ports of this machine", async t => {
    const [, code = ""] = /^```js\n([\s\S]*?)^```/m.exec(guide) ?? [];
    const lines = code.trimEnd().split("\n").length;
    assert.ok(lines <= 30, `${lines}`);
    let handler: Handler = async () => new Response(null, { status: 503 });
    const own = await host.serve(0, (...call) => handler(...call));
    const settled = code
      .replace("= process.env;", `= { CONTROL: "${own.url}" };`)
      .replace("process.env.PORT", "0");
    const module = settled.replace("\ncreateServer(", "\nexport const server = createServer(");
    const { server } = (await import(`data:text/javascript,${encodeURIComponent(module)}`)) as {
      server: Server;
    };
    t.after(() => server.close());
    const serve: CliHost["serve"] = async (port, given) => {
      if (port === 0) return await host.serve(0, given);
      handler = given;
      return own;
    };
    const { port } = server.address() as AddressInfo;
    const { code: exit, json } = await runCli(`workflow check http://127.0.0.1:${port} --json`, {
      fetch: request => fetch(request),
      host: { serve, memoryStore },
    });
    const checks: readonly CheckOutcome[] = json.data;
    const recommended = ["transport.size", "transport.media_type", "authentication.challenge"];
    assert.deepEqual([exit, resultsOf(checks, "fail")], [0, recommended]);
    // It has one action, no payload, no files and no tasks.
    const skipped = resultsOf(checks, "skip");
    assert.deepEqual(
      skipped.filter(id => !/^(payload|inputs|task)\.|^(action.older|answers.rising)$/.test(id)),
      [],
    );
    assert.equal(checks.length, conformanceChecks.length);
  });

  it("fails with a hint for each fault", async () => {
    const { code, stdout, stderr } = await check(
      "--check action.twice --check action.repeated",
      "doubles a repeated press",
    );
    assert.equal(code, 1);
    assert.match(stdout, /^fail\tmandatory\taction\.twice\tthe second press: /m);
    assert.match(stderr, /^action\.twice: Put an id of the view into the payload/m);
    assert.match(stderr, /^0 passed, 2 failed, 0 skipped$/m);
  });

  it("passes with failed recommendations, which TAP has as things to do", async () => {
    const only =
      "--check authentication.missing --check authentication.challenge --check authentication.expired";
    const { code, stdout } = await check(`${only} --tap`, "sends no challenge");
    const lines = stdout.trimEnd().split("\n");
    assert.deepEqual(lines.slice(0, 5), [
      "TAP version 14",
      "1..3",
      "ok 1 - authentication.missing: A request without a bearer is 401",
      "ok 2 - authentication.expired: An expired bearer is 401",
      "not ok 3 - authentication.challenge: 401 has a WWW-Authenticate header # todo recommended",
    ]);
    assert.deepEqual([lines[5], lines.at(-1), code], ["  ---", "  ...", 0]);
    assert.deepEqual(Object.keys(parse(lines.slice(6, -1).join("\n"))), ["level", "detail", "hint"]);
  });

  it("presses the action and fills in the inputs that it is given", async () => {
    const given = await check("--check dialogue.press --press skip --input logo=@logo.txt --json");
    assert.deepEqual([given.code, resultsOf(given.json.data, "pass")], [0, ["dialogue.press"]]);
    // The image is none, so that the first press is answered with a warning and begins no task.
    const skipped = await check("--check task.poll --input logo=@logo.txt --tap");
    assert.match(skipped.stdout, /^ok 1 - task\.poll: .* # SKIP the first action begins no task$/m);
  });

  it("checks on the platform of the profile, with tokens of dialogues", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const { authors } = world.platform;
    const tokenOf = async (email: string, operator: boolean): Promise<string> => {
      const { id: userId } = await authors.findOrCreate(email, { operator });
      return (await authors.createToken({ userId, name: "Own" })).token;
    };
    const token = await tokenOf("op@example.com", true);
    const GRANDSTAND_OTHER_TOKEN = await tokenOf("other@example.com", true);
    const bearers = new Set<string | null>();
    const backend = openBackend({
      control: publicUrlDefault,
      expiredToken: "",
      fetch: request => world.platform.fetch(request, {}),
    });
    const run = async (more: string) =>
      await runCli(`workflow check http://127.0.0.1:3000 --scope event:${ids.event} ${more}`, {
        async fetch(request) {
          if (request.url.startsWith(publicUrlDefault)) return await world.platform.fetch(request, {});
          bearers.add(request.headers.get("authorization"));
          return await backend.fetch(request);
        },
        clock: world.clock.now,
        host: { serve: host.serve },
        variables: {
          GRANDSTAND_CONTROL_URL: publicUrlDefault,
          GRANDSTAND_TOKEN: token,
          GRANDSTAND_OTHER_TOKEN,
        },
      });
    const unasked = await run("");
    assert.deepEqual([unasked.code, unasked.requests.filter(line => !line.startsWith("GET"))], [2, []]);
    const { code, json, stderr } = await run("--yes --json");
    assert.deepEqual([code, resultsOf(json.data, "fail")], [0, []], stderr);
    const alone = [
      "authentication.expired",
      "context.parents",
      "payload.other_context",
      "task.other_context",
    ];
    assert.deepEqual(resultsOf(json.data, "skip"), alone);
    assert.ok(!bearers.has(`Bearer ${token}`) && !bearers.has(`Bearer ${GRANDSTAND_OTHER_TOKEN}`));
    const [bearer = ""] = [...bearers].filter(text => text?.startsWith("Bearer gst_"));
    const minted = await world.call("/api/v2/access_tokens", { headers: { authorization: bearer ?? "" } });
    assert.equal(minted.status, 403, minted.text);
  });

  it("refuses unknown checks, inputs without a name and missing files", async () => {
    const unknown = await check("--check action.twise");
    assert.deepEqual([unknown.code, unknown.stderr.includes("Did you mean action.twice?")], [2, true]);
    assert.equal((await check("--input =x")).code, 2);
    assert.equal((await check("--input csv=@none.csv")).code, 2);
    assert.equal((await check("--port 70000")).code, 2);
    assert.equal((await check("--scope element")).code, 2);
  });

  it("says that a port is taken", async t => {
    const taken = await host.serve(0, async () => new Response());
    t.after(() => taken.stop());
    const line = `workflow check http://127.0.0.1:3000 --port ${new URL(taken.url).port}`;
    const { code, stderr } = await runCli(line, { host: { serve: host.serve, memoryStore } });
    assert.deepEqual([code, /another program has it/.test(stderr)], [7, true]);
  });

  it("asks a backend that does not answer once, and says what refuses the first request", async () => {
    let count = 0;
    const handlers: CliHost["serve"] = async () => ({
      url: "http://control.example",
      stop: async () => true,
    });
    const run = async (fetch: () => Promise<Response>) =>
      await runCli("workflow check http://127.0.0.1:3000 --json", {
        fetch,
        host: { serve: handlers, memoryStore },
      });
    const silent = await run(async () => {
      count += 1;
      throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    });
    assert.deepEqual([silent.code, count, silent.error.code], [9, 1, "unreachable"]);
    const other = await run(async () => new Response("", { status: 403 }));
    const start = other.json.data.find(({ id }: CheckOutcome) => id === "dialogue.start");
    assert.equal(start.detail, "the first request: 403; expected a view");
    assert.match(start.hint, /the control API of the check has to be that of the backend/);
  });

  it("is described check by check in the guide", () => {
    const plain = guide.replaceAll(/ {2,}/g, " ");
    const rows = conformanceChecks.map(({ id, title, level }) => `| \`${id}\` | ${title} | ${level} |`);
    assert.deepEqual(
      rows.filter(row => !plain.includes(row)),
      [],
    );
  });
});
