/** Reports of one user that are applied together. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { ActionReport } from "../../../../lib/fans/loyalty/report.ts";
import { ids, loyalty } from "../../../support/platform.ts";
import { openProcesses } from "../../../support/processes.ts";
import { describeOnStores } from "../../../support/stores.ts";
import { type WatchedStore, watching } from "../../../support/watched_store.ts";

const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  userId: "ann",
  projectId: ids.project,
};

function report(actionId: string, action = "prediction"): ActionReport {
  return { action, actionId, data: { outcome: "exact" }, isClientReport: false };
}

describeOnStores("several reports of a user", open => {
  it("take effect in their order, with one commit", async () => {
    const stores: WatchedStore[] = [];
    await using world = await openProcesses(
      watching(open, store => stores.push(store)),
      loyalty,
    );
    const platform = await world.process();
    await platform.loyalty.report(member, report("first"));
    await platform.idle();
    const commits = (): number =>
      stores.flatMap(store => store.commits).filter(({ batch }) => hasState(batch)).length;
    const before = commits();
    const reports = Array.from({ length: 20 }, (_, n) => report(`match-${n}`));
    assert.deepEqual(await platform.loyalty.reportAll(member, reports), { applied: 20 });
    assert.equal(commits() - before, 1);
    const history = await platform.loyalty.history(member, {});
    assert.equal(history.filter(({ type }) => type === "actionRewarded").length, 21);
    assert.equal((await platform.loyalty.reconcile(member)).ok, true);
    assert.equal((await platform.loyalty.replay(member)).differences.length, 0);
  });

  it("count once for each id, within the batch and in another one", async () => {
    await using world = await openProcesses(open, loyalty);
    const { loyalty: service } = await world.process();
    await service.reportAll(member, [report("a"), report("b"), report("a")]);
    await service.reportAll(member, [report("b"), report("c")]);
    const history = await service.history(member, {});
    assert.equal(history.filter(({ type }) => type === "actionRewarded").length, 3);
  });

  it("stop at the first that is refused, after those before it took effect", async () => {
    await using world = await openProcesses(open, loyalty);
    const { loyalty: service } = await world.process();
    const { applied, error } = await service.reportAll(member, [
      report("a"),
      report("b", "unknown"),
      report("c"),
    ]);
    assert.equal(applied, 1);
    assert.equal((error as { code?: string }).code, "forbidden");
    const again = await service.reportAll(member, [report("a"), report("c")]);
    assert.deepEqual(again, { applied: 2 });
    const history = await service.history(member, {});
    assert.equal(history.filter(({ type }) => type === "actionRewarded").length, 2);
  });
});

function hasState({ writes }: { readonly writes: readonly { readonly key: string }[] }): boolean {
  return writes.some(({ key }) => key === "loyalty");
}
