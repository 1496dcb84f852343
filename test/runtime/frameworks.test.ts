/** The platform inside each framework and runtime that the guide shows, as the files of the guide embed it. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { after, describe, it, type TestContext } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { serve } from "@hono/node-server";
import { build, type Plugin } from "esbuild";
import { createClient, leaderboards, loyalty, spaceToken } from "../../lib/client/mod.ts";
import { files, textOf } from "../repo/files.ts";
import { until } from "../support/until.ts";
import { start } from "./processes.ts";
import { runtimes } from "./runtimes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
// The bundles find the frameworks from here.
const folder = `${here}node_modules/.cache/frameworks-${process.pid}`;
const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
const missing = (module: string): string | false =>
  !existsSync(`${here}node_modules/${module}`) &&
  !isRequired &&
  `${module} is not installed: npm ci --prefix test/runtime`;

/** Resolves the package's own name to its sources, and counts the listeners of the platform. */
const ownName: Plugin = {
  name: "own-name",
  setup({ onResolve, onLoad }) {
    const { compilerOptions } = JSON.parse(textOf("tsconfig.json")) as {
      compilerOptions: { paths: Record<string, string[]> };
    };
    const sourceOf = (path: string) => root + compilerOptions.paths[path]?.[0]?.slice(2);
    onResolve({ filter: /^grandstand(\/|$)/ }, ({ path, namespace }) =>
      path === "grandstand" && namespace === "file"
        ? { path, namespace: "measured" }
        : { path: sourceOf(path) },
    );
    onLoad({ filter: /.*/, namespace: "measured" }, () => ({
      resolveDir: root,
      contents: `
        import { createPlatform as create } from "grandstand";
        import { createMetrics } from "grandstand/metrics";
        export * from "grandstand";
        export const createPlatform = options =>
          create({ ...options, metrics: createMetrics(), http: { servesMetrics: true } });`,
    }));
  },
};

async function bundle(example: string, isWorker = false): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`test/runtime/examples/${example}`],
    write: false,
    bundle: true,
    format: "esm",
    ...(isWorker
      ? {
          platform: "neutral",
          mainFields: ["module", "main"],
          conditions: ["workerd", "worker", "browser"],
          external: ["cloudflare:*"],
        }
      : { platform: "node", packages: "external", target: "node20.19" }),
    plugins: [ownName],
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  const file = `${folder}/${example}.mjs`;
  writeFileSync(file, text);
  return isWorker ? text : file;
}

/** A started example. */
interface Started {
  readonly url: string;
  /** What it printed on stderr. */
  readonly log: () => string;
}

const commandOf = (name: string) => runtimes.find(runtime => runtime.name.startsWith(name));

function startIn(command: readonly [string, ...string[]]) {
  return async (context: TestContext, example: string): Promise<Started> => {
    const program = start([...command, await bundle(example)], { PORT: "0" });
    context.after(async () => {
      program.signal("SIGKILL");
      await program.ended;
    });
    const [, port] = await program.match(/port: (\d+)/);
    return { url: `http://127.0.0.1:${port}`, log: () => program.stderr() + program.stdout() };
  };
}

type Route = Readonly<Record<string, (request: Request) => Promise<Response>>>;

/** Calls the functions of a route as Next documents it: by the method, with a `Request`. */
async function startRoute(context: TestContext, example: string): Promise<Started> {
  const lines: string[] = [];
  context.mock.method(console, "warn", (...parts: readonly unknown[]) => void lines.push(parts.join(" ")));
  const route = (await import(pathToFileURL(await bundle(example)).href)) as Route;
  let url = "";
  const server = await new Promise<ReturnType<typeof serve>>(resolve => {
    const fetch = async (request: Request) =>
      (await route[request.method]?.(request)) ?? new Response(null, { status: 405 });
    const opened = serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => {
      url = `http://127.0.0.1:${port}`;
      resolve(opened);
    });
  });
  context.after(() => void server.close());
  return { url, log: () => lines.join("\n") };
}

interface Miniflare {
  readonly ready: Promise<URL>;
  dispose(): Promise<void>;
}

async function startWorker(context: TestContext, example: string): Promise<Started> {
  const contents = await bundle(example, true);
  const { Miniflare: Workers } = await import(`${here}node_modules/miniflare/dist/src/index.js`);
  const miniflare: Miniflare = new Workers({
    modules: [{ type: "ESModule", path: "worker.js", contents }],
    durableObjects: { CLUB: "Club" },
    compatibilityDate: "2026-05-01",
  });
  context.after(() => miniflare.dispose());
  return { url: (await miniflare.ready).origin, log: () => "" };
}

const node = startIn([process.execPath]);
const [bun, deno] = [commandOf("Bun"), commandOf("Deno")];
const frameworks: Readonly<
  Record<string, { skip: string | false; open: (t: TestContext, example: string) => Promise<Started> }>
> = {
  "node_http.ts": { skip: false, open: node },
  "express.js": { skip: missing("express"), open: node },
  "fastify.js": { skip: missing("fastify"), open: node },
  "hono.js": { skip: false, open: node },
  "next_route.js": { skip: false, open: startRoute },
  "bun.js": { skip: bun?.skip ?? "there is no Bun", open: startIn(bun?.command ?? [""]) },
  "deno.js": { skip: deno?.skip ?? "there is no Deno", open: startIn(deno?.command ?? [""]) },
  "worker.js": { skip: missing("miniflare"), open: startWorker },
};

const projectId = "00000000-0000-4000-8000-000000000003";
/** What a proxy, Next's and the one of Cloudflare say of a client. */
const forwarded = {
  "x-forwarded-for": "192.0.2.7",
  "x-real-ip": "192.0.2.7",
  "cf-connecting-ip": "192.0.2.7",
};

function register(url: string, username: string): Promise<Response> {
  const body = { projectId, strategy: "simplified", provider: "noLogin", data: { username } };
  return fetch(`${url}/v1/user`, {
    method: "POST",
    headers: { "content-type": "application/json", ...forwarded },
    body: JSON.stringify(body),
  });
}

async function listenersOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^grandstand_board_listeners (\d+)/m.exec(text)?.[1]);
}

/** Asserts that a fan of the application's own accounts gets a token that opens the APIs, and nobody else does. */
async function assertSignsIn(url: string): Promise<void> {
  const nobody = await fetch(`${url}/fan-token`, { method: "POST" });
  assert.equal(nobody.status, 401);
  const answer = await fetch(`${url}/fan-token`, { method: "POST", headers: { "x-account": "1966" } });
  const { accessToken } = (await answer.json()) as { readonly accessToken: string };
  const fan = createClient({ url, areas: { leaderboards, loyalty }, credentials: spaceToken(accessToken) });
  await fan.loyalty.reportAction({ body: { action: "cheer" } });
  await until("the fan leads the board", async () => {
    const [first] = await fan.leaderboards.listProjectLeaderboard({ projectId, leaderboardId: "overall" });
    return first?.publicProfile.username === "Fan 1966" && first.score === 1;
  });
}

describe("the platform inside", () => {
  it("is embedded as the guides print it", () => {
    const pages = files.filter(file => file.startsWith("lib/platform/hosts/"));
    for (const page of pages) assert.ok(textOf(page).split("\n").length <= 61, `${page} is long`);
    const guides = ["README.md", "lib/platform/README.md", ...pages].map(textOf).join("");
    const examples = files.filter(file => /^test\/runtime\/examples\/.*\.[jt]s$/.test(file));
    assert.deepEqual(
      examples.filter(file => !guides.includes(`\`\`\`${file.slice(-2)}\n${textOf(file)}\`\`\`\n`)),
      [],
    );
    const started = [...Object.keys(frameworks), "platform.js", "store.js", "accounts.js"].map(
      name => `test/runtime/examples/${name}`,
    );
    assert.deepEqual(examples.toSorted(), started.toSorted(), "each example is started");
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [example, { skip, open }] of Object.entries(frameworks)) {
    it(`${example} answers reads, bodies, too large bodies and streams`, { skip }, async t => {
      const { url, log } = await open(t, example);
      const read = await fetch(`${url}/readyz`);
      assert.equal(read.status, 200, await read.text());

      const registered = await register(url, "Jürgen");
      const text = await registered.text();
      assert.equal(registered.status, 200, text);
      assert.equal(JSON.parse(text).data.username, "Jürgen");
      assert.doesNotMatch(log(), /client_address_missing|forwarded_ignored/);

      if (example === "express.js") await assertSignsIn(url);

      const isWorker = example === "worker.js";
      // workerd closes the connection of a body that it does not read, which may reach the client before the answer.
      await until("a body over the bound is refused", async () => {
        const refused = await register(url, "x".repeat(100_000)).catch((error: unknown) => {
          if (!isWorker) throw error;
          return null;
        });
        if (refused !== null) assert.equal(refused.status, 413, await refused.text());
        return refused !== null;
      });

      const page = `${url}/projects/00/${projectId}/live?boards=overall`;
      const leave = new AbortController();
      const stream = await fetch(page, { headers: { accept: "text/event-stream" }, signal: leave.signal });
      assert.equal(stream.headers.get("content-type"), "text/event-stream");
      const first = await stream.body?.getReader().read();
      assert.match(new TextDecoder().decode(first?.value), /^retry: \d+\nevent: hello\n/);
      assert.equal(await listenersOf(url), 1);
      leave.abort();
      // A Worker is not told that a client has left.
      if (isWorker) return;
      await until("the stream of the client that left has ended", async () => (await listenersOf(url)) === 0);
    });
  }
});
