/** `grandstand workflow run` against a platform in memory and backends of every manner. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { CliTerminal } from "../../lib/cli/frame/host.ts";
import { parseRecording, replayRecording, type WorkflowRequest } from "../../lib/workflow/dialogue/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { type Outcome, runCli, type Surroundings } from "../support/terminal.ts";
import { operatorToken } from "./_control_examples.ts";

const url = "http://127.0.0.1";
const backendUrl = "https://backend.example/line-up";
const go = { type: "button", label: "Go", action_id: "go" };
const stop = { type: "button", label: "Stop", action_id: "stop" };
const text = (value: string) => ({ type: "text", text: value });
const input = (input_type: string, name: string) => ({
  type: "input",
  input_type,
  label: `The ${name}`,
  name,
});

interface Asked extends WorkflowRequest {
  readonly key: string | null;
  readonly token: string;
}

describe("workflow run", () => {
  let world: TestPlatform;
  let token: string;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    token = await operatorToken(world);
  });
  after(() => world.dispose());

  /** Runs against a backend that answers requests in order, the last one for ever. */
  async function run(
    line: string | readonly string[],
    answers: readonly (object | Response | ((request: WorkflowRequest) => object | Response))[],
    around: Surroundings = {},
  ): Promise<Outcome & { readonly asked: readonly Asked[] }> {
    const asked: Asked[] = [];
    const words = typeof line === "string" ? line.split(" ").filter(word => word !== "") : line;
    const outcome = await runCli(["workflow", "run", ...words], {
      clock: world.clock.now,
      ...around,
      variables: { GRANDSTAND_TOKEN: token, ...around.variables },
      async fetch(request) {
        if (!request.url.startsWith(backendUrl)) return await world.platform.fetch(request, {});
        const body = (await request.json()) as WorkflowRequest;
        const { headers } = request;
        asked.push({
          ...body,
          key: headers.get("idempotency-key"),
          token: headers.get("authorization") ?? "",
        });
        const answer = answers[Math.min(asked.length, answers.length) - 1];
        const given = typeof answer === "function" ? answer(body) : answer;
        return given instanceof Response ? given.clone() : Response.json(given);
      },
    });
    return Object.assign(outcome, { asked });
  }

  const here = `${backendUrl} --event ${ids.event}`;

  it("sends the context of the scope alone, with a token that is not the person's own", async () => {
    const { code, asked, stdout } = await run(here, [{ blocks: [text("All done")] }]);
    assert.equal(code, 0);
    assert.match(stdout, /All done/);
    const [{ key, token: sent, ...request } = assert.fail()] = asked;
    assert.deepEqual(request, {
      context: {
        baseURL: url,
        organisationId: ids.organisation,
        spaceId: ids.space,
        projectId: ids.project,
        eventId: ids.event,
      },
    });
    assert.match(key ?? "", /^[0-9a-f-]{36}$/);
    assert.notEqual(sent, `Bearer ${token}`);
    const wider = await run(`${backendUrl} --org ${ids.organisation}`, [{ blocks: [] }]);
    assert.deepEqual(wider.asked[0]?.context, { baseURL: url, organisationId: ids.organisation });
  });

  it("presses what the script says, with its inputs, as soon as it is offered", async () => {
    const files = new Map([["questions.csv", "a,b\n"]]);
    const first = {
      blocks: [text("<strong>Import</strong> &amp; go"), input("text", "name"), input("file", "csv")],
      actions: [go],
      payload: { n: 1 },
    };
    const running = {
      blocks: [{ type: "loader", progress: 40 }],
      actions: [stop],
      payload: { n: 2 },
      task: { id: "t", state: "running", progress: 40 },
    };
    const line = `${here} --input name=Sam --input csv=@questions.csv --press go --json`;
    const { code, json, asked } = await run(
      line,
      [first, running, running, { blocks: [text("12 created")], task: { id: "t", state: "completed" } }],
      { files },
    );
    assert.equal(code, 0);
    const [, pressed, polled] = asked;
    assert.deepEqual(
      [pressed?.action, pressed?.inputs, pressed?.payload],
      ["go", { name: "Sam", csv: "YSxiCg==" }, { n: 1 }],
    );
    assert.deepEqual(
      [polled?.action, polled?.inputs, polled?.payload, polled?.taskId],
      [undefined, undefined, { n: 2 }, "t"],
    );
    assert.equal(json.data.outcome, "completed");
    assert.deepEqual(
      json.data.views.map((view: { pressed: string | null }) => view.pressed),
      ["go", null, null],
    );
    const stopped = await run(`${here} --press go --press stop --json`, [
      { ...first, blocks: [] },
      running,
      { blocks: [text("Stopped")] },
    ]);
    assert.deepEqual(
      [stopped.code, stopped.asked.at(-1)?.action, stopped.asked.at(-1)?.taskId],
      [0, "stop", "t"],
    );
  });

  it("says by its exit code how the dialogue ended", async () => {
    const open = { blocks: [text("Sure?")], actions: [go] };
    const failing = { blocks: [], task: { id: "t", state: "failed", error: "Row 3 is empty" } };
    for (const [line, answers, code, said] of [
      [`${here} --press go`, [open, { blocks: [] }], 0, /Done/],
      [`${here} --press go`, [open, failing], 1, /Error: Row 3 is empty/],
      [`${here} --press go`, [open, { ...failing, actions: [go] }], 1, /Error: Row 3 is empty/],
      [`${here} --press go`, [open, new Response("no", { status: 403 })], 1, /role/],
      [`${here} --press go`, [open, new Response("<html>")], 1, /answered wrongly/],
      [`${here} --press go`, [open, { ...failing, actions: [go] }], 1, /Error: Row 3 is empty/],
      [here, [open], 10, /Closed before its end/],
      [`${here} --press stop`, [open], 8, /no action stop: the dialogue offers go/],
      [`${here} --press go --press go`, [open, { blocks: [] }], 8, /ended before go was offered/],
      [
        `${here} --input colour=red --press go`,
        [{ blocks: [input("colour", "colour")], actions: [go] }],
        8,
        /--input colour: Expected a colour/,
      ],
      [`${here} --input name --press go`, [open], 2, /name=value/],
      [`${here} --input csv=@none.csv`, [open], 2, /none\.csv/],
      ["http://backend.example --event x", [open], 2, /https address/],
      [backendUrl, [open], 2, /--event/],
      [`${here} --org ${ids.organisation}`, [open], 2, /takes one of/],
      [`${here} --record -`, [open], 2, /must name a file/],
      [`${here} --input nmae=Sam --press go`, [open, { blocks: [] }], 0, /--input nmae was not entered/],
      [`${backendUrl} --event ${crypto.randomUUID()}`, [open], 6, /./],
    ] as const) {
      const outcome = await run(line, answers);
      assert.equal(outcome.code, code, `${line}\n${outcome.stdout}${outcome.stderr}`);
      assert.match(outcome.stdout + outcome.stderr, said);
    }
  });

  it("runs where the flag says, and otherwise where the profile does", async () => {
    const variables = { GRANDSTAND_ORG: ids.organisation, GRANDSTAND_SPACE: ids.space };
    for (const [line, level] of [
      [`${backendUrl} --org ${ids.organisation}`, "organisationId"],
      [backendUrl, "spaceId"],
      [`${backendUrl} --project ${ids.project}`, "projectId"],
    ] as const) {
      const { asked } = await run(line, [{ blocks: [] }], { variables });
      assert.equal(Object.keys(asked[0]?.context ?? {}).at(-1), level, line);
    }
    const nowhere = await run("quiz", [], { variables });
    assert.deepEqual([nowhere.code, nowhere.asked], [2, []]);
    assert.match(nowhere.stderr, /the id of a workflow, or the address of a backend/);
  });

  it("offers the actions of a task while it runs", async () => {
    const form = { blocks: [input("text", "constructor")], actions: [go] };
    const running = { blocks: [], actions: [stop], task: { id: "t", state: "running" } };
    const stopped = { blocks: [text("Stopped")] };
    const { code, asked, stdout } = await run(here, [form, running, stopped], { answers: ["Sam", "1", "1"] });
    assert.equal(code, 0);
    assert.match(stdout, /Stopped/);
    assert.deepEqual(asked[1]?.inputs, { constructor: "Sam" });
    assert.deepEqual([asked.at(-1)?.action, asked.at(-1)?.taskId], ["stop", "t"]);
    assert.equal((await run(here, [form, running], { answers: ["", "1", "q"] })).code, 10);
  });

  it("takes the question back when a task ends by itself", async () => {
    const running = { blocks: [], actions: [stop], task: { id: "t", state: "running", progress: 40 } };
    const end = { blocks: [text("All done")], task: { id: "t", state: "completed" } };
    const questions: string[] = [];
    const terminal: CliTerminal = {
      isTerminal: { stdin: true, stdout: true, stderr: true },
      width: 100,
      print: async () => {},
      warn() {},
      status() {},
      ask(question, { signal } = {}) {
        questions.push(question);
        return new Promise(resolve => signal?.addEventListener("abort", () => resolve(null)));
      },
    };
    const around = { answers: [], host: { terminal } };
    const { code, asked } = await run(here, [running, running, { ...running, actions: [] }, end], around);
    assert.deepEqual([code, asked.length, questions.length], [0, 4, 1]);
  });

  it("says that a backend is slow, or does not answer", async () => {
    let now = world.clock.now();
    const clock = () => (now += 1_000);
    const answers = [new Response(null, { status: 503 }), { blocks: [] }];
    const pause = (ms: number) =>
      new Promise<void>(resolve => (ms === 1_000 ? resolve() : setImmediate(resolve)));
    const { code, stderr } = await run(here, answers, { clock, isTerminal: true, host: { pause } });
    assert.equal(code, 0);
    assert.match(stderr, /Waiting for the backend\r.*The backend did not answer: trying again\r/s);
  });

  it("repeats a poll that failed and never a press, and renews the token once", async () => {
    const open = { blocks: [], actions: [go] };
    const down = new Response("down", { status: 503 });
    const polls = await run(`${here}`, [
      down,
      { blocks: [], task: { id: "t", state: "running" } },
      down,
      { blocks: [] },
    ]);
    assert.deepEqual([polls.code, polls.asked.length], [0, 4]);
    assert.deepEqual(new Set(polls.asked.map(({ key }) => key)).size, 2);
    const press = await run(`${here} --press go`, [open, down]);
    assert.deepEqual([press.code, press.asked.length], [1, 2]);
    const { code, asked } = await run(`${here} --press go`, [
      open,
      new Response(null, { status: 401 }),
      { blocks: [] },
    ]);
    assert.deepEqual([code, asked[1]?.key], [0, asked[2]?.key]);
    assert.notEqual(asked[1]?.token, asked[2]?.token);
    assert.equal((await run(here, [new Response(null, { status: 401 })])).asked.length, 2);
  });

  it("asks a person for inputs and buttons, and for another try", async () => {
    const files = new Map([["logo.png", "x"]]);
    const form = {
      blocks: [text("Hello"), input("text", "name"), input("image", "logo"), input("colour", "tint")],
      actions: [go, stop],
    };
    const answers = ["Sam", "none.png", "logo.png", "red", "#AABBCC", "7", "1", "y"];
    const { code, asked, stderr, stdout } = await run(
      here,
      [form, new Response(null, { status: 500 }), { blocks: [text("Bye")] }],
      { answers, files },
    );
    assert.equal(code, 0, stderr);
    assert.deepEqual(asked[1]?.inputs, { name: "Sam", logo: "eA==", tint: "#aabbcc" });
    assert.equal(asked[1]?.key, asked[2]?.key);
    assert.match(stderr, /The name: The logo \(path of an image\): .*none\.png/s);
    assert.match(stderr, /Expected a colour/);
    assert.match(stderr, /1 {2}Go\n {2}2 {2}Stop\nPress 1 to 2, or q to close/);
    assert.match(stderr, /Try again\? \[y\/N\]/);
    assert.match(stdout, /Hello\nBye\n/);
    for (const last of [["Sam", "", "", "q"], ["Sam", "", "", undefined], [undefined]])
      assert.equal((await run(here, [form], { answers: last.filter(each => each !== undefined) })).code, 10);
    const refused = [form, new Response(null, { status: 413 }), { blocks: [] }];
    const again = await run(here, refused, { answers: ["Sam", "", "", "1", "Samira", "", "", "1"] });
    assert.deepEqual([again.code, again.asked[2]?.inputs], [0, { name: "Samira" }]);
  });

  it("closes at Ctrl-C and sends nothing more", async () => {
    const interruption = new AbortController();
    const running = { blocks: [], task: { id: "t", state: "running" } };
    const interrupt = () => {
      interruption.abort();
      return running;
    };
    const { code, asked, stderr } = await run(here, [running, interrupt], {
      interruption: interruption.signal,
    });
    assert.deepEqual([code, asked.length], [130, 2], stderr);
  });

  it("shows every block as text that cannot control the terminal", async () => {
    const hostile = "\u001b[31mred\u0007\u202eevil";
    const blocks = [
      { type: "text", text: `<em>${hostile}</em><br>next`, label: hostile },
      { type: "image", url: "https://cdn.example/a.png", alt_text: hostile },
      { type: "image", url: "javascript:alert(1)" },
      { type: "loader", text: hostile, progress: 140 },
      { type: "colour", value: "#0f0", label: "Tint" },
      { type: "alert", text: hostile, title: "T", severity: "warning" },
      input("file", "csv"),
      { type: "map", text: "x" },
    ];
    const actions = [{ ...go, label: hostile }];
    const off = await run(here, [{ blocks, actions }]);
    assert.equal(off.code, 10);
    assert.deepEqual(off.stdout.split("\n"), [
      "[31mredevil: [31mredevil",
      "next",
      "[image: [31mredevil, https://cdn.example/a.png]",
      "[a block that is not known here: image]",
      "Tint: #0f0",
      "Warning: T: [31mredevil",
      "[file input csv: The csv]",
      "[a block that is not known here: map]",
      "",
    ]);
    assert.match(off.stderr, /keeps not to the protocol: \/blocks\/2/);
    const on = await run(here, [{ blocks, actions }], { answers: ["", "q"], variables: { TERM: "xterm" } });
    assert.match(on.stdout, /\p{Cc}\[3m\[31mredevil\p{Cc}\[0m\nnext/u);
    assert.match(on.stdout, /\p{Cc}\[48;2;0;255;0m {2}\p{Cc}\[0m #0f0/u);
    const plain = (on.stdout + on.stderr).replace(/\p{Cc}\[[\d;]*m/gu, "");
    assert.doesNotMatch(plain, /(?![\n\r])[\p{Cc}\u202e]/u);
  });

  it("records what happened, without tokens, so that it plays again", async () => {
    const files = new Map<string, string | Uint8Array>();
    const line = `${here} --press go --record dialogue.json`;
    const answers = [{ blocks: [input("text", "name")], actions: [go] }, { blocks: [text("Bye")] }];
    const first = await run(`${line} --input name=Sam`, answers, { files });
    assert.equal(first.code, 0);
    assert.doesNotMatch(first.stderr, /was not entered/);
    const recorded = String(files.get("dialogue.json"));
    const states = replayRecording(parseRecording(recorded));
    assert.deepEqual(states.map(({ status }) => status).slice(-2), ["ended", "closed"]);
    assert.doesNotMatch(recorded, /gst_|Bearer/);
    assert.equal((await run(line, answers, { files })).code, 7);
    assert.equal(files.get("dialogue.json"), recorded);
    assert.equal((await run(`${line} --force`, answers, { files })).code, 0);
    assert.notEqual(files.get("dialogue.json"), recorded);
  });

  it("is refused by the allow-list of the profile before anything is sent", async () => {
    const config = {
      version: 1,
      profiles: { default: { allow: [{ kind: "space", id: crypto.randomUUID() }] } },
    };
    const { code, asked } = await run(here, [{ blocks: [] }], {
      files: new Map([["config.json", JSON.stringify(config)]]),
    });
    assert.deepEqual([code, asked.length], [5, 0]);
  });
});
