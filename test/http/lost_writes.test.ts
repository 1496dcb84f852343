/** A replica that takes over without the last writes of some partitions: what depends on them follows what is left. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { Users } from "../../lib/fans/identity/users.ts";
import { spaceUserPartition } from "../../lib/fans/loyalty/user/state.ts";
import { type DoctorOptions, type DoctorVerdict, runDoctor } from "../../lib/platform/doctor.ts";
import type { Partition, PartitionLister, Store } from "../../lib/storage/mod.ts";
import { ids, openPlatform, seed, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnEveryStore, type OpenListingStore } from "../support/stores.ts";
import { backEnd } from "./audience/_back_end.ts";
import { foundIds } from "./audience/_searched.ts";

const points = { type: "metric", metricId: "points" };
const exacts = { type: "action", action: "prediction", when: { eq: [{ var: "data.outcome" }, "exact"] } };
const settings = {
  leaderboards: [
    { id: "overall", source: points },
    { id: "lowest", order: "asc", source: points, shards: 4 },
    { id: "dense", rankStyle: "dense", source: points },
    { id: "exacts", source: exacts },
    { id: "monthly", source: points, seasons: { type: "monthly" } },
    { id: "few", source: points, bounds: { min: 0, max: 11 } },
  ],
  eventLeaderboards: [{ id: "round_1", source: points }],
};
const audience = {
  customFields: { goals: { type: "number" }, shirt: { type: "string" } },
  indexes: ["metrics.points", "customFields.goals"],
};
const lostSeed = {
  ...seed,
  organisations: seed.organisations.map(one =>
    one.id === ids.organisation ? { ...one, settings: { ...one.settings, audience } } : one,
  ),
  projects: seed.projects.map(one =>
    one.id === ids.project ? { ...one, settings: { ...one.settings, ...settings } } : one,
  ),
};
const boards = [...settings.leaderboards.map(({ id }) => id), `../events/${ids.event}/leaderboards/round_1`];

type World = Omit<TestPlatform, "store"> & { readonly store: Store & PartitionLister };

async function openWorld(
  open: OpenListingStore,
  t: { after(end: () => Promise<void>): void },
): Promise<World> {
  let store: World["store"] | undefined;
  const world = await openPlatform(
    async clock => {
      store = await open(clock);
      return store;
    },
    { seed: lostSeed },
  );
  t.after(() => world.dispose());
  return { ...world, store: store ?? assert.fail() };
}

async function shown({ platform, call }: TestPlatform, userId: string): Promise<(number | null)[]> {
  await platform.idle();
  const scores: (number | null)[] = [];
  for (const board of boards) {
    const path = new URL(`${board}/users/${userId}`, `http://x/projects/${ids.project}/leaderboards/`)
      .pathname;
    const { status, json } = await call(path);
    scores.push(status === 200 ? json.data.score : null);
  }
  return scores;
}

async function verdictOf(check: string, options: DoctorOptions): Promise<DoctorVerdict | undefined> {
  return (await runDoctor(options)).find(verdict => verdict.check === check);
}

/** Returns a function that undoes all later writes to a record. */
async function remember(store: Store, partition: Partition, key: string): Promise<() => Promise<void>> {
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  const value = stored?.value ?? assert.fail(`there is no ${key}`);
  return async () => {
    const { ok } = await store.commit(partition, { writes: [{ type: "put", key, value }] });
    assert.ok(ok);
  };
}

describeOnEveryStore("lost writes", open => {
  it("leave every board at what the next action of the user gives", async t => {
    const world = await openWorld(open, t);
    const fan = await world.fan("Sam");
    const act = (outcome: string) => fan.act("prediction", { eventId: ids.event, outcome });
    const partition = spaceUserPartition({ organisationId: ids.organisation, userId: fan.userId });
    await act("right");
    const lose = await remember(world.store, partition, "loyalty");
    for (const outcome of ["exact", "wrong", "wrong", "exact"])
      assert.equal((await act(outcome)).status, 200);
    assert.deepEqual(await shown(world, fan.userId), [17, 17, 17, 2, 17, 4, 17]);
    await lose();
    assert.equal((await act("exact")).status, 200);
    assert.equal((await fan.profile()).metrics.points, 4);
    assert.deepEqual(await shown(world, fan.userId), [4, 4, 4, 1, 4, 4, 4]);
    assert.equal((await act("exact")).status, 200);
    assert.deepEqual(await shown(world, fan.userId), [17, 17, 17, 2, 17, 4, 17]);
    const dense = await world.call(`/projects/${ids.project}/leaderboards/dense`);
    assert.deepEqual(
      dense.json.data.map(({ rank, score }: { rank: number; score: number }) => [rank, score]),
      [[1, 17]],
    );
  });

  it("leave searches at what users have", async t => {
    const world = await openWorld(open, t);
    const { platform, store, clock } = world;
    const crm = await backEnd(world, ["users:read", "users:write"]);
    const fan = await world.fan("Sam");
    const partition = spaceUserPartition({ organisationId: ids.organisation, userId: fan.userId });
    const setGoals = async (goals: number): Promise<void> => {
      const updates = [{ userId: fan.userId, customFields: { goals } }];
      const answer = await crm("/v1/api/audience/internal/profiles/update-batch", { body: { updates } });
      assert.equal(answer.json.data.summary.failed, 0, answer.text);
    };
    await fan.act("prediction", { outcome: "right" });
    await setGoals(1);
    // The indexes are built a while after they are declared.
    await platform.work();
    clock.advance(10_000);
    await platform.work();
    const lost = [await remember(store, partition, "loyalty"), await remember(store, partition, "profile")];
    for (let n = 0; n < 3; n++) await fan.act("prediction", { outcome: "exact" });
    for (const goals of [2, 3, 4]) await setGoals(goals);
    await platform.idle();
    for (const lose of lost) await lose();
    await fan.act("prediction", { outcome: "right" });
    await setGoals(5);
    await platform.idle();
    for (const filter of [
      { metrics: { points: { min: 2, max: 2 } } },
      { eq: [{ var: "customFields.goals" }, 5] },
    ]) {
      assert.deepEqual(await foundIds(crm, { filter }), [fan.userId], JSON.stringify(filter));
    }
  });

  it("are found by the doctor: boards that differ, with the command that mends them", async t => {
    const world = await openWorld(open, t);
    const { platform, store, clock } = world;
    const doctor = (): Promise<DoctorVerdict | undefined> =>
      verdictOf("boards", { store, clock: clock.now, repairs: true });
    const [fan, other] = [await world.fan("Sam"), await world.fan("Kim")];
    const partition = spaceUserPartition({ organisationId: ids.organisation, userId: fan.userId });
    const exact = { eventId: ids.event, outcome: "exact" };
    for (const { act } of [fan, other]) await act("prediction", exact);
    await platform.idle();
    const sound = await doctor();
    assert.deepEqual([sound?.status, sound?.examined], ["ok", boards.length]);
    const lose = await remember(store, partition, "loyalty");
    await fan.act("prediction", exact);
    await platform.idle();
    await lose();
    const found = await doctor();
    assert.deepEqual([found?.status, found?.found, found?.repaired], ["found", boards.length, 0]);
    assert.match(found?.examples.join("\n") ?? "", /has 3 and is shown with 6/);
    const path = `--project ${ids.project}`;
    const commands = found?.examples.map(text => text.replace(/^.* run grandstand /, "")) ?? [];
    assert.ok(commands.includes(`leaderboards rebuild dense ${path}`));
    assert.ok(commands.includes(`leaderboards rebuild round_1 ${path} --event ${ids.event}`));
    assert.ok(
      commands.some(command => command.startsWith(`leaderboards rebuild monthly ${path} --season 20`)),
    );
    assert.match(found?.advice ?? "", /commands/);
  });

  it("are found by the doctor: users whom their keys no longer find, and the keys are claimed again", async t => {
    const world = await openWorld(open, t);
    const { store, clock, call } = world;
    const email = "fan@example.org";
    const data = { email, password: "correct horse battery" };
    const send = (method: string, path: string) =>
      call(path, {
        method,
        body: { projectId: ids.project, strategy: "email", provider: "managedPool", data },
      });
    assert.equal((await send("POST", "/v1/user")).status, 201);
    const fan = await world.fan("Sam");
    const users = new Users(store, testSecret);
    const keys = [
      { kind: "email", email },
      { kind: "external", externalId: fan.externalId },
    ] as const;
    for (const key of keys) {
      const holder = (await users.holderOf(ids.project, key)) ?? assert.fail();
      await users.release(ids.project, key, holder);
    }
    assert.equal((await send("PUT", "/v1/user/login")).status, 401);
    const options = { store, clock: clock.now, secret: testSecret };
    const found = await verdictOf("lookup-keys", { ...options, repairs: false });
    assert.deepEqual([found?.status, found?.found], ["found", 2]);
    assert.match(found?.examples.join() ?? "", /is not found by its e-mail address/);
    assert.doesNotMatch(found?.examples.join() ?? "", new RegExp(`${email}|${fan.externalId}`));
    const repaired = await verdictOf("lookup-keys", { ...options, repairs: true });
    assert.deepEqual([repaired?.status, repaired?.repaired], ["repaired", 2]);
    assert.equal((await send("PUT", "/v1/user/login")).status, 200);
    assert.equal((await verdictOf("lookup-keys", { ...options, repairs: false }))?.status, "ok");
  });

  it("are found by the doctor: a user whose address somebody else has by now", async t => {
    const { store, clock, call } = await openWorld(open, t);
    const email = "fan@example.org";
    const users = new Users(store, testSecret);
    const data = { email, password: "correct horse battery" };
    const body = { projectId: ids.project, strategy: "email", provider: "managedPool", data };
    for (let n = 0; n < 2; n++) {
      const holder = await users.holderOf(ids.project, { kind: "email", email });
      if (holder !== null) await users.release(ids.project, { kind: "email", email }, holder);
      assert.equal((await call("/v1/user", { body })).status, 201);
    }
    const found = await verdictOf("lookup-keys", {
      store,
      clock: clock.now,
      secret: testSecret,
      repairs: true,
    });
    assert.deepEqual([found?.status, found?.found, found?.repaired], ["found", 1, 0]);
    assert.match(found?.examples[0] ?? "", /another user has its e-mail address/);
  });
});
