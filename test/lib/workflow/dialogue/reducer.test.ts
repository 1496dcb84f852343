/** Every cell of the state table, and every rule of a frontend. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { canPress } from "../../../../lib/workflow/dialogue/mod.ts";
import { context, Play, parts, showing } from "./_world.ts";

const { go, name, file, colour, text, running } = parts;
const retried = [0, 429, 500, 502, 503, 504];

describe("a dialogue that is idle", () => {
  it("sends the context alone when it opens", () => {
    const play = new Play().open();
    assert.equal(play.state.status, "sending");
    assert.deepEqual(play.sent.body, { context });
    assert.deepEqual(play.asked, ["send"]);
  });

  it("takes no other event", () => {
    for (const type of ["timer", "retry", "restart"] as const) {
      const play = new Play().on({ type });
      assert.equal(play.state.status, "idle");
      assert.deepEqual(play.asked, []);
    }
    assert.equal(new Play().press().state.status, "idle");
  });
});

describe("an answer", () => {
  it("replaces blocks, actions, payload and task, and counts views", () => {
    const play = showing({ blocks: [text], actions: [go], payload: { a: 1 } }).press();
    assert.deepEqual(play.sent.body.payload, { a: 1 });
    play.view({ blocks: [name], actions: [{ ...go, action_id: "next" }] });
    assert.equal(play.state.seq, 2);
    assert.deepEqual(play.state.blocks, [{ ...name, key: "input:name" }]);
    assert.equal("payload" in play.press("next").sent.body, false);
  });

  it("ends the dialogue where it has no actions, no auto action and no running task, and says so where it is empty", () => {
    assert.equal(showing({}).state.status, "ended");
    assert.deepEqual(showing({}).state.blocks, [{ type: "text", key: "end", text: "Done" }]);
    assert.equal(showing({ task: { id: "t", state: "completed" } }).state.status, "ended");
    assert.equal(showing({ actions: [go] }).state.status, "showing");
    assert.equal(showing({ task: running }).state.status, "waiting");
  });

  it("that is no view stops with a place for developers; Retry sends the same again", () => {
    for (const body of [
      "<html>",
      "[]",
      '{"blocks":{}}',
      '{"blocks":[],"payload":[]}',
      `"${"x".repeat(2_100_000)}"`,
    ]) {
      const play = showing({ actions: [go], payload: { a: 1 }, blocks: [name] });
      play.on({ type: "input", name: "name", value: "Sam" }).press();
      const first = play.sent;
      play.answer(200, body);
      assert.equal(play.state.status, "error");
      assert.equal(play.state.problem?.canRetry, true);
      assert.equal(play.state.values.name, "Sam");
      assert.equal(play.state.seq, 1);
      const { body: again, key } = play.on({ type: "retry" }).sent;
      assert.deepEqual({ again, key }, { again: first.body, key: first.key });
    }
  });

  it("401 renews the token once, and sends the same body under the same key", () => {
    const play = showing().press();
    const first = play.sent;
    play.answer(401);
    assert.deepEqual(play.effects, [{ type: "refresh", turn: first.turn }]);
    play.on({ type: "refreshed", turn: first.turn, ok: true });
    assert.deepEqual([play.sent.body, play.sent.key], [first.body, first.key]);
    play.answer(401);
    assert.equal(play.state.status, "error");
    assert.deepEqual(play.asked, []);
    const refused = showing().press().answer(401);
    refused.on({ type: "refreshed", turn: refused.state.turn, ok: false });
    assert.equal(refused.state.problem?.canRetry, true);
  });

  it("400, 403, 404, 413 and other refusals stop without a retry; what was entered can be changed and sent anew", () => {
    for (const status of [400, 403, 404, 413, 415, 422]) {
      const play = showing({ actions: [go], blocks: [name] })
        .press()
        .answer(status);
      assert.equal(play.state.problem?.canRetry, false);
      assert.deepEqual(play.on({ type: "retry" }).asked, []);
      play.on({ type: "input", name: "name", value: "shorter" }).press();
      assert.deepEqual(play.sent.body.inputs, { name: "shorter" });
      assert.equal(new Play().open().answer(status).state.status, "error");
    }
  });

  it("that refuses is shown with the explanation that it has", () => {
    const messageOf = (status: number, body: unknown): string | undefined =>
      showing().press().answer(status, JSON.stringify(body)).state.problem?.message;
    assert.equal(
      messageOf(403, { detail: "You have no\u202e role there" }),
      "Your role does not allow this. You have no role there",
    );
    assert.equal(
      messageOf(422, { errors: [{ detail: "Expected a name" }] }),
      "The backend refused the request. Expected a name",
    );
    for (const odd of [null, [], "text", { detail: 5 }, { errors: [] }, { errors: [null] }, { errors: {} }])
      assert.equal(messageOf(500, odd), "The backend has a problem.");
    assert.equal(messageOf(400, { detail: "x".repeat(9_000) })?.length, 333);
  });

  it("409 waits as long as the backend says, and sends the same again", () => {
    const play = showing().press();
    const { key } = play.sent;
    assert.equal(play.answer(409, "", "3").timer, 3_000);
    assert.equal(canPress(play.state), false);
    assert.equal(play.on({ type: "timer" }).sent.key, key);
    assert.equal(play.answer(409).timer, 1_000);
    assert.equal(play.on({ type: "timer" }).answer(409, "", "Thu, 01 Jan 1970 00:16:47 GMT").timer, 7_000);
    for (let tries = 4; tries < 8; tries++) play.on({ type: "timer" }).answer(409);
    assert.equal(play.on({ type: "timer" }).answer(409).state.status, "error");
  });

  it("that fails on the way is repeated for a first request and a poll, ever later, and eight times", () => {
    for (const status of retried) {
      for (const begin of [() => new Play().open(), () => showing({ task: running }).on({ type: "timer" })]) {
        const play = begin();
        const { key } = play.sent;
        const waits: number[] = [];
        for (let tries = 1; tries < 8; tries++) {
          waits.push(play.answer(status).timer);
          assert.equal(play.on({ type: "timer" }).sent.key, key);
        }
        assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
        assert.equal(play.answer(status).state.problem?.canRetry, true);
        assert.equal(play.on({ type: "retry" }).sent.key, key);
      }
    }
  });

  it("takes Retry-After as the least time, and 30 s as the most", () => {
    assert.equal(new Play().open().answer(503, "", "10").timer, 10_000);
    assert.equal(new Play().open().answer(503, "", "900").timer, 30_000);
    assert.equal(new Play().open().answer(503, "", "soon").timer, 500);
    assert.equal(new Play().open().answer(503, "", "-5").timer, 500);
  });

  it("that fails on the way is never repeated for a press or an auto action unless the user wants it", () => {
    for (const status of retried) {
      for (const play of [showing().press(), showing({ autoAction: { action_id: "auto" } })]) {
        const { turn, key, body } =
          play.state.pending === null ? assert.fail() : { ...play.state.pending, turn: play.state.turn };
        const stopped = status === 0 ? play.on({ type: "failed", turn }) : play.answer(status);
        assert.equal(stopped.state.status, "error");
        assert.deepEqual(stopped.asked, []);
        const again = stopped.on({ type: "retry" }).sent;
        assert.deepEqual([again.key, again.body], [key, body]);
      }
    }
  });

  it("to an earlier request changes nothing", () => {
    const play = showing({ task: running, actions: [go] }).on({ type: "timer" });
    const late = play.sent.turn;
    play.press();
    const before = play.state;
    for (const status of [200, 401, 500])
      play.on({ type: "answered", turn: late, status, text: '{"blocks":[]}', retryAfter: null });
    play.on({ type: "failed", turn: late }).on({ type: "refreshed", turn: late, ok: true });
    assert.equal(play.state, before);
  });
});

describe("an auto action", () => {
  it("is sent at once, before polling, with payload, inputs and running task", () => {
    const play = showing({
      blocks: [name],
      payload: { a: 1 },
      task: running,
      autoAction: { action_id: "auto" },
    });
    assert.deepEqual(play.sent.body, {
      context,
      action: "auto",
      inputs: { name: "" },
      payload: { a: 1 },
      taskId: "t1",
    });
    assert.deepEqual(play.asked, ["send"]);
    assert.equal(play.view({ task: running }).state.status, "waiting");
  });

  it("is a loop after 25 in a row without a press or progress", () => {
    const play = showing({ autoAction: { action_id: "auto" } });
    for (let count = 2; count <= 25; count++) play.view({ autoAction: { action_id: "auto" } });
    assert.equal(play.state.status, "sending");
    assert.match(play.view({ autoAction: { action_id: "auto" } }).state.problem?.message ?? "", /loops/);
    assert.deepEqual(play.on({ type: "retry" }).asked, []);
    const moving = showing({ autoAction: { action_id: "auto" } });
    for (let progress = 1; progress <= 60; progress++)
      moving.view({ task: { ...running, progress }, autoAction: { action_id: "auto" } });
    assert.equal(moving.state.status, "sending");
  });
});

describe("a running task", () => {
  it("is polled with payload and task, without inputs and action", () => {
    const play = showing({ blocks: [name], payload: { a: 1 }, actions: [go], task: running });
    assert.equal(play.timer, 2_000);
    assert.deepEqual(play.on({ type: "timer" }).sent.body, { context, payload: { a: 1 }, taskId: "t1" });
  });

  it("is polled as often as it says, within bounds, and rarely on a hidden page", () => {
    const timer = (pollIntervalMs: unknown): number =>
      showing({ task: { ...running, pollIntervalMs } as never }).timer;
    assert.deepEqual([1, 700, 999_999, "700", null].map(timer), [500, 700, 30_000, 2_000, 2_000]);
    const play = showing({ task: running });
    play.now += 500;
    assert.deepEqual(play.on({ type: "hidden", hidden: true }).asked, ["cancelTimer", "timer"]);
    assert.equal(play.timer, 9_500);
    play.now += 4_000;
    assert.equal(play.on({ type: "hidden", hidden: false }).timer, 0);
    assert.deepEqual(play.on({ type: "hidden", hidden: false }).asked, []);
  });

  it("never moves back, and its end is final", () => {
    const play = showing({ task: { ...running, progress: 40 } });
    play.on({ type: "timer" }).view({ task: { ...running, progress: 10 } });
    assert.equal(play.state.task?.progress, 40);
    play.on({ type: "timer" }).view({ task: { id: "t2", state: "running", progress: 10 } });
    assert.equal(play.state.task?.progress, 10);
    play.on({ type: "timer" }).view({ task: { id: "t2", state: "completed" }, actions: [go] });
    assert.equal(play.state.status, "showing");
    assert.equal(play.press().view({ task: { id: "t2", state: "running" } }).state.task?.state, "completed");
    assert.equal(play.state.status, "ended");
  });

  it("shows its progress in a loader without one of its own, or in a line of its own, and its error as an alert", () => {
    const loader = { type: "loader" } as const;
    const blocks = (play: Play) => play.state.blocks.map(({ key, ...block }) => block);
    const task = { ...running, progress: 30 };
    assert.deepEqual(blocks(showing({ task })), [{ ...loader, progress: 30 }]);
    assert.deepEqual(blocks(showing({ task, blocks: [loader] })), [{ ...loader, progress: 30 }]);
    assert.deepEqual(blocks(showing({ task, blocks: [{ ...loader, progress: 90 }] })), [
      { ...loader, progress: 90 },
    ]);
    const failed = showing({ task: { id: "t1", state: "failed", error: "Row 3" } });
    assert.deepEqual(blocks(failed), [{ type: "alert", severity: "error", text: "Row 3" }]);
    assert.deepEqual(blocks(showing({ task: { ...task, error: "odd" } as never })), [
      { ...loader, progress: 30 },
    ]);
  });
});

describe("a press", () => {
  it("sends texts always, and other inputs if they were set", () => {
    const play = showing({ blocks: [name, file, colour], actions: [go] }).press();
    assert.deepEqual(play.sent.body.inputs, { name: "" });
    assert.equal(play.state.busy, "go");
    play.view({ blocks: [name, file, colour], actions: [go] });
    play
      .on({ type: "input", name: "file", value: "aGk=" })
      .on({ type: "input", name: "colour", value: "#AABBCC" });
    assert.deepEqual(play.press().sent.body.inputs, { name: "", file: "aGk=", colour: "#aabbcc" });
  });

  it("counts once: not while one is under way, not on an earlier view, and only for what is offered", () => {
    const play = showing();
    assert.deepEqual(play.press("go", play.state.seq - 1).asked, []);
    assert.deepEqual(play.press("other").asked, []);
    assert.deepEqual(play.press().asked, ["send"]);
    assert.deepEqual(play.press().asked, []);
  });

  it("drops the timer of a poll, or the poll that is under way", () => {
    const waiting = showing({ task: running, actions: [go] });
    assert.equal(canPress(waiting.state), true);
    assert.deepEqual(waiting.press().asked, ["cancelTimer", "send"]);
    assert.equal(waiting.sent.body.taskId, "t1");
    const polling = showing({ task: running, actions: [go] }).on({ type: "timer" });
    assert.equal(canPress(polling.state), true);
    assert.deepEqual(polling.press().asked, ["abort", "send"]);
    const backingOff = showing({ task: running, actions: [go] })
      .on({ type: "timer" })
      .answer(503);
    assert.deepEqual(backingOff.press().asked, ["cancelTimer", "send"]);
  });
});

describe("an input", () => {
  it("keeps what was typed while its name and type stay", () => {
    const play = showing({ blocks: [name], task: running }).on({ type: "input", name: "name", value: "Sam" });
    play.on({ type: "timer" }).on({ type: "input", name: "name", value: "Samira" });
    assert.equal(play.view({ blocks: [text, name], task: running }).state.values.name, "Samira");
    assert.equal(
      play.on({ type: "timer" }).view({ blocks: [{ ...file, name: "name" }], task: running }).state.values
        .name,
      undefined,
    );
  });

  it("has again what was typed before a task that failed, also after a view without it and a new start", () => {
    const form = { blocks: [name, colour], actions: [go] };
    const typed = { name: "Sam", colour: "#00ff00" };
    const failed = { id: "t1", state: "failed", error: "No luck" } as const;
    const run = (): Play => {
      const play = showing(form);
      for (const [input, value] of Object.entries(typed)) play.on({ type: "input", name: input, value });
      return play
        .press()
        .view({ blocks: [text], task: running })
        .on({ type: "timer" });
    };
    assert.deepEqual(run().view({ ...form, task: failed }).state.values, typed);
    const later = run()
      .view({ blocks: [], actions: [go], task: failed })
      .press();
    assert.deepEqual(later.view(form).state.values, typed);
    const anew = run().view({ blocks: [], task: failed }).on({ type: "restart" });
    assert.deepEqual(anew.view(form).state.values, typed);
    const done = run()
      .view({ blocks: [], actions: [go], task: { id: "t1", state: "completed" } })
      .press();
    assert.deepEqual(done.view(form).state.values, {});
  });

  it("begins with the value that the backend suggests, where it suits the input", () => {
    const suggested = [
      { ...name, value: "Final" },
      { ...colour, value: "#00FF00" },
    ];
    const play = showing({ blocks: suggested, actions: [go] });
    assert.deepEqual(play.state.values, { name: "Final", colour: "#00ff00" });
    play.on({ type: "input", name: "name", value: "" }).on({ type: "input", name: "colour", value: null });
    assert.deepEqual(play.press().view({ blocks: suggested, actions: [go] }).state.values, { name: "" });
    const wrong = [
      { ...file, value: "AAAA" },
      { ...colour, value: "red" },
    ];
    const refused = showing({ blocks: wrong, actions: [go] }).state;
    assert.deepEqual([refused.values, refused.reports.length], [{}, 2]);
  });

  it("may have the name of what every object has", () => {
    const blocks = [
      { ...name, name: "constructor" },
      { ...file, name: "toString" },
    ];
    const play = showing({ blocks, actions: [go] }).press();
    const sent = play.effects.find(({ type }) => type === "send");
    assert.deepEqual(sent?.type === "send" && Object.entries(sent.body.inputs ?? {}), [["constructor", ""]]);
    assert.deepEqual(Object.keys(play.view({ blocks, actions: [go] }).state.values), []);
  });

  it("refuses colours, texts and files beyond their bounds, and says why", () => {
    const play = showing({ blocks: [name, file, { ...file, name: "second" }, colour], actions: [go] });
    for (const [input, value] of [
      ["colour", "red"],
      ["colour", "#12345678"],
      ["name", "x".repeat(20_001)],
      ["file", "A".repeat(14_000_000)],
    ] as const) {
      play.on({ type: "input", name: input, value });
      assert.ok(play.state.faults[input], input);
      assert.equal(play.state.values[input], undefined);
    }
    play.on({ type: "input", name: "file", value: "A".repeat(8_000_000) });
    assert.equal(play.state.faults.file, undefined);
    play.on({ type: "input", name: "second", value: "A".repeat(8_000_000) });
    assert.match(play.state.faults.second ?? "", /10 MiB together/);
    play
      .on({ type: "input", name: "file", value: null })
      .on({ type: "input", name: "second", value: "A".repeat(8_000_000) });
    assert.equal(play.state.faults.second, undefined);
    assert.deepEqual(play.on({ type: "input", name: "none", value: "x" }).asked, []);
  });
});

describe("a dialogue that is closed", () => {
  it("has ended whatever was under way, sends nothing and stays closed", () => {
    const ends: readonly (readonly [Play, readonly string[]])[] = [
      [new Play(), []],
      [new Play().open(), ["abort"]],
      [showing(), []],
      [showing({ task: running }), ["cancelTimer"]],
      [showing().press().answer(500), []],
    ];
    for (const [play, asked] of ends) {
      assert.deepEqual(play.on({ type: "close" }).asked, asked);
      const closed = play.state;
      play
        .open()
        .press()
        .on({ type: "retry" })
        .on({ type: "restart" })
        .on({ type: "timer" })
        .answer(200, '{"blocks":[]}');
      assert.equal(play.state, closed);
    }
  });
});

describe("a restart", () => {
  it("begins anew in the same context, from everywhere", () => {
    for (const play of [
      showing({}),
      showing({ payload: { a: 1 }, actions: [go] }),
      showing().press(),
      showing({ task: running }),
    ]) {
      const { seq } = play.state;
      assert.deepEqual(play.on({ type: "restart" }).sent.body, { context });
      assert.equal(play.state.seq, seq);
      assert.equal(play.state.task, null);
    }
  });
});
