/** The show in pages of other origins: the element and plain frames, with a storage and without. */

import assert from "node:assert/strict";
import { createServer, request, type Server } from "node:http";
import { after, before, describe, it } from "node:test";
import type { Frame, Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { forge } from "../support/issuer.ts";
import { until } from "../support/until.ts";
import { field, openShowWorld, question, type ShowWorld } from "./_show.ts";
import { openPage } from "./_studio.ts";

interface Host {
  readonly server: Server;
  readonly origin: string;
}

/** Serves pages of a site that is not the platform's; the address has the HTML of the body. Below `/live` is the platform, behind a prefix. */
async function openHost(platformOf: () => string): Promise<Host> {
  const server = createServer((asked, response) => {
    const { url = "", method, headers } = asked;
    if (url.startsWith("/live/")) {
      const passed = request(platformOf() + url.slice("/live".length), { method, headers }, answer => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      response.on("close", () => passed.destroy());
      passed.on("error", () => response.destroy());
      return void asked.pipe(passed);
    }
    const { searchParams } = new URL(url, "http://localhost");
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(`<!doctype html><title>Club</title><main>${searchParams.get("body")}</main>`);
  });
  await new Promise<void>(resolve => server.listen(0, "localhost", resolve));
  const { port } = server.address() as { readonly port: number };
  return { server, origin: `http://localhost:${port}` };
}

/** What the host hears, in order. */
interface Heard {
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

describe("the show in other pages", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  let club: Host;
  let stranger: Host;
  before(async () => {
    [club, stranger] = await Promise.all([openHost(() => world.url), openHost(() => world.url)]);
    world = await openShowWorld({ settings: { show: { embed: { origins: [club.origin] } } } });
    await world.publish("poll", question("Who wins?", "Home", "Away"));
  });
  after(async () => {
    await world.dispose();
    for (const { server } of [club, stranger]) {
      server.closeAllConnections();
      server.close();
    }
  });

  const element = (attributes = "", base = world.url) =>
    `<script type="module" src="${base}/show/embed.js"></script><grandstand-show event="${world.event}" locale="en" ${attributes}></grandstand-show>`;
  const plain = () =>
    `<iframe src="${world.url}/show?event=${world.event}" width="100%" height="700"></iframe>`;
  const addressOf = ({ origin }: Host, body: string) => `${origin}/?body=${encodeURIComponent(body)}`;
  /** Notes the events of the element. */
  const ears = `<script>heard=[];for(const type of ["vote","points","refused"])addEventListener("grandstand:"+type,({detail})=>heard.push({type,detail}))</script>`;

  /** Opens a page of a host. */
  async function visit(
    body: string,
    { host = club, prepare = (_: Page): Promise<unknown> => Promise.resolve() } = {},
  ) {
    const opened = await openPage(host.origin, { path: "/?body=", viewport: { width: 390, height: 800 } });
    const { page } = opened;
    await prepare(page);
    await page.goto(addressOf(host, ears + body));
    const heard = (): Promise<readonly Heard[]> => page.evaluate("heard");
    const frame = page.frameLocator(
      body.includes("</grandstand-show>") ? "grandstand-show iframe" : "iframe",
    );
    const poll = frame.getByRole("article", { name: "Who wins?" });
    return { ...opened, heard, poll };
  }

  function frameOf(page: Page, index = 1): Frame {
    const frame = page.frames()[index];
    assert.ok(frame);
    return frame;
  }

  /** Waits until the frame is exactly as high as the page in it and as a test asks, with nothing beside it. */
  async function waitForHeight(frame: Frame, isRight: (height: number) => boolean): Promise<number> {
    let shown = 0;
    await until("the frame is as high as its content", async () => {
      const [has, content, needed, wide] = await frame.evaluate(() => {
        const { scrollHeight, scrollWidth, clientWidth } = document.documentElement;
        const { height } = document.getElementById("page")?.getBoundingClientRect() ?? { height: 0 };
        return [innerHeight, Math.ceil(height), scrollHeight, scrollWidth - clientWidth] as const;
      });
      shown = has;
      return has === content && has === needed && wide === 0 && isRight(has);
    });
    return shown;
  }

  it("counts votes without a storage, tells the host, and is as high as its content", async () => {
    const { page, faults, heard, poll } = await visit(
      `${element('title="Our show"')}<p style="height:2000px">`,
      {
        // As browsers do that block the storage of other sites: the shell of Chromium divides it instead.
        prepare: page =>
          page.addInitScript(() => {
            const get = (): never => {
              throw new DOMException("Access is denied for this document.", "SecurityError");
            };
            if (self !== top) Object.defineProperty(self, "localStorage", { get });
          }),
      },
    );
    await poll.getByRole("button", { name: "Home" }).click();
    await poll.getByText("Counted").waitFor();
    assert.equal(await page.locator("iframe").getAttribute("title"), "Our show");
    await page.waitForFunction("heard.some(({type})=>type==='points')");
    const [vote] = (await heard()).filter(({ type }) => type === "vote");
    assert.deepEqual(vote?.detail.options, [1]);
    const low = await waitForHeight(frameOf(page), height => height > 100);
    const text = "One sentence of many words, again and again. ".repeat(40);
    const id = await world.publish("message", { custom_fields: [field("body", text)] });
    const high = await waitForHeight(frameOf(page), height => height > low + 300);
    // What is new pushes nothing that is being read, until the fan asks for it.
    const frame = frameOf(page);
    const sees = (isUp: boolean) =>
      until(`the top is ${isUp ? "" : "not "}seen`, async () => {
        const above = await frame.evaluate(() =>
          document.documentElement.style.getPropertyValue("--above").replace("px", ""),
        );
        return Number(above) > 200 !== isUp;
      });
    await page.evaluate(() => scrollTo(0, 400));
    await sees(false);
    const fresh = await world.publish("poll", question("And now?", "Yes", "No"));
    const card = page.frameLocator("grandstand-show iframe").getByRole("article", { name: "And now?" });
    const chip = page.frameLocator("grandstand-show iframe").getByRole("button", { name: "New: And now?" });
    await chip.waitFor();
    assert.equal(await card.count(), 0);
    await chip.click();
    await card.waitFor();
    await sees(true);
    await chip.waitFor({ state: "detached" });
    await world.change(fresh, { action: "revoke" });
    await world.change(id, { action: "revoke" });
    await waitForHeight(frameOf(page), height => height < high - 300);
    assert.deepEqual(faults, []);
  });

  it("is refused by the browser in pages of origins that the project does not name", async () => {
    const allowed = await visit(plain());
    await allowed.poll.waitFor();
    const { page, faults } = await visit(plain(), { host: stranger });
    await until("the browser has refused it", () => faults.length > 0);
    assert.match(faults.join(), /frame-ancestors/);
    assert.doesNotMatch(frameOf(page).url(), /^http/);
    assert.deepEqual(allowed.faults, []);
  });

  /** Returns the options that a user of the host's provider has voted for. */
  async function votesOf(token: string): Promise<readonly number[]> {
    const proof = { type: "idToken", token };
    const { json } = await world.call("/api/auth/token", { method: "POST", body: proof });
    const votes = await world.call(`/api/loyalty/votes?event_id=${world.event}`, {
      token: json.data.accessToken,
    });
    return votes.json.data.flatMap(({ options }: { readonly options: readonly { option: number }[] }) =>
      options.map(({ option }) => option),
    );
  }

  it("makes the fan the user of the host's token, of another one, and of none", async () => {
    const { login, clock } = world;
    const tokenOf = (sub: string) => forge(login.key, login.claims(clock.now(), { sub }));
    const [ann, ben] = [tokenOf("ann"), tokenOf("ben")];
    const addresses: string[] = [];
    const { page, faults, heard, poll } = await visit(element(`token="${ann}"`), {
      prepare: async page => void page.on("request", asked => addresses.push(asked.url())),
    });
    const set = (token: string) =>
      page.locator("grandstand-show").evaluate((show, value) => show.setAttribute("token", value), token);
    await poll.getByRole("button", { name: "Home" }).click();
    await poll.getByText("Counted").waitFor();
    assert.deepEqual(await votesOf(ann), [1]);
    await set(ben);
    await poll.getByText("Counted").waitFor({ state: "hidden" });
    await poll.getByRole("button", { name: "Away" }).click();
    await poll.getByText("Counted").waitFor();
    assert.deepEqual([await votesOf(ann), await votesOf(ben)], [[1], [2]]);
    await set("no.such.token");
    await poll.getByText("Counted").waitFor({ state: "hidden" });
    await page.waitForFunction("heard.at(-1).type==='refused'");
    assert.deepEqual((await heard()).at(-1)?.detail, { code: "invalid_token" });
    await set(ann);
    await poll.getByText("Counted").waitFor();
    await page.locator("grandstand-show").evaluate(show => show.removeAttribute("token"));
    await poll.getByText("Counted").waitFor({ state: "hidden" });
    await poll.getByRole("button", { name: "Away" }).click();
    await poll.getByText("Counted").waitFor();
    const cleo = tokenOf("cleo");
    await set(cleo);
    await until("the guest's vote is the user's", async () => (await votesOf(cleo)).join() === "2");
    await poll.getByText("Counted").waitFor();
    const calls = addresses.filter(address => !address.startsWith(club.origin));
    assert.ok(calls.some(address => address.endsWith("/v1/user/login")));
    assert.deepEqual(
      calls.filter(address => [ann, ben, cleo].some(token => address.includes(token))),
      [],
    );
    assert.deepEqual(faults, []);
  });

  it("hears and tells nobody but its host, and the host hears nobody but the show", async () => {
    const { login, clock } = world;
    const token = forge(login.key, login.claims(clock.now(), { sub: "ann" }));
    const listens = "onmessage=({data})=>document.title=JSON.stringify(data);";
    const evil = addressOf(
      stranger,
      `<script>${listens}const channel=new MessageChannel();channel.port1.onmessage=onmessage;
      parent.frames[0].postMessage("grandstand:host","*",[channel.port2]);
      for(const data of [{height:7},{type:"points",detail:{}},"grandstand:host"])parent.postMessage(data,"*");</script>`,
    );
    const { page, heard, poll } = await visit(plain() + element(`token="${token}"`));
    await poll.getByText("Counted").waitFor();
    await page.evaluate(address => {
      const frame = document.createElement("iframe");
      frame.src = address;
      document.body.append(frame);
      return new Promise(resolve => frame.addEventListener("load", resolve));
    }, evil);
    await page.waitForFunction("heard.length>0");
    assert.ok((await heard()).every(({ detail }) => Object.keys(detail).length > 0));
    await waitForHeight(frameOf(page, 2), height => height > 100);
    assert.equal(await poll.getByText("Counted").count(), 1);
    assert.equal(await frameOf(page).evaluate(() => "embedded" in document.documentElement.dataset), false);
    assert.equal(await frameOf(page, 3).title(), "Club");

    // Another page in the frame of the show gets no token.
    const refused = page.waitForEvent("console", message => /target origin/.test(message.text()));
    const other = addressOf(stranger, `<script>${listens}</script>`);
    await frameOf(page, 2).evaluate(address => location.assign(address), other);
    await refused;
    assert.equal(await frameOf(page, 2).title(), "Club");
  });

  it("takes no channel of a page that the project does not name, even where the browser shows it", async () => {
    const token = forge(world.login.key, world.login.claims(world.clock.now(), { sub: "ann" }));
    const { page, poll } = await visit(element(`token="${token}"`), {
      host: stranger,
      // As in a browser without frame-ancestors.
      prepare: page =>
        page.route("**/show?*", async route => {
          const response = await route.fetch();
          await route.fulfill({
            response,
            headers: { ...response.headers(), "content-security-policy": "" },
          });
        }),
    });
    await poll.getByRole("button", { name: "Home" }).waitFor();
    const frame = frameOf(page);
    await frame.waitForLoadState("load");
    // Messages of a window arrive in order.
    const asked = frame.evaluate(
      () => new Promise(resolve => addEventListener("message", ({ data }) => data === "last" && resolve(0))),
    );
    await frame.evaluate(() => 0);
    await page
      .locator("iframe")
      .evaluate(shown => (shown as HTMLIFrameElement).contentWindow?.postMessage("last", "*"));
    await asked;
    assert.equal(await frame.evaluate(() => "embedded" in document.documentElement.dataset), false);
  });

  it("follows its attributes without steps of the history, under a prefix, and cleans up", async () => {
    const { page, faults, poll } = await visit(element("", `${club.origin}/live`));
    await poll.waitFor();
    assert.match(frameOf(page).url(), new RegExp(`^${club.origin}/live/show\\?event=`));
    const steps = await page.evaluate(() => history.length);
    const show = page.locator("grandstand-show");
    await show.evaluate(each => each.setAttribute("locale", "de"));
    await page.frameLocator("grandstand-show iframe").getByRole("link", { name: "Jetzt" }).waitFor();
    assert.equal(await page.evaluate(() => history.length), steps);
    await show.evaluate(each => {
      Object.assign(globalThis, { kept: each });
      each.remove();
      each.setAttribute("theme", "dark");
    });
    assert.equal(page.frames().length, 1);
    await page.evaluate("document.querySelector('main').append(kept)");
    await poll.waitFor();
    assert.match(frameOf(page).url(), /theme=dark/);
    assert.deepEqual(faults, []);
  });
});
