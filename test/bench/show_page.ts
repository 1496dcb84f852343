/**
 * The page of fans in Chromium, on a phone four times slower than this machine at 1.6 Mbit/s with 150 ms latency: first paint, time until
 * a fan can vote, time from a tap to the pressed option, layout shift, and requests. Medians of fresh loads.
 *
 * ```sh
 * npm run bench -- show_page [loads] [seconds without a stream]
 * ```
 */

import type { Browser, Page } from "playwright-core";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createShow } from "../../lib/pages/show/mod.ts";
import { systemTimer } from "../../lib/storage/background/mod.ts";
import { serve } from "../../runtime/node.ts";
import { buildShow } from "../../runtime/services/pages.ts";
import { launchBrowser } from "../support/browser.ts";
import { ids, loyalty, openPlatform, seed } from "../support/platform.ts";
import { figure } from "./figure.ts";

const loads = Number(process.argv[2] ?? 7);
const pollSeconds = Number(process.argv[3] ?? 60);
const slowdown = 4;
const network = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
};

/** What the page notes of itself. Times are in ms after the navigation. */
interface Noted {
  voteable?: number;
  pressedAfter?: number;
  shift: number;
}
declare global {
  interface Window {
    noted: Noted;
  }
}

interface Load {
  readonly paint: number;
  readonly voteable: number;
  readonly tap: number;
  readonly shift: number;
  readonly requests: number;
}

/** Serves an event with a poll, as the platform does, and returns the address of its page. */
async function openEvent() {
  const files = await buildShow();
  const world = await openPlatform(async () => createMemoryStore({ clock: Date.now }), {
    show: createShow({ files: async () => files }),
    seed: {
      ...seed,
      loyalty: {
        [ids.space]: { ...loyalty, actions: [...loyalty.actions, { name: "vote", clientReportable: true }] },
      },
    },
    timer: systemTimer,
    clock: Date.now,
  });
  const server = await serve(world.platform.fetch, { port: 0 });
  const { authors } = world.platform;
  const { id: userId } = await authors.findOrCreate("sam@club.example", { name: "Sam", operator: true });
  const { token } = await authors.createToken({ userId, name: "Benchmark" });
  const field = (key: string, text: string) => ({ key, values: { all: text } });
  const { status, text } = await world.call("/api/v2/elements", {
    method: "POST",
    token,
    headers: { "content-type": "application/vnd.api+json" },
    body: {
      data: {
        type: "elements",
        attributes: {
          content_type: "poll",
          action: "publish",
          question: {
            fields: [field("question", "Who wins tonight?")],
            options: ["Home", "Away", "Nobody"].map(each => ({ fields: [field("text", each)] })),
          },
        },
        relationships: { event: { data: { type: "events", id: ids.event } } },
      },
    },
  });
  if (status !== 201) throw new Error(text);
  const stop = async (): Promise<void> => {
    await server.stop();
    await world.dispose();
  };
  return { address: `${server.url}/show?event=${ids.event}`, stop };
}

/** Notes, in the page, when a fan can vote, when a tap shows, and what moves. A time is that of the frame which shows it. */
function note(): void {
  const noted: Noted = { shift: 0 };
  window.noted = noted;
  const afterFrame = (then: () => void): void => void requestAnimationFrame(() => setTimeout(then));
  let tappedAt = 0;
  addEventListener("pointerdown", ({ timeStamp }) => (tappedAt = timeStamp), { capture: true });
  new PerformanceObserver(list => {
    for (const entry of list.getEntries() as (PerformanceEntry & {
      value: number;
      hadRecentInput: boolean;
    })[])
      if (!entry.hadRecentInput) noted.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  const seen = new Set<string>();
  function once(selector: string, then: () => void): void {
    if (seen.has(selector) || document.querySelector(selector) === null) return;
    seen.add(selector);
    afterFrame(then);
  }
  new MutationObserver(() => {
    once("fieldset.options button:enabled", () => (noted.voteable = performance.now()));
    once("[aria-pressed=true]", () => {
      noted.pressedAfter = performance.now() - tappedAt;
      console.debug("pressed");
    });
  }).observe(document, { subtree: true, childList: true, attributes: true });
}

async function openPhone(browser: Browser): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  });
  return await context.newPage();
}

async function load(browser: Browser, address: string): Promise<Load> {
  const page = await openPhone(browser);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", network);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  // The compiler names functions by a helper of its own.
  await page.addInitScript("globalThis.__name = each => each");
  await page.addInitScript(note);
  let requests = 0;
  page.on("request", request => {
    if (!request.url().startsWith("data:")) requests++;
  });
  await page.goto(address);
  await page.waitForFunction(() => window.noted.voteable !== undefined);
  const requestsBefore = requests;
  // A query of Playwright runs in the page, and would delay the frame that is waited for.
  const isPressed = page.waitForEvent("console", message => message.text() === "pressed");
  await page.getByRole("button", { name: "Home" }).tap();
  await isPressed;
  await page.getByText("Counted").waitFor();
  const noted = await page.evaluate(() => ({
    ...window.noted,
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
  }));
  await page.context().close();
  const { paint, shift, voteable = Number.NaN, pressedAfter: tap = Number.NaN } = noted;
  return { paint, voteable, tap, shift, requests: requestsBefore };
}

/** Returns how many requests a page makes in a minute that gets no stream, with a fan who has voted. */
async function requestsWithoutStream(browser: Browser, address: string): Promise<number> {
  const page = await openPhone(browser);
  await page.route("**/live?*", (route, request) =>
    request.headers().accept === "text/event-stream" ? route.abort() : route.continue(),
  );
  await page.goto(address);
  await page.getByRole("button", { name: "Home" }).tap();
  await page.getByText("Counted").waitFor();
  let requests = 0;
  page.on("request", () => requests++);
  await page.waitForTimeout(pollSeconds * 1_000);
  await page.context().close();
  return (requests * 60) / pollSeconds;
}

const { address, stop } = await openEvent();
const browser = await launchBrowser();
try {
  const results: Load[] = [];
  for (let index = 0; index < loads; index++) results.push(await load(browser, address));
  console.log(results);
  const sorted = (of: keyof Load): number[] => results.map(result => result[of]).sort((a, b) => a - b);
  const median = (of: keyof Load): string => (sorted(of)[loads >> 1] ?? Number.NaN).toFixed(0);
  const best = (of: keyof Load): string => (sorted(of)[0] ?? Number.NaN).toFixed(0);
  // Programs beside it slow a page down by as much as the throttle multiplies: the best load tells what the page costs.
  figure(
    `show, processor ${slowdown} times slower, 1.6 Mbit/s, 150 ms: first paint; a fan can vote; best`,
    `${median("paint")} ms; ${median("voteable")} ms; ${best("paint")}, ${best("voteable")} ms`,
    "1,200; 2,000 ms",
  );
  figure(
    "the same: tap to pressed option; largest layout shift; requests to the first element",
    `${median("tap")} ms; ${(sorted("shift").at(-1) ?? Number.NaN).toFixed(3)}; ${median("requests")}`,
    "100 ms; 0.02; 6",
  );
  figure(
    "the same without a stream: requests a minute",
    `${await requestsWithoutStream(browser, address)}`,
    "30",
  );
} finally {
  await browser.close();
  await stop();
}
