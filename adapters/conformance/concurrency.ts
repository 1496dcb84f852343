/** Tests of concurrent use, through one client or two. */
import type { Commit, Store } from "../../lib/storage/contract.ts";
import type { Cases, StoreCase } from "./harness.ts";
import {
  add,
  append,
  board,
  drop,
  equal,
  home,
  log,
  must,
  mustAt,
  ok,
  put,
  record,
  score,
  standing,
  tally,
} from "./harness.ts";

const racers = 64;
/** Each lost check means that another worker won, so the total of rounds bounds the attempts of each worker. */
const attemptsMax = 100;

const raceCases: Cases<StoreCase> = {
  async "of 64 racers that hold the same version exactly one wins"(fixture) {
    const { version } = await must(fixture.store, put("a", "start"));
    const commits = await race(fixture, (store, racer) =>
      store.commit(home, { checks: [{ key: "a", version }], writes: [put("a", `racer ${racer}`)] }),
    );
    await oneWinner(fixture.store, commits, "racer ");
  },

  async "of 64 racers that create the same record exactly one wins"(fixture) {
    const commits = await race(fixture, (store, racer) =>
      store.commit(home, { checks: [{ key: "a", version: null }], writes: [put("a", `racer ${racer}`)] }),
    );
    await oneWinner(fixture.store, commits, "racer ");
  },

  async "of 64 racers that take over an expired record exactly one wins"(fixture) {
    await must(fixture.store, put("a", "old", fixture.clock.now() + 5));
    fixture.clock.advance(5);
    const commits = await race(fixture, (store, racer) =>
      store.commit(home, { checks: [{ key: "a", version: null }], writes: [put("a", `racer ${racer}`)] }),
    );
    await oneWinner(fixture.store, commits, "racer ");
  },

  async "of 64 racers that consume the same record exactly one wins"(fixture) {
    const { version } = await must(fixture.store, put("a", "token"));
    const commits = await race(fixture, store =>
      store.commit(home, {
        checks: [{ key: "a", version }],
        writes: [drop("record", "a"), add("t", "used", 1)],
      }),
    );
    equal(commits.filter(({ ok }) => ok).length, 1, "winners");
    equal(await fixture.store.read(home, [record("a"), tally("t")]), [null, new Map([["used", 1]])]);
  },

  async "a loser of a race leaves nothing behind in any shape"(fixture) {
    const { version } = await must(fixture.store, put("a", "start"));
    const commits = await race(fixture, (store, racer) =>
      store.commit(home, {
        checks: [{ key: "a", version }],
        writes: [
          add("t", "n", 1),
          score("b", `m${racer}`, racer),
          append("l", `e${racer}`, 100),
          put(`own ${racer}`, "1"),
          put("a", "taken"),
        ],
      }),
    );
    const winner = commits.findIndex(({ ok }) => ok);
    const [fields, range, entries] = await fixture.store.read(home, [tally("t"), board("b"), log("l")]);
    equal(fields, new Map([["n", 1]]));
    equal(range, { entries: [{ member: `m${winner}`, score: winner, tie: 0 }], size: 1 });
    equal(
      entries.map(({ value }) => value),
      [`e${winner}`],
    );
    const records = await fixture.store.read(
      home,
      commits.map((_, racer) => record(`own ${racer}`)),
    );
    equal(records.filter(found => found !== null).length, 1, "records of losers");
  },

  async "read, change and retry loses no update"({ store, peer }) {
    const rounds = 8;
    async function worker(handle: Store): Promise<void> {
      let done = 0;
      for (let attempt = 0; done < rounds; attempt++) {
        ok(attempt < attemptsMax, `${attempt} attempts succeeded only ${done} times`);
        const [found] = await handle.read(home, [record("a")]);
        const next = String(Number(found?.value ?? 0) + 1);
        const checks = [{ key: "a", version: found?.version ?? null }];
        if ((await handle.commit(home, { checks, writes: [put("a", next)] })).ok) done += 1;
      }
    }
    await Promise.all(Array.from({ length: 12 }, (_, index) => worker(index % 2 === 0 ? store : peer)));
    equal((await store.read(home, [record("a")]))[0]?.value, String(12 * rounds));
  },

  async "racers of different partitions do not disturb each other"(fixture) {
    const commits = await race(fixture, (store, racer) =>
      store.commit(`p${racer}`, { checks: [{ key: "a", version: null }], writes: [put("a", String(racer))] }),
    );
    equal(
      commits.every(({ ok }) => ok),
      true,
      "all win",
    );
    for (const racer of commits.keys()) {
      equal((await fixture.peer.read(`p${racer}`, [record("a")]))[0]?.value, String(racer));
    }
  },

  async "no two of many parallel commits give a record the same version"(fixture) {
    const commits = await race(fixture, store => store.commit(home, { writes: [put("a", "same")] }));
    const versions = commits.map(commit => (commit.ok ? commit.version : "refused"));
    equal(new Set(versions).size, racers, "distinct versions");
    const [found] = await fixture.store.read(home, [record("a")]);
    ok(found !== null && versions.includes(found.version), "the stored version is none of those answered");
  },
};

const guardCases: Cases<StoreCase> = {
  async "64 parallel guarded takes of a stock of 10 succeed exactly 10 times"(fixture) {
    await must(fixture.store, add("t", "stock", 10));
    const commits = await race(fixture, (store, racer) =>
      store.commit(home, { writes: [put(`claim ${racer}`, "1"), add("t", "stock", -1, { min: 0 })] }),
    );
    const left = commits.flatMap(commit => (commit.ok ? [Number(commit.results[1])] : []));
    equal(
      left.toSorted((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    equal(
      commits.filter(commit => !commit.ok && commit.because === "guard" && commit.key === "t").length,
      54,
      "refusals",
    );
    equal(await fixture.store.read(home, [tally("t")]), [new Map([["stock", 0]])]);
    const claims = await fixture.store.read(
      home,
      commits.map((_, racer) => record(`claim ${racer}`)),
    );
    equal(
      claims.map(claim => claim !== null),
      commits.map(commit => commit.ok),
      "claims of winners",
    );
  },

  async "64 parallel adds of different size never overshoot a maximum"(fixture) {
    const commits = await race(fixture, (store, racer) =>
      store.commit(home, { writes: [add("t", "n", (racer % 7) + 1, { max: 100 })] }),
    );
    const sum = commits.reduce((total, commit, racer) => total + (commit.ok ? (racer % 7) + 1 : 0), 0);
    ok(sum <= 100 && sum > 93, `the sum of what was accepted is ${sum}`);
    equal(await fixture.store.read(home, [tally("t")]), [new Map([["n", sum]])]);
  },

  async "64 parallel adds without bounds all count"(fixture) {
    const commits = await race(fixture, store => store.commit(home, { writes: [add("t", "n", 1)] }));
    const seen = commits.map(commit => (commit.ok ? Number(commit.results[0]) : -1));
    equal(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: racers }, (_, index) => index + 1),
    );
  },

  async "parallel transfers keep the total and never go below 0"(fixture) {
    const accounts = ["a", "b", "c", "d"];
    await must(fixture.store, ...accounts.map(field => add("t", field, 20)));
    await race(fixture, (store, racer) => {
      const from = accounts[racer % 4] ?? "a";
      const to = accounts[(racer * 7 + 1) % 4] ?? "b";
      return store.commit(home, {
        writes: [add("t", from, -((racer % 9) + 1), { min: 0 }), add("t", to, (racer % 9) + 1)],
      });
    });
    const [fields] = await fixture.store.read(home, [tally("t")]);
    equal(
      [...fields.values()].reduce((sum, value) => sum + value, 0),
      80,
      "the total",
    );
    ok(
      [...fields.values()].every(value => value >= 0),
      "a balance is negative",
    );
  },

  async "of 64 scores as of different versions the newest stays, in whatever order they arrive"(fixture) {
    await race(fixture, (store, racer) => {
      const version = (racer * 37) % racers;
      return store.commit(home, { writes: [score("b", "m", version * 10, { asOf: version, tie: version })] });
    });
    equal(await fixture.store.read(home, [standing("b", "m")]), [{ score: 630, tie: 63, below: 0 }]);
  },

  async "parallel additions to one score all count"(fixture) {
    await race(fixture, store => store.commit(home, { writes: [score("b", "m", 0.5, { op: "add" })] }));
    equal(await fixture.store.read(home, [standing("b", "m")]), [{ score: 32, tie: 0, below: 0 }]);
  },

  async "parallel appends all arrive, each under an id of its own"(fixture) {
    const commits = await race(fixture, (store, racer) =>
      store.commit(home, {
        writes: [append("l", `first ${racer}`, 100), append("l", `second ${racer}`, 100)],
      }),
    );
    const [entries] = await fixture.store.read(home, [log("l", { limit: 1_000 })]);
    equal(entries.length, 2 * racers);
    equal(new Set(entries.map(({ id }) => id)).size, 2 * racers, "distinct ids");
    const byId = new Map(entries.map(({ id, value }) => [id, value]));
    for (const [racer, commit] of commits.entries()) {
      if (!commit.ok) continue;
      equal(
        commit.results.map(id => byId.get(String(id))),
        [`first ${racer}`, `second ${racer}`],
      );
    }
    for (const [index, { value }] of entries.entries()) {
      const racer = value.slice("first ".length);
      if (value.startsWith("first"))
        equal(entries[index + 1]?.value, `second ${racer}`, "entries of one commit");
    }
  },

  async "parallel appends never leave more than maxLength entries"(fixture) {
    await race(fixture, (store, racer) =>
      store.commit(home, { writes: [append("l", String(racer), racer, 10)] }),
    );
    equal((await fixture.store.read(home, [log("l")]))[0].length, 10);
  },
};

const visibilityCases: Cases<StoreCase> = {
  async "a commit is visible to every handle once it resolves"({ store, peer }) {
    for (let round = 0; round < 20; round++) {
      const [writer, reader] = round % 2 === 0 ? [store, peer] : [peer, store];
      const { version } = await mustAt(writer, home, { writes: [put("a", String(round)), add("t", "n", 1)] });
      equal(await reader.read(home, [record("a"), tally("t")]), [
        { value: String(round), version },
        new Map([["n", round + 1]]),
      ]);
    }
  },

  async "a reader never sees half a commit"({ store, peer }) {
    const rounds = 60;
    let writing = true;
    async function write(): Promise<void> {
      try {
        for (let round = 1; round <= rounds; round++) {
          const text = String(round);
          await must(
            store,
            put("a", text),
            add("t", "n", 1),
            score("b", "m", round),
            append("l", text, round, 5),
            put("z", text),
          );
        }
      } finally {
        writing = false;
      }
    }
    async function look(handle: Store): Promise<number> {
      let looks = 0;
      // At least one read, so that a store that resolves at once is checked too.
      do {
        const found = await handle.read(home, [
          record("z"),
          standing("b", "m"),
          tally("t"),
          log("l", { limit: 1, reverse: true }),
          record("a"),
        ]);
        const [z, place, fields, [last], a] = found;
        const seen = [
          z?.value ?? "0",
          place?.score ?? 0,
          fields.get("n") ?? 0,
          last?.value ?? "0",
          a?.value ?? "0",
        ].map(Number);
        equal(new Set(seen).size, 1, `one instant, not ${seen.join()}`);
        looks += 1;
      } while (writing);
      return looks;
    }
    const [, ...looks] = await Promise.all([write(), look(store), look(peer), look(peer)]);
    ok(
      looks.every(count => count > 0),
      "a reader never looked",
    );
  },
};

function race(fixture: StoreCase, run: (store: Store, racer: number) => Promise<Commit>): Promise<Commit[]> {
  return Promise.all(
    Array.from({ length: racers }, (_, racer) => run(racer % 2 === 0 ? fixture.store : fixture.peer, racer)),
  );
}

/** Expects one success, 63 lost checks of `a`, and the winner's own value and version in the store. */
async function oneWinner(store: Store, commits: readonly Commit[], prefix: string): Promise<void> {
  const winners = commits.flatMap((commit, racer) => (commit.ok ? [{ racer, version: commit.version }] : []));
  equal(winners.length, 1, "winners");
  equal(
    commits.filter(commit => !commit.ok && commit.because === "check" && commit.key === "a").length,
    racers - 1,
    "losers",
  );
  const [winner] = winners;
  equal(await store.read(home, [record("a")]), [
    { value: `${prefix}${winner?.racer}`, version: winner?.version },
  ]);
}

export const concurrencyCases: Cases<StoreCase> = {
  ...raceCases,
  ...guardCases,
  ...visibilityCases,
};
