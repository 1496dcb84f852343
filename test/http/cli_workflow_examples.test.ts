/** The example workflows as a script runs them, through the relay and directly. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { silentLogger } from "../../lib/http/mod.ts";
import { testDialogue } from "../../lib/testing/workflow/mod.ts";
import { parseRecording } from "../../lib/workflow/dialogue/mod.ts";
import { leaderboardWinners, quizFromCsv } from "../../lib/workflow/examples/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { type Outcome, runCli } from "../support/terminal.ts";
import { operatorHeaders, operatorToken, resource, to } from "./_control_examples.ts";

const control = "http://127.0.0.1";
const backends = "https://backends.example";
const header = "question,option 1,option 2,correct\n";
const good = `${header}Who scored first?,Home,Away,2\nWho scored last?,Home,Away,1\n`;

describe("workflow run with the example workflows", () => {
  let world: TestPlatform;
  let token: string;
  let event: string;
  const workflows: Record<string, string> = {};
  const files = new Map<string, string | Uint8Array>([
    ["good.csv", good],
    ["bad.csv", `${good}No options?,,,1\n`],
  ]);
  /** Tokens that reached a backend. */
  const received = new Set<string | null>();

  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }), {
      publicUrl: control,
      outbound: {
        get: () => assert.fail(),
        async post({ url, headers, body }) {
          const { status, text } = await reply(new Request(url, { method: "POST", headers, body }));
          return { status, mediaType: "application/json", retryAfterMs: null, text };
        },
      },
    });
    const options = {
      secret: "a long text that only the examples of the tests know",
      store: world.store,
      control,
      endpoint: ["/quiz", "/winners"].map(path => backends + path),
      clock: world.clock.now,
      logger: silentLogger,
      fetch: async (input: string | URL | Request, init?: RequestInit) =>
        await world.platform.fetch(new Request(input, init), {}),
    };
    const examples = { "/quiz": quizFromCsv(options), "/winners": leaderboardWinners(options) };
    answer = async request => {
      received.add(request.headers.get("authorization"));
      const { pathname } = new URL(request.url);
      return await examples[pathname as keyof typeof examples].fetch(request);
    };
    token = await operatorToken(world);
    const headers = await operatorHeaders(world);
    const create = async (path: string, body: object): Promise<string> => {
      const created = await world.call(`/api/v2${path}`, { headers, body });
      assert.equal(created.status, 201, created.text);
      return created.json.data.id;
    };
    const inProject = { relationships: { project: to("projects", ids.project) } };
    event = await create("/events", resource("events", { name: "Final", action: "start" }, inProject));
    for (const name of ["quiz", "winners"]) {
      const attributes = { name, endpoint_url: `${backends}/${name}`, availability: ["event"] };
      workflows[name] = await create("/workflows", resource("workflows", attributes));
    }
  });
  after(() => world.dispose());

  let answer: (request: Request) => Promise<Response>;
  async function reply(request: Request): Promise<{ readonly status: number; readonly text: string }> {
    const response = await answer(request);
    return { status: response.status, text: await response.text() };
  }

  /** Runs a workflow in the event; waits move the clock. */
  async function run(workflow: string, line: string): Promise<Outcome> {
    return await runCli(`workflow run ${workflow} --event ${event} ${line} --json`, {
      clock: world.clock.now,
      variables: { GRANDSTAND_TOKEN: token },
      files,
      host: {
        async pause(ms) {
          await new Promise(resolve => setImmediate(resolve));
          world.clock.advance(ms);
        },
      },
      fetch: async request =>
        request.url.startsWith(backends) ? await answer(request) : await world.platform.fetch(request, {}),
    });
  }

  const said = ({ json }: Outcome): string => JSON.stringify(json.data.views.at(-1).blocks);

  it("imports the questions of a file, names the rows that are wrong, and doubles nothing", async () => {
    const wrong = await run(workflows.quiz ?? "", "--input csv=@bad.csv --press import");
    assert.equal(wrong.code, 10, wrong.stderr);
    assert.match(said(wrong), /Row 4: Expected two options or more/);
    const first = await run(workflows.quiz ?? "", "--input csv=@good.csv --press import --record quiz.json");
    assert.equal(first.code, 0, first.stderr);
    assert.match(said(first), /2 quizzes are in the event as drafts/);
    const again = await run(`${backends}/quiz`, "--input csv=@good.csv --press import");
    assert.equal(again.code, 0, again.stderr);
    assert.match(said(again), /has the questions of this file already/);
    const { json } = await world.call(`/api/v2/events/${event}/elements`, {
      headers: await operatorHeaders(world),
    });
    assert.equal(json.data.length, 2);
    assert.ok(!received.has(`Bearer ${token}`));
    assert.equal(received.has(null), false);
    const dialogue = await testDialogue(quizFromCsv);
    await dialogue.replay(parseRecording(String(files.get("quiz.json"))));
    await dialogue.close();
  });

  it("publishes the winners of a board after they were shown", async () => {
    const user = await world.fan("Ann");
    const path = `/projects/${ids.project}/events/${event}/leaderboards/overall/users/${user.userId}`;
    const put = await world.call(path, { method: "PUT", token, body: { score: 9 } });
    assert.equal(put.status, 200, put.text);
    const unsure = await run(workflows.winners ?? "", "--press show");
    assert.deepEqual([unsure.code, unsure.json.data.outcome], [10, "declined"]);
    assert.match(said(unsure), /\(9\)/);
    const sure = await run(workflows.winners ?? "", "--press show --press publish");
    assert.equal(sure.code, 0, sure.stderr);
    assert.match(said(sure), /The winners are on screens/);
    const early = await run(workflows.winners ?? "", "--press publish");
    assert.equal(early.code, 8);
    assert.match(early.stderr, /offers show/);
  });
});
