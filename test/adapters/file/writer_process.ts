/** Writes to a journal until it is killed. Each line of its output is an acknowledged commit: a partition and its number. */
import { openFileStore } from "../../../adapters/file/mod.ts";
import type { Write } from "../../../lib/storage/mod.ts";

const [directory = "", writers = "16"] = process.argv.slice(2);
const store = await openFileStore(directory, { compactBytesMin: 60_000, compactRatio: 1 });

/** Commit number `n` of a partition touches every shape, so that a torn commit would show. */
function writes(n: number): Write[] {
  return [
    { type: "put", key: "n", value: String(n) },
    { type: "add", key: "n", field: "n", by: 1 },
    { type: "score", op: "add", key: "n", member: "n", score: 1, asOf: n },
    { type: "score", op: "set", key: "all", member: `member ${n % 90}`, score: n },
    { type: "append", key: "n", value: String(n), at: n, maxLength: 20 },
  ];
}

async function run(partition: string): Promise<void> {
  const [found] = await store.read(partition, [{ type: "record", key: "n" }]);
  for (let n = Number(found?.value ?? 0) + 1; ; n++) {
    const outcome = await store.commit(partition, { writes: writes(n) });
    if (!outcome.ok) throw new Error(`The commit ${n} of ${partition} was refused`);
    process.stdout.write(`${partition} ${n}\n`);
  }
}

await Promise.all(Array.from({ length: Number(writers) }, (_, index) => run(`p${index}`)));
