import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError, type FieldError } from "../../../../lib/base/errors/mod.ts";
import {
  boardAmountMax,
  declarationsMax,
  defaultBoard,
  graceMsMax,
  keepSeasonsMax,
  parseBoards,
  scoreMax,
  seasonsMax,
  shardsMax,
} from "../../../../lib/fans/leaderboards/settings/board_settings.ts";

function faults(section: unknown): readonly FieldError[] {
  try {
    parseBoards(section, "/leaderboards");
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "validation_failed");
    return error.fields ?? [];
  }
}

const pointersOf = (board: Record<string, unknown>): string[] =>
  faults([{ id: "b", ...board }]).map(({ pointer }) => pointer);

const season = (id: string, from: string, to: string) => ({
  id,
  startsAt: `${from}T00:00:00Z`,
  endsAt: `${to}T00:00:00Z`,
});

describe("the settings of a board", () => {
  it("are the defaults if only the id is given, and none if the section is absent", () => {
    assert.deepEqual(parseBoards([{ id: "overall" }], ""), [
      {
        id: "overall",
        order: "desc",
        operator: "set",
        source: { type: "direct" },
        rankStyle: "competition",
        shards: 1,
        seasons: { type: "none" },
        graceMs: 7_200_000,
        keepSeasons: 12,
        visibility: "public",
      },
    ]);
    assert.deepEqual(parseBoards([{ id: "b" }], ""), [defaultBoard("b")]);
    assert.deepEqual(parseBoards(undefined, ""), []);
  });

  it("keep every declared value", () => {
    const board = {
      id: "sprint",
      order: "asc",
      operator: "best",
      source: { type: "action", action: "run", when: { eq: [1, 1] }, amount: -2.5 },
      rankStyle: "ordinal",
      shards: 16,
      graceMs: 0,
      keepSeasons: 3,
      bounds: { min: 0, max: 100 },
      visibility: "hidden",
    };
    const seasons = { type: "weekly", timeZone: "Asia/Kathmandu" };
    assert.deepEqual(parseBoards([{ ...board, seasons }], ""), [{ ...board, seasons }]);
  });

  it("list seasons by RFC 3339 times, and use UTC for calendar seasons by default", () => {
    const list = [
      { id: "spring", startsAt: "2026-03-01T00:00:00+01:00", endsAt: "2026-06-01T00:00:00+02:00" },
      season("summer", "2026-06-01", "2026-09-01"),
    ];
    const [board] = parseBoards([{ id: "b", seasons: { type: "explicit", list } }], "");
    assert.deepEqual(board?.seasons, {
      type: "explicit",
      list: [
        {
          id: "spring",
          startsAt: Date.parse("2026-02-28T23:00:00Z"),
          endsAt: Date.parse("2026-05-31T22:00:00Z"),
        },
        {
          id: "summer",
          startsAt: Date.parse("2026-06-01T00:00:00Z"),
          endsAt: Date.parse("2026-09-01T00:00:00Z"),
        },
      ],
    });
    const [daily] = parseBoards([{ id: "b", seasons: { type: "daily" } }], "");
    assert.deepEqual(daily?.seasons, { type: "daily", timeZone: "UTC" });
  });

  it("are refused with the pointer of the invalid part", () => {
    const explicit = (...list: unknown[]) => ({ seasons: { type: "explicit", list } });
    const spring = season("spring", "2026-03-01", "2026-06-01");
    const table: [board: Record<string, unknown>, pointer: string][] = [
      [{ id: "a b" }, "/id"],
      [{ id: "x".repeat(65) }, "/id"],
      [{ order: "up" }, "/order"],
      [{ operator: "max" }, "/operator"],
      [{ rankStyle: "modified" }, "/rankStyle"],
      [{ visibility: "secret" }, "/visibility"],
      [{ source: { type: "metric" } }, "/source/metricId"],
      [{ source: { type: "metric", metricId: "x".repeat(65) } }, "/source/metricId"],
      [{ source: { type: "action", action: "a", amount: boardAmountMax + 1 } }, "/source/amount"],
      [{ source: { type: "direct", amount: 1 } }, "/source/amount"],
      [{ shards: 0 }, "/shards"],
      [{ shards: 3 }, "/shards"],
      [{ shards: 0.5 }, "/shards"],
      [{ shards: shardsMax * 2 }, "/shards"],
      [{ shards: 2, rankStyle: "dense" }, "/shards"],
      [{ graceMs: -1 }, "/graceMs"],
      [{ graceMs: 0.5 }, "/graceMs"],
      [{ graceMs: graceMsMax + 1 }, "/graceMs"],
      [{ keepSeasons: 0 }, "/keepSeasons"],
      [{ keepSeasons: keepSeasonsMax + 1 }, "/keepSeasons"],
      [{ bounds: { min: 1 } }, "/bounds/max"],
      [{ bounds: { min: 2, max: 1 } }, "/bounds"],
      [{ bounds: { min: -2 * scoreMax, max: 1 } }, "/bounds/min"],
      [{ seasons: { type: "hourly" } }, "/seasons/type"],
      [{ seasons: { type: "daily", timeZone: "Mars/Olympus" } }, "/seasons/timeZone"],
      [{ seasons: { type: "monthly", timeZone: "+05:30" } }, "/seasons/timeZone"],
      [explicit(), "/seasons/list"],
      [explicit({ ...spring, id: "current" }), "/seasons/list/0/id"],
      [explicit({ ...spring, id: "previous" }), "/seasons/list/0/id"],
      [explicit({ ...spring, id: "a/b" }), "/seasons/list/0/id"],
      [explicit({ ...spring, startsAt: "2026-02-30T00:00:00Z" }), "/seasons/list/0/startsAt"],
      [explicit({ ...spring, startsAt: 1_772_323_200_000 }), "/seasons/list/0/startsAt"],
      [explicit({ ...spring, endsAt: spring.startsAt }), "/seasons/list/0/endsAt"],
      [explicit(spring, season("spring", "2026-06-01", "2026-09-01")), "/seasons/list/1/id"],
      [explicit(spring, season("summer", "2026-05-31", "2026-09-01")), "/seasons/list/1/startsAt"],
      [{ rankstyle: "dense" }, "/rankstyle"],
    ];
    for (const [board, pointer] of table) {
      assert.deepEqual(pointersOf(board), [`/leaderboards/0${pointer}`], JSON.stringify(board));
    }
  });

  it("report every error at once", () => {
    assert.deepEqual(pointersOf({ order: "up", shards: 3, graceMs: -1 }), [
      "/leaderboards/0/order",
      "/leaderboards/0/shards",
      "/leaderboards/0/graceMs",
    ]);
    assert.deepEqual(
      faults([{ id: "a" }, { id: "b" }, { id: "a" }]).map(({ pointer }) => pointer),
      ["/leaderboards/2/id"],
    );
  });

  it("accept the largest values, and no more boards and seasons than allowed", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `b${index}` }));
    assert.equal(parseBoards(many(declarationsMax), "").length, declarationsMax);
    assert.deepEqual(
      faults(many(declarationsMax + 1)).map(({ pointer }) => pointer),
      ["/leaderboards"],
    );
    const day = (index: number): string => new Date(index * 86_400_000).toISOString();
    const list = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        id: `s${index}`,
        startsAt: day(index),
        endsAt: day(index + 1),
      }));
    assert.deepEqual(pointersOf({ seasons: { type: "explicit", list: list(seasonsMax) } }), []);
    assert.deepEqual(pointersOf({ seasons: { type: "explicit", list: list(seasonsMax + 1) } }), [
      "/leaderboards/0/seasons/list",
    ]);
    assert.deepEqual(
      pointersOf({
        shards: shardsMax,
        graceMs: graceMsMax,
        keepSeasons: keepSeasonsMax,
        bounds: { min: -scoreMax, max: scoreMax },
      }),
      [],
    );
  });

  it("describe the error without repeating the value", () => {
    assert.throws(
      () => parseBoards([{ id: "a", order: "hunter2", hunter2: 1, shards: "hunter2" }], ""),
      (error: unknown) => {
        assert.ok(error instanceof AppError);
        assert.deepEqual(error.fields, [
          { pointer: "/0/order", detail: 'Expected "desc" or "asc"' },
          { pointer: "/0/shards", detail: "Expected a number" },
          { pointer: "/0/hunter2", detail: "Is not a known member" },
        ]);
        return true;
      },
    );
  });
});
