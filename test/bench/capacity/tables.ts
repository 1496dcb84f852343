/** The tables of the capacity plan as Markdown, which `runtime/CAPACITY.md` contains. */

import { type Needs, needs } from "./forecast.ts";
import { type Costs, type Operation, operations } from "./operations.ts";
import { type Resource, resources, type Usage } from "./resources.ts";

const names = Object.keys(resources) as Resource[];
const idleName = "two servers and a worker without requests, a second";
/** Sizes of shows. */
const fans = [1e6, 1e7, 1e8] as const;
const labels = {
  requestsPerSecond: "requests a second",
  serversByProcessor: "servers for the processor",
  serversByListeners: "servers for listeners",
  workers: "workers",
  redisByProcessor: "Redis processes for the processor",
  redisByMemory: "Redis processes for memory",
  redisGib: "memory of Redis, GiB",
  aofGib: "append-only files before a rewrite, GiB",
  commandsPerSecond: "commands of Redis a second",
  outcomesPerSecond: "actions in bulk a second",
  boardReadsPerSecond: "reads of the board a second",
  httpMbitPerSecond: "HTTP, Mbit/s",
} as const satisfies Partial<Record<keyof Needs, string>>;

/** Returns a row of a table. */
export function row(cells: readonly (number | string)[]): string {
  return `| ${cells.map(cell => (typeof cell === "string" ? cell : amount(cell))).join(" | ")} |`;
}

/** Returns the table of what operations cost. */
export function costsTable({ idle, each }: Costs): string {
  return [
    row(["operation", ...names.map(name => resources[name])]),
    row(["---", ...names.map(() => "---")]),
    ...(Object.keys(operations) as Operation[]).map(name =>
      row([operations[name], ...names.map(resource => each[name][resource])]),
    ),
    row([idleName, ...names.map(name => idle[name])]),
  ].join("\n");
}

/** Returns a text whose tables are without the padding that `npm run format` adds. */
export function withoutPadding(text: string): string {
  return text.replace(/ +\|/g, " |").replace(/-{3,}/g, "---");
}

/** Reads the costs from a text with their table. @throws {RangeError} A row is missing. */
export function readCosts(text: string): Costs {
  const read = (label: string): Costs["idle"] => {
    const line = withoutPadding(text)
      .split("\n")
      .find(candidate => candidate.startsWith(`| ${label} |`));
    if (line === undefined) throw new RangeError(`Cannot find the costs of ${label}`);
    const cells = line.split("|").slice(2);
    return Object.fromEntries(
      names.map((name, index) => [name, Number(cells[index]?.replaceAll(",", ""))]),
    ) as Record<Resource, number>;
  };
  const each = Object.entries(operations).map(([name, label]) => [name, read(label)] as const);
  return { idle: read(idleName), each: Object.fromEntries(each) as Costs["each"] };
}

/** Returns the table of what shows need. */
export function needsTable(costs: Costs): string {
  const plans = fans.map(count => needs(costs, count));
  return [
    row(["in the busiest minute", ...fans.map(count => `${count / 1e6} million fans`)]),
    row(["---", ...fans.map(() => "---")]),
    ...(Object.keys(labels) as (keyof typeof labels)[]).map(key =>
      row([labels[key], ...plans.map(plan => plan[key])]),
    ),
  ].join("\n");
}

/** A show that was played. */
export interface Check {
  readonly fans: number;
  readonly forecast: Usage;
  readonly measured: Usage;
}

/** Returns the share by which a forecast was too high. */
export function errorOf({ forecast, measured }: Check, resource: Resource): number {
  return forecast[resource] / measured[resource] - 1;
}

/** Returns the table of forecasts and what was measured. */
export function checksTable(checks: readonly Check[]): string {
  const cell = (check: Check, name: Resource): string => {
    const percent = Math.round(errorOf(check, name) * 100) || 0;
    return `${amount(check.forecast[name])} for ${amount(check.measured[name])}, ${percent} %`;
  };
  return [
    row(["forecast for measured, error", ...checks.map(({ fans }) => `${fans.toLocaleString("en")} fans`)]),
    row(["---", ...checks.map(() => "---")]),
    ...names.map(name => row([resources[name], ...checks.map(check => cell(check, name))])),
  ].join("\n");
}

/** Returns a text whose part between the comments of that name is a table. */
export function withTable(text: string, name: string, table: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new RangeError(`Cannot find the comments around ${name}`);
  return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
}

function amount(value: number): string {
  return Math.abs(value) < 10 ? String(Number(value.toPrecision(2))) : Math.round(value).toLocaleString("en");
}
