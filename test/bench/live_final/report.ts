/** The page of a live final: one HTML file with its plots, and its summary as text. */

import type { Listeners } from "./listeners.ts";
import type { Measures } from "./measures.ts";
import type { Reckoning } from "./reconcile.ts";
import { type Role, roles, type Usage } from "./stage.ts";

/** Something that happened. */
export interface Incident {
  readonly second: number;
  readonly text: string;
}

/** The processes at one moment. */
export interface Sample {
  readonly second: number;
  readonly usage: Readonly<Record<string, Usage | null>>;
  readonly redisBytes: number;
  readonly listeners: number;
}

/** Everything that the page shows. */
export interface Facts {
  readonly databaseName: string;
  readonly fans: number;
  readonly durationMs: number;
  readonly measures: Measures;
  readonly incidents: readonly Incident[];
  readonly samples: readonly Sample[];
  readonly reckoning: Reckoning;
  readonly listeners: Listeners;
  readonly commandMs: readonly number[];
  readonly batches: number;
  readonly clientDelayMs: number;
}

interface Line {
  readonly name: string;
  readonly points: readonly (readonly [second: number, value: number])[];
}

const colours = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2"];
const [width, height] = [860, 220];
const mib = 1_048_576;

/** Returns the summary as Markdown. */
export function summary(facts: Facts): string {
  const { measures, reckoning, listeners, samples, durationMs, commandMs } = facts;
  const rows = [...measures.routes]
    .filter(([route]) => route !== "audit")
    .map(([route, latencies]) => {
      const rate = (latencies.count / durationMs) * 1_000;
      const times = [0.5, 0.99, 0.999].map(share => latencies.quantile(share).toFixed(1));
      return `| ${route} | ${latencies.count} | ${rate.toFixed(0)} | ${times.join(" | ")} | ${latencies.maxMs.toFixed(0)} |`;
    });
  const spent = roles.map(role => `${role} ${share(samples, role).toFixed(2)}`).join(", ");
  const memory = roles.map(role => `${role} ${peak(samples, role).toFixed(0)}`).join(", ");
  return [
    "| route | answers | /s | p50 ms | p99 ms | p99.9 ms | longest ms |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows,
    "",
    `- Repeated attempts: ${measures.repeats} (${reasons(measures)}). Refusals: ${list(measures.refusals) || "none"}.`,
    `- Reckoning: ${reckoning.fans} fans, ${reckoning.expectedPoints} points acknowledged, ${reckoning.exportedPoints} exported, ` +
      `${reckoning.provedLedgers} ledgers proved, ${reckoning.faults.length} faults.`,
    `- Live board: ${listeners.messages} messages, ${(listeners.bytes / mib).toFixed(0)} MiB, ${listeners.reconnects} reconnects.`,
    `- Back end: ${facts.batches} batches. Producer: ${commandMs.length} commands, longest ${Math.max(...commandMs).toFixed(0)} ms.`,
    `- Processor, cores: ${spent}. Most memory, MiB: ${memory}. Delay of the clients' event loop, p99: ${facts.clientDelayMs.toFixed(1)} ms.`,
  ].join("\n");
}

/** Returns the page. */
export function report(facts: Facts): string {
  const { measures, samples, incidents } = facts;
  const seconds = measures.seconds.map((second, index) => ({ ...second, index }));
  const last = Math.max(1, seconds.length);
  const of = (value: (second: (typeof seconds)[number]) => number): Line["points"] =>
    seconds.map(second => [second.index, value(second)] as const);
  const plots = [
    plot("Answers a second", "", last, incidents, [
      { name: "answers", points: of(({ latencies }) => latencies.count) },
    ]),
    plot("Latency", "ms, logarithmic", last, incidents, [
      { name: "p50", points: of(({ latencies }) => latencies.quantile(0.5)) },
      { name: "p99", points: of(({ latencies }) => latencies.quantile(0.99)) },
    ]),
    plot("Repeated attempts a second", "", last, incidents, repeatLines(measures)),
    plot(
      "Processor",
      "cores",
      last,
      incidents,
      roles.map(role => ({ name: role, points: cores(samples, role) })),
    ),
    plot("Resident memory", "MiB", last, incidents, [
      ...roles.map(role => ({
        name: role,
        points: samples.flatMap(({ second, usage }) => {
          const used = usage[role];
          return used == null ? [] : [[second, used.bytes / mib] as const];
        }),
      })),
    ]),
    plot("Listeners of the live board", "", last, incidents, [
      { name: "open", points: samples.map(({ second, listeners }) => [second, listeners] as const) },
    ]),
  ];
  const style =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2rem auto;padding:0 1rem;color:#1c1917}" +
    "svg{width:100%;height:auto}table{border-collapse:collapse}td,th{padding:.2rem .7rem;border-bottom:1px solid #e7e5e4;text-align:right}" +
    "td:first-child,th:first-child{text-align:left}text{font:11px system-ui,sans-serif;fill:#57534e}";
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>A live final</title><style>${style}</style>
<h1>A live final of ${facts.fans.toLocaleString("en")} fans</h1>
<p>${facts.durationMs / 60_000} minutes, two servers, one worker, ${facts.databaseName}. ${facts.reckoning.faults.length === 0 ? "Nothing was lost, nothing doubled." : `<b>${facts.reckoning.faults.length} faults.</b>`}</p>
${plots.join("\n")}
<h2>Incidents</h2><ol>${incidents.map(({ second, text }) => `<li>${second.toFixed(1)} s: ${escaped(text)}</li>`).join("")}</ol>
<h2>Figures</h2>${tableOf(summary(facts))}
</html>`;
}

/** Draws lines over the seconds of the show, with its incidents. */
function plot(
  title: string,
  unit: string,
  last: number,
  incidents: readonly Incident[],
  lines: readonly Line[],
): string {
  const isLogarithmic = unit.includes("logarithmic");
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const scale = (value: number): number =>
    isLogarithmic ? Math.log(Math.max(1, value)) / Math.log(Math.max(2, most)) : value / most;
  const x = (second: number): string => (40 + (second / last) * (width - 50)).toFixed(1);
  const y = (value: number): string => (height - 20 - scale(value) * (height - 50)).toFixed(1);
  const ticks = [0.25, 0.5, 0.75, 1].map(part => (isLogarithmic ? most ** part : most * part));
  return `<h2>${title}</h2><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
${ticks.map(tick => `<line x1="40" x2="${width - 10}" y1="${y(tick)}" y2="${y(tick)}" stroke="#e7e5e4"/><text x="36" y="${y(tick)}" text-anchor="end">${tick < 10 ? tick.toFixed(1) : Math.round(tick)}</text>`).join("")}
${incidents.map(({ second, text }) => `<line x1="${x(second)}" x2="${x(second)}" y1="20" y2="${height - 20}" stroke="#a8a29e" stroke-dasharray="3 3"><title>${escaped(text)}</title></line>`).join("")}
${lines.map(({ points }, index) => `<polyline fill="none" stroke="${colours[index % colours.length]}" stroke-width="1.3" points="${points.map(([second, value]) => `${x(second)},${y(value)}`).join(" ")}"/>`).join("")}
${lines.map(({ name }, index) => `<text x="${50 + index * 110}" y="14" style="fill:${colours[index % colours.length]}">${escaped(name)}</text>`).join("")}
<text x="${width - 10}" y="14" text-anchor="end">${unit}</text><text x="${width - 10}" y="${height - 4}" text-anchor="end">${last} s</text></svg>`;
}

function repeatLines({ seconds }: Measures): readonly Line[] {
  const names = [...new Set(seconds.flatMap(({ repeats }) => [...repeats.keys()]))].slice(0, colours.length);
  if (names.length === 0) return [{ name: "none", points: [[0, 0]] }];
  return names.map(name => ({
    name,
    points: seconds.map(({ repeats }, index) => [index, repeats.get(name) ?? 0] as const),
  }));
}

function cores(samples: readonly Sample[], role: Role): Line["points"] {
  return samples.slice(1).flatMap(({ second, usage }, index) => {
    const [before, now] = [samples[index], usage[role]];
    const was = before?.usage[role];
    if (was == null || now == null || before === undefined) return [];
    return [[second, Math.max(0, (now.cpuMs - was.cpuMs) / 1_000 / (second - before.second))] as const];
  });
}

/** Mean use of a processor, in cores. */
function share(samples: readonly Sample[], role: Role): number {
  const used = samples.flatMap(({ second, usage }) => {
    const now = usage[role];
    return now == null ? [] : [{ second, cpuMs: now.cpuMs }];
  });
  const [first, last] = [used[0], used.at(-1)];
  if (first === undefined || last === undefined || last.second === first.second) return 0;
  return (last.cpuMs - first.cpuMs) / 1_000 / (last.second - first.second);
}

function peak(samples: readonly Sample[], role: Role): number {
  return Math.max(0, ...samples.map(({ usage }) => usage[role]?.bytes ?? 0)) / mib;
}

/** Returns how often attempts were repeated, by their reasons. */
export function reasons({ seconds }: Measures): string {
  const all = new Map<string, number>();
  for (const { repeats } of seconds) {
    for (const [reason, count] of repeats) all.set(reason, (all.get(reason) ?? 0) + count);
  }
  return list(all) || "none";
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(", ");
}

function tableOf(markdown: string): string {
  const lines = markdown.split("\n");
  const cells = (line: string, tag: string): string =>
    `<tr>${line
      .slice(2, -2)
      .split(" | ")
      .map(cell => `<${tag}>${escaped(cell)}</${tag}>`)
      .join("")}</tr>`;
  const rows = lines.filter(line => line.startsWith("| ") && !line.startsWith("| ---"));
  const items = lines.filter(line => line.startsWith("- ")).map(line => `<li>${escaped(line.slice(2))}</li>`);
  return `<table>${rows.map((row, index) => cells(row, index === 0 ? "th" : "td")).join("")}</table><ul>${items.join("")}</ul>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
