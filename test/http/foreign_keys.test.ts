/** Isolation of pools, webhooks and hidden users: a key of another organisation finds and changes nothing. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { type Permission, permissions } from "../../lib/auth/mod.ts";
import { type CallOptions, ids, loyalty, openPlatform, seed } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { type WatchedStore, watching } from "../support/watched_store.ts";

const webhooks = [{ id: "crm", url: "https://crm.example/events", events: ["challengeCompleted"] }];
const boards = [{ id: "plain" }, { id: "secret", visibility: "hidden" }];
const projects = seed.projects.map(project =>
  project.id === ids.project
    ? { ...project, settings: { ...project.settings, leaderboards: boards } }
    : project,
);
const hidden = `/projects/${ids.project}/hidden-users`;
const board = `/projects/${ids.project}/leaderboards`;
const hook = `/api/v2/spaces/${ids.space}/loyalty/webhooks`;
const pool = "/internal/loyalty/pools/drinks";

/** Each with what it asks of something that the other organisation has. */
const attacks: readonly (readonly [path: string, options?: CallOptions])[] = [
  [pool],
  [`${pool}/codes`, { body: { codes: ["STOLEN"] } }],
  [`${pool}/redemptions`, { body: { code: "FIRST" } }],
  [hook],
  [`${hook}/crm`],
  [`${hook}/crm/enable`, { method: "POST" }],
  [`${hook}/crm/dead-letters`],
  [`${hook}/crm/dead-letters/replay`, { body: { ids: [`wdl_${"0".repeat(32)}`] } }],
  [hidden],
  [`${hidden}/shown`, { method: "PUT" }],
  [`${hidden}/away`, { method: "DELETE" }],
  [`${board}/secret`],
  [`${board}/secret/users/shown`],
  [`${board}/plain/users/shown`, { method: "PUT", body: { score: 9 } }],
  [`${board}/plain/users/shown`, { method: "DELETE" }],
];

describeOnStores("an API key of another organisation", open => {
  it("is answered 404 on existing resources, even with every permission, and nothing is written", async t => {
    const stores: WatchedStore[] = [];
    const world = await openPlatform(
      watching(open, store => stores.push(store)),
      { seed: { ...seed, projects, loyalty: { [ids.space]: { ...loyalty, webhooks } } } },
    );
    t.after(() => world.dispose());
    const [store] = stores;
    assert.ok(store !== undefined);
    async function headersOf(organisationId: string): Promise<Readonly<Record<string, string>>> {
      const all = permissions as readonly Permission[];
      const { key, secret } = await world.platform.apiKeys.create({
        organisationId,
        name: "k",
        permissions: all,
      });
      return { "x-api-key": key, "x-api-secret": secret };
    }
    const [own, foreign] = [await headersOf(ids.organisation), await headersOf(ids.otherOrganisation)];
    const put = (path: string, body?: unknown): Promise<unknown> =>
      world.call(path, { method: "PUT", headers: own, ...(body === undefined ? {} : { body }) });
    await world.call(`${pool}/codes`, { headers: own, body: { codes: ["FIRST"] } });
    for (const user of ["shown", "away"]) {
      for (const { id } of boards) await put(`${board}/${id}/users/${user}`, { score: 5 });
    }
    await put(`${hidden}/away`);
    await world.platform.idle();
    const readAll = async (): Promise<unknown> => {
      const paths = [
        pool,
        hook,
        `${hook}/crm`,
        hidden,
        `${board}/secret`,
        `${board}/plain`,
        `${board}/plain/users/away`,
      ];
      const answers = await Promise.all(paths.map(path => world.call(path, { headers: own })));
      assert.deepEqual(
        answers.map(({ status }) => status),
        paths.map(() => 200),
      );
      return answers.map(({ text }) => text);
    };
    const before = await readAll();
    const committed = store.commits.length;
    for (const [path, options] of attacks) {
      const { status, json } = await world.call(path, { ...options, headers: foreign });
      assert.equal(status, 404, `${path} ${JSON.stringify(json)}`);
    }
    await world.platform.idle();
    assert.deepEqual(
      store.commits.slice(committed).map(({ partition }) => partition),
      [],
    );
    assert.deepEqual(await readAll(), before);
    // Around somebody who is hidden there is no part of the board to be seen.
    const around = await world.call(`${board}/plain?around=away`, { headers: foreign });
    const shown = (around.json?.data ?? []).map(({ userId }: { userId: string }) => userId);
    const openly = await world.call(`${board}/plain?around=away`);
    assert.deepEqual(
      [around.status, shown],
      [openly.status, (openly.json?.data ?? []).map(({ userId }: { userId: string }) => userId)],
    );
  });
});
