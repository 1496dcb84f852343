/** Commits to a journal whose files may not grow beyond a limit, and reports what became of each commit. */
import { openFileStore } from "../../../adapters/file/mod.ts";

const [directory = ""] = process.argv.slice(2);
const store = await openFileStore(directory);
const outcomes: string[] = [];
const value = "x".repeat(20_000);
for (let round = 0; round < 40; round++) {
  const commits = Array.from({ length: 4 }, (_, at) =>
    store.commit("p", {
      writes: [
        { type: "put", key: `k${round * 4 + at}`, value },
        { type: "add", key: "count", field: "n", by: 1 },
      ],
    }),
  );
  for (const commit of commits) {
    outcomes.push(
      await commit.then(
        () => "ok",
        error => error.code,
      ),
    );
  }
}
// Small enough for what is left, also after larger ones have failed.
const small = await store.commit("p", { writes: [{ type: "add", key: "count", field: "small", by: 1 }] });
const [count] = await store.read("p", [{ type: "tally", key: "count" }]);
const kept = await Promise.all(
  outcomes.map(async (_, at) => (await store.read("p", [{ type: "record", key: `k${at}` }]))[0] !== null),
);
process.stdout.write(JSON.stringify({ outcomes, small: small.ok, n: count.get("n"), kept }));
await store[Symbol.asyncDispose]();
