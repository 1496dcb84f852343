/**
 * A whole show: a producer makes, schedules, runs and stops it by the keyboard, with every type of element; fans take part in browsers and
 * over HTTP.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createFanClient, GrandstandError, leaderboards, loyalty } from "../../lib/client/mod.ts";
import { browserAvailable } from "../support/browser.ts";
import { databases } from "../support/databases.ts";
import { isFullRun } from "../support/full.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { openShowWorld, type ShowWorld } from "./_show.ts";
import { type OpenedPage, openPage, press, useCatalogue } from "./_studio.ts";

const fanCount = isFullRun ? 44 : 12;
const areas = { loyalty, leaderboards };
type Fan = ReturnType<typeof createFanClient<typeof areas>>;
/** Points of the rules of the show. */
const [votePoints, quizPoints, predictionPoints] = [5, 20, 30];

/** A show under test, and the servers that fans and the producer come to. */
interface Stage {
  readonly world: ShowWorld;
  readonly urls: readonly string[];
  close(): Promise<void>;
}

/** Resolves with the frame that has a text, where `waitFor` looks up to half a second later. */
async function drawn(page: Page, text: string): Promise<void> {
  const isThere = (wanted: string): boolean => document.body.textContent.includes(wanted);
  await page.waitForFunction(isThere, text, { polling: "raf" });
}

/** An element as the producer makes it: its type in the menu, and the fields that are typed, the title first. */
interface Plan {
  readonly type: string;
  readonly name: string;
  readonly fields: readonly (readonly [label: string, value: string])[];
}

const plan = (type: string, name: string, ...fields: readonly (readonly [string, string])[]): Plan => {
  return { type, name, fields };
};
const welcome = plan("Message", "Good evening", ["Title", "Good evening"]);
/** Everything but what is scheduled, in the order of the show. */
const plans: readonly Plan[] = [
  plan("Poll", "Who will win?", ["Question", "Who will win?"]),
  plan("Quiz", "Which year?", ["Question", "Which year?"], ["Points", String(quizPoints)]),
  plan(
    "Prediction",
    "How will it end?",
    ["Question", "How will it end?"],
    ["Points", String(predictionPoints)],
  ),
  plan("Rating", "How was it?", ["Question", "How was it?"]),
  plan("Cheer", "Louder!", ["Question", "Louder!"]),
  plan("Ask", "What shall we ask?", ["Prompt", "What shall we ask?"]),
  plan(
    "Countdown",
    "Soon",
    ["Target", "2030-01-01T20:00"],
    ["Title", "Soon"],
    ["Name for your team", "Soon"],
  ),
  plan(
    "Media",
    "The goal",
    ["Asset", "https://cdn.example/goal.mp4"],
    ["Caption", "The goal"],
    ["Name for your team", "The goal"],
  ),
  plan("Call to action", "Tickets", ["Label", "Tickets"]),
  plan("Reward", "A drink", ["Coupon id", "drink"], ["Name for your team", "A drink"]),
  plan("Leaderboard", "The table", ["Name for your team", "The table"]),
  plan("Group", "Half-time", ["Title", "Half-time"]),
];
/** What fans answer, and how many options it has. */
const options: Readonly<Record<string, number>> = { Poll: 2, Quiz: 2, Prediction: 3, Rating: 5, Cheer: 2 };
const onScreen = new Set(["Poll", "Quiz", "Prediction", "Rating", "Cheer", "Ask"]);

/** A page of another origin that shows the show in a frame. */
async function openHost() {
  let shown = "";
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<title>Club</title><iframe src="${shown}" title="Show" width="400" height="700"></iframe>`);
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  return { url, show: (address: string) => (shown = address), close: () => server.close() };
}

const real = { clock: Date.now } as const;
const settings = (origin: string) => ({ show: { embed: { origins: [origin] } } });

async function inMemory(origin: string): Promise<Stage> {
  const openStore = async () => createMemoryStore({ clock: Date.now });
  const world = await openShowWorld({ ...real, openStore, settings: settings(origin) });
  return { world, urls: [world.url], close: () => world.dispose() };
}

/** Two servers on one database: the producer is at the first, fans are at both. */
async function onDatabase(handles: (typeof databases)[number]["handles"], origin: string): Promise<Stage> {
  const worlds: ShowWorld[] = [];
  for (const store of await handles(2, Date.now))
    worlds.push(await openShowWorld({ ...real, openStore: async () => store, settings: settings(origin) }));
  const [world] = worlds as [ShowWorld];
  async function close(): Promise<void> {
    for (const each of worlds) await each.dispose();
  }
  return { world, urls: worlds.map(each => each.url), close };
}

const places = isFullRun
  ? databases.map(({ name, skip, handles }) => ({
      name: `two servers on one ${name}`,
      skip,
      open: (origin: string) => onDatabase(handles, origin),
    }))
  : [{ name: "memory", skip: false, open: inMemory }];

class Producer {
  readonly page: Page;
  constructor(page: Page) {
    this.page = page;
  }

  readonly #editor = () => this.page.getByRole("complementary", { name: "Editor" });
  readonly row = (name: string) => this.page.locator(".item").filter({ hasText: name }).first();
  readonly zone = (name: string) => this.page.getByRole("list", { name, exact: true });

  async press(name: string | RegExp): Promise<void> {
    await press(this.page.getByRole("button", { name, exact: typeof name === "string" }).first());
  }

  async makeEvent(name: string): Promise<string> {
    await this.press("New event");
    const field = this.page.getByRole("dialog").getByLabel("Name", { exact: true });
    await field.pressSequentially(name);
    await field.press("Enter");
    await this.page.getByRole("button", { name: "Start the show" }).waitFor();
    await this.page.getByRole("heading", { name: "Add your first element" }).waitFor();
    return /events\/([\w-]+)/.exec(this.page.url())?.[1] ?? "";
  }

  /** Makes a draft, and returns its id. */
  async make({ type, fields }: Plan): Promise<string> {
    const { page } = this;
    const opened = page.url();
    await this.press("New element");
    await press(page.locator(".menu").getByRole("button", { name: type, exact: true }));
    await this.#editor().getByRole("heading", { name: type, exact: true }).waitFor();
    await until("the editor has an address of its own", () => page.url() !== opened);
    if (type === "Reward") await this.press("Coupon id");
    for (const [label, value] of fields) {
      const field = this.#editor().getByLabel(label).first();
      await field.focus();
      if ((await field.getAttribute("type")) === "datetime-local") await field.fill(value);
      else {
        await page.keyboard.press("Control+A");
        await page.keyboard.type(value);
      }
    }
    if (type === "Quiz") await this.#editor().getByLabel("Option 2 is right").press("Space");
    if (type === "Message") await this.#schedule();
    await page.keyboard.press("Tab");
    await this.#editor()
      .getByText(/^Saved /)
      .waitFor();
    const id = /run\/([\w-]+)$/.exec(page.url())?.[1] ?? "";
    await page.keyboard.press("Escape");
    await this.#editor().waitFor({ state: "detached" });
    return id;
  }

  async #schedule(): Promise<void> {
    await this.#editor().getByText("Time, votes and results").press("Enter");
    await this.#editor().getByLabel("Published").selectOption("timecode");
    await this.#editor().getByLabel("Seconds after the start").fill("1");
  }

  /** Cues and takes. Returns when it was taken, by `performance.now()`. */
  async take(name: string): Promise<number> {
    await this.row(name).focus();
    await this.page.keyboard.press("c");
    await this.row(name).getByRole("button", { name: "Take", exact: true }).waitFor();
    await this.page.clock.runFor(600);
    await this.row(name).focus();
    const at = performance.now();
    await this.page.keyboard.press("t");
    await this.zone("On air").getByText(name).first().waitFor();
    return at;
  }

  async stop(name: string): Promise<void> {
    await this.row(name).press("s");
    await this.zone("Done").getByText(name).first().waitFor();
  }
}

/** What the servers should have counted. */
class Reckoning {
  readonly votes = new Map<string, number[]>();
  readonly points = new Map<string, number>();

  count(elementId: string, option: number): void {
    const votes = this.votes.get(elementId) ?? [];
    votes[option - 1] = (votes[option - 1] ?? 0) + 1;
    this.votes.set(elementId, votes);
  }

  pay(userId: string, points: number): void {
    this.points.set(userId, (this.points.get(userId) ?? 0) + points);
  }
}

const codeOf = (error: unknown): string => (error instanceof GrandstandError ? error.code : String(error));

for (const { name, skip, open } of places) {
  describe(`a whole show (${name})`, { skip: browserAvailable() || skip }, () => {
    let stage: Stage;
    let host: Awaited<ReturnType<typeof openHost>>;
    const opened: OpenedPage[] = [];
    before(async () => {
      host = await openHost();
      stage = await open(host.url);
    });
    after(async () => {
      await stage.close();
      host.close();
    });

    const url = (index: number): string => stage.urls[index % stage.urls.length] ?? "";
    async function visit(index: number, query: string, options: BrowserContextOptions = {}): Promise<Page> {
      const found = await openPage(url(index), { path: `/show${query}`, ...options });
      opened.push(found);
      return found.page;
    }
    async function openProducer(): Promise<Producer> {
      const { world } = stage;
      await useCatalogue(world);
      const found = await openPage(url(0), {
        path: `/studio#/projects/${ids.project}/events`,
        token: world.token,
      });
      opened.push(found);
      return new Producer(found.page);
    }
    async function joinFans(): Promise<readonly Fan[]> {
      const { project: projectId, space: spaceId, organisation: organisationId } = ids;
      return await Promise.all(
        Array.from({ length: fanCount }, async (_, index) => {
          const fan = createFanClient({ url: url(index), projectId, spaceId, organisationId, areas });
          await fan.session.register({ provider: "anonymous" });
          return fan;
        }),
      );
    }

    it("counts every accepted vote once, and shows everybody what is on", async () => {
      const producer = await openProducer();
      const event = await producer.makeEvent("Final");
      const made = new Map<string, string>();
      for (const each of [welcome, ...plans]) made.set(each.type, await producer.make(each));
      const id = (type: string): string => made.get(type) ?? "";
      host.show(`${url(1)}/show?event=${event}`);
      const phone = await visit(0, `?event=${event}`, { viewport: { width: 360, height: 740 } });
      const arabic = await visit(1, `?event=${event}&locale=ar`);
      const dark = await visit(0, `?event=${event}`, { colorScheme: "dark" });
      const screen = await visit(1, `?event=${event}&view=screen`);
      const overlay = await visit(0, `?event=${event}&view=overlay`);
      const framed = await openPage(host.url, { path: "/" });
      opened.push(framed);
      const frame = framed.page.frameLocator("iframe");
      const fans = await joinFans();
      const users = await Promise.all(fans.map(async fan => (await fan.session.user())?.userId ?? ""));
      const reckoning = new Reckoning();

      await producer.press("Start the show");
      await phone.getByRole("heading", { name: "Good evening" }).waitFor();
      await producer.zone("On air").getByText("Good evening").first().waitFor();

      async function answer(type: string, body: object): Promise<readonly string[]> {
        const data = { elementId: id(type), ...body };
        return await Promise.all(
          fans.map((fan, index) => {
            const choices = options[type] ?? 0;
            const option = choices === 0 ? {} : { option: String((index % choices) + 1) };
            const action = choices === 0 ? "ask" : "vote";
            return fan.loyalty
              .reportAction({ body: { action, actionId: crypto.randomUUID(), data: { ...data, ...option } } })
              .then(() => "counted", codeOf);
          }),
        );
      }
      /** The fans answer, and once more: the server refuses that, but for cheers. */
      async function vote(type: string): Promise<void> {
        const body = type === "Ask" ? { text: "Why?" } : {};
        assert.deepEqual(new Set(await answer(type, body)), new Set(["counted"]), type);
        assert.deepEqual(
          new Set(await answer(type, body)),
          new Set([type === "Cheer" ? "counted" : "vote_limit"]),
          type,
        );
        for (const [index, userId] of users.entries()) {
          const choices = options[type];
          if (choices === undefined) continue;
          const option = (index % choices) + 1;
          for (let times = type === "Cheer" ? 2 : 1; times > 0; times--) reckoning.count(id(type), option);
          const isRight = (type === "Quiz" && option === 2) || (type === "Prediction" && option === 1);
          const won = isRight ? (type === "Quiz" ? quizPoints : predictionPoints) : 0;
          reckoning.pay(userId, (type === "Cheer" ? 2 : 1) * votePoints + won);
        }
      }

      /** Nobody can vote. The other server knows that within a second, and counts nobody twice meanwhile. */
      const closes = (type: string) =>
        until(
          `${type} is closed`,
          async () => String([...new Set(await answer(type, {}))]) === "vote_closed",
        );

      const delays: number[] = [];
      for (const { type, name } of plans) {
        const at = await producer.take(name);
        const onPhone = type !== "Group" && type !== "Leaderboard" && type !== "Reward";
        await Promise.all([onScreen.has(type) && drawn(screen, name), onPhone && drawn(phone, name)]);
        delays.push(performance.now() - at);
        if (type in options || type === "Ask") await vote(type);
        if (type !== "Poll") continue;
        await overlay.getByRole("heading", { name }).waitFor();
        for (const button of [
          phone.getByRole("button", { name: "Home" }),
          frame.getByRole("button", { name: "Home" }),
        ]) {
          await button.click();
          reckoning.count(id("Poll"), 1);
        }
        await arabic.getByRole("button", { name: "Home" }).press("2");
        reckoning.count(id("Poll"), 2);
        await phone.getByText("Counted").waitFor();
        await frame.getByText("Counted").waitFor();
        await arabic.locator('[aria-pressed="true"]').waitFor();
        await dark.getByRole("button", { name: "Home" }).waitFor();
        await dark.context().setOffline(true);
        await dark.getByRole("button", { name: "Home" }).click();
        await dark.locator(".vote").getByText("Kept.").waitFor();
      }
      delays.sort((a, b) => a - b);
      const p95 = delays[Math.ceil(delays.length * 0.95) - 1] ?? Number.NaN;
      console.log(
        `publish to screen: median ${delays[delays.length >> 1]?.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`,
      );

      await producer.stop("Who will win?");
      await dark.context().setOffline(false);
      await dark.getByText("Too late").waitFor();
      await closes("Poll");
      await producer.row("Which year?").press("a");
      await phone.getByText("✓").first().waitFor();
      await producer.row("How will it end?").press("a");
      await press(producer.page.getByRole("dialog").getByRole("button", { name: "Home" }));
      await producer.row("How will it end?").getByText("✓ right").waitFor();
      await producer.press("Stop the show…");
      await press(producer.page.getByRole("dialog").getByRole("button", { name: "Stop the show" }));
      await phone.locator(".live").waitFor({ state: "detached" });
      await closes("Rating");

      await assertCounted(event, reckoning);
      await assertPaid(fans, { users, reckoning });
      assert.deepEqual(
        opened.flatMap(({ faults }) => faults),
        [],
      );
    });

    async function assertCounted(event: string, { votes }: Reckoning): Promise<void> {
      const read = async (server: string) => {
        const answer = await fetch(`${server}/events/${event.slice(0, 2)}/${event}/livestats.json`);
        const { elements } = (await answer.json()) as {
          readonly elements: readonly { readonly id: string; readonly votes?: readonly number[] }[];
        };
        return elements.flatMap(({ id, votes: own }) => (votes.has(id) ? [[id, own]] : [])).sort();
      };
      const expected = JSON.stringify([...votes].sort());
      for (const server of stage.urls)
        await until(`the totals are ${expected}`, async () => {
          const shown = JSON.stringify(await read(server));
          return shown === expected;
        });
    }

    async function assertPaid(
      fans: readonly Fan[],
      { users, reckoning }: { readonly users: readonly string[]; readonly reckoning: Reckoning },
    ): Promise<void> {
      const board = { projectId: ids.project, leaderboardId: "overall", limit: 100 };
      const expected = users.map(user => reckoning.points.get(user) ?? 0);
      const scores = async (): Promise<Map<string, number>> => {
        const found = new Map<string, number>();
        const listed = await fans[0]?.leaderboards.listProjectLeaderboard(board);
        for (const { userId, score } of listed ?? []) found.set(userId, score);
        return found;
      };
      await until(`the board is ${expected}`, async () => {
        // Answers that were right are paid by a job.
        await stage.world.platform.work();
        const found = await scores();
        return String(users.map(user => found.get(user))) === String(expected);
      });
      const others = [...(await scores())].filter(([user]) => !users.includes(user));
      assert.deepEqual(
        others.map(([, score]) => score),
        [votePoints, votePoints, votePoints],
        "the fans in browsers; nobody who was late",
      );
    }
  });
}
