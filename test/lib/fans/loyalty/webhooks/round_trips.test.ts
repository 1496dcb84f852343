/** Round trips of reports in a space with webhooks. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { spaceUserPartition } from "../../../../../lib/fans/loyalty/user/state.ts";
import type { Read, Results } from "../../../../../lib/storage/mod.ts";
import { ids, loyalty, openPlatform, seed } from "../../../../support/platform.ts";
import { describeOnStores } from "../../../../support/stores.ts";
import { WatchedStore } from "../../../../support/watched_store.ts";

const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "11111111-1111-4111-8111-111111111111",
};
const webhook = { id: "crm", url: "https://crm.example/events", events: ["actionRewarded"] };
const seedWithWebhook = { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks: [webhook] } } };
const report = { action: "prediction", data: { outcome: "exact" }, isClientReport: false };

/** Counts the reads that decisions begin with: of the user's state and of how far webhooks are. */
class DecisionReads extends WatchedStore {
  count = 0;

  override read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    const keys = queries.map(query => ("key" in query ? query.key : ""));
    if (partition === spaceUserPartition(member) && keys.includes("loyalty") && keys.includes("webhooks")) {
      this.count += 1;
    }
    return super.read(partition, queries);
  }
}

describeOnStores("a user of a space with webhooks", open => {
  it("is cached, so that a report is one round trip, before and after the delivery of webhooks", async t => {
    const stores: DecisionReads[] = [];
    const sent: string[] = [];
    const league = await openPlatform(
      async clock => {
        const store = new DecisionReads(await open(clock));
        stores.push(store);
        return store;
      },
      { seed: seedWithWebhook, webhooks: { send: async ({ id }) => void sent.push(id) } },
    );
    t.after(() => league.dispose());
    const [store] = stores;
    assert.ok(store !== undefined);
    for (let n = 0; n < 6; n++) {
      await league.platform.loyalty.report(member, { ...report, actionId: `a${n}` });
      if (n % 2 === 1) await league.platform.idle();
    }
    assert.deepEqual([store.count, sent.length], [1, 6]);
    await Promise.all(Array.from({ length: 8 }, () => league.platform.loyalty.report(member, report)));
    await league.platform.idle();
    assert.equal(new Set(sent).size, 14);
  });
});
