/** The steps by which runtime/README.md backs up and restores Redis, on a real one with a platform over it. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { runDoctor } from "../../lib/mod.ts";
import { textOf } from "../repo/files.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { RedisProcess, redisAvailable } from "../support/redis.ts";

const run = promisify(execFile);
const backups = mkdtempSync(join(tmpdir(), "grandstand-backups-"));
after(() => rmSync(backups, { recursive: true }));

const [, section = ""] =
  /^## Back up and restore Redis\n([\s\S]*?)^## /m.exec(textOf("runtime/README.md")) ?? [];
const steps = [...section.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].map(([, code = ""]) => code);

const openOn = (server: RedisProcess): Promise<TestPlatform> =>
  openPlatform(async clock => createRedisStore({ server: server.url, clock }), { startAt: Date.now() });

async function scores({ platform, call }: TestPlatform): Promise<Record<string, number>> {
  await platform.idle();
  const path = `/projects/${ids.project}/leaderboards/overall`;
  const { status, json } = await call(path);
  assert.equal(status, 200);
  return Object.fromEntries(
    json.data.map(({ userId, score }: { userId: string; score: number }) => [userId, score]),
  );
}

describe("a backup of Redis by the guide", { skip: redisAvailable() }, () => {
  it("brings back everything that was acknowledged before it, and nothing later", async context => {
    assert.equal(steps.length, 3);
    const [backUp = "", replace = "", appendOnly = ""] = steps;
    // Started without an append-only file, as the third step says; it is switched on at run time, as after a restore.
    const server = await RedisProcess.start();
    context.after(() => server.kill());
    context.after(() => rmSync(`${server.dir}.before`, { recursive: true, force: true }));
    const env = {
      ...process.env,
      GRANDSTAND_REDIS: server.url,
      BACKUPS: backups,
      REDIS_DIR: server.dir,
    };
    const follow = (code: string) => run("sh", ["-euc", code], { env });
    await follow(appendOnly);

    const before = await openOn(server);
    context.after(() => before.dispose());
    const fan = await before.fan("Early");
    const exact = { outcome: "exact", eventId: ids.event };
    assert.equal((await fan.act("prediction", exact, "first")).status, 200);
    const kept = { profile: await fan.profile(), scores: await scores(before) };
    await follow(backUp);
    await fan.act("prediction", exact, "second");
    const late = await before.fan("Late");
    await late.act("prediction", exact);
    assert.notDeepEqual(await fan.profile(), kept.profile);
    assert.equal(Object.keys(await scores(before)).length, 2);

    await server.kill();
    await follow(replace);
    await server.launch();
    await follow(appendOnly);

    const world = await openOn(server);
    context.after(() => world.dispose());
    const profileOf = async (userId: string) =>
      (
        await world.platform.loyalty.profile({
          organisationId: ids.organisation,
          spaceId: ids.space,
          projectId: ids.project,
          userId,
        })
      ).metrics;
    assert.deepEqual(kept.scores, { [fan.userId]: 3 });
    assert.deepEqual(await scores(world), kept.scores);
    assert.deepEqual(JSON.parse(JSON.stringify(await profileOf(fan.userId))), kept.profile.metrics);
    assert.notDeepEqual(await profileOf(late.userId), await profileOf(fan.userId));
    await using store = createRedisStore({ server: server.url });
    for (const { check, status } of await runDoctor({ store, clock: Date.now, repairs: false })) {
      assert.equal(status, "ok", check);
    }
  });
});
