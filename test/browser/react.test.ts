/** The hooks for React: a page that is rendered on a server, taken over by a browser under StrictMode, and follows what happens. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import {
  apiKey,
  createClient,
  createFanClient,
  identity,
  leaderboards,
  loyalty,
} from "../../lib/client/mod.ts";
import { useFan } from "../../lib/client/react.ts";
import { createPlatform, type Platform, seedDemo, silentLogger } from "../../lib/mod.ts";
import { type Server, serve } from "../../runtime/node.ts";
import { AccountApp, App, areas } from "../runtime/examples/react_app.tsx";
import { browserAvailable } from "../support/browser.ts";
import { openContext } from "./_studio.ts";

const accountIssuer = "https://accounts.club.example";
const resolveDir = fileURLToPath(new URL("../..", import.meta.url));
/** Most bytes of the hooks alone, minified and compressed. */
const gzipBytesMax = 2_048;

async function bundle(contents: string, isAlone = false): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir, loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
    logLevel: "silent",
    ...(isAlone
      ? { packages: "external" as const }
      : { define: { "process.env.NODE_ENV": '"development"' } }),
  });
  return outputFiles[0]?.text ?? "";
}

/** Takes the page over that the server has rendered. `leave()` in the page takes it down again. */
const entry = `
  import { createElement, StrictMode } from "react";
  import { hydrateRoot } from "react-dom/client";
  import { createClient, createFanClient, spaceToken } from "./lib/client/mod.ts";
  import { AccountApp, App, areas } from "./test/runtime/examples/react_app.tsx";
  const { url, projectId, eventId, userId } = JSON.parse(document.body.dataset.options);
  const strict = element => createElement(StrictMode, null, element);
  const accountApp = userId => {
    const ask = () => fetch("/fan-token?fan=" + userId, { method: "POST" }).then(answer => answer.text());
    const client = createClient({ url, areas, credentials: spaceToken(ask) });
    return createElement(AccountApp, { client, projectId, eventId, userId });
  };
  const app =
    userId === undefined
      ? createElement(App, { client: createFanClient({ url, projectId, areas, storage: () => localStorage }), eventId })
      : accountApp(userId);
  const root = hydrateRoot(document.querySelector("main"), strict(app), {
    onRecoverableError: error => console.error("recovered", error),
  });
  globalThis.leave = () => root.unmount();
  globalThis.change = userId => root.render(strict(accountApp(userId)));
`;

function Alone(): string {
  return String(useFan().user);
}

describe("the hooks for React", () => {
  it(`have at most ${gzipBytesMax} bytes of their own`, async () => {
    const text = await bundle('export * from "./lib/client/react.ts"', true);
    const { length } = gzipSync(text, { level: 9 });
    assert.ok(length > 500 && length <= gzipBytesMax, `${length} bytes`);
  });

  it("say what is missing around a component", () => {
    assert.throws(() => renderToString(createElement(Alone)), /put a FanProvider above/);
  });
});

describe("a page in React", { skip: browserAvailable() }, () => {
  let platform: Platform;
  let api: Server;
  let pages: Server;
  let organisationId: string;
  let projectId: string;
  let eventId: string;
  let requests = 0;
  const faults: string[] = [];
  /** Accounts for which a page asked for a token. */
  const tokens: string[] = [];

  before(async () => {
    const store = createMemoryStore();
    const ids = await seedDemo({ store, random: systemRandom, clock: Date.now });
    ({ organisationId, projectId, eventId } = ids);
    const secret = new MasterSecret("a master secret for tests, long enough to be accepted");
    const defaultSpaceId = ids.spaceId;
    platform = await createPlatform({
      store,
      secret,
      defaultSpaceId,
      logger: silentLogger,
      identity: { accountIssuer },
    });
    api = await serve(platform.fetch, { port: 0, graceMsMax: 0 });
    const script = await bundle(entry);
    const fans = await platform.apiKeys.create({
      organisationId,
      name: "Fans",
      permissions: ["users:write", "tokens:write"],
    });
    const sites = createClient({ url: api.url, areas: { identity } });
    const fetchNothing = async (): Promise<Response> => {
      requests += 1;
      return new Response();
    };
    const page = (userId: string | undefined): Response => {
      const options = { url: api.url, projectId, eventId, ...(userId === undefined ? {} : { userId }) };
      const none = { url: api.url, projectId, areas, fetch: fetchNothing };
      const app =
        userId === undefined
          ? createElement(App, { client: createFanClient(none), eventId })
          : createElement(AccountApp, { client: createClient(none), projectId, eventId, userId });
      const body = `<body data-options='${JSON.stringify(options)}'><main>${renderToString(app)}</main><script type="module" src="/app.js"></script>`;
      return new Response(`<!doctype html><meta charset="utf-8"><title>Club</title>${body}`, {
        headers: { "content-type": "text/html" },
      });
    };
    const answer = async (request: Request): Promise<Response> => {
      const { pathname, searchParams } = new URL(request.url);
      const account = searchParams.get("fan") ?? undefined;
      if (pathname === "/app.js")
        return new Response(script, { headers: { "content-type": "text/javascript" } });
      if (pathname !== "/fan-token") return page(account);
      tokens.push(account ?? "");
      const { key, secret } = fans;
      const body = { type: "user", key, secret, externalId: account ?? "", projectId } as const;
      return new Response((await sites.identity.issueSpaceToken({ body })).accessToken);
    };
    pages = await serve(answer, { port: 0, graceMsMax: 0 });
  });
  after(async () => {
    await pages?.stop();
    await api?.stop();
    await platform?.close();
  });

  async function open(path = ""): Promise<Page> {
    const page = await (await openContext()).newPage();
    page.on("pageerror", error => faults.push(String(error)));
    page.on("console", message => {
      if (message.type() === "error" && !message.text().startsWith("Failed to load"))
        faults.push(message.text());
    });
    await page.goto(pages.url + path);
    return page;
  }

  it("reads nothing on the server, and shows there what has no data yet", async () => {
    const html = await (await fetch(pages.url)).text();
    assert.match(html, /Who is there\?/);
    assert.match(html, /aria-busy="true"/);
    assert.match(html, /The show is being read\./);
    assert.equal(requests, 0);
  });

  it("signs a fan in, counts points, follows the board and the show, and forgets who leaves", async () => {
    const rival = createFanClient({ url: api.url, projectId, areas: { loyalty } });
    await rival.session.register({ provider: "noLogin", username: "<b>Kim</b>" });
    for (let time = 0; time < 3; time++) await rival.loyalty.reportAction({ body: { action: "share" } });
    const page = await open();
    await page.getByText("<b>Kim</b>: 3").waitFor();
    await page.getByText(/elements, 1 fans/).waitFor();
    await page.getByLabel("Your name").fill("Sam");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByText("0 points").waitFor();
    await page.getByRole("button", { name: "Share the match" }).click();
    await page.getByText("1 points").waitFor();
    await page.getByText("Sam: 1").waitFor();
    await page.getByText(/elements, 2 fans/).waitFor();
    await page.reload();
    await page.getByText("1 points").waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Your name").fill("Pat");
    assert.equal(await page.getByRole("status").count(), 0);
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByText("0 points").waitFor();
    assert.deepEqual(faults, []);
  });

  it("knows a fan of own accounts on the server, and reads with a token of the page's server", async () => {
    const [sam, pat] = [randomUUID(), randomUUID()];
    requests = 0;
    const path = `/?fan=${sam}`;
    assert.match(await (await fetch(pages.url + path)).text(), /<output>…<\/output>/);
    assert.deepEqual([requests, tokens], [0, []]);
    const page = await open(path);
    await page.getByText("0 points").waitFor();
    await page.getByText("You are not on the board").waitFor();
    await page.getByRole("button", { name: "Share the match" }).click();
    await page.getByText("1 points").waitFor();
    await page.getByText("You are not on the board").click();
    await page.getByText(/^You are number \d with 1$/).waitFor();
    assert.equal(await page.locator("li").count(), 1);
    await page.getByText(/elements, [1-9]/).waitFor();
    await page.evaluate(`change("${pat}")`);
    await page.getByText("0 points").waitFor();
    await page.getByText("You are not on the board").waitFor();
    assert.deepEqual([tokens, faults], [[sam, pat], []]);
  });

  it("says why there is no board, shows another one, and ends its streams when it goes", async () => {
    const fan = createFanClient({ url: api.url, projectId, areas: { loyalty } });
    const { userId = "" } = (await fan.session.register({ provider: "noLogin", username: "Alex" })) ?? {};
    const { key, secret } = await platform.apiKeys.create({
      organisationId,
      name: "Scores",
      permissions: ["rewards:write"],
    });
    const credentials = apiKey(key, secret);
    const backEnd = createClient({ url: api.url, areas: { leaderboards }, credentials });
    const page = await open();
    await page.getByText("<b>Kim</b>: 3").waitFor();
    await page.getByLabel("Board").selectOption("unknown");
    await page.getByRole("alert").filter({ hasText: "none of this id is declared" }).waitFor();
    assert.equal(await page.locator("li").count(), 0);
    await page.getByLabel("Board").selectOption("show");
    await page.locator("section[aria-busy=false]", { hasNot: page.getByRole("alert") }).waitFor();
    const board = { projectId, eventId, leaderboardId: "overall" };
    await backEnd.leaderboards.putEventLeaderboardEntry({ ...board, userId, body: { score: 5 } });
    await page.getByText("Alex: 5").waitFor();
    assert.equal(await page.locator("li").count(), 1);
    await page.getByLabel("Board").selectOption("overall");
    await page.getByText("<b>Kim</b>: 3").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    const ended = ["/leaderboards/overall", "/live"].map(path =>
      page.waitForEvent("requestfailed", { predicate: request => request.url().includes(path) }),
    );
    await page.evaluate("leave()");
    await Promise.all(ended);
    assert.deepEqual(faults, []);
  });

  it("keeps a board while its connection is lost, and says so", async () => {
    const page = await open();
    await page.getByText("<b>Kim</b>: 3").waitFor();
    const { port } = new URL(api.url);
    await api.stop();
    await page.locator("section[aria-busy=true]").waitFor();
    assert.equal(await page.getByText("<b>Kim</b>: 3").count(), 1);
    api = await serve(platform.fetch, { port: Number(port), graceMsMax: 0 });
    await page.locator("section[aria-busy=false]").waitFor();
  });
});
