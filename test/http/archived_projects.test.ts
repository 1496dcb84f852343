/** Archived projects keep what they have: they are read, and nothing in them changes until they are back. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { type Answer, ids, openPlatform, seed } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";
import { credentialsFor, examplesFor, operationsOf, send, validExamples } from "./_operations.ts";

/** Operations that change nothing of the project: logins, which reading needs, the end of accounts, trials, and what is above. */
const served: readonly RegExp[] = [
  /^(logInUser|refreshUser|logOutUser|revokeUserSessions?|issueSpaceToken|tryAction|deleteOwnUser|deleteUser)$/,
  // A service token or key, of no project.
  /^(reverseTransaction|replayUser|completeRedemption|refundRedemption|addCodes|redeemCode)$/,
  /^(updateAudienceProfiles|queueActions?|giveRewards)$/,
  /^(replayDeadActions|searchAudienceUsers|importAudienceUsers|exportAudienceUsers)$/,
  // Organisations, spaces and people.
  /(Organisation|Space|Asset|Tag|ScopeRole|Workflow|AccessToken|Session|ApiKey|LoyaltyConfiguration)(Tags|Annotations)?$/,
  /^(createProject|createApp|removeApp|validateSpecUrl|setPresence|enableLoyaltyWebhook|replayDeadWebhookLetters)$/,
];

function archives(open: OpenStore): void {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const headers = await operatorHeaders(world);
    const call = (path: string, options: { method?: string; body?: unknown } = {}) =>
      world.call(`/api/v2${path}`, { ...options, headers });
    const patch = (type: string, id: string, attributes: object) =>
      call(`/${type}/${id}`, { method: "PATCH", body: resource(type, attributes, { id }) });
    const archive = async (archived: boolean): Promise<void> => {
      const answer = await patch("projects", ids.project, { archived });
      assert.equal(answer.status, 204, answer.text);
      // Other processes know of it within a second.
      world.clock.advance(1_000);
    };
    const event = async (attributes: object): Promise<string> => {
      const inProject = { relationships: { project: to("projects", ids.project) } };
      const made = await call("/events", {
        body: resource("events", { name: "Show", ...attributes }, inProject),
      });
      assert.equal(made.status, 201, made.text);
      return made.json.data.id;
    };
    const stateOf = async (id: string): Promise<string> =>
      (await call(`/events/${id}`)).json.data.attributes.state;
    return { world, call, patch, archive, event, stateOf };
  }

  it("refuse every operation that changes something of them, and serve all others", async t => {
    const { world, archive, call, patch } = await opened(t);
    const examples = await validExamples(world);
    const requests = [];
    for (const operation of await operationsOf(world)) {
      const headers = await credentialsFor(operation.scheme, world);
      for (const example of examplesFor(operation, examples)) requests.push({ operation, example, headers });
    }
    await archive(true);
    // The move of a project has a project of its own.
    const moved = String(examples.get("changeProjectApp")?.[0]?.params.projectId);
    assert.equal((await patch("projects", moved, { archived: true })).status, 204);
    const wrong: string[] = [];
    const refused = new Set<string>();
    for (const { operation, ...sent } of requests) {
      const { id, method } = operation;
      const answer = await send(world, operation, sent);
      const isArchived = answer.status === 409 && answer.text.includes('"project_archived"');
      if (isArchived) refused.add(id);
      if (isArchived) assert.ok(operation.statuses.has(409), id);
      const isServed = method === "GET" || served.some(pattern => pattern.test(id));
      if (isArchived === isServed) wrong.push(`${id}: ${answer.status} ${answer.text.slice(0, 200)}`);
    }
    assert.deepEqual(wrong, []);
    assert.ok(refused.size > 30, [...refused].join());
    assert.equal((await patch("projects", ids.project, { archived: true })).status, 204);
    assert.equal((await patch("projects", ids.project, { archived: true, name: "x" })).status, 409);
    assert.equal((await call(`/projects/${ids.project}`)).json.data.attributes.archived, true);
    await archive(false);
    assert.equal((await patch("projects", ids.project, { name: "Back" })).status, 204);
  });

  it("refuse a user of theirs who names another project", async t => {
    const { world, archive } = await opened(t);
    const fan = await world.fan("Sam");
    await archive(true);
    const points = (await fan.profile()).metrics.points;
    const body = { action: "prediction", data: { outcome: "exact" } };
    for (const projectId of [ids.otherProject, "0c000000-0000-4000-8000-00000000000f"]) {
      const answer = await world.call(`/api/loyalty/action?project_id=${projectId}`, {
        token: fan.token,
        body,
      });
      assert.deepEqual([answer.status, answer.json.code], [409, "project_archived"]);
    }
    assert.equal((await fan.profile()).metrics.points, points);
  });

  it("end what runs, and begin nothing until they are back", async t => {
    const { world, archive, event, patch, stateOf, call } = await opened(t);
    const now = Math.floor(world.clock.now() / 1_000);
    const [running, onDemand, planned, manual] = await Promise.all([
      event({ action: "start", on_demand_duration: 600, repeat: true }),
      event({ action: "start", on_demand_duration: 100_000 }),
      event({ start_mode: "clock", start_at: now + 100, duration: 1_000 }),
      event({}),
    ]);
    await patch("events", onDemand, { action: "stop" });
    const statesNow = () => Promise.all([running, onDemand, planned, manual].map(stateOf));
    assert.deepEqual(await statesNow(), ["current", "on_demand", "future", "future"]);
    const before = (await call(`/projects/${ids.project}/events?page[count]=100`)).json.data.length;
    await archive(true);
    assert.deepEqual(await statesNow(), ["past", "past", "future", "future"]);
    world.clock.advance(200_000);
    await world.platform.work();
    assert.deepEqual(await statesNow(), ["past", "past", "future", "future"]);
    const { json } = await call(`/projects/${ids.project}/events?page[count]=100`);
    assert.equal(json.data.length, before, "an event was repeated");
    await archive(false);
    assert.deepEqual(await statesNow(), ["past", "past", "current", "future"]);
    assert.equal((await patch("events", manual, { action: "start" })).status, 204);
  });

  it("follow in the background where the process ended that archived them", async t => {
    const { world, archive, event, stateOf } = await opened(t);
    const running = await event({ action: "start" });
    const { commit } = world.store;
    let commits = 0;
    const failing: typeof commit = async (partition, batch) => {
      if (batch.writes.some(({ key }) => key === `event:${running}`)) {
        commits += 1;
        throw new Error("The process ends here");
      }
      return await commit.call(world.store, partition, batch);
    };
    Object.assign(world.store, { commit: failing });
    await archive(true);
    Object.assign(world.store, { commit });
    assert.deepEqual([commits, await stateOf(running)], [1, "current"]);
    world.clock.advance(20_000);
    await world.platform.work();
    assert.equal(await stateOf(running), "past");
  });

  it("refuse items of back ends and first logins that name them, and seeds that change them", async t => {
    const { world, archive } = await opened(t);
    const credentials = await credentialsFor("apiKey", world);
    const back = { ...credentials, "x-platform-org-id": ids.organisation };
    const report = (): Promise<Answer> =>
      world.call("/v1/api/audience/internal/actions/bulk", {
        body: { actions: [{ userId: "u1", action: "prediction", data: {}, projectId: ids.project }] },
        headers: back,
      });
    const first = await report();
    assert.ok(first.status < 300, first.text);
    const seedNow = (document: typeof seed) =>
      seedDirectory(world.store, document, { clock: world.clock.now });
    await archive(true);
    const refused = await report();
    assert.deepEqual([refused.status, refused.json.code], [409, "project_archived"]);
    await seedNow(seed);
    const [project, ...projects] = seed.projects;
    const renamed = { ...seed, projects: [{ ...project, name: "Renamed" }, ...projects] } as typeof seed;
    await assert.rejects(seedNow(renamed), { code: "project_archived" });
    await archive(false);
    await seedNow(renamed);
  });
}

describeOnStores("archived projects", archives);
