/** Races with other processes for the next number of each partition. Each line of its output is a number that it won. */
import { createPostgresStore } from "../../../adapters/postgres/mod.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";

const [server = "", schema = ""] = process.argv.slice(2);
const store = createPostgresStore({ server, schema });

async function race(partition: string): Promise<void> {
  for (;;) {
    const [found] = await store.read(partition, [{ type: "record", key: "n" }]);
    const n = Number(found?.value ?? 0) + 1;
    const outcome = await store.commit(partition, {
      checks: [{ key: "n", version: found?.version ?? null }],
      writes: [
        { type: "put", key: "n", value: `${n}` },
        { type: "add", key: "n", field: "n", by: 1 },
        { type: "score", op: "set", key: "n", member: `m${n}`, score: n },
        { type: "append", key: "n", value: `${n}`, at: n, maxLength: 100_000 },
      ],
    });
    if (outcome.ok) process.stdout.write(`${partition} ${n}\n`);
    else if (outcome.because !== "check") throw new AppError("internal_error", "A guard refuses the commit");
  }
}

await Promise.all(Array.from({ length: 16 }, (_, index) => race(`p${index % 4}`)));
