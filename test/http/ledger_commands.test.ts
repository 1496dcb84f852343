/** The commands about a user's ledger, against a platform. */

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { CliError, type CommandSpec, exits } from "../../lib/cli/mod.ts";
import { spaceUserPartition } from "../../lib/fans/loyalty/user/state.ts";
import { type Fan, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { cliContext, runCommand } from "../support/terminal.ts";
import { newKey } from "./_operations.ts";

describeOnStores("the commands about a user's ledger", open => {
  let world: TestPlatform;
  let fan: Fan;
  let run: (words: string, user: string, ...args: string[]) => ReturnType<CommandSpec["run"]>;

  before(async () => {
    world = await openPlatform(open);
    const { key, secret } = await newKey(world);
    const { fetch } = world.platform;
    const context = cliContext({ fetch, secret, clock: world.clock.now });
    run = (words, user, ...args) =>
      runCommand(context, words, { args, flags: { key, user, "exit-code": "" } });
    fan = await world.fan("Sam");
    for (const outcome of ["exact", "right"]) await fan.act("prediction", { outcome });
  });
  after(() => world.dispose());

  async function failure(work: Promise<unknown>): Promise<CliError> {
    const error = await work.then(
      () => null,
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof CliError, String(error));
    return error;
  }

  it("take a transaction back once, and say what it changed", async () => {
    const { json } = await world.call("/api/loyalty/history", { token: fan.token });
    const { id } = json.data[0];
    const { shown, notes, exit = exits.ok } = await run("loyalty reverse", fan.userId, id);
    assert.deepEqual(shown, { columns: ["METRIC", "BEFORE", "AFTER"], rows: [["points", "4", "1"]] });
    assert.match(notes?.[0] ?? "", new RegExp(`^Transaction ${id} is reversed by \\S+$`));
    assert.equal(exit, exits.ok);
    assert.equal((await fan.profile()).metrics.points, 1);
    assert.equal((await failure(run("loyalty reverse", fan.userId, id))).exit, exits.conflict);
    assert.equal((await failure(run("loyalty reverse", fan.userId, "1-1"))).exit, exits.notFound);
    assert.equal((await fan.profile()).metrics.points, 1);
  });

  it("prove a ledger that adds up", async () => {
    const { shown, notes, exit } = await run("loyalty reconcile", fan.userId);
    assert.deepEqual(shown, { columns: ["METRIC", "BALANCE", "LEDGER"], rows: [["points", "1", "1"]] });
    assert.deepEqual([notes, exit], [["The ledger adds up"], exits.ok]);
  });

  it("find a balance that the ledger does not explain", async () => {
    const robin = await world.fan("Robin");
    await robin.act("prediction", { outcome: "exact" });
    const partition = spaceUserPartition({ organisationId: ids.organisation, userId: robin.userId });
    const [stored] = await world.store.read(partition, [{ type: "record", key: "loyalty" }]);
    assert.ok(stored !== null);
    const value = stored.value.replace('"points":3', '"points":30');
    assert.notEqual(value, stored.value);
    await world.store.commit(partition, { writes: [{ type: "put", key: "loyalty", value }] });
    const { notes, exit } = await run("loyalty reconcile", robin.userId);
    assert.match(notes?.[0] ?? "", /does not add up: \d+ faults/);
    assert.match(notes?.[1] ?? "", /^points /);
    assert.equal(exit, exits.differs);
  });

  it("fail for a user of whom nothing is on record", async () => {
    const error = await failure(run("loyalty reconcile", "nobody"));
    assert.deepEqual([error.exit, error.options.status], [exits.notFound, 404]);
    assert.match(error.message, /nothing is on record/);
  });
});
