/** Tasks of a workflow: their work, their leases and their ends. */

import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import type { Store } from "../../../lib/storage/mod.ts";
import {
  input,
  loader,
  TaskFailed,
  type TaskRun,
  text,
  type Workflow,
  workflow,
} from "../../../lib/workflow/mod.ts";
import { createDyingStore, moments } from "../../support/dying_store.ts";
import { ids } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { settle } from "../../support/timer.ts";
import { controlUrl, openWorld, TestTalk, type World } from "./_world.ts";

const minute = 60_000;

describeOnStores("tasks of a workflow", open => {
  let world: World;
  let token: string;
  let people = 0;
  /** Does the work of tasks that began. */
  let work: (t: TaskRun<object>, arg: unknown, cursor?: unknown) => Promise<unknown>;
  let began: unknown[];
  let wf: Workflow<object>;

  before(async () => {
    world = await openWorld(open);
    wf = build();
  });
  after(() => world.world.dispose());
  beforeEach(async () => {
    began = [];
    work = () => new Promise(() => {});
    token = await world.person(`p${++people}@example.com`, "creator");
  });

  function build(store: Store = world.store, more: object = {}) {
    const run = (t: TaskRun<object>, arg: unknown, cursor?: unknown) => {
      began.push(cursor ?? arg ?? null);
      return work(t, arg, cursor);
    };
    const start = (kind: string) => kind.toUpperCase();
    return workflow<object>({ ...world.options, store, ...more })
      .start(c =>
        ["plain", "again", "steps", "file"].reduce(
          (view, kind) => view.button(kind, start(kind)),
          c.view(text`Begin`, input.text("a", "A")),
        ),
      )
      .on("plain", c =>
        c.task("plain", "x", text`Working`, loader("Wait")).button("stop", "Stop").button("look", "Look"),
      )
      .on("again", c => c.task("again", { rows: [1, 2] }).button("stop", "Stop"))
      .on("steps", c => c.task("steps", "s"))
      .on("file", c => c.task("again", { csv: new Uint8Array(1_000_000).fill(65) }))
      .on("stop", c => c.cancelTask().view(text`Stopped`).end())
      .on("look", c => c.view(text`Still there`).button("stop", "Stop"))
      .task("plain", { poll: 1_000 }, run)
      .task("again", { idempotent: true }, run)
      .step("steps", {}, run as never)
      .done("plain", (c, result: unknown) => c.view(text`Result ${String(result)}`).button("more", "More"))
      .on("more", c => {
        began.push("more");
        return c.view(text`More`).end();
      })
      .done("steps", (c, result: unknown) => c.view(text`Result ${String(result)}`).end())
      .fail("plain", (c, { safeMessage, data }) =>
        c.view(text`Failed: ${safeMessage} ${JSON.stringify(data) ?? ""}`).button("plain", "Retry"),
      );
  }
  /** Moves the time, and lets the heartbeats that are due then reach the store. */
  const elapse = async (ms: number) => {
    world.world.clock.advance(ms);
    await world.timer.advance(ms);
    await world.store.idle();
  };
  const begun = async (kind: string, of = wf): Promise<TestTalk> => {
    const talk = new TestTalk(of, token);
    await talk.start();
    const answer = await talk.press(kind);
    assert.equal(answer.view.task?.state, "running", answer.text);
    return talk;
  };
  /** Polls once what is under way has reached the store. */
  const ended = async (talk: TestTalk, state: string) => {
    await world.store.idle();
    const { view } = await talk.poll();
    assert.equal(view.task?.state, state, talk.last?.text);
    return view;
  };

  it("shows progress that never falls, and the result", async () => {
    const seen: unknown[] = [];
    let go = (): void => {};
    work = async t => {
      for (const [percent, message] of [
        [10, "Ten"],
        [5],
        [140.7, "Many".repeat(10_000)],
        [Number.NaN],
      ] as const) {
        await t.progress(percent, message);
        await new Promise<void>(resolve => {
          go = resolve;
        });
      }
      return "good";
    };
    const talk = await begun("plain");
    assert.deepEqual(talk.last?.view.blocks, [
      { type: "text", text: "Working" },
      { type: "loader", text: "Wait" },
    ]);
    for (let at = 0; at < 4; at++) {
      await world.store.idle();
      const { view } = await talk.poll();
      seen.push([view.task?.progress, view.task?.pollIntervalMs, view.blocks[1]]);
      go();
    }
    const many = "Many".repeat(500);
    const shown = (progress: number, message: string) => [
      progress,
      1_000,
      { type: "loader", text: message, progress },
    ];
    assert.deepEqual(seen, [shown(10, "Ten"), shown(10, "Ten"), shown(100, many), shown(100, many)]);
    const view = await ended(talk, "completed");
    assert.deepEqual(view.blocks, [{ type: "text", text: "Result good" }]);
    assert.equal(view.task?.progress, 100);
  });

  it("shows the same end to every poll, whose actions take effect once", async () => {
    work = async () => "good";
    const talk = await begun("plain");
    await ended(talk, "completed");
    const { id } = talk.last?.view.task ?? { id: "" };
    const first = talk.payload;
    await talk.poll(id);
    const second = talk.payload;
    await talk.press("more", {}, first);
    const repeated = await talk.press("more", {}, second);
    assert.deepEqual(repeated.texts, ["More"]);
    assert.deepEqual(began, ["x", "more"]);
    world.world.clock.advance(60 * minute);
    assert.match((await talk.poll(id)).texts[0] ?? "", /does not exist any more/);
  });

  it("fails with what is safe to show, and can be begun again", async () => {
    work = async () => {
      throw new TaskFailed("Row 7 has no answer", { rows: [7] });
    };
    const talk = await begun("plain");
    const view = await ended(talk, "failed");
    assert.equal(view.task?.error, "Row 7 has no answer");
    assert.equal(talk.last?.texts[0], "Failed: Row 7 has no answer {&quot;rows&quot;:[7]}");
    work = async () => {
      throw new Error("password=hunter2");
    };
    await talk.press("plain");
    await ended(talk, "failed");
    assert.doesNotMatch(talk.last?.text ?? "", /hunter2/);
    assert.deepEqual(began, ["x", "x"]);
    work = async () => "x".repeat(300_000);
    await talk.press("plain");
    await ended(talk, "failed");
  });

  it("goes on under other views, and is cancelled by an action", async () => {
    let signal: AbortSignal | undefined;
    work = t => {
      ({ signal } = t);
      return new Promise((_, reject) => t.signal.addEventListener("abort", () => reject(t.signal.reason)));
    };
    const talk = await begun("plain");
    const { id } = talk.last?.view.task ?? { id: "" };
    const looked = await talk.press("look");
    assert.deepEqual([looked.view.task?.id, looked.view.task?.state], [id, "running"]);
    const stopped = await talk.press("stop");
    assert.deepEqual(stopped.view, { blocks: [{ type: "text", text: "Stopped" }], actions: [] });
    assert.equal(signal?.aborted, true);
    assert.match((await talk.poll(id)).texts[0] ?? "", /does not exist any more/);
  });

  it("learns of a cancellation by another process at its next progress, and cannot end afterwards", async () => {
    let go = (): void => {};
    let thrown: unknown;
    work = async t => {
      await new Promise<void>(resolve => {
        go = resolve;
      });
      await t.progress(50).catch((error: unknown) => {
        thrown = error;
      });
      assert.throws(() => t.throwIfCancelled());
      return "too late";
    };
    const talk = await begun("plain");
    const { id } = talk.last?.view.task ?? { id: "" };
    const there = new TestTalk(build(), token);
    there.last = talk.last;
    await there.press("stop");
    go();
    await world.store.idle();
    assert.ok(thrown instanceof Error);
    assert.match((await talk.poll(id)).texts[0] ?? "", /does not exist any more/);
  });

  it("keeps its lease while it works, and fails as interrupted once its process is gone", async () => {
    const talk = await begun("plain");
    for (let half = 0; half < 4; half++) {
      await elapse(minute / 2);
      assert.equal(
        (await new TestTalk(build(), token).poll(talk.last?.view.task?.id)).view.task?.state,
        "running",
      );
    }
    world.world.clock.advance(minute + 1);
    const there = new TestTalk(build(), token);
    there.last = talk.last;
    const { view } = await there.poll();
    assert.deepEqual(
      [view.task?.state, view.task?.error],
      ["failed", "This was interrupted: start it again"],
    );
    assert.equal(began.length, 1);
  });

  it("resumes idempotent work in another process, with its argument, exactly once", async () => {
    const talk = await begun("file");
    world.world.clock.advance(minute + 1);
    work = async (_, arg) => (arg as { csv: Uint8Array }).csv.length;
    const processes = [build(), build(), build()].map(each => {
      const there = new TestTalk(each, token);
      there.last = talk.last;
      return there;
    });
    await Promise.all(processes.map(each => each.poll()));
    assert.equal(began.length, 2);
    const [one] = processes;
    assert.ok(one);
    const view = await ended(one, "completed");
    assert.deepEqual(view.blocks, [{ type: "alert", severity: "success", text: "Done" }]);
  });

  it("advances steps by polls, one at a time in all processes", async () => {
    let active = 0;
    work = async (t, _, cursor = 0) => {
      assert.equal(++active, 1);
      await settle();
      active -= 1;
      const next = Number(cursor) + 1;
      await t.progress(next * 30);
      return next === 3 ? { done: next } : { next };
    };
    const talk = await begun("steps");
    assert.deepEqual(began, [], "a step needs a poll");
    const other = new TestTalk(build(), token);
    other.last = talk.last;
    const { id } = talk.last?.view.task ?? { id: "" };
    for (let round = 1; round <= 3; round++)
      await Promise.all([talk.poll(id), other.poll(id), talk.poll(id)]);
    await talk.poll(id);
    assert.deepEqual(began.slice(0, 3), ["s", 1, 2]);
    assert.deepEqual(talk.last?.texts, ["Result 3"]);
    assert.equal(began.length, 3);
  });

  it("does one step and asks the platform once for a thousand polls at once", async () => {
    work = async () => {
      await settle();
      return { next: 1 };
    };
    const talk = await begun("steps");
    const { id } = talk.last?.view.task ?? { id: "" };
    world.world.clock.advance(10_000);
    world.asked.length = 0;
    const body = { taskId: id, ...(talk.payload === undefined ? {} : { payload: talk.payload }) };
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, () => new TestTalk(wf, token).send(body)),
    );
    assert.ok(answers.every(({ status, view }) => status === 200 && view.task?.state === "running"));
    assert.equal(world.asked.length, 2, "who is asking, and the role");
    assert.deepEqual(began, ["s"]);
  });

  it("has twenty of a user at most, and makes room by those that are over", async () => {
    for (let count = 0; count < 20; count++) await begun("plain");
    const talk = new TestTalk(wf, token);
    await talk.start();
    const refused = await talk.press("plain");
    assert.equal(refused.status, 200);
    assert.match(refused.texts[0] ?? "", /Too many tasks/);
    assert.equal(refused.view.task, undefined);
    assert.equal(began.length, 20);
    token = await world.person(`p${++people}@example.com`, "creator");
    await begun("plain");
    world.world.clock.advance(minute + 1);
    assert.equal((await talk.press("plain")).view.task?.state, "running", "interrupted ones make room");
  });

  it("is shown to nobody else and nowhere else", async () => {
    const talk = await begun("plain");
    const { id } = talk.last?.view.task ?? { id: "" };
    const stranger = await world.person(`p${++people}@example.com`, "creator");
    const others = [
      new TestTalk(wf, stranger),
      new TestTalk(wf, token, { baseURL: controlUrl, projectId: ids.project }),
      new TestTalk(build(world.store, { name: "other" }), token),
    ];
    for (const other of others) {
      const { status, view } = await other.poll(id);
      assert.equal(status, 200);
      assert.deepEqual(view, {
        blocks: [{ type: "alert", severity: "info", text: "This task does not exist any more" }],
      });
    }
    assert.equal(
      (await new TestTalk(wf, token).poll(id)).view.task?.state,
      "running",
      "the payload is not needed",
    );
  });

  it("goes on with the newer tokens of polls after its own has ended", async () => {
    let call: (() => Promise<unknown>) | undefined;
    let finish = (_: string): void => {};
    work = async t => {
      call = () =>
        t.api.get<{ data: { id: string } }>("/me").then(
          ({ data }) => data.id,
          error => error.safeMessage,
        );
      return await new Promise<string>(resolve => {
        finish = resolve;
      });
    };
    const user = await world.world.platform.authors.findOrCreate(`p${people}@example.com`);
    const brief = async (minutes: number) => {
      const expires = (world.world.clock.now() + minutes * minute) / 1_000;
      return (await world.world.platform.authors.createToken({ userId: user.id, name: "Brief", expires }))
        .token;
    };
    token = await brief(10);
    const talk = await begun("plain");
    assert.equal(await call?.(), user.id);
    const advance = async (ms: number) => {
      for (let at = 0; at < ms; at += minute / 3) {
        await elapse(minute / 3);
      }
    };
    await advance(9 * minute);
    talk.token = await brief(10);
    await talk.poll();
    await advance(2 * minute);
    assert.equal(await call?.(), user.id, "a poll here");
    await advance(7 * minute);
    const there = new TestTalk(build(), await brief(10));
    there.last = talk.last;
    await there.poll();
    await advance(2 * minute);
    assert.equal(await call?.(), user.id, "a poll to another process");
    await advance(11 * minute);
    assert.equal(await call?.(), "Your permission for this has ended: start again", "no poll any more");
    finish("ok");
  });

  it("ends once, whenever its process dies", async () => {
    for (const kind of ["plain", "again", "steps"]) {
      for (const when of moments) {
        let deaths = 0;
        for (let at = 0; at < 60; at++) {
          token = await world.person(`p${++people}@example.com`, "creator");
          began = [];
          work = async (t, _, cursor = 0) => {
            await t.progress(Number(cursor) * 40 + 10);
            if (kind !== "steps") return "good";
            return cursor === 2 ? { done: "good" } : { next: Number(cursor) + 1 };
          };
          const store = createDyingStore(world.store);
          const talk = new TestTalk(build(store), token);
          await talk.start();
          const { payload } = talk;
          store.dieAt({ at, when });
          let answer = await talk.press(kind, {}, payload);
          for (let polls = 0; polls < 6 && answer.view.task?.state === "running"; polls++) {
            await world.store.idle();
            answer = await talk.poll(answer.view.task.id);
          }
          if (!store.isDead) break;
          deaths += 1;
          const there = new TestTalk(wf, token);
          world.world.clock.advance(minute + 1);
          await there.press(kind, {}, payload);
          assert.equal(there.last?.status, 200, there.last?.text);
          for (let polls = 0; polls < 20 && there.last?.view.task?.state === "running"; polls++) {
            await there.poll();
            world.world.clock.advance(minute / 2);
            await world.store.idle();
          }
          const name = `${kind} ${when} ${at}: ${there.last?.text} ${JSON.stringify(began)}`;
          const { state, error } = there.last?.view.task ?? {};
          if (kind === "plain" && state === "failed") assert.match(error ?? "", /interrupted/, name);
          else assert.equal(state, "completed", name);
          if (kind === "plain")
            assert.ok(began.length <= 1 && (state !== "completed" || began.length === 1), name);
          assert.ok(began.length <= (kind === "steps" ? 4 : 2), name);
        }
        assert.ok(deaths >= 4, `${kind} ${when}: ${deaths}`);
      }
    }
  });
});
