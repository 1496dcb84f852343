/** Notifications of failed exports. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { createDyingStore } from "../../../support/dying_store.ts";
import { ids } from "../../../support/platform.ts";
import {
  attemptsMax,
  ExportWorld,
  fileMs,
  firstNotificationRetryMs,
  firstRetryMs,
  getExport,
  manyUsers,
  type ProcessOptions,
  requestExport,
} from "./_world.ts";

const open = async (clock: () => number): Promise<Store> => createMemoryStore({ clock });
const settings = { webhook: { url: "https://crm.example/exports" } };
const notify = { email: "ann@club.example", passwordEmail: "bob@club.example" };
/** A filter keeps the number of users unknown until they were counted, which is then too many. */
const tooMany = { filter: 0, notify };
const small: ProcessOptions = { intervalMs: 0, usersMax: 2, settings };

describe("a failed export", () => {
  it("is mailed once to the addresses of the request, with the reason and without a password", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process(small);
    const exportId = await requestExport(process, tooMany);
    await process.exports.idle();
    const { status, error } = await getExport(process, exportId);
    assert.equal(status, "failed");
    assert.equal(world.mails.length, 1);
    const [mail] = world.mails;
    assert.ok(mail !== undefined);
    assert.deepEqual([mail.to, mail.kind], ["ann@club.example", "exportFailed"]);
    assert.ok(mail.text.includes(exportId) && mail.text.includes(error.message), mail.text);
    assert.ok(!mail.text.includes("https://"));
    world.clock.advance(fileMs);
    await process.work();
    assert.deepEqual([world.mails.length, world.events.length, world.announced.length], [1, 1, 1]);
  });

  it("is sent to the service of the settings and to the webhooks of the space", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process(small);
    const exportId = await requestExport(process, tooMany);
    await process.exports.idle();
    const { error } = await getExport(process, exportId);
    const at = world.clock.now();
    const data = {
      exportId,
      format: "json",
      encrypted: true,
      failedAt: new Date(at).toISOString(),
      error,
    };
    const [message] = world.events;
    assert.deepEqual(
      [message?.type, message?.id, message?.at, message?.data],
      ["audience.exportFailed", `${exportId}:failed`, at, { organisationId: ids.organisation, ...data }],
    );
    assert.deepEqual(world.announced, [
      {
        organisationId: ids.organisation,
        spaceId: ids.space,
        area: "audience",
        id: `${exportId}:failed`,
        event: "exportFailed",
        at,
        data,
      },
    ]);
  });

  it("is reported without internal details after an unexpected error", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0, settings });
    world.onPage = () => {
      throw new Error("redis://10.0.0.7 said no");
    };
    const exportId = await requestExport(process, { notify });
    await process.exports.idle();
    for (let n = 0; n <= attemptsMax; n++) {
      world.clock.advance(firstRetryMs * 2 ** n);
      await process.work();
    }
    assert.equal((await getExport(process, exportId)).status, "failed");
    assert.deepEqual([world.mails.length, world.events.length], [1, 1]);
    const texts = JSON.stringify([world.mails, world.events, world.announced]);
    assert.ok(!texts.includes("redis") && !texts.includes("10.0.0.7"), texts);
    assert.ok(texts.includes("internal_error"));
  });

  it("sends a refused message again after a pause, and no other message twice", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process(small);
    world.mailFault = new Error("no");
    await requestExport(process, tooMany);
    await process.exports.idle();
    assert.deepEqual([world.mails.length, world.events.length], [0, 1]);
    world.mailFault = null;
    await process.work();
    assert.equal(world.mails.length, 0, "before the pause is over");
    world.clock.advance(firstNotificationRetryMs);
    await process.work();
    assert.deepEqual([world.mails.length, world.events.length], [1, 1]);
  });

  it("is reported at least once at whatever step the process dies", async () => {
    for (let at = 0; ; at++) {
      await using world = await ExportWorld.open(open, manyUsers(3));
      const asker = world.process({ usersMax: 2 });
      await requestExport(asker, tooMany);
      world.clock.advance(300_000);
      const store = createDyingStore(world.store);
      store.dieAt({ at, when: "after" });
      await world.process({ usersMax: 2, store }).work();
      if (!store.isDead) break;
      world.clock.advance(3_600_000);
      await world.process({ usersMax: 2 }).work();
      assert.ok(world.mails.length === 1 || world.mails.length === 2, `${world.mails.length} at ${at}`);
    }
  });
});
