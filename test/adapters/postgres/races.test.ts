import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { createPostgresStore, migratePostgres } from "../../../adapters/postgres/mod.ts";
import { freshSchema, postgresAvailable, sharedPostgres } from "../../support/postgres.ts";
import { bundledProgram } from "../../support/program.ts";
import { until } from "../../support/until.ts";

/** Callers of a process. */
const callers = 16;

class Racer {
  readonly #process: ChildProcess;
  #output = "";

  constructor(server: string, schema: string) {
    const script = bundledProgram(new URL("./race_process.ts", import.meta.url));
    this.#process = spawn(process.execPath, [script, server, schema], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
    });
  }

  /** The lines of what it won, but for one that a kill has cut. */
  won(): readonly string[] {
    return this.#output.split("\n").slice(0, -1);
  }

  async kill(): Promise<void> {
    const closed = once(this.#process, "close");
    this.#process.kill("SIGKILL");
    await closed;
  }
}

describe("processes that race for the same records in PostgreSQL", { skip: postgresAvailable() }, () => {
  it("win each number once, and lose none when they are killed", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await migratePostgres({ server: server.url, schema });
    const racers = [1, 2, 3].map(() => new Racer(server.url, schema));
    const [first, ...others] = racers as [Racer, Racer, Racer];
    const wins = async (racer: Racer, more: number): Promise<void> => {
      const count = racer.won().length + more;
      await until(`${count} numbers are won`, () => racer.won().length >= count);
    };
    await Promise.all(racers.map(racer => wins(racer, 100)));
    await first.kill();
    await Promise.all(others.map(racer => wins(racer, 100)));
    for (const racer of others) await racer.kill();
    await until("the server has noticed that they are gone", async () => {
      const text = "select from pg_stat_activity where application_name = 'grandstand' and query like $1";
      return (await server.query(text.replace("$1", `'%${schema}.%'`))).length === 0;
    });
    const won = racers.flatMap(racer => racer.won());
    assert.equal(new Set(won).size, won.length, "two have won the same number");
    await using store = createPostgresStore({ server: server.url, schema });
    let stored = 0;
    for (const partition of ["p0", "p1", "p2", "p3"]) {
      const [record, tally, board] = await store.read(partition, [
        { type: "record", key: "n" },
        { type: "tally", key: "n" },
        { type: "board", key: "n", limit: 0 },
      ]);
      const n = Number(record?.value);
      assert.deepEqual([tally.get("n"), board.size], [n, n], "a commit was applied in part or twice");
      const best = Math.max(
        ...won.filter(line => line.startsWith(partition)).map(line => Number(line.split(" ")[1])),
      );
      assert.ok(best <= n, "a number that was won is lost");
      stored += n;
    }
    assert.ok(stored - won.length <= racers.length * callers, "more is stored than was won or under way");
  });
});
