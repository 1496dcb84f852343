/** The commands about webhooks, against a platform. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { WebhookError, type WebhookSender } from "../../lib/base/outbound/outbound.ts";
import { CliError, type CommandSpec, exits } from "../../lib/cli/mod.ts";
import { ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { cliContext, type Given, runCommand } from "../support/terminal.ts";
import { newKey } from "./_operations.ts";

interface Terminal {
  readonly world: TestPlatform;
  /** True if the service behind the webhook is up. */
  isThere: boolean;
  readonly run: (words: string, given?: Given) => ReturnType<CommandSpec["run"]>;
}

async function terminal(open: OpenStore): Promise<Terminal> {
  const webhooks: WebhookSender = {
    async send() {
      if (!made.isThere) throw new WebhookError("the service answered 410", { status: 410 });
    },
  };
  const subscribed = [{ id: "crm", url: "https://crm.example/", events: ["actionRewarded"] }];
  const world = await openPlatform(open, {
    seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks: subscribed } } },
    webhooks,
  });
  const { key, secret } = await newKey(world);
  const context = cliContext({ fetch: world.platform.fetch, secret, clock: world.clock.now });
  const made: Terminal = {
    world,
    isThere: false,
    run: (words, { flags, ...given } = {}) =>
      runCommand(context, words, { ...given, flags: { space: ids.space, key, ...flags } }),
  };
  return made;
}

describeOnStores("the commands about webhooks", open => {
  it("show how they do, list what they missed, enable them and replay it", async t => {
    const desk = await terminal(open);
    t.after(() => desk.world.dispose());
    const fan = await desk.world.fan("Sam");
    for (const outcome of ["exact", "right"]) await fan.act("prediction", { outcome });
    await desk.world.platform.idle();
    const { shown } = await desk.run("webhooks list");
    assert.ok(typeof shown === "object");
    const [[id, status, since, waiting, dead, last, url] = []] = shown.rows;
    const now = `${new Date(desk.world.clock.now()).toISOString().slice(0, 19)}.000Z`;
    assert.deepEqual(
      [id, status, since, waiting, dead, url],
      ["crm", "disabled (gone)", now, "0", "2", "https://crm.example/"],
    );
    assert.match(last ?? "", /answered 410/);

    const deadLetters = await desk.run("webhooks dead-letters list", { flags: { webhook: "crm" } });
    assert.ok(typeof deadLetters.shown === "object");
    assert.equal(deadLetters.shown.rows.length, 2);
    const all = { flags: { webhook: "crm", all: "" } };
    await assert.rejects(desk.run("webhooks dead-letters replay", all), (error: unknown) => {
      assert.ok(error instanceof CliError);
      assert.match(error.message, /enable it first/);
      return true;
    });
    desk.isThere = true;
    const enabled = await desk.run("webhooks enable", { args: ["crm"] });
    assert.deepEqual(enabled.notes, [
      "crm is enabled.",
      "It missed 2: webhooks dead-letters replay --webhook crm --all",
    ]);
    assert.ok(!JSON.stringify(enabled.data).includes("whsec_"));
    const replayed = await desk.run("webhooks dead-letters replay", all);
    assert.deepEqual([replayed.notes, replayed.exit], [["Queued 2 deliveries."], exits.ok]);
    await desk.world.platform.idle();
    const gone = {
      flags: { webhook: "crm" },
      lists: { id: [deadLetters.shown.rows[0]?.[0] ?? ""] },
    };
    assert.equal((await desk.run("webhooks dead-letters replay", gone)).exit, exits.notFound);
  });

  it("describe the faults of a call", async t => {
    const desk = await terminal(open);
    t.after(() => desk.world.dispose());
    const failing = async (words: string, given: Given): Promise<number> => {
      const error = await desk.run(words, given).catch((cause: unknown) => cause);
      assert.ok(error instanceof CliError, String(error));
      return error.exit;
    };
    const webhook = { webhook: "crm" };
    assert.equal(await failing("webhooks dead-letters replay", { flags: webhook }), exits.usage);
    const unknown = { flags: { webhook: "other" } };
    assert.equal(await failing("webhooks dead-letters list", unknown), exits.notFound);
    assert.equal(await failing("webhooks enable", { args: ["other"] }), exits.notFound);
  });
});
