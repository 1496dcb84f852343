/** Stores of one's own: what the module of `GRANDSTAND_STORE` makes, and what is said where it cannot be used. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { silentLogger } from "../../lib/http/mod.ts";
import { type Config, readConfig } from "../../runtime/config.ts";
import { closeStorage, openStorage, type Storage } from "../../runtime/services/storage.ts";
import { redisAvailable, sharedRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { builtPackage, cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const folder = mkdtempSync(join(tmpdir(), "grandstand-own-store-"));
after(() => rmSync(folder, { recursive: true }));
const [runtime] = runtimes.filter(({ skip }) => skip === false);

function module(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The address of an entry of the package. */
function entry(name: string): string {
  return JSON.stringify(pathToFileURL(`${builtPackage()}/adapters/${name}/mod.js`).href);
}

function run(t: TestContext, words: readonly string[], store: string, more = {}): Program {
  assert.ok(runtime !== undefined);
  const settings = { GRANDSTAND_SECRET: secret, GRANDSTAND_PORT: "0", GRANDSTAND_STORE: store, ...more };
  const program = start([...cliCommand(runtime), ...words], settings, { cwd: folder });
  t.after(() => program.signal("SIGKILL"));
  return program;
}

async function stopped(program: Program): Promise<void> {
  program.signal("SIGTERM");
  assert.equal(await program.ended, 0, program.stderr());
}

describe("a store of one's own", {
  concurrency: true,
  skip: runtime === undefined && "nothing is built",
}, () => {
  it("keeps the state of a server, whose bulk actions it keeps too, and of commands", async t => {
    module(
      "files.mjs",
      `import { openFileStore } from ${entry("file")};
       export default async () => ({ store: await openFileStore(${JSON.stringify(join(folder, "data"))}) });`,
    );
    const server = run(t, ["serve"], "./files.mjs");
    const [, address = ""] = await server.match(/listens on (\S+) \(state in the store of \.\/files\.mjs\)/);
    assert.equal((await fetch(`${address}/readyz`)).status, 200);
    assert.doesNotMatch(server.stderr(), /store_in_memory/);
    await stopped(server);
    const doctor = run(t, ["doctor", "--json", "--store", "files.mjs"], "");
    await doctor.ended;
    const { data } = JSON.parse(doctor.stdout());
    assert.deepEqual(
      data.slice(0, 2).map(({ check, status }: Record<string, string>) => [check, status]),
      [
        ["store", "ok"],
        ["keys", "ok"],
      ],
    );
    const alone = run(t, ["worker"], "files.mjs");
    await assert.rejects(alone.match(/works on/), /before it ended/);
    assert.equal(await alone.ended, 1);
    assert.match(alone.stderr(), /without a queue no worker can share the store/);
  });

  it("is shared with a worker where it has a queue, and closes its parts before what they share", {
    skip: redisAvailable(),
  }, async t => {
    const { url } = await sharedRedis();
    module(
      "shared.mjs",
      `import { createRedisQueue, createRedisStore } from ${entry("redis")};
       const server = ${JSON.stringify(url)};
       export default () => ({
         store: createRedisStore({ server }),
         queue: createRedisQueue({ server }),
         async close() { console.log("closed"); },
       });`,
    );
    const server = run(t, ["serve"], "shared.mjs", { GRANDSTAND_WORKERS: "off" });
    const [, address = ""] = await server.match(/listens on (\S+)/);
    const worker = run(t, ["worker"], "shared.mjs");
    await worker.match(/works on queued actions/);
    await until("the server is ready", async () => (await fetch(`${address}/readyz`)).status === 200);
    await Promise.all([server, worker].map(stopped));
    for (const program of [server, worker]) assert.match(program.stdout(), /closed/);
  });

  it("is refused in one line where there is none", async t => {
    const server = run(t, ["serve"], "./nowhere.mjs");
    assert.equal(await server.ended, 1, server.stdout());
    assert.match(
      server.stderr(),
      /^Cannot serve: Cannot use the module of GRANDSTAND_STORE: ENOENT: .*nowhere\.mjs'$/m,
    );
    assert.doesNotMatch(server.stderr(), /^ +at /m);
  });
});

describe("a module that makes no store", () => {
  const store = `{
    traits: { durable: true, maxWrites: 1, maxValueBytes: 1 },
    read() {}, commit() {}, ping() {}, async *partitions() {}, async [Symbol.asyncDispose]() {},
  }`;
  const refusals: readonly [text: string, reason: RegExp][] = [
    ["export const store = 1;", /its default export must be a function$/],
    ["export default {};", /its default export must be a function$/],
    ["export default () => { throw new Error('no password'); };", /: no password$/],
    ["export default async () => { throw new Error('no password'); };", /: no password$/],
    ["import 'no-such-package';", /Cannot find package 'no-such-package'/],
    ["export default () => null;", /must return \{ store \}: it returned null$/],
    ["export default () => ({});", /must return \{ store \}: store is no object$/],
    ["export default () => ({ store: { read() {} } });", /: store has no method commit$/],
    [
      `export default () => ({ store: { ...${store}, partitions: 1 } });`,
      /: store has no method partitions$/,
    ],
    [`export default () => ({ store: { ...${store}, traits: {} } });`, /: store has no traits$/],
    [`export default () => ({ store: ${store}, queue: { push() {} } });`, /: queue has no method take$/],
  ];

  function configOf(path: string): Config {
    const result = readConfig({ environment: { GRANDSTAND_STORE: path }, flags: {}, demo: true });
    assert.ok(result.ok);
    return result.config;
  }

  it("is refused with the reason", async () => {
    for (const [index, [text, reason]] of refusals.entries()) {
      const opened = openStorage(configOf(module(`refused_${index}.mjs`, text)), silentLogger);
      await assert.rejects(opened, { message: reason }, text);
    }
  });

  it("gives the parts that it has, and files where the settings name them", async () => {
    const parts = `
      const end = async () => {};
      const blobs = { put() {}, get() {}, remove() {}, own: true, [Symbol.asyncDispose]: end };
      const limiter = { take() {}, reset() {}, own: true, [Symbol.asyncDispose]: end };
      export default () => ({ store: ${store}, blobs, limiter });`;
    const config = configOf(module("parts.mjs", parts));
    const ownParts = ({ blobs, limiter, localLimiter }: Storage): readonly boolean[] => [
      "own" in blobs,
      "own" in limiter,
      localLimiter !== null,
    ];
    for (const [settings, expected] of [
      [config, [true, true, true]],
      [{ ...config, blobs: join(folder, "blobs") }, [false, true, true]],
    ] as const) {
      const storage = await openStorage(settings, silentLogger);
      assert.deepEqual(ownParts(storage), expected);
      await closeStorage(storage);
    }
  });
});
