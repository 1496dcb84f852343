/** What unit tests of backends are written with: it finds what is wrong, and moves nothing but its own clock. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type TestDialogue,
  type TestEnvironment,
  type TestWorldOptions,
  testDialogue,
} from "../../../lib/testing/workflow/mod.ts";
import { parseRecording } from "../../../lib/workflow/dialogue/mod.ts";
import { alert, fileInput, input, text, workflow } from "../../../lib/workflow/mod.ts";

interface Greeting {
  readonly says?: string;
  readonly steps?: number;
}

/** A backend that greets, and counts in steps. */
function greeter({ says = "Hello", steps = 3 }: Greeting, environment: TestEnvironment) {
  return workflow<{ readonly greeted?: number }>({
    ...environment,
    name: "greeter",
    require: { scope: ["event", "project"], role: "creator" },
  })
    .start(c =>
      c.view(text`In ${c.context.projectId ?? ""}`, input.file("card", "Card")).button("greet", "Greet"),
    )
    .on("greet", { inputs: { card: fileInput() } }, (c, { card }) =>
      c
        .setState({ greeted: (c.state.greeted ?? 0) + 1 })
        .view(text`${says} <strong>${new TextDecoder().decode(card.bytes)}</strong>`)
        .button("count", "Count"),
    )
    .on("count", c => c.task("count", steps))
    .step<number, number, number>("count", { poll: 5_000 }, async (run, most, at = 0) => {
      await run.progress((at / most) * 100, `At ${at}`);
      return at < most ? { next: at + 1 } : { done: at };
    })
    .done<number>("count", (c, counted) =>
      c.view(alert("success", `Counted to ${counted}`, `Greeted ${c.state.greeted}`)),
    );
}

async function open(t: TestContext, greeting: Greeting = {}, options: Partial<TestWorldOptions> = {}) {
  const given = {
    users: { ann: "creator", ben: "creator", eve: "none" },
    ...options,
  } as const;
  const dialogue = await testDialogue(environment => greeter(greeting, environment), given);
  t.after(() => dialogue.close());
  await dialogue.start();
  return dialogue;
}

async function greet(dialogue: TestDialogue): Promise<void> {
  dialogue.fill({ card: new TextEncoder().encode("Ann") });
  await dialogue.press("Greet");
}

const shows = (expected: RegExp) => ({ message: expected });

describe("a dialogue in a test", () => {
  it("shows texts without markup, buttons and alerts", async t => {
    const dialogue = await open(t);
    assert.equal(dialogue.text, `In ${dialogue.world.context.projectId}\nfile input Card\n[Greet]`);
    await greet(dialogue);
    assert.equal(dialogue.text, "Hello Ann\n[Count]");
    dialogue.expectText("Hello Ann");
    dialogue.expectText(/^Hello/);
  });

  it("says what it shows where something else is expected", async t => {
    const dialogue = await open(t);
    assert.throws(
      () => dialogue.expectText("Goodbye"),
      shows(/^Expected Goodbye\nThe dialogue is showing and shows:\nIn .*\n.*\n\[Greet\]$/),
    );
    assert.throws(() => dialogue.fill({ name: "Ann" }), shows(/^Expected an input name among: card\n/));
    assert.throws(
      () => dialogue.expectTask({ state: "running" }),
      shows(/^Expected the task .*running.*, not null\n/),
    );
    await assert.rejects(dialogue.press("Count"), shows(/^Expected the button Count\n/));
    await assert.rejects(dialogue.poll(), shows(/^Expected that a poll is due\n/));
  });

  it("follows a task with its own clock", async t => {
    const dialogue = await open(t);
    await greet(dialogue);
    const began = dialogue.world.now();
    await dialogue.press("count");
    dialogue.expectTask({ state: "running" });
    await dialogue.advance(4_999);
    dialogue.expectTask({ state: "running" });
    const before = dialogue.text;
    await dialogue.advance(5_001);
    assert.notEqual(dialogue.text, before);
    assert.throws(() => dialogue.expectTask(null), shows(/^Expected the task null, not /));
    assert.equal(dialogue.world.now(), began + 10_000);
    await dialogue.finish();
    dialogue.expectText("success: Greeted 1 Counted to 3");
    assert.equal(dialogue.state.status, "ended");
  });

  it("gives up on a task that never ends", async t => {
    const dialogue = await open(t, { steps: Number.MAX_SAFE_INTEGER });
    await greet(dialogue);
    await dialogue.press("count");
    await assert.rejects(dialogue.finish(5), shows(/^Expected an end within 5 polls\n/));
  });

  it("gets a new token where the old one has ended", async t => {
    const dialogue = await open(t);
    await dialogue.advance(660_000);
    await greet(dialogue);
    dialogue.expectText("Hello Ann");
  });

  it("repeats, alters and steals requests", async t => {
    const dialogue = await open(t);
    await greet(dialogue);
    const repeated = await dialogue.replayLast();
    assert.deepEqual([repeated.status, repeated.text], [200, dialogue.lastAnswer?.text]);
    const other = await dialogue.tamper(request => ({ ...request, action: "count" }));
    assert.match(other.text, /warning/);
    const foreign = await dialogue.tamper(({ payload: _payload, ...request }) => request);
    assert.doesNotMatch(foreign.text, /Hello/);
    assert.equal((await dialogue.asUser("ben").replayLast()).status, 400);
    assert.equal((await dialogue.asUser("eve").replayLast()).status, 403);
    dialogue.expectText("Hello Ann");
  });

  it("runs in another scope", async t => {
    const dialogue = await open(t, {}, { scope: "project" });
    assert.equal(dialogue.state.context.eventId, undefined);
    await greet(dialogue);
    const { status } = await dialogue.tamper(request => ({ ...request, context: dialogue.world.context }));
    assert.equal(status, 400);
  });
});

describe("a recorded dialogue", () => {
  async function recorded(t: TestContext): Promise<string> {
    const dialogue = await open(t);
    await greet(dialogue);
    await dialogue.press("Count");
    await dialogue.finish();
    return JSON.stringify(dialogue.recording);
  }

  it("has no token, and is shown again by the same backend, whatever its ids and its pace", async t => {
    const text = await recorded(t);
    assert.doesNotMatch(text, /gst_/);
    const another = await open(t, { steps: 3 }, { startAt: Date.UTC(2031, 5, 1) });
    await another.replay(parseRecording(text));
    another.expectText("Counted to 3");
  });

  it("finds where a backend shows something else", async t => {
    const recording = parseRecording(await recorded(t));
    const another = await open(t, { says: "Goodbye" });
    await assert.rejects(
      another.replay(recording),
      shows(/^Expected as recorded:\nHello Ann\n\[Count\]\n.*\nGoodbye Ann/),
    );
    const further = await open(t, { steps: 4 });
    await assert.rejects(further.replay(recording), shows(/Counted to 3\n.*\n.*Counted to 4/));
  });
});
