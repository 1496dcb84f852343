/** Stores of exported files by settings. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Config } from "../../runtime/config.ts";
import { openBlobs } from "../../runtime/services/storage.ts";
import { postgresAvailable, sharedPostgres } from "../support/postgres.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { s3Available, sharedS3, stopS3 } from "../support/s3.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-blobs-"));

/** Puts a blob by one handle and reads it by another, and tells whether it was there. */
async function isShared(settings: Partial<Config>): Promise<boolean> {
  const config: Config = { host: "127.0.0.1", port: 0, log: "silent", ...settings };
  await using first = await openBlobs(config);
  await using second = await openBlobs(config);
  await first.put("exports/a", new Blob(["text"]).stream());
  const found = await second.get("exports/a");
  if (found !== null) assert.equal(await new Response(found.body).text(), "text");
  return found !== null;
}

describe("exported files", () => {
  after(() => {
    stopS3();
    rmSync(folder, { recursive: true });
  });

  it("are in memory where nothing else is set", async () => {
    assert.equal(await isShared({}), false);
  });

  it("are in the folder of the data, or in one of their own", async () => {
    const [data, own] = [join(folder, "data"), join(folder, "own")];
    assert.equal(await isShared({ data }), true);
    assert.equal(readdirSync(join(data, "blobs")).length, 1);
    assert.equal(await isShared({ data: join(folder, "other"), blobs: own }), true);
    assert.equal(readdirSync(own).length, 1);
    assert.equal(existsSync(join(folder, "other")), false);
  });

  it("are in Redis where the state is", { skip: redisAvailable() }, async () => {
    const server = await startRedis();
    try {
      assert.equal(await isShared({ redis: server.url }), true);
      assert.equal(((await server.command("KEYS", "gs:*")) as string[]).length, 2);
    } finally {
      await server.kill();
    }
  });

  it("are in PostgreSQL where the state is", { skip: postgresAvailable() }, async () => {
    const server = await sharedPostgres();
    const postgres = server.urlOf("postgres", await server.freshDatabase());
    assert.equal(await isShared({ postgres }), true);
    const [row] = await server.query("select count(*)::int as blobs from grandstand.blobs", postgres);
    assert.equal(row?.blobs, 1);
  });

  it("are in a bucket that is named", { skip: s3Available() }, async () => {
    const { endpoint, bucket, accessKeyId, secretAccessKey } = await sharedS3();
    const { host } = new URL(endpoint);
    assert.equal(
      await isShared({ blobs: `http://${accessKeyId}:${secretAccessKey}@${host}/${bucket}/x` }),
      true,
    );
  });
});
