/** Files of spreadsheets that are imported, and trials of an import. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { seed } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { type WatchedStore, watching } from "../../support/watched_store.ts";
import { backEnd } from "./_back_end.ts";
import { base, csv, exported, lines, opened } from "./_importer.ts";

describeOnStores("an import of a spreadsheet", open => {
  it("takes a quote inside a cell as data, and fails a row with an open quote alone", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const file = [
      "userId,displayName,preferences",
      'a,2.5" pipe,',
      'b,"Bo ""B""","{""a"":\r\n1}"',
      'c,"open,',
      "d,Di,",
      'e,E"E",',
      'f,"x"y,',
      '"g",Gil,',
      "",
      ",,",
      "h,Hal,",
      'i,"never closed',
      "j,Jo,",
      'k,2.5" pipe,',
      'l,3",',
      ",,",
      "",
    ].join("\r\n");
    const expected = [
      [1, "a", "changed"],
      [2, "b", "changed"],
      [3, undefined, "failed"],
      [4, "d", "changed"],
      [5, "e", "changed"],
      [6, undefined, "failed"],
      [7, "g", "changed"],
      [10, "h", "changed"],
      [11, undefined, "failed"],
      [12, "j", "changed"],
      [13, "k", "changed"],
      [14, "l", "changed"],
      [undefined, undefined, undefined],
    ];
    const bytes = new TextEncoder().encode(file);
    for (const size of [bytes.length, 7, 1]) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
          controller.close();
        },
      });
      const answer = await files.lines(csv, body);
      assert.deepEqual(
        answer.map(({ row, userId, status }) => [row, userId, status?.replace("unchanged", "changed")]),
        expected,
        `in pieces of ${size} bytes`,
      );
    }
    const names = await Promise.all(["a", "b", "e"].map(async id => (await files.profile(id)).displayName));
    assert.deepEqual(names, ['2.5" pipe', 'Bo "B"', 'E"E"']);
    assert.deepEqual((await files.profile("b")).preferences, { a: 1 });
  });

  it("fails a row alone that is too long or whose quote is open over thousands of rows", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const rows = Array.from({ length: 20_000 }, (_, n) =>
      n === 2
        ? `fan-${n},"open`
        : n === 9
          ? `fan-${n},${"x".repeat(300_000)}`
          : `fan-${n % 5},Fan number ${n % 5}`,
    );
    const answer = await files.lines(csv, ["userId,displayName", ...rows].join("\n"), "?results=failed");
    assert.deepEqual(
      answer.slice(0, -1).map(({ row, error }) => [row, error.message]),
      [
        [
          3,
          "Cannot import the row: Expected CSV: a cell that begins with a quote ends with one, and quotes between them are doubled",
        ],
        [10, "Cannot import the row: Expected at most 262144 characters"],
      ],
    );
    assert.deepEqual([answer.at(-1).summary.total, answer.at(-1).summary.failed], [20_000, 2]);
  });

  it("takes the booleans of spreadsheets", async t => {
    const files = await opened(open);
    t.after(() => files.world.dispose());
    const [first, second, third] = await files.lines(
      csv,
      "userId,customFields.member\nann,TRUE\nbo,False\ncy,yes\n",
    );
    assert.deepEqual([first.status, second.status, third.status], ["changed", "changed", "failed"]);
    assert.deepEqual((await files.profile("ann")).customFields, { member: true });
    assert.deepEqual((await files.profile("bo")).customFields, { member: false });
  });

  it("tells in a dry run who would be created, and changes nothing", async t => {
    let store: WatchedStore | undefined;
    const files = await opened(
      watching(open, watched => {
        store = watched;
      }),
    );
    t.after(() => files.world.dispose());
    await files.lines(csv, "userId,displayName\n0012,Ann\n0013,Bo\n");
    await files.world.platform.idle();
    const commits = store?.changes.length;
    const answer = await files.lines(csv, "userId,displayName\n12,Ann\n0013,Bob\n,Cy\n", "?dry_run=true");
    assert.deepEqual(
      answer.slice(0, -1).map(({ userId, status }) => [userId, status]),
      [
        ["12", "new"],
        ["0013", "known"],
        [undefined, "failed"],
      ],
    );
    assert.deepEqual(answer.at(-1).summary, {
      ...{ total: 3, changed: 0, unchanged: 0, failed: 1, unknown: 0 },
      ...{ new: 1, known: 1 },
    });
    await files.world.platform.idle();
    assert.equal(store?.changes.length, commits);
    assert.equal(await files.profile("12"), null);
    const failed = await files.lines(csv, "userId\n12\n0013\n", "?dry_run=true&results=failed");
    assert.deepEqual(
      failed.map(({ userId }) => userId),
      ["12", undefined],
    );
  });

  it("leaves users without a list as they are, whom a search does not take for users with one", async t => {
    const settings = { audience: { customFields: { segments: { type: "list" } } } };
    const organisations = seed.organisations.map(one => ({ ...one, settings }));
    const files = await opened(open, { seed: { ...seed, organisations } });
    t.after(() => files.world.dispose());
    const rows = [
      { userId: "ann", customFields: { segments: ["vip"] } },
      { userId: "bo", customFields: { segments: [] } },
      { userId: "cy", displayName: "Cy" },
    ];
    await files.lines(lines, rows.map(row => JSON.stringify(row)).join("\n"));
    await files.world.platform.idle();
    for (const format of ["csv", "json"] as const) {
      const file = await exported(files.world, format, ["userId", "customFields.segments"]);
      const [answer] = (await files.lines(format === "csv" ? csv : lines, file)).slice(-1);
      assert.deepEqual([answer.summary.unchanged, answer.summary.changed], [3, 0], file);
    }
    assert.deepEqual((await files.profile("cy")).customFields, {});
    const api = await backEnd(files.world, ["users:read"]);
    const body = { filter: { exists: { var: "customFields.segments" } }, fields: ["userId"] };
    const { json } = await api(`${base}/users/search`, { method: "POST", body });
    assert.deepEqual(json.data, [{ userId: "ann" }]);
  });
});
