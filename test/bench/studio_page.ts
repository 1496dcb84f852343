/**
 * The page of the studio in Chromium: its size, its first render, its frames while 1,000 elements and a board of 100 rows change each
 * second, and its memory after 10 minutes of that, which pass 20 times as fast.
 *
 * ```sh
 * npm run bench -- studio_page [seconds of frames] [minutes of memory]
 * ```
 */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { CDPSession, Page } from "playwright-core";
import { buildPage } from "../../runtime/services/pages.ts";
import { launchBrowser } from "../support/browser.ts";
import { firstLoadBytes } from "../support/embed_size.ts";
import { figure } from "./figure.ts";

const frameSeconds = Number(process.argv[2] ?? 20);
const memoryMinutes = Number(process.argv[3] ?? 10);
/** How much faster time passes while memory is measured. */
const haste = 20;
const elementCount = 1_000;
const optionCount = 4;
/** Rows of a zone before anybody scrolls. */
const rowsShown = 60;
const boardRows = 100;
const eventId = "0d000000-0000-4000-8000-000000000001";

const files = await buildPage();
let round = 0;
const uuid = (index: number): string => `0e000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
const field = (key: string, text: string) => ({ key, values: { all: text } });

function elementOf(index: number): object {
  const options = Array.from({ length: optionCount }, (_, option) => ({
    fields: [field("text", `Answer ${option}`)],
  }));
  const question = { fields: [field("question", `Question ${index} of the show?`)], options };
  const attributes = { content_type: "poll", name: "", state: "current", position: index, question };
  return { type: "elements", id: uuid(index), attributes };
}

function statsOf(): object {
  const elements = Array.from({ length: elementCount }, (_, index) => ({
    id: uuid(index),
    actions: round * 10 + index,
    votes: Array.from({ length: optionCount }, (_, option) => round * (1 + ((index + option) % 5)) + option),
  }));
  return { id: eventId, state: "current", actions: round * 10 * elementCount, elements };
}

/** A board on which about every second row moves with each change. */
function boardOf(): object {
  const entries = Array.from({ length: boardRows }, (_, index) => ({
    userId: `user-${index}`,
    score: 10_000 - index * 10 + Math.round(60 * Math.sin(index * 7 + round)),
    publicProfile: { username: `Fan number ${index}` },
  })).sort((a, b) => b.score - a.score);
  return {
    data: entries.map((entry, index) => ({ ...entry, rank: index + 1 })),
    totalCount: 250_000,
    meta: {},
  };
}

const listeners = new Set<ServerResponse>();

/** Answers as the platform does. */
function answer(path: string): unknown {
  const url = new URL(path, "http://localhost");
  if (url.pathname.endsWith("/livestats.json")) return statsOf();
  if (url.pathname.endsWith("/elements")) {
    const page = Number(url.searchParams.get("page[cursor]") ?? 0);
    const next = (page + 1) * 100 < elementCount ? `http://localhost/?page[cursor]=${page + 1}` : null;
    return {
      data: Array.from({ length: 100 }, (_, index) => elementOf(page * 100 + index)),
      links: { next },
    };
  }
  const resource = (type: string, id: string) => ({ type, id, attributes: { name: type, state: "current" } });
  if (url.pathname.endsWith("/me")) return { data: resource("users", "1") };
  if (url.pathname.endsWith("/workflows")) return { data: [] };
  if (url.pathname.includes("/projects/")) return { data: resource("projects", "p") };
  return { data: resource("events", eventId), included: [resource("projects", "p")] };
}

const server = createServer((request, response) => {
  const path = request.url ?? "";
  const file = /^\/studio(?:\/([^?]*))?(?:\?|$)/.exec(path);
  if (file !== null) {
    const found = files.find(({ name }) => name === (file[1] ?? ""));
    response.setHeader("content-type", found?.mediaType ?? "text/plain");
    response.end(found?.text);
  } else if (path.includes("/leaderboards/")) {
    response.setHeader("content-type", "text/event-stream");
    response.write(`event: leaderboard\ndata: ${JSON.stringify(boardOf())}\n\n`);
    listeners.add(response);
    request.on("close", () => listeners.delete(response));
  } else {
    response.setHeader("etag", `"${round}"`);
    response.end(JSON.stringify(answer(path)));
  }
});
await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function change(everyMs: number): NodeJS.Timeout {
  return setInterval(() => {
    round += 1;
    const message = `event: leaderboard\ndata: ${JSON.stringify(boardOf())}\n\n`;
    for (const listener of listeners) listener.write(message);
  }, everyMs);
}

/** Opens the event; with `haste` the clock of the page runs that much faster. */
async function open(page: Page, speed = 1): Promise<void> {
  await page.addInitScript(
    ([key, times]) => {
      sessionStorage.setItem(key, "token");
      const [now, wait] = [performance.now.bind(performance), setTimeout];
      performance.now = () => now() * times;
      window.setTimeout = ((run: () => void, ms = 0) => wait(run, ms / times)) as typeof setTimeout;
    },
    [`token of ${address}`, speed] as const,
  );
  await page.goto(`${address}/studio?event=${eventId}`);
  await page
    .locator(".item")
    .nth(rowsShown - 1)
    .waitFor({ state: "attached" });
}

/** Returns when the browser first painted contents, and when the page had shown its place, in ms after the navigation. */
async function firstRender(page: Page): Promise<readonly [paint: number, shown: number]> {
  await page.addInitScript(key => sessionStorage.setItem(key, "token"), `token of ${address}`);
  await page.goto(`${address}/studio#/projects/p`);
  await page.locator("h1").waitFor();
  return await page.evaluate(() => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return [paint?.startTime ?? Number.NaN, performance.now()] as const;
  });
}

interface Frames {
  readonly worst: number;
  readonly over50: number;
  readonly count: number;
  readonly scriptMs: number;
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  /** Processor time in us, where the system knows it. */
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** Watches the tasks of the page's main thread for some seconds. */
async function framesOf(page: Page, session: CDPSession): Promise<Frames> {
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const ended = new Promise<void>(resolve => session.once("Tracing.tracingComplete", () => resolve()));
  const categories = "disabled-by-default-devtools.timeline,toplevel,__metadata";
  await session.send("Tracing.start", { categories, transferMode: "ReportEvents" });
  await page.waitForTimeout(frameSeconds * 1_000);
  await session.send("Tracing.end");
  await ended;
  const mains = events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const tasks = events
    .filter(
      ({ name, pid, tid }) => name === "RunTask" && mains.some(main => main.pid === pid && main.tid === tid),
    )
    .map(({ dur = 0, tdur = dur }) => tdur / 1_000)
    .sort((a, b) => b - a);
  return {
    worst: tasks[0] ?? Number.NaN,
    over50: tasks.filter(ms => ms > 50).length,
    count: tasks.length,
    scriptMs: tasks.reduce((sum, ms) => sum + ms, 0) / frameSeconds,
  };
}

/** Returns bytes of the heap after a collection, and how many nodes and listeners the page has. */
async function memoryOf(
  session: CDPSession,
): Promise<{ readonly heap: number; readonly nodes: number; readonly listeners: number }> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (name: string): number => metrics.find(metric => metric.name === name)?.value ?? Number.NaN;
  return { heap: of("JSHeapUsedSize"), nodes: of("Nodes"), listeners: of("JSEventListeners") };
}

const browser = await launchBrowser();
try {
  const bytes = firstLoadBytes(files);
  figure("the studio: page, script and style, gzip -9", `${(bytes / 1_024).toFixed(1)} KB`, "60 KB");

  const renders: (readonly [number, number])[] = [];
  for (let sample = 0; sample < 5; sample++) {
    const page = await browser.newPage();
    renders.push(await firstRender(page));
    await page.close();
  }
  const median = (index: 0 | 1): number =>
    renders.map(render => render[index]).sort((a, b) => a - b)[2] ?? Number.NaN;
  figure(
    "the same: first paint, and a place shown, in Chromium",
    `${median(0).toFixed(0)} ms, ${median(1).toFixed(0)} ms`,
    "1,000 ms",
  );

  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  let changing = change(1_000);
  await open(page);
  const session = await page.context().newCDPSession(page);
  await page.waitForTimeout(3_000);
  const frames = await framesOf(page, session);
  console.log(`${frames.count} tasks; the main thread works ${frames.scriptMs.toFixed(1)} ms a second`);
  figure(
    "1,000 elements and a board of 100 rows that change each second: longest task of the page, tasks over 50 ms",
    `${frames.worst.toFixed(0)} ms, ${frames.over50} in ${frameSeconds} s`,
    "50 ms, 0",
  );
  clearInterval(changing);
  await page.close();

  const long = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  changing = change(1_000 / haste);
  await open(long, haste);
  const memory = await long.context().newCDPSession(long);
  await memory.send("Performance.enable");
  const minute = 60_000 / haste;
  await long.waitForTimeout(2.5 * minute);
  const before = await memoryOf(memory);
  await long.waitForTimeout((memoryMinutes - 2.5) * minute);
  const end = await memoryOf(memory);
  clearInterval(changing);
  const grown = (end.heap - before.heap) / 1_024;
  console.log(
    `heap ${(before.heap / 2 ** 20).toFixed(1)} MB, then ${(end.heap / 2 ** 20).toFixed(1)} MB; ${round} changes`,
  );
  figure(
    `the same for ${memoryMinutes} minutes (${haste} times as fast): heap grew, nodes, listeners`,
    `${grown.toFixed(0)} KB, ${end.nodes - before.nodes}, ${end.listeners - before.listeners}`,
    "flat",
  );
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
