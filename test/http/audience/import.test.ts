/** Files of users that are imported: what an export shows can be read back, and the same file again changes nothing. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { describeOnStores } from "../../support/stores.ts";
import { createManualTimer } from "../../support/timer.ts";
import { until } from "../../support/until.ts";
import { type WatchedStore, watching } from "../../support/watched_store.ts";
import { csv, exported, importer, type Json, lines, opened } from "./_importer.ts";

/** The columns of an export that an import sets, by user. */
function shown(json: string): Json {
  const rows: Json[] = JSON.parse(json);
  return Object.fromEntries(
    rows.map(({ userId, displayName, preferences, customFields, metrics }) => [
      userId,
      { displayName, preferences, customFields, metrics },
    ]),
  );
}

/** A body that a test sends piece by piece. */
function pieces() {
  let sender: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: controller => {
      sender = controller;
    },
  });
  return {
    body,
    send: (text: string) => sender?.enqueue(new TextEncoder().encode(text)),
    fail: () => sender?.error(new Error("reset")),
  };
}

const rowsOf = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, n) => `{"userId":"fan-${from + n}","metrics":{"points":1}}\n`).join("");

describeOnStores("an import of users", open => {
  it("sets what a file says, and nothing when the same file comes again", async t => {
    let store: WatchedStore | undefined;
    const files = await opened(
      watching(open, watched => {
        store = watched;
      }),
    );
    t.after(() => files.world.dispose());
    const file = [
      "userId,displayName,customFields.shirt,metrics.points,metrics.energy,preferences",
      'ann,"Ann ""Ace"", A.",M,5,7,"{""language"":""de"",\n""list"":[1]}"',
      '"bo","\'=1+1",,3,,',
      'cy,Cy,,,2,""',
    ].join("\r\n");
    const first = await files.lines(csv, file);
    assert.deepEqual(
      first.map(({ row, userId, status, version }) => [row, userId, status, version]),
      [
        [1, "ann", "changed", 1],
        [2, "bo", "changed", 1],
        [3, "cy", "failed", undefined],
        [undefined, undefined, undefined, undefined],
      ],
    );
    assert.deepEqual(first.at(-1), {
      summary: { total: 3, changed: 2, unchanged: 0, failed: 1, unknown: 0 },
    });
    assert.equal(first[2].error.pointer, "/preferences");
    const { displayName, customFields, preferences, loyalty } = await files.profile("ann");
    assert.deepEqual(
      [displayName, customFields, preferences, loyalty.metrics.points, loyalty.metrics.energy],
      ['Ann "Ace", A.', { shirt: "M" }, { language: "de", list: [1] }, 5, 7],
    );
    const bo = await files.profile("bo");
    assert.deepEqual([bo.displayName, bo.loyalty.metrics.points, bo.loyalty.metrics.energy], ["=1+1", 3, 5]);
    await files.world.platform.idle();
    const commits = store?.changes.length;
    const again = await files.lines(csv, file);
    assert.deepEqual(
      again.slice(0, 2).map(({ status, version, transactionId }) => [status, version, transactionId]),
      [
        ["unchanged", 1, undefined],
        ["unchanged", 1, undefined],
      ],
    );
    await files.world.platform.idle();
    assert.equal(store?.changes.length, commits);
  });

  it("reads an export back: here nothing changes, elsewhere everything is as it was", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const fan = await files.world.fan("=Toni");
    await fan.act("prediction", { outcome: "exact" });
    await files.lines(
      lines,
      [
        {
          userId: "ann",
          displayName: '\'+Ann, "A"',
          customFields: { shirt: "S" },
          metrics: { points: 12 },
        },
        { userId: "bo", preferences: { sounds: { goal: true } }, metrics: { points: 4, energy: 0 } },
        { userId: fan.userId, customFields: { shirt: "L" } },
      ]
        .map(row => JSON.stringify(row))
        .join("\n"),
    );
    await files.world.platform.idle();
    const json = await exported(files.world, "json");
    const sheet = await exported(files.world, "csv");
    for (const [type, file] of [
      ["application/json", json],
      [csv, sheet],
    ] as const) {
      const [summary] = (await files.lines(type, file)).slice(-1);
      assert.deepEqual(summary, { summary: { total: 3, changed: 0, unchanged: 3, failed: 0, unknown: 0 } });
      const other = await opened(async clock => {
        const { createMemoryStore } = await import("../../../adapters/memory/mod.ts");
        return createMemoryStore({ clock });
      });
      t.after(() => other.world.dispose());
      const [moved] = (await other.lines(type, file)).slice(-1);
      assert.equal(moved.summary.changed, 3);
      await other.world.platform.idle();
      assert.deepEqual(shown(await exported(other.world, "json")), shown(json));
    }
  });

  it("removes by null and by an empty cell, and leaves what a row does not name", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const full = {
      displayName: "Ann",
      customFields: { shirt: "M" },
      preferences: { a: 1 },
      metrics: { points: 5 },
    };
    await files.lines(lines, JSON.stringify({ userId: "ann", ...full }));
    await files.lines(csv, "userId,customFields.shirt,metrics.points\nann,,\n");
    const without = await files.profile("ann");
    assert.deepEqual(
      [without.displayName, without.customFields, without.preferences, without.loyalty.metrics.points],
      ["Ann", {}, { a: 1 }, 5],
    );
    await files.lines(lines, '{"userId":"ann","displayName":null,"preferences":{"a":null,"b":2}}');
    const after = await files.profile("ann");
    assert.deepEqual([after.displayName, after.preferences], [null, { b: 2 }]);
  });

  it("names what is wrong with a row, and applies the others", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const rows = [
      '{"userId":"ann","displayName":"Ann"}',
      '{"userId":"bo","shoe":1}',
      '{"userId":"cy","customFields":{"shirt":"XXL"}}',
      '{"displayName":"Nobody"}',
      '{"userId":"di","metrics":{"energy":8}}',
      '{"userId":"ed","__proto__":{}}',
      "not json",
      '{"userId":"flo","metrics":{"points":1}}',
    ];
    const answer = await files.lines(lines, rows.join("\r\n"));
    assert.deepEqual(
      answer.slice(0, -1).map(({ row, userId, status, error }) => [row, userId, status, error?.pointer]),
      [
        [1, "ann", "changed", undefined],
        [2, "bo", "failed", "/shoe"],
        [3, "cy", "failed", "/customFields/shirt"],
        [4, undefined, "failed", "/userId"],
        [5, "di", "failed", "/metrics/energy/value"],
        [6, undefined, "failed", ""],
        [7, undefined, "failed", ""],
        [8, "flo", "changed", undefined],
      ],
    );
    assert.match(answer[1].error.message, /^Cannot import the row: Is not a column of exports/);
    const failed = await files.lines(lines, rows.join("\n"), "?results=failed");
    assert.deepEqual(
      failed.map(({ row }) => row),
      [2, 3, 4, 5, 6, 7, undefined],
    );
    const cells = await files.lines(
      csv,
      'userId,metrics.points\nann\nbo,1,2\ncy,"1"x\ndi,1.5\ned,many\nflo,2\n',
    );
    assert.deepEqual(
      cells.slice(0, -1).map(({ status }) => status),
      ["failed", "failed", "failed", "failed", "failed", "changed"],
    );
  });

  it("is refused as a whole where the file is none with these columns, and changes nothing", async t => {
    let store: WatchedStore | undefined;
    const files = await opened(
      watching(open, watched => {
        store = watched;
      }),
    );
    t.after(() => files.world.dispose());
    const commits = store?.changes.length;
    for (const [type, body, status, code, pointers] of [
      [
        csv,
        "userId,shoe,customFields.none\nann,1,2\n",
        400,
        "validation_failed",
        ["/shoe", "/customFields.none"],
      ],
      [csv, "displayName\nAnn\n", 400, "validation_failed", ["/userId"]],
      [csv, "userId,userId\nann,ann\n", 400, "validation_failed", ["/userId"]],
      [csv, "", 400, "bad_json", undefined],
      [lines, "", 400, "bad_json", undefined],
      [lines, new Uint8Array([0x7b, 0xff, 0x7d]), 400, "bad_json", undefined],
      [lines, `{"userId":"${"x".repeat(262_144)}"}`, 400, "validation_failed", undefined],
      ["text/plain", "userId\nann\n", 415, "unsupported_media_type", undefined],
    ] as const) {
      const response = await files.send(type, body);
      const json: Json = await response.json();
      assert.deepEqual([response.status, json.code], [status, code], String(body).slice(0, 40));
      if (pointers !== undefined)
        assert.deepEqual(
          json.errors.map(({ pointer }: Json) => pointer),
          pointers,
        );
    }
    const other = await importer(files.world, "users:read");
    assert.equal((await other.send(csv, "userId\nann\n")).status, 403);
    await files.world.platform.idle();
    const made = store?.changes.slice(commits).filter(({ partition }) => partition.includes(":loyalty:"));
    assert.deepEqual(made, []);
  });

  it("of nobody is an import too", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const nothing = [{ summary: { total: 0, changed: 0, unchanged: 0, failed: 0, unknown: 0 } }];
    assert.deepEqual(await files.lines(csv, "userId,createdAt\r\n"), nothing);
    assert.deepEqual(await files.lines("application/json", "[\n]\n"), nothing);
  });

  it("answers while the file comes, and says how far it came where the file breaks off", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const { body, send, fail } = pieces();
    send(rowsOf(2_000));
    const response = await files.send(lines, body);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const begun = (await reader?.read())?.value ?? "";
    assert.equal(begun.trimEnd().split("\n").length, 1_000);
    send(`${rowsOf(10, 2_000)}{"userId":"cut`);
    fail();
    let rest = "";
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      rest += read.value;
    const summary = JSON.parse(rest.trimEnd().split("\n").at(-1) ?? "");
    assert.deepEqual(summary.error.code, "bad_json");
    assert.equal(summary.summary.total, rest.trimEnd().split("\n").length - 1 + 1_000);
    assert.equal(summary.summary.changed, summary.summary.total);
    assert.equal(await files.profile("cut"), null);
    // The whole file again completes what broke off.
    const [again] = (await files.lines(lines, rowsOf(2_010))).slice(-1);
    assert.deepEqual(again.summary, {
      total: 2_010,
      changed: 2_010 - summary.summary.total,
      unchanged: summary.summary.total,
      failed: 0,
      unknown: 0,
    });
  });

  it("ends when the server stops, and says so", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const stopping = new AbortController();
    const { body, send } = pieces();
    send(rowsOf(1_000));
    const response = await files.send(lines, body, { info: { stopping: stopping.signal } });
    const text = response.text();
    stopping.abort();
    const summary = JSON.parse((await text).trimEnd().split("\n").at(-1) ?? "");
    assert.equal(summary.error.code, "busy");
    assert.equal(summary.error.retryable, true);
  });

  it("gives up a client that takes no results for 30 s", async t => {
    const time = createManualTimer();
    const files = await opened(open, { timer: time.timer });
    t.after(() => files.world.dispose());
    const failing = `{"userId":"fan","${"x".repeat(600)}":1}\n`.repeat(9_000);
    const response = await files.send(lines, failing);
    await until("it waits for the client, who has sent everything", () => time.waiting.includes(30_000));
    await time.advance(30_000);
    await assert.rejects(response.text(), /took no results for 30 seconds/);
  });
});
