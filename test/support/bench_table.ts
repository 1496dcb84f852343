/** The table of figures in `test/bench/README.md`. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const text = readFileSync(new URL("../bench/README.md", import.meta.url), "utf8");

/** Asserts that the figures that a row begins with are the measured ones, to 1 %: sizes do not depend on the machine. */
export function assertTableSays(operation: string, measured: readonly number[]): void {
  const row = text.split("\n").find(line => line.startsWith(`| ${operation}`));
  assert.ok(row !== undefined, `the table has no row ${operation}`);
  const [, , figures = ""] = row.split("|");
  const said = [...figures.matchAll(/[\d.]+/g)].slice(0, measured.length).map(Number);
  const isRight = measured.every((figure, index) => Math.abs((said[index] ?? 0) / figure - 1) <= 0.01);
  assert.ok(isRight, `${operation}: the table says ${said.join(", ")}, measured ${measured.join(", ")}`);
}
