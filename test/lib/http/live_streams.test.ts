import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { AppError } from "../../../lib/base/errors/mod.ts";
import {
  type LivePart,
  type LiveRequest,
  type LiveSource,
  LiveStreams,
  liveHeartbeatMs,
  liveIntervalMs,
  liveListenersMax,
} from "../../../lib/http/live_streams.ts";
import { EventReader } from "../../support/event_stream.ts";
import { createManualTimer, type ManualTimer, settle } from "../../support/timer.ts";

/** A board of names, the first of whom lead. */
class FakeBoard implements LiveSource {
  reads = 0;
  names: readonly string[] = ["ann", "bob", "cid"];
  total = 3;
  fault: Error | null = null;
  /** Holds reads back. */
  gate: Promise<void> = Promise.resolve();
  readonly key: string;

  constructor(key = "board") {
    this.key = key;
  }

  async read() {
    this.reads += 1;
    await this.gate;
    if (this.fault !== null) throw this.fault;
    const { names, total } = this;
    return {
      render(limit: number) {
        const shown = names.slice(0, limit).join();
        return { shown, data: `${shown} of ${total}` };
      },
    };
  }
}

const fails = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

describe("live boards", () => {
  let time: ManualTimer;
  let live: LiveStreams;
  let board: FakeBoard;
  let now: number;
  let failures: unknown[];
  beforeEach(() => {
    time = createManualTimer();
    board = new FakeBoard();
    now = 5_000;
    failures = [];
    live = new LiveStreams({ clock: () => now, timer: time.timer, onFailed: error => failures.push(error) });
  });

  type Options = Partial<Pick<LiveRequest, "limit" | "stopping"> & Pick<LivePart, "name" | "locate">>;
  const listen = async ({ name = "board", locate = () => board, ...options }: Options = {}) => {
    const part = { name, locate, event: "leaderboard", wrap: (data: string) => data };
    const first: LiveRequest["first"] = ([data = ""]) => ({ event: "leaderboard", data });
    return new EventReader(await live.open({ limit: 2, parts: [part], first, ...options }));
  };
  const data = async (reader: EventReader): Promise<string | undefined> => (await reader.next())?.data;
  /** Returns the messages so far, without waiting for more. */
  async function arrived(reader: EventReader): Promise<string | null> {
    const next = reader.next().then(event => event?.data ?? "end");
    return await Promise.race([next, settle().then(() => null)]);
  }

  it("begin with the current content of the board", async () => {
    const reader = await listen();
    const first = await reader.next();
    assert.deepEqual(
      { ...first, retry: "" },
      {
        retry: "",
        event: "leaderboard",
        id: "5000",
        data: "ann,bob of 3",
      },
    );
    assert.equal(board.reads, 1);
  });

  it("send changes of the shown entries, at most once a second, and nothing else", async () => {
    const reader = await listen();
    await reader.next();
    board.names = ["bob", "ann", "cid"];
    now = 6_000;
    await time.advance(liveIntervalMs);
    assert.deepEqual(await reader.next(), { event: "leaderboard", id: "6000", data: "bob,ann of 3" });
    board.names = ["bob", "ann", "dan"];
    board.total = 4;
    await time.advance(liveIntervalMs);
    board.names = ["dan"];
    await time.advance(liveIntervalMs - 1);
    const next = arrived(reader);
    assert.equal(await next, null);
    assert.equal(board.reads, 3);
    await time.advance(1);
    assert.equal(board.reads, 4);
  });

  it("read a board at once when it is woken, unless it has changed within a second", async () => {
    const reader = await listen();
    await reader.next();
    board.names = ["bob"];
    now += liveIntervalMs;
    live.wake("another board");
    live.wake("board");
    assert.equal(await data(reader), "bob of 3");
    board.names = ["cid"];
    now += liveIntervalMs - 1;
    live.wake("board");
    await settle();
    assert.equal(board.reads, 2);
    now += 1;
    live.wake("board");
    assert.equal(await data(reader), "cid of 3");
  });

  it("read a board once for all listeners, whatever their limits", async () => {
    const readers = await Promise.all([1, 2, 3].map(limit => listen({ limit })));
    assert.deepEqual(await Promise.all(readers.map(data)), ["ann of 3", "ann,bob of 3", "ann,bob,cid of 3"]);
    const late = await listen({ limit: 3, name: "another name of it" });
    assert.equal(await data(late), "ann,bob,cid of 3");
    assert.equal(board.reads, 1);
    board.names = ["ann", "bob", "eve"];
    await time.advance(liveIntervalMs);
    assert.equal(board.reads, 2);
    const [one, two, three] = readers as [EventReader, EventReader, EventReader];
    assert.equal(await data(three), "ann,bob,eve of 3");
    assert.equal(await data(late), "ann,bob,eve of 3");
    assert.deepEqual(await Promise.all([arrived(one), arrived(two)]), [null, null]);
  });

  it("read nothing without listeners, also after many have come and gone", async () => {
    for (let visit = 0; visit < 20; visit++) await (await listen()).leave();
    assert.equal(board.reads, 1);
    await time.advance(10 * liveIntervalMs);
    assert.equal(board.reads, 1);
    assert.equal(live.size, 0);
    assert.deepEqual(time.waiting, []);
    await listen();
    assert.equal(board.reads, 2);
  });

  it("keep one message and the newest for a slow listener", async () => {
    const slow = await listen();
    const fast = await listen();
    await data(fast);
    for (let round = 1; round <= 50; round++) {
      board.names = [`user ${round}`];
      await time.advance(liveIntervalMs);
      assert.equal(await data(fast), `user ${round} of 3`);
    }
    assert.deepEqual([await data(slow), await data(slow)], ["ann,bob of 3", "user 50 of 3"]);
    assert.equal(await arrived(slow), null);
  });

  it("skip a change that was undone before it could be sent", async () => {
    const slow = await listen();
    board.names = ["eve"];
    await time.advance(liveIntervalMs);
    board.names = ["ann", "bob"];
    await time.advance(liveIntervalMs);
    assert.equal(await data(slow), "ann,bob of 3");
    assert.equal(await arrived(slow), null);
  });

  it("send a heartbeat every 15 seconds, also to later listeners", async () => {
    const early = await listen();
    await early.next();
    await time.advance(liveHeartbeatMs / 2);
    const late = await listen();
    await late.next();
    await time.advance(liveHeartbeatMs / 2);
    assert.deepEqual([await early.block(), await late.block()], [":", ":"]);
    await time.advance(liveHeartbeatMs);
    assert.equal(await early.block(), ":");
  });

  it("do not queue heartbeats for a listener that reads nothing", async () => {
    const reader = await listen();
    await time.advance(10 * liveHeartbeatMs);
    await reader.next();
    assert.equal(await arrived(reader), null);
    assert.equal(reader.comments, 0);
  });

  it("are read less often the more listen", async () => {
    for (let count = 0; count < 750; count++) await listen();
    const { reads } = board;
    await time.advance(1_000);
    const later = board.reads;
    await time.advance(1_499);
    assert.equal(board.reads, later);
    await time.advance(1);
    assert.deepEqual([later, board.reads], [reads + 1, later + 1]);
  });

  it("spread the reconnects of clients", async () => {
    const times = new Set<number>();
    for (let client = 0; client < 200; client++) {
      const retry = Number((await (await listen()).next())?.retry);
      assert.ok(retry >= 1_000 && retry < (client < 40 ? 5_000 : 21_000), `${retry}`);
      times.add(retry);
    }
    assert.ok(times.size > 180);
    assert.ok(Math.max(...times) > 16_000, "many take longer");
  });

  it("refuse listeners beyond the bound, and accept others when one has left", async () => {
    const readers: EventReader[] = [];
    for (let count = 0; count < liveListenersMax; count++) readers.push(await listen());
    assert.equal(live.size, liveListenersMax);
    await assert.rejects(listen(), error => {
      assert.ok(fails("busy")(error));
      assert.equal((error as AppError).retryAfterMs, 5_000);
      return true;
    });
    await readers[0]?.leave();
    await listen();
    assert.equal(live.size, liveListenersMax);
  });

  it("count listeners that are about to join", async () => {
    const opened = await Promise.allSettled(Array.from({ length: liveListenersMax + 5 }, () => listen()));
    assert.equal(opened.filter(({ status }) => status === "rejected").length, 5);
    assert.equal(live.size, liveListenersMax);
    assert.equal(board.reads, 1);
  });

  it("refuse all that wait for a failed first read, and start again with the next", async () => {
    board.fault = new AppError("storage_unavailable", "Cannot reach the store");
    const opened = await Promise.allSettled([listen(), listen(), listen()]);
    assert.ok(opened.every(one => one.status === "rejected" && fails("storage_unavailable")(one.reason)));
    assert.deepEqual([board.reads, live.size], [1, 0]);
    await assert.rejects(
      listen({
        locate: () => {
          throw new AppError("not_found", "Cannot find it");
        },
      }),
      fails("not_found"),
    );
    board.fault = null;
    assert.equal(await data(await listen()), "ann,bob of 3");
    assert.equal(live.size, 1);
  });

  it("survive later failed reads, and report them", async () => {
    const reader = await listen();
    await reader.next();
    board.fault = new AppError("storage_unavailable", "Cannot reach the store");
    await time.advance(3 * liveIntervalMs);
    assert.deepEqual([failures.length, board.reads], [3, 4]);
    board.fault = null;
    board.names = ["eve"];
    await time.advance(liveIntervalMs);
    assert.equal(await data(reader), "eve of 3");
  });

  it("wait for a slow read before the next", async () => {
    const reader = await listen();
    await reader.next();
    let open = (): void => {};
    board.gate = new Promise(resolve => {
      open = resolve;
    });
    await time.advance(5 * liveIntervalMs);
    assert.equal(board.reads, 2);
    board.names = ["eve"];
    open();
    assert.equal(await data(reader), "eve of 3");
    await time.advance(liveIntervalMs);
    assert.equal(board.reads, 3);
  });

  it("follow a name to another board", async () => {
    const [first, second] = [new FakeBoard("first"), new FakeBoard("second")];
    second.names = ["sue"];
    let current = first;
    const alias = await listen({ name: "current", locate: () => current });
    const fixed = await listen({ name: "first", locate: () => first });
    await Promise.all([alias.next(), fixed.next()]);
    current = second;
    await time.advance(liveIntervalMs);
    assert.equal(await data(alias), "sue of 3");
    first.names = ["eve"];
    second.names = ["tom"];
    await time.advance(liveIntervalMs);
    assert.deepEqual([await data(alias), await data(fixed)], ["tom of 3", "eve of 3"]);
    await fixed.leave();
    await time.advance(liveIntervalMs);
    const { reads } = first;
    await time.advance(3 * liveIntervalMs);
    assert.equal(first.reads, reads);
    assert.equal(live.size, 1);
  });

  it("merge moved listeners with those of the new board", async () => {
    const [first, second] = [new FakeBoard("first"), new FakeBoard("second")];
    second.names = ["sue"];
    let current = first;
    const locate = () => current;
    const moving = await listen({ name: "current", locate });
    await moving.next();
    current = second;
    const there = await listen({ name: "current", locate });
    assert.equal(await data(there), "sue of 3");
    await time.advance(liveIntervalMs);
    assert.equal(await data(moving), "sue of 3");
    second.names = ["tom"];
    await time.advance(liveIntervalMs);
    assert.deepEqual([await data(moving), await data(there)], ["tom of 3", "tom of 3"]);
    assert.equal(await arrived(there), null);
  });

  it("end if their name no longer stands for a board", async () => {
    let gone = false;
    const locate = (): LiveSource => {
      if (gone) throw new AppError("not_found", "Cannot find it");
      return board;
    };
    const [lost, kept] = [await listen({ name: "lost", locate }), await listen()];
    await Promise.all([lost.next(), kept.next()]);
    gone = true;
    await time.advance(liveIntervalMs);
    assert.equal(await lost.next(), null);
    assert.deepEqual([live.size, await arrived(kept)], [1, null]);
  });

  it("stay with the board while the name cannot be resolved", async () => {
    let fault = false;
    const locate = (): LiveSource => {
      if (fault) throw new AppError("storage_unavailable", "Cannot reach the store");
      return board;
    };
    const reader = await listen({ locate });
    await reader.next();
    fault = true;
    board.names = ["eve"];
    await time.advance(liveIntervalMs);
    assert.deepEqual([await data(reader), failures.length], ["eve of 3", 1]);
  });

  it("end if they moved to a board that cannot be read", async () => {
    const broken = new FakeBoard("broken");
    broken.fault = new AppError("storage_unavailable", "Cannot reach the store");
    let current: LiveSource = board;
    const reader = await listen({ name: "current", locate: () => current });
    await reader.next();
    current = broken;
    await time.advance(liveIntervalMs);
    assert.equal(await reader.next(), null);
    assert.equal(live.size, 0);
  });

  it("end when the server of the listener stops", async () => {
    const [stopping, other] = [new AbortController(), new AbortController()];
    const through = await listen({ stopping: stopping.signal });
    const beside = await listen({ stopping: other.signal });
    await Promise.all([through.next(), beside.next()]);
    stopping.abort();
    assert.equal(await through.next(), null);
    assert.equal(live.size, 1);
    await assert.rejects(listen({ stopping: stopping.signal }), fails("busy"));
    assert.equal(await arrived(beside), null);
  });

  it("end when they are closed, leave no timer, and refuse new listeners", async () => {
    const reader = await listen();
    let open = (): void => {};
    const slow = new FakeBoard("slow");
    slow.gate = new Promise(resolve => {
      open = resolve;
    });
    const late = listen({ name: "slow", locate: () => slow });
    await settle();
    live.close();
    assert.equal(await data(reader), "ann,bob of 3");
    assert.equal(await reader.next(), null);
    await assert.rejects(listen(), fails("busy"));
    open();
    await assert.rejects(late, fails("busy"));
    await settle();
    assert.deepEqual([time.waiting, live.size], [[], 0]);
    live.close();
  });
});
