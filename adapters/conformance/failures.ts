/** Tests of a store whose server fails, and of one whose clock is not that of the process. */
import { AppError, type ErrorCode } from "../../lib/base/errors/mod.ts";
import { type Store, storageTimes } from "../../lib/storage/contract.ts";
import {
  type Cases,
  ConformanceError,
  equal,
  type Fixture,
  home,
  must,
  ok,
  put,
  record,
  register,
  type Suite,
} from "./harness.ts";
import { Load, until } from "./load.ts";

/** A store on a server that can be made to fail. A proxy before the server can do all that the first five say. */
export interface FailuresFixture extends Fixture {
  /** A store without data, whose clock is that of the process: `Date.now`, which the suite sets. */
  readonly store: Store;
  /** Cuts all connections of the store now. */
  cut(): Promise<void>;
  /** Ends the server at once, as a crash does. */
  stop(): Promise<void>;
  /** Starts the server again, with all that it acknowledged. */
  start(): Promise<void>;
  /** Keeps the server from answering, while connections stay open. */
  hang(): Promise<void>;
  /** Lets it answer again. */
  resume(): Promise<void>;
  /** Lets the server refuse writes, or take them again, while it answers reads. Omit it if the server has no such state. */
  refuseWrites?(isRefused: boolean): Promise<void>;
}

/** Room for a busy machine on top of a promised time, in ms. */
const graceMs = 1_500;
const roundsMax = 20;
const reads = 64;

/** Registers the suite of failures for a {@linkcode Store} on a server. */
export function failuresConformance(options: Suite<FailuresFixture>): void {
  async function factory(): Promise<FailuresFixture> {
    const given = Date.now;
    skewMs = 0;
    // Before the store is opened, which may keep the function.
    Date.now = skewedNow;
    try {
      const fixture = await options.factory();
      return {
        ...fixture,
        async dispose() {
          Date.now = given;
          await fixture.dispose();
        },
      };
    } catch (error) {
      Date.now = given;
      throw error;
    }
  }
  options.describe("failures", () => register(options, { ...failureCases, ...clockCases }, factory));
}

const realNow = Date.now;
let skewMs = 0;

function skewedNow(): number {
  return realNow() + skewMs;
}

const failureCases: Cases<FailuresFixture> = {
  async "every commit is reported truthfully while connections are cut"({ store, cut }) {
    await using load = new Load(store);
    await load.more("ok", 100);
    for (let round = 0; round < 3 || (load.failures() === 0 && round < roundsMax); round++) {
      await cut();
      await load.more("ok", 100);
    }
    await load.stop();
    requireQuick(load);
    await load.verify();
  },

  async "every commit is reported truthfully when the server ends and comes back"({ store, stop, start }) {
    await using load = new Load(store);
    await load.more("ok", 100);
    await stop();
    await refused(() => store.commit(home, { writes: [put("a", "1")] }), "a write without a server");
    await load.more("storage_unavailable", 100);
    await refused(() => store.read(home, [record("a")]), "a read without a server");
    await refused(() => store.ping(), "a ping without a server");
    await start();
    await load.more("ok", 100);
    await load.stop();
    requireQuick(load);
    await load.verify();
    await store.ping();
  },

  async "a read whose connection is lost is answered or fails, and never wrong"({ store, cut }) {
    await must(store, put("a", "1"));
    for (let round = 0; round < 3; round++) {
      const asked = Array.from({ length: reads }, () =>
        store.read(home, [record("a"), record("b")]).then(
          ([a, b]) => [a?.value, b],
          error => requireCode(error, "storage_unavailable", "a read"),
        ),
      );
      await cut();
      for (const found of await Promise.all(asked)) if (found !== undefined) equal(found, ["1", null]);
    }
    await recovers(store);
  },

  async "a store whose server hangs is not ready, and works when the server answers"({
    store,
    hang,
    resume,
  }) {
    await using load = new Load(store);
    await load.more("ok", 100);
    await hang();
    const start = performance.now();
    await refused(() => store.ping(), "a ping of a server that hangs");
    const ms = performance.now() - start;
    ok(ms < storageTimes.pingMsMax + graceMs, `a ping took ${ms} ms`);
    await resume();
    await load.more("ok", 100);
    await load.stop();
    requireQuick(load);
    await load.verify();
    await store.ping();
  },

  async "a server that refuses writes applies nothing, and answers reads"({ store, refuseWrites }) {
    if (refuseWrites === undefined) return;
    await must(store, put("a", "1"));
    await refuseWrites(true);
    await refused(() => store.commit(home, { writes: [put("a", "2"), put("b", "2")] }), "a write");
    const [a, b] = await store.read(home, [record("a"), record("b")]);
    equal([a?.value, b], ["1", null]);
    await refuseWrites(false);
    await recovers(store);
  },
};

const clockCases: Cases<FailuresFixture> = {
  async "a process whose clock differs too much from the server's is not ready"({ store }) {
    await store.ping();
    for (const sign of [1, -1]) {
      skewMs = sign * (storageTimes.readySkewMsMax - 2_000);
      await store.ping();
      skewMs = sign * (storageTimes.readySkewMsMax + 2_000);
      await refused(() => store.ping(), `a ping with the clock off by ${skewMs} ms`);
    }
    skewMs = 0;
    await store.ping();
  },

  async "a process whose clock is far ahead of the server's writes nothing"({ store }) {
    await must(store, put("a", "1"));
    skewMs = storageTimes.aheadMsMax - 2_000;
    await must(store, put("a", "2"));
    skewMs = storageTimes.aheadMsMax + 2_000;
    await refused(() => store.commit(home, { writes: [put("a", "3")] }), "a write far ahead");
    skewMs = 0;
    equal((await store.read(home, [record("a")]))[0]?.value, "2");
    await must(store, put("a", "4"));
  },

  async "a first write is refused too where the clock is far ahead"({ store }) {
    skewMs = storageTimes.aheadMsMax + 2_000;
    await refused(() => store.commit(home, { writes: [put("a", "1")] }), "a first write far ahead");
    skewMs = 0;
    equal(await store.read(home, [record("a")]), [null]);
  },
};

function requireQuick({ slowestMs }: Load): void {
  ok(slowestMs < storageTimes.answerMsMax + graceMs, `an answer took ${slowestMs} ms`);
}

/** Expects the failure that says that nothing was written. */
async function refused(action: () => Promise<unknown>, about: string): Promise<void> {
  let result: unknown;
  try {
    result = await action();
  } catch (error) {
    requireCode(error, "storage_unavailable", about);
    return;
  }
  throw new ConformanceError(`${about}: expected storage_unavailable, got ${JSON.stringify(result)}`);
}

function requireCode(error: unknown, code: ErrorCode, about: string): undefined {
  if (error instanceof AppError && error.code === code) return;
  throw new ConformanceError(`${about}: expected ${code}, got ${String(error)}`, { cause: error });
}

/** Waits until the store takes writes again, without anything being opened anew. */
async function recovers(store: Store): Promise<void> {
  await until("the store takes writes", async () => {
    try {
      await must(store, put("recovered", "1"));
      return true;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  });
}
