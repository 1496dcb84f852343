/** Queue, limiter and files on PostgreSQL, beyond what their contracts ask of every adapter. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPostgresQueue } from "../../../adapters/postgres/mod.ts";
import { storageLimits } from "../../../lib/storage/mod.ts";
import { connect, freshSchema, postgresAvailable, sharedPostgres } from "../../support/postgres.ts";

describe("a PostgreSQL queue", { skip: postgresAvailable() }, () => {
  it("takes from a long queue with as little work as from a short one", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using queue = createPostgresQueue({ server: server.url, schema });
    await queue.depth("t");
    await using connection = await connect(server.url);
    /** Returns the number of pages that a take looks at. The connection plans its first take of an empty table. */
    const take = async (now: number, until: number, limit = 10): Promise<number> => {
      const { rows } = await connection.query(
        `explain (analyze, buffers, format json) select * from ${schema}.take_1('t', ${now}, ${until}, ${limit})`,
      );
      const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
      return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    };
    const bodies = Array.from({ length: storageLimits.queueBatchMax }, () => "x".repeat(1_000));
    await take(0, 10);
    await queue.push("t", bodies.slice(0, 30));
    const few = 3 * Math.max(await take(0, 10), await take(10, 20));
    for (let n = 0; n < 20; n++) await queue.push("t", bodies);
    for (const [what, pages] of [
      ["new ones while leases last", await take(10, 90)],
      ["some whose leases ended", await take(20, 90, 5)],
      ["the rest of those, and new ones", await take(20, 90)],
    ] as const) {
      assert.ok(pages < few, `${what}: ${pages} pages instead of ${few}`);
    }
  });
});
