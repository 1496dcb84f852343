/** The example backends, as producers use them. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type TestDialogue,
  type TestEnvironment,
  type TestedBackend,
  testDialogue,
} from "../../../lib/testing/workflow/mod.ts";
import { leaderboardWinners, quizFromCsv } from "../../../lib/workflow/examples/mod.ts";

type Create = (environment: TestEnvironment) => TestedBackend;

const header = "question,option 1,option 2,option 3,correct";
const two = [header, "Who scored first?,Home,Away,,2", '"Which year, exactly?",1998,2006,2014,3'];

function csv(...lines: readonly string[]): { readonly csv: Uint8Array } {
  return { csv: new TextEncoder().encode(lines.join("\r\n")) };
}

function rows(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `Question ${index + 1}?,Yes,No,,1`);
}

/** Opens a dialogue with an example. */
async function open(t: TestContext, create: Create): Promise<TestDialogue> {
  const users = { ann: "creator", eve: "viewer" } as const;
  const dialogue = await testDialogue(create, { users });
  t.after(() => dialogue.close());
  await dialogue.start();
  return dialogue;
}

/** Returns the attributes of the event's elements. */
// biome-ignore lint/suspicious/noExplicitAny: assertions read members that only they know
async function elementsOf({ world: { api, context } }: TestDialogue): Promise<any[]> {
  const fields = "fields[elements]=name,state,correct_option,question,custom_fields";
  const list = await api<{ data: { attributes: object }[] }>(
    `/events/${context.eventId}/elements?page[count]=100&${fields}`,
  );
  return list.data.map(({ attributes }) => attributes);
}

/** An environment whose requests can be counted, lost and held. */
function watched(environment: TestEnvironment) {
  const changes: string[] = [];
  /** Decides about the answer of a change that has taken effect. */
  const wire = { answer: async (_path: string): Promise<void> => {} };
  const send: typeof fetch = async (input, init) => {
    const response = await environment.fetch(input, init);
    const { pathname, search } = new URL(String(input));
    if (init?.method === "POST") {
      changes.push(pathname + search);
      await wire.answer(pathname + search);
    }
    return response;
  };
  return { environment: { ...environment, fetch: send }, changes, wire };
}

describe("quiz from CSV", () => {
  it("makes a draft of every row", async t => {
    const dialogue = await open(t, quizFromCsv);
    dialogue.fill(csv(...two));
    await dialogue.press("Import");
    dialogue.expectTask({ state: "running" });
    await dialogue.finish();
    dialogue.expectText("Imported 2 quizzes are in the event as drafts.");
    assert.equal(dialogue.state.status, "ended");
    const drafts = (await elementsOf(dialogue)).map(({ name, state, correct_option, question }) => [
      ...[name, state, correct_option],
      ...question.options.map((option: typeof question) => option.fields[0].values.all),
    ]);
    assert.deepEqual(drafts, [
      ["Who scored first?", "non_scheduled", 2, "Home", "Away"],
      ["Which year, exactly?", "non_scheduled", 3, "1998", "2006", "2014"],
    ]);
  });

  it("names all rows that cannot be read, and takes the corrected file", async t => {
    const dialogue = await open(t, quizFromCsv);
    dialogue.fill(
      csv(...two, "No options?,,,,1", "Which one?,A,B,,3", "Too,few", ",A,B,,1", '"Open?,A,B,,1'),
    );
    await dialogue.press("Import");
    const faults = [
      "Row 4: Expected two options or more",
      "Row 5: Expected a number from 1 to 2 as correct",
      "Row 6: Expected 5 cells, as the header has",
      "Row 7: The question is missing",
      "Row 8: Expected 5 cells, as the header has",
    ];
    for (const fault of faults) dialogue.expectText(fault);
    assert.deepEqual(await elementsOf(dialogue), []);
    dialogue.fill(csv(...two));
    await dialogue.press("Import");
    await dialogue.finish();
    assert.equal((await elementsOf(dialogue)).length, 2);
  });

  it("takes quotes inside cells as text, and passes over rows of empty cells", async t => {
    const dialogue = await open(t, quizFromCsv);
    dialogue.fill(csv(header, 'Which "pipe"?,2.5" wide,None,,1', ",,,,"));
    await dialogue.press("Import");
    await dialogue.finish();
    const [first, another] = await elementsOf(dialogue);
    assert.match(JSON.stringify(first?.question), /Which \\"pipe\\"\?.*2\.5\\" wide/);
    assert.equal(another, undefined);
  });

  for (const [title, file, fault] of [
    ["another header", csv("title,option 1,option 2,correct"), "The column question is missing"],
    ["no rows", csv(header, ""), "The file has no questions"],
    ["too many rows", csv(header, ...rows(500)), "The file has 500 questions; 499 can be imported at once"],
    ["an image", { csv: Uint8Array.of(0xff, 0xd8, 0xff, 0x00) }, "The file is no CSV in UTF-8"],
  ] as const) {
    it(`refuses a file with ${title}`, async t => {
      const dialogue = await open(t, quizFromCsv);
      dialogue.fill(file);
      await dialogue.press("Import");
      dialogue.expectText(fault);
      dialogue.expectTask(null);
    });
  }

  it("names the rows that the platform refuses, and writes the others in one request once they are mended", async t => {
    const changes: string[] = [];
    const dialogue = await open(t, environment => {
      const watch = watched(environment);
      watch.wire.answer = async path => void changes.push(path);
      return quizFromCsv(watch.environment);
    });
    const file = rows(120);
    const broken = file.with(10, `Which?,${"x".repeat(201)},No,,1`).with(99, `${"?".repeat(501)},Yes,No,,1`);
    dialogue.fill(csv(header, ...broken));
    await dialogue.press("Import");
    await dialogue.finish();
    dialogue.expectText("Row 12: Expected at most 200 characters");
    dialogue.expectText("Row 101: Expected at most 500 characters");
    assert.deepEqual(await elementsOf(dialogue), []);
    dialogue.fill(csv(header, ...file));
    await dialogue.press("Import");
    await dialogue.finish();
    dialogue.expectText("120 quizzes");
    assert.deepEqual(
      changes.filter(path => !path.includes("dry_run")),
      ["/api/v2/operations"],
    );
  });

  it("doubles nothing where the answer of the platform was lost", async t => {
    const dialogue = await open(t, environment => {
      const watch = watched(environment);
      watch.wire.answer = async path => {
        if (path === "/api/v2/operations") throw new TypeError("socket hang up");
      };
      return quizFromCsv(watch.environment);
    });
    dialogue.fill(csv(...two));
    await dialogue.press("Import");
    await dialogue.finish();
    dialogue.expectText("Cannot ask the platform now");
    await dialogue.press("Try again");
    await dialogue.finish();
    dialogue.expectText("The event has the questions of this file already");
    assert.equal((await elementsOf(dialogue)).length, 2);
  });

  it("goes on where its process died, and doubles nothing", async t => {
    const processes: TestedBackend[] = [];
    // The request of the dead process would keep this one from ending.
    let lose = (): void => {};
    t.after(() => lose());
    const dialogue = await open(t, environment => {
      const watch = watched(environment);
      watch.wire.answer = async path => {
        if (path !== "/api/v2/operations") return;
        await new Promise<never>((_, reject) => {
          lose = () => reject(new TypeError("socket hang up"));
        });
      };
      const dying = { ...watch.environment, waitUntil: () => {}, timer: () => () => {} };
      processes.push(quizFromCsv(dying), quizFromCsv(environment));
      return { fetch: async request => await (processes[0] as TestedBackend).fetch(request) };
    });
    dialogue.fill(csv(...two));
    await dialogue.press("Import");
    while ((await elementsOf(dialogue)).length === 0) await dialogue.poll();
    processes.shift();
    await dialogue.advance(120_000);
    await dialogue.finish();
    assert.equal(dialogue.state.status, "ended");
    assert.equal((await elementsOf(dialogue)).length, 2);
  });

  it("imports once where two import the same file at once", async t => {
    const dialogue = await open(t, quizFromCsv);
    const second = dialogue.asUser("ann");
    await second.start();
    for (const each of [dialogue, second]) each.fill(csv(...two));
    await Promise.all([dialogue.press("Import"), second.press("Import")]);
    for (const each of [dialogue, second]) await each.finish();
    assert.equal((await elementsOf(dialogue)).length, 2);
  });

  it("imports once where the button is pressed twice", async t => {
    const dialogue = await open(t, quizFromCsv);
    dialogue.fill(csv(...two));
    await dialogue.press("Import");
    const { status, text } = await dialogue.replayLast();
    assert.deepEqual({ status, text }, { status: 200, text: dialogue.lastAnswer?.text });
    await dialogue.finish();
    assert.equal((await elementsOf(dialogue)).length, 2);
  });

  it("shows its progress, and can be cancelled", async t => {
    const holds: (() => void)[] = [];
    const dialogue = await open(t, environment => {
      const watch = watched(environment);
      watch.wire.answer = () => new Promise(resolve => void holds.push(resolve));
      return quizFromCsv(watch.environment);
    });
    const held = async () => {
      while (holds.length === 0) await new Promise(setImmediate);
      holds.shift()?.();
    };
    dialogue.fill(csv(header, ...rows(120)));
    await dialogue.press("Import");
    await held();
    while (holds.length === 0) await new Promise(setImmediate);
    await dialogue.poll();
    dialogue.expectTask({ state: "running", progress: 38 });
    dialogue.expectText("Checking row 52");
    await dialogue.press("Cancel");
    dialogue.expectText(
      "Cancelled The event has no questions of this file, or all of them if they were being written.",
    );
    await held();
    await dialogue.world.settled();
    assert.deepEqual(await elementsOf(dialogue), []);
  });

  it("is for creators", async t => {
    const viewer = (await open(t, quizFromCsv)).asUser("eve");
    await viewer.start();
    assert.equal(viewer.lastAnswer?.status, 403);
  });
});

describe("winners of a leaderboard", () => {
  /** Gives users scores on the board `overall` of the event, and returns how. */
  async function rank({ world: { platform, context, environment } }: TestDialogue) {
    const { organisationId, projectId, eventId } = context;
    const { key, secret } = await platform.apiKeys.create({
      organisationId,
      name: "Scores",
      permissions: ["rewards:write"],
    });
    const call = async (path: string, method: string, body: unknown) => {
      const headers = { "content-type": "application/json", "x-api-key": key, "x-api-secret": secret };
      const init = { method, headers, body: JSON.stringify(body) };
      const response = await environment.fetch(context.baseURL + path, init);
      assert.ok(response.ok, await response.clone().text());
      return (await response.json()) as { data: { userId: string } };
    };
    return async (username: string, score: number): Promise<void> => {
      const user = { projectId, strategy: "simplified", provider: "noLogin", data: { username } };
      const { userId } = (await call("/v1/user", "POST", user)).data;
      const board = `/projects/${projectId}/events/${eventId}/leaderboards/overall`;
      await call(`${board}/users/${userId}`, "PUT", { score });
      await platform.idle();
    };
  }

  it("publishes those who were shown, with their names as text", async t => {
    const dialogue = await open(t, leaderboardWinners);
    const score = await rank(dialogue);
    await score("Ann & <strong>Ben", 30);
    await score("Cleo", 20);
    await score("Dan", 10);
    dialogue.fill({ count: "2" });
    await dialogue.press("Show the winners");
    dialogue.expectText("1. Ann & <strong>Ben (30)\n2. Cleo (20)\n[Publish]");
    assert.deepEqual(await elementsOf(dialogue), []);
    await dialogue.press("Publish");
    dialogue.expectText("Published The winners are on screens.");
    const { text } = await dialogue.replayLast();
    assert.equal(text, dialogue.lastAnswer?.text);
    const [element, ...others] = await elementsOf(dialogue);
    assert.deepEqual(others, []);
    assert.equal(element.state, "current");
    assert.equal(
      element.custom_fields[1].values.all,
      "<strong>1.</strong> Ann &amp; &lt;strong&gt;Ben (30)<br><strong>2.</strong> Cleo (20)",
    );
  });

  it("asks again where the ranks changed meanwhile", async t => {
    const dialogue = await open(t, leaderboardWinners);
    const score = await rank(dialogue);
    await score("Ann", 30);
    await dialogue.press("Show the winners");
    dialogue.world.moveTo(dialogue.world.now() + 2_000);
    await score("Ben", 40);
    await dialogue.press("Publish");
    dialogue.expectText("The ranks have changed: please look again.\n1. Ben (40)\n2. Ann (30)");
    assert.deepEqual(await elementsOf(dialogue), []);
    await dialogue.press("Publish");
    assert.equal((await elementsOf(dialogue)).length, 1);
  });

  it("says why nothing can be published", async t => {
    const dialogue = await open(t, leaderboardWinners);
    for (const [fields, reason] of [
      [{ board: "n/a" }, "Please enter the id of a leaderboard"],
      [{ board: "none" }, "There is no public leaderboard none."],
      [{ board: "" }, "Nobody is on this leaderboard yet."],
    ] as const) {
      dialogue.fill(fields);
      await dialogue.press("Show the winners");
      dialogue.expectText(reason);
    }
    const { world } = dialogue;
    await (await rank(dialogue))("Ann", 30);
    await dialogue.press("Show the winners");
    const stop = { type: "events", id: world.context.eventId, attributes: { action: "stop" } };
    await world.api(`/events/${stop.id}`, { data: stop }, "PATCH");
    await dialogue.press("Publish");
    dialogue.expectText("error: Not published Expected an action that is possible now");
    await dialogue.press("Choose another leaderboard");
    dialogue.expectText("[Show the winners]");
    assert.deepEqual(await elementsOf(dialogue), []);
  });
});
