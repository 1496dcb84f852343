/** Notifications of completed exports. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { createDyingStore } from "../../../support/dying_store.ts";
import { ids } from "../../../support/platform.ts";
import {
  decrypt,
  ExportWorld,
  firstNotificationRetryMs,
  getExport,
  lifetimeMs,
  manyUsers,
  notificationAttemptsMax,
  requestExport,
} from "./_world.ts";

const open = async (clock: () => number): Promise<Store> => createMemoryStore({ clock });
const webhook = { url: "https://crm.example/exports" };

describe("a finished export", () => {
  it("is mailed to the addresses of the request, with a link that is valid as long as the export", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process, { notify: { email: "ann@club.example" } });
    await process.exports.idle();
    assert.equal(world.mails.length, 1);
    const [mail] = world.mails;
    assert.ok(mail !== undefined);
    assert.deepEqual([mail.to, mail.kind], ["ann@club.example", "exportCompleted"]);
    const { password } = await getExport(process, exportId);
    assert.ok(mail.text.includes(password));
    const link = /https:\/\/\S+/.exec(mail.text)?.[0] ?? "";
    world.clock.advance(lifetimeMs - 1);
    const response = await process.call(link);
    assert.equal(response.status, 200);
    const text = decrypt(Buffer.from(await response.arrayBuffer()), password);
    assert.equal(JSON.parse(text).length, 3);
    world.clock.advance(1);
    assert.equal((await process.call(link)).status, 404);
  });

  it("is mailed apart from its password if the request says so", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const notify = { email: "ann@club.example", passwordEmail: "bob@club.example" };
    const exportId = await requestExport(process, { notify });
    await process.exports.idle();
    const { password } = await getExport(process, exportId);
    const [link, secret] = world.mails;
    assert.deepEqual([link?.to, secret?.to], ["ann@club.example", "bob@club.example"]);
    assert.ok(!link?.text.includes(password) && link?.text.includes("https://"));
    assert.ok(secret?.text.includes(password) && !secret.text.includes("https://"));
  });

  it("is mailed without its password if the request says so", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process, {
      notify: { email: "ann@club.example", passwordEmail: null },
    });
    await process.exports.idle();
    const { password } = await getExport(process, exportId);
    assert.equal(world.mails.length, 1);
    assert.ok(!world.mails[0]?.text.includes(password));
  });

  it("is sent to the addresses and the service of the organisation's settings", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const settings = { notify: { email: "ops@club.example", passwordEmail: null }, webhook };
    const process = world.process({ intervalMs: 0, settings });
    const exportId = await requestExport(process);
    await process.exports.idle();
    const found = await getExport(process, exportId);
    assert.equal(world.mails[0]?.to, "ops@club.example");
    assert.ok(!world.mails[0]?.text.includes(found.password), "the settings keep the password out of mail");
    const [message] = world.events;
    assert.ok(message !== undefined);
    assert.deepEqual(
      [message.url, message.type, message.id],
      [webhook.url, "audience.exportCompleted", `${exportId}:completed`],
    );
    const { downloadUrl, ...data } = message.data as Record<string, unknown>;
    assert.deepEqual(
      [data.exportId, data.rowCount, data.sha256, data.password],
      [exportId, 3, found.sha256, found.password],
    );
    assert.equal((await process.call(String(downloadUrl))).status, 200);
    const reply = await process.call("/v1/api/audience/internal/export-webhook");
    const { data: known } = await reply.json();
    assert.equal(known.secret, `whsec_${Buffer.from(message.key).toString("base64")}`);
  });

  it("is announced to the webhooks of the space, without link and password", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process);
    await process.exports.idle();
    const { sha256, fileSize, completedAt, expiresAt } = await getExport(process, exportId);
    assert.deepEqual(world.announced, [
      {
        organisationId: ids.organisation,
        spaceId: ids.space,
        area: "audience",
        id: `${exportId}:completed`,
        event: "exportCompleted",
        at: Date.parse(completedAt),
        data: {
          exportId,
          format: "json",
          encrypted: true,
          rowCount: 3,
          fileSize,
          sha256,
          completedAt,
          expiresAt,
        },
      },
    ]);
  });

  it("is sent to a service without its password if the settings say so", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const settings = { webhook: { ...webhook, includePassword: false } };
    const process = world.process({ intervalMs: 0, settings });
    await requestExport(process);
    await process.exports.idle();
    const [message] = world.events;
    assert.ok(message !== undefined);
    assert.equal("password" in (message.data as object), false);
  });

  it("sends a refused message again after a pause, and no other message twice", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0, settings: { webhook } });
    world.mailFault = new Error("no");
    const exportId = await requestExport(process, { notify: { email: "ann@club.example" } });
    await process.exports.idle();
    assert.deepEqual([world.mails.length, world.events.length], [0, 1]);
    assert.equal((await getExport(process, exportId)).status, "completed");
    world.mailFault = null;
    await process.work();
    assert.equal(world.mails.length, 0, "before the pause is over");
    world.clock.advance(firstNotificationRetryMs);
    await process.work();
    world.clock.advance(firstNotificationRetryMs * 4);
    await process.work();
    assert.deepEqual([world.mails.length, world.events.length], [1, 1]);
  });

  it("drops a message after its last attempt", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0, ttlMs: 30 * 24 * 3_600_000 });
    world.mailFault = new Error("no");
    await requestExport(process, { notify: { email: "ann@club.example" } });
    await process.exports.idle();
    for (let n = 1; n < notificationAttemptsMax; n++) {
      world.clock.advance(firstNotificationRetryMs * 2 ** n);
      await process.work();
    }
    world.mailFault = null;
    world.clock.advance(firstNotificationRetryMs * 2 ** notificationAttemptsMax);
    await process.work();
    assert.equal(world.mails.length, 0);
  });

  it("is reported at least once at whatever step the process dies, and once by the same process", async () => {
    for (let at = 0; ; at++) {
      await using world = await ExportWorld.open(open, manyUsers(3));
      const asker = world.process();
      await requestExport(asker, { notify: { email: "ann@club.example" }, encrypt: false });
      world.clock.advance(300_000);
      const store = createDyingStore(world.store);
      const process = world.process({ store });
      store.dieAt({ at, when: "after" });
      await process.work();
      const mailCount = world.mails.length;
      await process.work();
      assert.equal(world.mails.length, mailCount, "by a process that is dead");
      if (!store.isDead) break;
      world.clock.advance(3_600_000);
      await world.process().work();
      assert.ok(world.mails.length === 1 || world.mails.length === 2, `${world.mails.length} at ${at}`);
    }
  });

  it("is reported once by a process that could not store that it did", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    let isDown = false;
    const flaky: Store = {
      ...world.store,
      traits: world.store.traits,
      read: (partition, queries) => world.store.read(partition, queries),
      commit: async (partition, batch) => {
        if (isDown) throw new Error("down");
        const done = await world.store.commit(partition, batch);
        isDown = JSON.stringify(batch).includes('\\"status\\":\\"completed\\"') && world.mails.length === 0;
        return done;
      },
      ping: () => world.store.ping(),
      [Symbol.asyncDispose]: async () => {},
    };
    const process = world.process({ store: flaky });
    await requestExport(process, { notify: { email: "ann@club.example" }, encrypt: false });
    world.clock.advance(300_000);
    await process.work();
    assert.equal(world.mails.length, 1);
    assert.equal(isDown, true);
    isDown = false;
    world.clock.advance(3_600_000);
    await process.work();
    assert.equal(world.mails.length, 1);
  });
});
