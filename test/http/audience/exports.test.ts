/** Exports of a platform with real users, a mail server, a webhook service, and a file read by another parser. */

import assert from "node:assert/strict";
import { createDecipheriv, createHash, createHmac, pbkdf2Sync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { it } from "node:test";
import { parse } from "csv-parse/sync";
import { createSmtpMailer } from "../../../adapters/mail/mod.ts";
import { nativeExportKernels } from "../../../adapters/native/mod.ts";
import { createWebhookSender } from "../../../adapters/outbound/webhook.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { exportIntervalMsDefault, exportTtlMsDefault } from "../../../lib/fans/exports/exports.ts";
import type { Logger } from "../../../lib/http/mod.ts";
import type { PlatformOptions } from "../../../lib/mod.ts";
import { toNodeListener } from "../../../runtime/node.ts";
import { ids, openPlatform, seed, type TestPlatform } from "../../support/platform.ts";
import { TestSmtpServer } from "../../support/smtp.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { backEnd } from "./_back_end.ts";

const base = "/v1/api/audience/internal";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A service that keeps the webhook events it receives. */
async function service(): Promise<{ url: string; received: Received[] } & Disposable> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: Buffer.concat(await request.toArray()).toString() });
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}/exports`,
    received,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Texts that every format must quote. */
const note = 'Two\nlines, "quoted"';

/** A platform with three fans, of whom two have points, and whose organisation says something about exports. */
async function openWorld(
  open: OpenStore,
  { exports, ...options }: Partial<PlatformOptions> & { readonly about?: object } = {},
): Promise<TestPlatform> {
  const { about, ...rest } = options;
  const organisations = seed.organisations.map(one =>
    one.id === ids.organisation && about !== undefined
      ? { ...one, settings: { ...one.settings, exports: about } }
      : one,
  );
  const world = await openPlatform(open, {
    ...rest,
    seed: { ...seed, organisations },
    exports: { kernels: nativeExportKernels(), ...exports },
  });
  for (const [name, outcome] of [
    ['=cmd|"A1"', "exact"],
    ['Zoë, Łódź "2"', "right"],
    ["Sam", "wrong"],
  ] as const) {
    const fan = await world.fan(name);
    await fan.act("prediction", { outcome });
    const api = await backEnd(world, ["users:write"]);
    const update = { userId: fan.userId, displayName: name, preferences: { note } };
    const { status } = await api(`${base}/profiles/update-batch`, { body: [update] });
    assert.equal(status, 200);
  }
  return world;
}

async function work(world: TestPlatform): Promise<void> {
  await world.platform.work();
  await world.platform.idle();
}

function decrypted(file: Buffer, password: string): string {
  const [salt, iv, tag, data] = file
    .toString("latin1")
    .split(":")
    .map(part => Buffer.from(part, "base64"));
  assert.ok(salt && iv && tag && data);
  const key = pbkdf2Sync(password, salt, 600_000, 32, "sha256");
  const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: 16 }).setAuthTag(tag);
  return Buffer.concat([decipher.update(data), decipher.final()]).toString();
}

describeOnStores("an export of users", open => {
  it("goes from the request through a mail and an event to a file that another parser reads", async () => {
    await using smtp = await TestSmtpServer.start();
    using receiver = await service();
    const mailer = createSmtpMailer({ url: smtp.url(), from: "no-reply@club.example", ca: smtp.ca });
    const world = await openWorld(open, {
      mailer,
      webhooks: createWebhookSender({ networks: ["127.0.0.1"] }),
      about: { webhook: { url: receiver.url } },
    });
    const api = await backEnd(world, ["users:export", "users:read"]);
    const body = {
      format: "csv",
      fields: ["userId", "displayName", "metrics.points", "preferences"],
      filter: { gte: [{ var: "metrics.points" }, 1] },
      notify: { email: "ann@club.example" },
    };
    const accepted = await api(`${base}/users/export`, { body });
    assert.equal(accepted.status, 202);
    const { exportId } = accepted.json.data;
    world.clock.advance(exportIntervalMsDefault);
    await work(world);
    const { data } = (await api(`${base}/exports/${exportId}`)).json;
    assert.deepEqual([data.status, data.rowCount], ["completed", 2], JSON.stringify(data.error));

    const [mail] = smtp.mails;
    assert.deepEqual(mail?.to, ["ann@club.example"]);
    const text = String(mail?.body).replaceAll("=\r\n", "").replaceAll("=3D", "=");
    assert.ok(text.includes(data.password), text);
    const link = /http:\/\/\S+/.exec(text)?.[0] ?? "";

    const [event] = receiver.received;
    assert.ok(event !== undefined);
    const { secret } = (await api(`${base}/export-webhook`)).json.data;
    const signed = `${event.headers["webhook-id"]}.${event.headers["webhook-timestamp"]}.${event.body}`;
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const signature = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
    assert.equal(event.headers["webhook-signature"], signature);
    const message = JSON.parse(event.body);
    assert.deepEqual([message.type, message.data.exportId], ["audience.exportCompleted", exportId]);
    assert.equal(message.data.password, data.password);

    for (const url of [data.downloadUrl, link, message.data.downloadUrl]) {
      const { pathname } = new URL(url);
      const response = await world.platform.fetch(new Request(`http://club.example${pathname}`));
      assert.equal(response.status, 200, url);
      const file = Buffer.from(await response.arrayBuffer());
      assert.equal(createHash("sha256").update(file).digest("hex"), data.sha256);
      const rows = parse(decrypted(file, data.password), { columns: true, record_delimiter: "\r\n" });
      const cells = rows as Record<string, string>[];
      const names = cells.map(row => row.displayName).sort();
      assert.deepEqual(names, [`'=cmd|"A1"`, 'Zoë, Łódź "2"']);
      for (const cell of cells) assert.deepEqual(JSON.parse(cell.preferences ?? ""), { note });
    }
    await mailer[Symbol.asyncDispose]();
    await world.dispose();
  });

  it("has a column for each custom field and metric as CSV, and objects as JSON", async () => {
    const world = await openWorld(open);
    const api = await backEnd(world, ["users:export", "users:read"]);
    const texts: string[] = [];
    for (const format of ["csv", "json"]) {
      const accepted = await api(`${base}/users/export`, { body: { format, encrypt: false } });
      world.clock.advance(exportIntervalMsDefault);
      await work(world);
      const { data } = (await api(`${base}/exports/${accepted.json.data.exportId}`)).json;
      const { pathname } = new URL(data.downloadUrl);
      const response = await world.platform.fetch(new Request(`http://club.example${pathname}`));
      texts.push(await response.text());
    }
    const [csv = "", json = ""] = texts;
    const rows = parse(csv, { columns: true, record_delimiter: "\r\n" }) as Record<string, string>[];
    const users = JSON.parse(json) as {
      displayName: string | null;
      metrics: Record<string, number>;
      customFields: Record<string, unknown>;
    }[];
    assert.equal(rows.length, users.length);
    for (const [index, user] of users.entries()) {
      const row = rows[index] ?? {};
      for (const [id, value] of Object.entries(user.metrics)) {
        assert.equal(row[`metrics.${id}`], String(value));
      }
      for (const name of ["shirt", "goals", "member"]) {
        assert.equal(row[`customFields.${name}`], String(user.customFields[name] ?? ""));
      }
      assert.equal("metrics" in row || "customFields" in row, false);
    }
    await world.dispose();
  });

  it("has up to 200 fields", async () => {
    const customFields = Object.fromEntries(
      Array.from({ length: 64 }, (_, n) => [`field${n}`, { type: "number" }]),
    );
    const [organisation, ...others] = seed.organisations;
    assert.ok(organisation !== undefined);
    const settings = { audience: { customFields } };
    const world = await openPlatform(open, {
      seed: { ...seed, organisations: [{ ...organisation, settings }, ...others] },
    });
    const compile = (fields: readonly string[]): Promise<unknown> =>
      world.platform.users.search.compile(ids.organisation, { spaceId: ids.space, fields });
    const api = await backEnd(world, ["users:export"]);
    const all = ["userId", "displayName", ...Object.keys(customFields).map(name => `customFields.${name}`)];
    assert.ok(all.length > 64);
    const accepted = await api(`${base}/users/export`, { body: { format: "csv", fields: all } });
    assert.equal(accepted.status, 202, accepted.text);
    const tooMany = [...all, ...Array.from({ length: 200 }, (_, n) => `none${n}`)];
    const refused = (error: unknown): boolean =>
      error instanceof AppError && error.fields?.length === 1 && error.fields[0]?.pointer === "/fields";
    await assert.rejects(compile(tooMany), refused);
    await world.dispose();
  });

  it("is the same one for a repeated request, and a new one for another", async () => {
    const world = await openWorld(open);
    const api = await backEnd(world, ["users:export"]);
    const headers = { "idempotency-key": '"nightly"' };
    const body = { format: "json", encrypt: false };
    const first = await api(`${base}/users/export`, { body, headers });
    const second = await api(`${base}/users/export`, { body, headers });
    assert.deepEqual(second.json, first.json);
    assert.equal(second.headers.get("idempotent-replayed"), "true");
    const other = await api(`${base}/users/export`, { body: { ...body, format: "csv" }, headers });
    assert.equal(other.status, 422);
    const third = await api(`${base}/users/export`, { body });
    assert.notEqual(third.json.data.exportId, first.json.data.exportId);
    await world.dispose();
  });

  it("is refused with a pointer to every invalid criterion", async () => {
    const world = await openWorld(open);
    const api = await backEnd(world, ["users:export"]);
    const body = {
      format: "json",
      filter: { gte: [{ var: "metrics.none" }, 1] },
      fields: ["userId", "what"],
    };
    const { status, json } = await api(`${base}/users/export`, { body });
    assert.equal(status, 400);
    const pointers = json.errors.map(({ pointer }: { pointer: string }) => pointer);
    assert.ok(pointers.includes("/fields/1"), pointers.join());
    assert.ok(
      pointers.some((pointer: string) => pointer.startsWith("/filter")),
      pointers.join(),
    );
    await world.dispose();
  });

  it("does not exist for another organisation", async () => {
    const world = await openWorld(open);
    const api = await backEnd(world, ["users:export", "users:read"]);
    const { json } = await api(`${base}/users/export`, { body: { format: "json" } });
    const foreign = await backEnd(world, ["users:export", "users:read"], ids.otherOrganisation);
    const path = `${base}/exports/${json.data.exportId}`;
    const there = await foreign(path, { host: "other.example" });
    assert.equal(there.status, 404);
    const here = await foreign(path);
    assert.equal(here.status, 404);
    await world.dispose();
  });

  it("expires after a day and is removed after two", async () => {
    const world = await openWorld(open);
    const api = await backEnd(world, ["users:export", "users:read"]);
    const { json } = await api(`${base}/users/export`, { body: { format: "json" } });
    const path = `${base}/exports/${json.data.exportId}`;
    world.clock.advance(exportIntervalMsDefault);
    await work(world);
    const { downloadUrl } = (await api(path)).json.data;
    assert.ok(downloadUrl);
    world.clock.advance(exportTtlMsDefault);
    await work(world);
    const { data } = (await api(path)).json;
    assert.equal(data.status, "expired");
    assert.equal("password" in data || "downloadUrl" in data, false);
    const gone = await world.platform.fetch(new Request(downloadUrl));
    assert.equal(gone.status, 404);
    world.clock.advance(2 * exportTtlMsDefault);
    await work(world);
    assert.equal((await api(path)).status, 404);
    await world.dispose();
  });

  it("can be fetched in ranges over a real connection", async () => {
    const world = await openWorld(open, { exports: { intervalMs: 0 } });
    const server = createServer(toNodeListener(world.platform.fetch)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    const api = await backEnd(world, ["users:export", "users:read"]);
    const { json } = await api(`${base}/users/export`, { body: { format: "json", encrypt: false } });
    await world.platform.idle();
    const { data } = (await api(`${base}/exports/${json.data.exportId}`)).json;
    const url = `http://127.0.0.1:${address.port}${new URL(data.downloadUrl).pathname}`;
    const whole = await (await fetch(url)).text();
    assert.equal(JSON.parse(whole).length, 3);
    let pieces = "";
    for (let from = 0; from < data.fileSize; from += 100) {
      const response = await fetch(url, { headers: { range: `bytes=${from}-${from + 99}` } });
      assert.equal(response.status, 206);
      pieces += await response.text();
    }
    assert.equal(pieces, whole);
    const head = await fetch(url, { method: "HEAD" });
    assert.equal(head.headers.get("content-length"), String(data.fileSize));
    const beyond = await fetch(url, { headers: { range: `bytes=${data.fileSize}-` } });
    assert.equal(beyond.status, 416);
    server.closeAllConnections();
    server.close();
    await world.dispose();
  });

  it("is completed without a mailer for its notice, and the log says so", async () => {
    const events: string[] = [];
    const logger: Logger = {
      enabled: () => true,
      log: (_level, event, facts) => void events.push(event, JSON.stringify(facts)),
    };
    const world = await openWorld(open, { logger, exports: { intervalMs: 0 } });
    const api = await backEnd(world, ["users:export", "users:read"]);
    const body = { format: "json", notify: { email: "ann@club.example" } };
    const { exportId } = (await api(`${base}/users/export`, { body })).json.data;
    await work(world);
    assert.equal((await api(`${base}/exports/${exportId}`)).json.data.status, "completed");
    const logged = events[events.indexOf("mail_not_configured") + 1];
    assert.match(logged ?? "", /exportCompleted/);
    assert.doesNotMatch(events.join(), /ann@club/);
    await world.dispose();
  });

  it("is refused if the platform has no blob storage", async () => {
    const world = await openWorld(open, { blobs: undefined } as unknown as Partial<PlatformOptions>);
    const api = await backEnd(world, ["users:export"]);
    const { status, json } = await api(`${base}/users/export`, { body: { format: "json" } });
    assert.deepEqual([status, json.code], [400, "not_available"]);
    await world.dispose();
  });
});
