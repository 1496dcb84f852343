/** The command line on a terminal: `script` of util-linux gives it a pseudo-terminal. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { parseRecording } from "../../lib/workflow/dialogue/mod.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const built = runtimes.find(({ skip }) => skip === false);
const hasScript = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux");
const skip = hasScript ? false : "script of util-linux is not installed";
const folder = mkdtempSync(join(tmpdir(), "grandstand-terminal-"));
const memberOf = (id: string) => ({
  type: "scope_roles",
  id,
  attributes: { role: "viewer", email: "sam@example.com" },
});

/** More than a pipe holds. */
const rowCount = 600;

const button = { type: "button", label: "Import", action_id: "import" };
const form = {
  blocks: [
    { type: "text", text: "Into <strong>Final</strong>" },
    { type: "input", input_type: "text", label: "Name", name: "name" },
    { type: "input", input_type: "file", label: "Questions", name: "csv" },
  ],
  actions: [button],
};

/** A backend: a form, polls of its task, two unless its name is endless, and what was entered. A slow or endless one can be stopped. */
async function answerDialogue(request: IncomingMessage): Promise<string> {
  const { action, inputs, taskId, payload } = JSON.parse(await text(request)) as {
    readonly action?: string;
    readonly inputs?: { readonly name: string; readonly csv: string };
    readonly taskId?: string;
    readonly payload?: { readonly said: string; readonly polls: number };
  };
  if (action === undefined && taskId === undefined) return JSON.stringify(form);
  if (action === "stop") return JSON.stringify({ blocks: [{ type: "text", text: "Stopped" }] });
  const said = payload?.said ?? `${inputs?.name}: ${atob(inputs?.csv ?? "")}`;
  const pollsMax = said.startsWith("endless") ? 1 : 2;
  const polls = Math.min((payload?.polls ?? -1) + 1, pollsMax);
  if (polls === 2) return JSON.stringify({ blocks: [{ type: "alert", severity: "success", text: said }] });
  const task = { id: "t", state: "running", progress: polls * 50, pollIntervalMs: 500 };
  const actions = /^(?:slow|endless)/.test(said)
    ? [{ type: "button", label: "Stop", action_id: "stop" }]
    : [];
  return JSON.stringify({
    blocks: [{ type: "loader", text: "Importing" }],
    actions,
    task,
    payload: { said, polls },
  });
}

interface Outcome {
  readonly code: unknown;
  /** Everything that the terminal showed. */
  readonly shown: string;
}

describe("the command line on a terminal", { skip, concurrency: true, timeout: 180_000 }, () => {
  let server: Server;
  let environment: Record<string, string>;
  let removed = 0;
  let isAsked: (value: unknown) => void;
  const asked = new Promise(resolve => {
    isAsked = resolve;
  });

  before(async () => {
    server = createServer((request, response) => {
      const path = request.url ?? "";
      if (request.method === "DELETE" && path.endsWith("/r1")) removed += 1;
      if (path.includes("/organisations/silent/")) return isAsked(null);
      if (path === "/backend") return void answerDialogue(request).then(answer => response.end(answer));
      response.setHeader("content-type", "application/vnd.api+json");
      const rows = Array.from({ length: rowCount }, (_, index) => ({
        type: "organisations",
        id: `o${index}`,
        attributes: { name: `Club ${index} ${"é".repeat(200)}` },
      }));
      const me = {
        type: "users",
        id: "u1",
        attributes: { name: "Sam", email: "sam@example.com", system_role: "user" },
      };
      const data = path.includes("/my_role")
        ? { type: "scope_roles", id: "o1", attributes: { role: "admin" } }
        : path.includes("/access_tokens")
          ? { type: "access_tokens", id: "t1", attributes: { token: "gst_3_short" } }
          : path.includes("/me")
            ? me
            : path.includes("/roles")
              ? [memberOf(path.includes("/s1/") ? "r1" : "r2")]
              : rows;
      response.end(request.method === "DELETE" ? undefined : JSON.stringify({ data, links: { next: null } }));
    });
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    environment = {
      GRANDSTAND_CONTROL_URL: `http://127.0.0.1:${address.port}`,
      GRANDSTAND_CONFIG: join(folder, "config", "config.json"),
      GRANDSTAND_TOKEN: "gst_1_secret",
      GRANDSTAND_SPACE: "s1",
      CI: "",
      TERM: "xterm",
    };
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });

  /** Runs a line of the shell, in which `grandstand` is the command, and types keys when a text appears. */
  async function onTerminal(
    line: string,
    typed: readonly (readonly [after: RegExp | Promise<unknown>, keys: string])[] = [],
    more: Record<string, string> = {},
  ): Promise<Outcome> {
    assert.ok(built !== undefined);
    const define = `grandstand() { ${cliCommand(built)
      .map(word => `'${word}'`)
      .join(" ")} "$@"; }`;
    const shell = `stty cols 60; set -o pipefail; ${define}; ${line}`;
    const command = `exec bash -c '${shell.replaceAll("'", `'\\''`)}'`;
    const program = start(["script", "-qefc", command, "/dev/null"], { ...environment, ...more });
    for (const [text, keys] of typed) {
      await (text instanceof Promise ? text : program.match(text));
      program.stdin.write(keys);
    }
    return { code: await program.ended, shown: program.stdout() };
  }

  const remove = "grandstand members remove space s1 sam@example.com";
  const question = /\[y\/N\] /;

  it("asks before a change, and takes no answer but yes for one", async () => {
    for (const [keys, code] of [
      ["n\r", 10],
      ["\r", 10],
      ["\u0004", 10],
      ["\u0003", 130],
    ] as const) {
      const outcome = await onTerminal(remove, [[question, keys]]);
      assert.equal(outcome.code, code, outcome.shown);
      assert.match(outcome.shown, code === 10 ? /Declined/ : /Interrupted/);
    }
    assert.equal(removed, 0);
    const outcome = await onTerminal(remove, [[question, "y\r"]]);
    assert.deepEqual([outcome.code, removed], [0, 1], outcome.shown);
  });

  it("asks on the terminal while its output goes to a file", async () => {
    const file = join(folder, "out.json");
    const { code, shown } = await onTerminal(`${remove.replace("s1", "s2")} --json > ${file}`, [
      [question, "y\r"],
    ]);
    assert.equal(code, 0, shown);
    assert.ok("data" in JSON.parse(readFileSync(file, "utf8")));
  });

  it("never asks with CI, GRANDSTAND_NO_INPUT or --no-input, nor where stdin is no terminal", async () => {
    for (const [line, more] of [
      [remove, { CI: "1" }],
      [remove, { GRANDSTAND_NO_INPUT: "1" }],
      [`${remove} --no-input`, {}],
      [`${remove} < /dev/null`, {}],
    ] as const) {
      const { code, shown } = await onTerminal(line, [], more);
      assert.equal(code, 2, shown);
      assert.match(shown, /nobody can be asked here[\s\S]*--yes/);
    }
  });

  it("hides a token that is typed, and keeps it readable by its owner only", async () => {
    const line = "grandstand login --token-stdin --profile typed";
    const { code, shown } = await onTerminal(line, [[/Token: /, "gst_2_hidden\r"]]);
    assert.equal(code, 0, shown);
    assert.doesNotMatch(shown, /hidden/);
    const file = join(folder, "config", "tokens", "typed");
    assert.equal(readFileSync(file, "utf8"), "gst_2_hidden\n");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const ended = await onTerminal(line, [[/Token: /, "\u0003"]]);
    assert.equal(ended.code, 130, ended.shown);
  });

  it("fits a table to the terminal, in one colour with NO_COLOR", async () => {
    const { code, shown } = await onTerminal("grandstand orgs list");
    assert.equal(code, 0);
    const lines = shown.split("\r\n");
    assert.match(lines[0] ?? "", /^ID +NAME +ROLE +DEFAULT$/);
    assert.match(lines[1] ?? "", /^o0 +Club 0 é+… +none/);
    assert.ok(lines.every(line => line.length <= 60));
    const colours = await onTerminal("grandstand orgs list", [], { NO_COLOR: "" });
    assert.ok(colours.shown.startsWith("\u001b[1mID"));
  });

  it("ends well where a reader takes no more, or stdout is closed", async () => {
    const piped = await onTerminal("grandstand orgs list | head -n 1");
    assert.equal(piped.code, 0, piped.shown);
    assert.equal(piped.shown.trimEnd().split("\n").length, 1);
    const closed = await onTerminal("grandstand orgs list --json >&-");
    assert.doesNotMatch(closed.shown, /at .*\.js:\d/);
    const file = join(folder, "whole.json");
    const unheard = await onTerminal(`grandstand orgs list --json --verbose 2>&1 > ${file} | true`);
    assert.equal(unheard.code, 0, unheard.shown);
    assert.equal(JSON.parse(readFileSync(file, "utf8")).data.length, rowCount);
  });

  it("ends a request at Ctrl-C", async () => {
    const { code, shown } = await onTerminal("grandstand spaces list --org silent", [[asked, "\u0003"]]);
    assert.equal(code, 130, shown);
    assert.match(shown, /Interrupted/);
  });

  it("runs a workflow: asks for inputs and buttons, shows progress in one line, and closes at Ctrl-C and at the end of the input", async () => {
    const line = "grandstand workflow run $GRANDSTAND_CONTROL_URL/backend --org o1";
    const file = join(folder, "questions.csv");
    writeFileSync(file, "q1,q2");
    const { code, shown } = await onTerminal(
      line,
      [
        [/Name: $/, "Round 1\r"],
        [/Questions \(path\): $/, "none.csv\r"],
        [/none\.csv[\s\S]*Questions \(path\): $/, `${file}\r`],
        [/1 {2}Import[\s\S]*close: $/, "1\r"],
      ],
      { NO_COLOR: "" },
    );
    assert.equal(code, 0, shown);
    assert.ok(shown.includes("Into \u001b[1mFinal\u001b[0m"), shown);
    assert.ok(shown.includes("\r\u001b[K[50 %: Importing]"), shown);
    assert.match(shown, /Success: Round 1: q1,q2/);
    for (const [keys, expected] of [
      ["\u0003", 130],
      ["\u0004", 10],
    ] as const) {
      const closed = await onTerminal(line, [[/Name: $/, keys]]);
      assert.equal(closed.code, expected, closed.shown);
    }
  });

  it("offers the actions of a running task, with what is typed kept while it goes on", async () => {
    const line = "grandstand workflow run $GRANDSTAND_CONTROL_URL/backend --org o1";
    const begin = (name: string): NonNullable<Parameters<typeof onTerminal>[1]> => [
      [/Name: $/, `${name}\r`],
      [/Questions \(path\): $/, "\r"],
      [/1 {2}Import[\s\S]*close: $/, "1\r"],
    ];
    const [stopped, alone] = await Promise.all([
      onTerminal(line, [
        ...begin("endlesX\u007fs"),
        [/1 {2}Stop\r\nPress 1, or q to close: $/, "1"],
        [/\[50 %: Importing\] Press 1, or q to close: 1/, "\r"],
      ]),
      onTerminal(line, begin("slowly")),
    ]);
    assert.equal(stopped.code, 0, stopped.shown);
    assert.match(stopped.shown, /Stopped/);
    // A key that takes a character back keeps the question.
    assert.doesNotMatch(stopped.shown, /> endles/);
    assert.equal(alone.code, 0, alone.shown);
    assert.match(alone.shown, /\r\p{Cc}\[K(?:\p{Cc}\[\w+)*\r?\n?Success: slowly: /u);
  });

  it("writes the record of a dialogue that Ctrl-C ends, with all up to there", async () => {
    const file = join(folder, "dialogue.json");
    const { code, shown } = await onTerminal(
      `grandstand workflow run $GRANDSTAND_CONTROL_URL/backend --org o1 --record ${file}`,
      [
        [/Name: $/, "endless\r"],
        [/Questions \(path\): $/, "\r"],
        [/1 {2}Import[\s\S]*close: $/, "1\r"],
        [/1 {2}Stop\r\nPress 1, or q to close: $/, "\u0003"],
      ],
    );
    assert.equal(code, 130, shown);
    const { events } = parseRecording(readFileSync(file, "utf8"));
    const types = events.map(({ type }) => type).filter(type => type !== "timer");
    // A slow machine polls once more.
    const changes = types.filter((type, index) => type !== types[index - 1]);
    assert.deepEqual(changes, ["open", "answered", "input", "press", "answered", "close"]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("says that a file with profiles may be read by others", async () => {
    const file = join(folder, "shared.json");
    writeFileSync(file, '{"version": 1, "profiles": {}}', { mode: 0o644 });
    const { code, shown } = await onTerminal("grandstand config list", [], { GRANDSTAND_CONFIG: file });
    assert.equal(code, 0, shown);
    assert.match(shown, /may be read by others: chmod 600/);
  });
});
