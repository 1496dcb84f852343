import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  ConformanceError,
  type FailuresFixture,
  failuresConformance,
} from "../../../adapters/conformance/mod.ts";
import { ReferenceModel, ReferenceStore } from "../../../adapters/conformance/reference.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { type Batch, type Commit, ServerClock, type Store } from "../../../lib/storage/mod.ts";
import { collect, outcome } from "./suite.ts";

type State = "runs" | "hangs" | "stopped" | "refuses writes";

/** A store on a simulated server, which keeps the contract unless it is changed. */
class SimulatedServer {
  state: State = "runs";
  #cuts = 0;
  readonly #inner = new ReferenceStore(new ReferenceModel(Date.now));
  readonly #time = Date.now() - performance.now();
  readonly #clock = new ServerClock({
    name: "The server",
    time: () => this.#answer(async () => this.#now()),
  });

  cut(): void {
    this.#cuts += 1;
  }

  readonly store: Store = {
    traits: this.#inner.traits,
    read: (partition, queries) => this.#answer(() => this.#inner.read(partition, queries)),
    commit: async (partition, batch) => {
      await this.#clock.admit(Date.now());
      return await this.commit(partition, batch);
    },
    ping: () => this.#clock.requireReady(),
    [Symbol.asyncDispose]: async () => {},
  };

  async commit(partition: string, batch: Batch): Promise<Commit> {
    const cuts = this.#cuts;
    if (this.state === "refuses writes") throw unavailable();
    const done = await this.#answer(() => this.#inner.commit(partition, batch));
    if (cuts !== this.#cuts) throw new AppError("outcome_unknown", "The connection was lost");
    return done;
  }

  #now(): number {
    return this.#time + performance.now();
  }

  /** Answers a moment later, so that something is under way whenever connections are cut. */
  async #answer<T>(work: () => Promise<T>): Promise<T> {
    if (this.state === "hangs") await new Promise(resolve => setTimeout(resolve, 100));
    if (this.state === "hangs" || this.state === "stopped") throw unavailable();
    const result = await work();
    await new Promise(resolve => setTimeout(resolve, 1));
    return result;
  }
}

function unavailable(): AppError {
  return new AppError("storage_unavailable", "There is no answer");
}

function cases(change: (server: SimulatedServer) => Partial<Store>): ReturnType<typeof collect> {
  return collect(runner =>
    failuresConformance({
      ...runner,
      factory(): FailuresFixture {
        const server = new SimulatedServer();
        const into = (state: State) => async (): Promise<void> => {
          server.state = state;
        };
        return {
          store: { ...server.store, ...change(server) },
          cut: async () => server.cut(),
          stop: into("stopped"),
          start: into("runs"),
          hang: into("hangs"),
          resume: into("runs"),
          refuseWrites: isRefused => into(isRefused ? "refuses writes" : "runs")(),
          dispose() {},
        };
      },
    }),
  );
}

describe("the suite of failures", () => {
  it("accepts a store that keeps the contract", async () => {
    for (const name of cases(() => ({})).keys()) {
      assert.equal(
        await outcome(
          cases(() => ({})),
          name,
        ),
        null,
        name,
      );
    }
  });

  const broken: readonly [
    name: string,
    caughtBy: string,
    change: (server: SimulatedServer) => Partial<Store>,
  ][] = [
    [
      "says that nothing was written where it cannot know",
      "every commit is reported truthfully while connections are cut",
      server => ({
        commit: (partition, batch) =>
          server.commit(partition, batch).catch(() => {
            throw unavailable();
          }),
      }),
    ],
    [
      "sends a commit again whose outcome is unknown",
      "every commit is reported truthfully while connections are cut",
      server => ({
        commit: (partition, batch) =>
          server.commit(partition, batch).catch(() => server.commit(partition, batch)),
      }),
    ],
    [
      "acknowledges what a stopped server never got",
      "every commit is reported truthfully when the server ends",
      server => ({
        commit: async (partition, batch) =>
          server.state === "stopped"
            ? { ok: true, version: "1", results: [] }
            : await server.commit(partition, batch),
      }),
    ],
    [
      "reads nothing where there is no server",
      "every commit is reported truthfully when the server ends",
      server => ({
        read: (partition, queries) => server.store.read(partition, queries).catch(() => [null] as never),
      }),
    ],
    ["is ready while the server hangs", "a store whose server hangs", () => ({ ping: async () => {} })],
    [
      "has an error of its own where writes are refused",
      "a server that refuses writes",
      server => ({
        commit: (partition, batch) =>
          server.commit(partition, batch).catch(() => {
            throw new TypeError("read only");
          }),
      }),
    ],
    [
      "is ready whatever the clock of the process",
      "a process whose clock differs",
      server => ({ ping: async () => void (await server.store.read("p", [])) }),
    ],
    [
      "writes whatever the clock of the process",
      "a process whose clock is far ahead",
      server => ({ commit: (partition, batch) => server.commit(partition, batch) }),
    ],
    [
      "writes first and asks for the time then",
      "a first write is refused",
      server => ({ commit: (partition, batch) => server.commit(partition, batch) }),
    ],
  ];
  for (const [name, caughtBy, change] of broken) {
    it(`rejects a store that ${name}`, async () => {
      const before = Date.now;
      let error: unknown = null;
      // What a cut meets is left to chance.
      for (let run = 0; run < 10 && error === null; run++)
        error = await outcome(cases(change), `failures › ${caughtBy}`);
      assert.ok(error instanceof ConformanceError, `${caughtBy} says ${error}`);
      assert.equal(Date.now, before);
    });
  }
});
