/** The typed client with what React Native has: its packages for fetch and abort, and no other interface of browsers. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import type * as client from "../../../lib/client/mod.ts";
import { serve } from "../../../runtime/node.ts";
import { ids } from "../../support/platform.ts";
import { operatorHeaders } from "../_control_examples.ts";
import { type Network, openNetwork } from "./_network.ts";

/** What phones have in place of a network: an answer comes as a whole. */
class XMLHttpRequest {
  readyState = 0;
  status = 0;
  statusText = "";
  responseText = "";
  responseURL = "";
  withCredentials = true;
  onload?: () => void;
  onerror?: () => void;
  onabort?: () => void;
  onreadystatechange?: () => void;
  #fields = "";
  #request = { method: "", url: "", headers: new Headers() };
  readonly #stop = new AbortController();

  open(method: string, url: string): void {
    this.#request = { method, url, headers: new Headers() };
  }
  setRequestHeader(name: string, value: string): void {
    this.#request.headers.set(name, value);
  }
  getAllResponseHeaders(): string {
    return this.#fields;
  }
  async send(body: string | null): Promise<void> {
    const { url, ...init } = this.#request;
    try {
      const response = await fetch(url, { ...init, body, signal: this.#stop.signal });
      this.responseText = await response.text();
      this.status = response.status;
      this.responseURL = response.url;
      this.#fields = [...response.headers].map(field => field.join(": ")).join("\r\n");
      this.readyState = 4;
      this.onreadystatechange?.();
      this.onload?.();
    } catch {
      this.readyState = 4;
      this.onreadystatechange?.();
      if (this.#stop.signal.aborted) this.onabort?.();
      else this.onerror?.();
    }
  }
  abort(): void {
    this.#stop.abort();
  }
}

/** Loads the client into a context that has the language and these interfaces alone. */
async function load(): Promise<typeof client & Pick<typeof globalThis, "AbortController">> {
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import "abort-controller/polyfill";
        import "whatwg-fetch";
        export * from "./lib/client/mod.ts";
        export const AbortController = globalThis.AbortController;`,
      resolveDir: process.cwd(),
    },
    bundle: true,
    format: "iife",
    globalName: "client",
    platform: "neutral",
    mainFields: ["react-native", "module", "main"],
    logLevel: "silent",
    write: false,
  });
  const context = createContext({ setTimeout, clearTimeout, console, XMLHttpRequest, navigator: {} });
  runInContext("var self = globalThis, window = globalThis", context);
  runInContext(`${outputFiles[0]?.text ?? ""}; globalThis.client = client`, context);
  for (const name of ["crypto", "ReadableStream", "URL", "URLSearchParams", "TextDecoder", "atob"])
    assert.equal(name in context, false, name);
  return context.client;
}

describe("the typed client in React Native", () => {
  let network: Network;
  let server: Awaited<ReturnType<typeof serve>>;
  let native: Awaited<ReturnType<typeof load>>;
  before(async () => {
    native = await load();
    network = await openNetwork();
    server = await serve((request, info) => network.world.platform.fetch(request, info), { port: 0 });
  });
  after(async () => {
    await server.stop();
    await network.world.dispose();
  });

  it("signs fans in, keeps them, reports their actions and reads what they have", async () => {
    const { createFanClient, identity, loyalty } = native;
    const items = new Map<string, string>();
    const storage: client.SessionStorage = {
      getItem: async key => items.get(key) ?? null,
      setItem: async (key, value) => items.set(key, value),
      removeItem: async key => items.delete(key),
    };
    const options = { url: server.url, projectId: ids.project, storage, areas: { identity, loyalty } };
    const fan = createFanClient(options);
    const account = {
      provider: "managedPool",
      email: "fan@club.example",
      password: "a long enough secret",
    } as const;
    await fan.session.register(account);
    const { userId } = await fan.session.logIn(account);
    assert.match(await fan.session.deviceId(), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
    await fan.loyalty.reportAction({ body: { action: "cheer" } });
    const again = createFanClient(options);
    assert.equal((await again.session.user())?.userId, userId);
    const { metrics } = await again.loyalty.getRewardsProfile();
    assert.ok(metrics.points !== undefined);
    await again.session.logOut();
    assert.equal(await createFanClient(options).session.user(), null);
  });

  it("follows the links of pages, and sends no parameter that nobody gave", async () => {
    const { control, createClient, accessToken } = native;
    const { authorization = "" } = await operatorHeaders(network.world);
    const author = createClient({
      url: server.url,
      areas: { control },
      credentials: accessToken(authorization.replace("Bearer ", "")),
    });
    const projectId = ids.project;
    for (const name of ["One", "Two"]) {
      const relationships = { project: { data: { type: "projects", id: projectId } } } as const;
      await author.control.createEvent({
        body: { data: { type: "events", attributes: { name }, relationships } },
      });
    }
    const names: string[] = [];
    const filter = { projectId, "page[count]": 1, sort: "created_at" } as const;
    for await (const { attributes } of author.control.listProjectEvents(filter))
      names.push(attributes.name ?? "");
    assert.deepEqual(names.toSorted(), ["Match", "One", "Two"]);
  });

  it("ends calls by their signal, and names what the server refuses", async () => {
    const { AbortController, createClient, leaderboards } = native;
    const boards = createClient({ url: server.url, areas: { leaderboards } }).leaderboards;
    const codeOf = (call: Promise<unknown>): Promise<unknown> => call.catch(({ code }) => code);
    const stop = new AbortController();
    const board = { projectId: ids.project, leaderboardId: "goals" };
    const waiting = codeOf(boards.listProjectLeaderboard(board, { signal: stop.signal }));
    stop.abort();
    assert.equal(await waiting, "aborted");
    assert.equal(await codeOf(boards.listProjectLeaderboard(board, { signal: stop.signal })), "aborted");
    assert.equal(
      await codeOf(boards.listProjectLeaderboard({ ...board, leaderboardId: "missing" })),
      "validation_failed",
    );
  });

  it("reads a live board again and again, as its fetch has no streams", async () => {
    const { createClient, leaderboards, apiKey } = native;
    const { key, secret } = await network.world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["rewards:write"],
    });
    const board = { projectId: ids.project, leaderboardId: "goals" };
    const { leaderboards: boards } = createClient({
      url: server.url,
      areas: { leaderboards },
      credentials: apiKey(key, secret),
      timer(task, ms) {
        // The pause between two reads, which no two clients take at the same time.
        if (ms >= 4_000 && ms <= 6_000) setImmediate(task);
        return () => {};
      },
    });
    const seen: string[] = [];
    for (const [userId, score] of [
      ["ann", 3],
      ["bea", 5],
    ] as const) {
      await boards.putProjectLeaderboardEntry({ ...board, userId, body: { score } });
    }
    for await (const { data } of boards.watchProjectLeaderboard(board)) {
      seen.push(data.map(({ userId }) => userId).join());
      if (seen.length === 2) break;
      await boards.putProjectLeaderboardEntry({ ...board, userId: "cem", body: { score: 9 } });
    }
    assert.deepEqual(seen, ["bea,ann", "cem,bea,ann"]);
  });
});
