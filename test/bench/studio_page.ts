/**
 * The page of the studio in Chromium: its size, its first render, a show of 1,000 elements, its frames while all of them are drawn and change
 * each second, beside a page that draws them naively, the time from a key to the screen in the editor meanwhile, and its memory after
 * 10 minutes of that, which pass 20 times as fast.
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

const frameSeconds = Number(process.argv[2] ?? 10);
const memoryMinutes = Number(process.argv[3] ?? 10);
/** How much faster time passes while memory is measured. */
const haste = 20;
const elementCount = 1_000;
const optionCount = 4;
/** Rows of a zone before anybody scrolls. */
const rowsShown = 60;
const keys = 100;
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
  return { type: "elements", id: uuid(index), attributes, meta: { etag: `"${index}"` } };
}

function statsOf(): object {
  const elements = Array.from({ length: elementCount }, (_, index) => ({
    id: uuid(index),
    actions: round * 10 + index,
    votes: Array.from({ length: optionCount }, (_, option) => round * (1 + ((index + option) % 5)) + option),
  }));
  return { id: eventId, state: "current", actions: round * 10 * elementCount, elements };
}

/** What other authors do: another one of them goes from element to element. */
function authoringOf(): object {
  const author = { id: "ben/1", user_id: "ben", name: "Ben", place: `events/${eventId}/run` };
  return { now: Date.now(), presence: { authors: [{ ...author, field: uuid(round % elementCount) }] } };
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
  const one = /\/elements\/[\w-]*(\d{4})$/.exec(url.pathname);
  if (one !== null) return { data: elementOf(Number(one[1])) };
  if (url.pathname.endsWith("/analytics")) return { data: { attributes: { watching: round } } };
  const resource = (type: string, id: string) => ({ type, id, attributes: { name: type, state: "current" } });
  if (url.pathname.endsWith("/me")) return { data: resource("users", "1") };
  if (/\/(workflows|content_types|roles)$/.test(url.pathname)) return { data: [] };
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
  } else if (/^\/show|\/content_types\/poll/.test(path)) {
    // The preview is a page of its own, in a process of its own. A type that no app has is that of the element.
    response.writeHead(404, { "content-type": "application/vnd.api+json" });
    response.end(JSON.stringify({ errors: [{ code: "not_found", status: "404" }] }));
  } else if (request.method === "PUT") {
    response.writeHead(204).end();
  } else if (path.endsWith("/live")) {
    response.setHeader("content-type", "text/event-stream");
    const hello = { ...authoringOf(), changes: { entries: [] } };
    response.write(`event: hello\ndata: ${JSON.stringify(hello)}\n\n`);
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
    const message = `event: presence\ndata: ${JSON.stringify(authoringOf())}\n\n`;
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

/** Scrolls until every row is drawn. */
async function drawAll(page: Page): Promise<void> {
  const rows = page.locator(".item");
  while ((await rows.count()) < elementCount) {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.waitForTimeout(50);
  }
}

/** Types into the editor of an element. Returns the time from each key to the frame with it, in ms, longest first. */
async function keysToScreen(page: Page): Promise<number[]> {
  await page.evaluate(hash => (location.hash = hash), `#/events/${eventId}/run/${uuid(1)}`);
  const field = page.locator(".editor form input").first();
  await field.focus();
  await page.evaluate(`globalThis.delays = [];
    addEventListener("keydown", ({ timeStamp }) => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => delays.push(performance.now() - timeStamp);
      port2.postMessage(null);
    }), { capture: true });`);
  await field.pressSequentially("x".repeat(keys), { delay: 100 });
  await page.waitForFunction(`delays.length === ${keys}`);
  return ((await page.evaluate("delays")) as number[]).sort((a, b) => b - a);
}

/** Returns when the browser first painted contents, and when the page had shown the elements of a show, in ms after the navigation. */
async function firstRender(page: Page): Promise<readonly [paint: number, shown: number]> {
  await open(page);
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
  const collect = ({ value }: { readonly value: readonly object[] }): void =>
    void events.push(...(value as readonly TraceEvent[]));
  session.on("Tracing.dataCollected", collect);
  const ended = new Promise<void>(resolve => session.once("Tracing.tracingComplete", () => resolve()));
  const categories = "disabled-by-default-devtools.timeline,toplevel,__metadata";
  await session.send("Tracing.start", { categories, transferMode: "ReportEvents" });
  await page.waitForTimeout(frameSeconds * 1_000);
  await session.send("Tracing.end");
  await ended;
  session.off("Tracing.dataCollected", collect);
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

/** Draws as many elements and figures naively: all of them anew as HTML with each change. */
async function drawNaively(page: Page): Promise<void> {
  await page.evaluate(`
    let change = 0;
    const list = (length, textOf) => Array.from({ length }, (_, index) => textOf(index)).join("");
    const optionOf = (row, option) => {
      const votes = change * (1 + ((row + option) % 5)) + option;
      return "<li>Answer " + option + ' <meter max="' + (change * 5 + 4) + '" value="' + votes + '"></meter> ' + votes + "</li>";
    };
    const rowOf = row => "<article><h3>Question " + row + " of the show?</h3><p>" + (change * 10 + row) + "</p><ul>" +
      list(${optionCount}, option => optionOf(row, option)) + "</ul></article>";
    setInterval(() => {
      change += 1;
      document.body.innerHTML = list(${elementCount}, rowOf);
    }, 1_000);`);
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
    "the same: first paint, and a show of 1,000 elements, in Chromium",
    `${median(0).toFixed(0)} ms, ${median(1).toFixed(0)} ms`,
    "1,000, 1,500 ms",
  );

  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  let changing = change(1_000);
  await open(page);
  const session = await page.context().newCDPSession(page);
  for (const isAll of [false, true]) {
    if (isAll) await drawAll(page);
    await page.waitForTimeout(3_000);
    const frames = await framesOf(page, session);
    console.log(`${frames.count} tasks; the main thread works ${frames.scriptMs.toFixed(1)} ms a second`);
    figure(
      `1,000 elements that change each second, ${isAll ? "all" : `the first ${rowsShown}`} of them drawn: longest task, tasks over 50 ms`,
      `${frames.worst.toFixed(0)} ms, ${frames.over50} in ${frameSeconds} s`,
      "50 ms, 0",
    );
    if (isAll) continue;
    const delays = await keysToScreen(page);
    figure(
      "a key to the screen in the editor meanwhile: half, 95 %, longest",
      [keys >> 1, keys / 20, 0].map(index => `${delays[index]?.toFixed(0)} ms`).join(", "),
      "50 ms",
    );
    await page.evaluate(hash => (location.hash = hash), `#/events/${eventId}/run`);
  }
  clearInterval(changing);
  await page.close();
  const plain = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  await drawNaively(plain);
  await plain.waitForTimeout(3_000);
  const naive = await framesOf(plain, await plain.context().newCDPSession(plain));
  figure(
    "as many elements drawn anew as HTML each second: longest task, tasks over 50 ms",
    `${naive.worst.toFixed(0)} ms, ${naive.over50} in ${frameSeconds} s`,
  );
  await plain.close();

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
