/** What holds in every dialogue, whatever backend and user do. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../adapters/conformance/random.ts";
import {
  type DialogueEvent,
  type DialogueState,
  replayRecording,
} from "../../../../lib/workflow/dialogue/mod.ts";
import { sampleSize } from "../../../support/full.ts";
import { context, Play, parts } from "./_world.ts";

const runs = sampleSize(10_000, 2_000);
const steps = 40;
const inputs = [parts.name, parts.file, parts.colour, { ...parts.file, name: "name" }];
const oddities = ["<p>", "{}", '{"blocks":[{}]}', '{"blocks":null}', '{"blocks":[],"task":{"id":1}}', "null"];

function answerOf({ pick, chance, integer }: Random): string {
  if (chance(0.05)) return pick(oddities);
  return JSON.stringify({
    blocks: inputs.filter(() => chance(0.5)),
    ...(chance(0.6) ? { actions: [parts.go] } : {}),
    ...(chance(0.2) ? { autoAction: { action_id: "auto" } } : {}),
    ...(chance(0.5) ? { payload: { n: integer(9) } } : {}),
    ...(chance(0.5)
      ? {
          task: {
            id: pick(["t1", "t2"]),
            state: pick(["running", "running", "completed", "failed"]),
            progress: integer(120) - 10,
          },
        }
      : {}),
  });
}

type EventBody = Parameters<Play["on"]>[0];

function eventOf(random: Random, state: DialogueState): EventBody {
  const { pick, chance, integer } = random;
  const turn = chance(0.8) ? state.turn : integer(state.turn + 1);
  const isSending = state.status === "sending";
  if (isSending && chance(0.6)) {
    const status = pick([200, 200, 200, 200, 401, 403, 409, 413, 429, 500, 503]);
    return { type: "answered", turn, status, text: answerOf(random), retryAfter: pick([null, "2", "x"]) };
  }
  if (state.status === "waiting" && chance(0.5)) return { type: "timer" };
  return pick<EventBody>([
    { type: "press", action: pick(["go", "auto"]), seq: chance(0.8) ? state.seq : integer(state.seq + 1) },
    { type: "press", action: "go", seq: state.seq },
    { type: "input", name: pick(["name", "file", "colour"]), value: pick(["Sam", "aGk=", "#aabbcc", null]) },
    { type: "hidden", hidden: chance(0.5) },
    { type: "failed", turn },
    { type: "refreshed", turn, ok: chance(0.7) },
    { type: "timer" },
    { type: "retry" },
    { type: chance(0.1) ? "restart" : "retry" },
    { type: chance(0.05) ? "close" : "timer" },
  ]);
}

/** Follows what a driver would have under way, and checks each step. */
class Witness {
  requests = 0;
  isTimed = false;
  #autos = 0;

  check(play: Play, before: DialogueState, event: EventBody): void {
    const { state, effects } = play;
    if (event.type === "answered" || event.type === "failed")
      this.requests = event.turn === before.turn ? 0 : this.requests;
    if (event.type === "timer") this.isTimed = false;
    for (const effect of effects) {
      if (effect.type === "abort") this.requests = 0;
      if (effect.type === "cancelTimer") this.isTimed = false;
      if (effect.type === "timer") {
        assert.equal(this.isTimed, false, "two timers");
        assert.ok(effect.ms >= 0 && effect.ms <= 30_000);
        assert.ok(
          state.pending !== null || state.task?.state === "running",
          "a timer without a task or a repeated request",
        );
        this.isTimed = true;
      }
      if (effect.type !== "send") continue;
      assert.notEqual(before.status, "closed", "sent after the end");
      assert.equal(this.requests, 0, "two requests under way");
      assert.equal(this.isTimed, false, "a request beside a timer");
      assert.deepEqual(effect.body.context, context);
      this.requests = 1;
      this.#autos = state.pending?.kind === "auto" ? this.#autos + 1 : this.#autos;
      if (event.type === "press" || event.type === "restart") this.#autos = 0;
    }
    if (before.status === "closed") assert.equal(state, before);
    if (state.status !== "waiting") assert.equal(state.wait, null);
    this.#late(before, state, event);
    this.#values(before, state, event);
  }

  #late(before: DialogueState, state: DialogueState, event: EventBody): void {
    const isLate = "turn" in event && event.turn !== before.turn;
    if (isLate) assert.equal(state, before, "a late answer counted");
  }

  #values(before: DialogueState, state: DialogueState, event: EventBody): void {
    if (event.type === "input" || event.type === "restart") return;
    for (const block of state.blocks) {
      if (block.type !== "input") continue;
      const earlier = before.blocks.find(each => each.key === block.key);
      const isSame = earlier?.type === "input" && earlier.input_type === block.input_type;
      if (isSame) assert.equal(state.values[block.name], before.values[block.name], "what was typed is lost");
    }
    const falls =
      before.task?.id === state.task?.id && (state.task?.progress ?? 100) < (before.task?.progress ?? 0);
    assert.equal(falls, false, "progress fell");
  }
}

describe(`${runs} dialogues at random`, () => {
  it("have one request at a time, timers with a reason, no effect of late answers, no lost input, and follow from their events", () => {
    for (let seed = 1; seed <= runs; seed++) {
      const random = createRandom(seed);
      const play = new Play();
      const witness = new Witness();
      const events: DialogueEvent[] = [];
      const on = (body: EventBody): void => {
        const before = play.state;
        play.now += random.integer(3_000);
        events.push({ ...body, at: play.now, random: 0.5, key: `k${events.length + 1}` } as DialogueEvent);
        play.on(body);
        witness.check(play, before, body);
      };
      try {
        on({ type: "open", context });
        for (let step = 0; step < steps; step++) on(eventOf(random, play.state));
        if (seed % 50 === 0) assert.deepEqual(replayRecording({ version: 1, events }).at(-1), play.state);
      } catch (error) {
        throw new Error(`seed ${seed}, event ${events.length}: ${JSON.stringify(events.at(-1))}`, {
          cause: error,
        });
      }
    }
  });

  it("end, however the backend answers with auto actions", () => {
    for (let seed = 1; seed <= 100; seed++) {
      const { chance } = createRandom(seed);
      const play = new Play().open();
      let sent = 0;
      while (play.state.status === "sending" && sent < 1_000) {
        sent++;
        play.view({ autoAction: { action_id: "auto" }, ...(chance(0.5) ? { task: parts.running } : {}) });
      }
      assert.equal(sent, 26);
    }
  });
});
