/** Compares the boards of a platform after a season with the expected tables. */

import assert from "node:assert/strict";
import type { Handler } from "../../lib/mod.ts";
import { call, type Fan, read } from "./client.ts";
import { overallPath, roundPath } from "./league.ts";
import { inParallel, type Season } from "./play.ts";
import { type Row, rowsOf, type Tables } from "./tables.ts";

const limitMax = 100;
const includeMax = 100;
const width = 64;

/** A board's path with the rows that it must show. */
export interface Expected {
  readonly path: string;
  readonly rows: readonly Row[];
}

/** Every table of the season. */
export function expectedTables(tables: Tables, fans: readonly Fan[]): readonly Expected[] {
  const rounds = [...tables.rounds].map(([matchday, earned]) => {
    return { path: roundPath(matchday), rows: rowsOf(earned, fans) };
  });
  return [{ path: overallPath, rows: rowsOf(tables.overall, fans) }, ...rounds];
}

/**
 * Reads a whole board through its list: the leaders, and everybody else as included users. Those are asked for in
 * windows that overlap by one row, named in the order of their ids: so the board itself has to put any two neighbours
 * of the table in order.
 */
export async function checkBoard(
  handler: Handler,
  { path, rows }: Expected,
  fans: readonly Fan[],
): Promise<void> {
  const totalCount = rows.length;
  const leaders = await read(handler, `${path}?limit=${limitMax}`);
  assertList(leaders, rows.slice(0, limitMax), { path, totalCount });
  const ranked = new Set(rows.map(({ userId }) => userId));
  const absent = fans.filter(({ userId }) => !ranked.has(userId)).map(({ userId }) => userId);
  const windows = absent.length === 0 ? [] : [{ ids: absent.slice(0, includeMax), shown: rows.slice(0, 1) }];
  for (let start = limitMax - 1; start < rows.length; start += includeMax - 1) {
    const shown = rows.slice(start, start + includeMax);
    windows.push({ ids: shown.map(({ userId }) => userId).sort(), shown: [...rows.slice(0, 1), ...shown] });
  }
  const checks = windows.map(({ ids, shown }) => async () => {
    const found = await read(handler, `${path}?limit=1&include=${ids.join(",")}`);
    assertList(found, shown, { path, totalCount });
  });
  await inParallel(checks, width);
}

/** Compares row by row, so that a failure shows the first row that differs instead of whole tables. */
function assertList(
  { data, totalCount, ...rest }: { readonly data: readonly unknown[]; readonly totalCount: number },
  rows: readonly Row[],
  expected: { readonly path: string; readonly totalCount: number },
): void {
  const { path } = expected;
  const meta = { rankStyle: "competition" };
  assert.deepEqual([totalCount, data.length, rest], [expected.totalCount, rows.length, { meta }], path);
  for (const [index, row] of rows.entries()) {
    assert.deepEqual({ path, index, row: data[index] }, { path, index, row });
  }
}

/** Reads the entry of every fan alone; fans without points have none. */
export async function checkEntries(
  handler: Handler,
  { path, rows }: Expected,
  fans: readonly Fan[],
): Promise<void> {
  const rowOf = new Map(rows.map(row => [row.userId, row]));
  const checks = fans.map(({ userId }) => async () => {
    const row = rowOf.get(userId);
    const { status, body } = await call(handler, `${path}/users/${userId}`);
    if (row === undefined) assert.equal(status, 404, `${path} shows ${userId}, who has no points`);
    else {
      const percentile = shareAtOrBelow(rows, row);
      const meta = { totalCount: rows.length, percentile, rankStyle: "competition" };
      assert.deepEqual([status, JSON.parse(body)], [200, { data: row, meta }]);
    }
  });
  await inParallel(checks, width);
}

/** The percentile of an entry: the share of all entries that rank at it or below it, with two decimals. */
function shareAtOrBelow(rows: readonly Row[], { rank }: Row): number {
  return Math.round((10_000 * rows.filter(row => row.rank >= rank).length) / rows.length) / 100;
}

/** Reads every fan's rewards profile and history: the points, and the transactions that sum up to them. */
export async function checkFans(handler: Handler, { fans, tables }: Season): Promise<void> {
  const checks = fans.map(({ token }, index) => async () => {
    const { score, times } = tables.overall.get(index) ?? { score: 0, times: 0 };
    const { data: profile } = await read(handler, "/api/loyalty/profile", { token });
    assert.deepEqual(profile, { metrics: { points: score }, inventory: {}, challenges: {} });
    const { data: history } = await read(handler, "/api/loyalty/history", { token });
    let sum = 0;
    let time = 0;
    for (const { type, timestamp, payload } of history) {
      const { oldValue, newValue } = payload.metricChanges.points;
      assert.equal(type, "actionRewarded");
      assert.equal(oldValue, sum, "a transaction starts where the one before ended");
      assert.ok(timestamp >= time, "transactions are in ascending time");
      [sum, time] = [newValue, timestamp];
    }
    assert.deepEqual([history.length, sum], [times, score]);
  });
  await inParallel(checks, width);
}
