/**
 * Hostile requests of every operation: each is answered soon and in the shape of its family, and whoever is refused has
 * changed nothing.
 *
 * There are some 40,000 of them, of which a run sends a part. `GRANDSTAND_HOSTILE_SHARE=1` sends all, and
 * `GRANDSTAND_HOSTILE_SEED` picks others.
 */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { errorFacts } from "../../lib/http/errors/failure.ts";
import { sampleSize } from "../support/full.ts";
import type { WatchedCommit } from "../support/watched_store.ts";
import { type ExampleWorld, exampleWorlds } from "./_example_worlds.ts";
import { type HostileRequest, hostileRequests } from "./_hostile.ts";
import { type Example, examplesFor, type Operation, operationsOf, targetOf } from "./_operations.ts";

const seed = Number(process.env.GRANDSTAND_HOSTILE_SEED ?? 20_250_615);
const share = Number(process.env.GRANDSTAND_HOSTILE_SHARE ?? sampleSize(0.03, 0.01));
/** Longest time that an answer may take, in ms: far more than any needs, and less than a hang. */
const answerMsMax = 5_000;
/** Operations that share a platform, and so its valid requests, which some use up. */
const perPlatform = 3;

/** A platform whose failures are seen. */
interface Watched extends ExampleWorld {
  readonly failures: unknown[];
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

async function answerTo(
  { world }: Watched,
  { method, target, headers, body }: HostileRequest,
  base: Readonly<Record<string, string>>,
): Promise<Answered> {
  const isBare = method === "GET" || method === "HEAD";
  const request = new Request(`http://club.example${target}`, {
    method,
    headers: {
      ...(isBare || body === null ? {} : { "content-type": "application/json" }),
      ...base,
      ...headers,
    },
    body: isBare ? null : body,
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer came")), answerMsMax);
  });
  try {
    // What `Request` would tidy up, servers hand on as it came.
    const response = await Promise.race([world.platform.fetch(request, { target }), late]);
    const isStream = response.headers.get("content-type")?.includes("event-stream") ?? false;
    if (isStream) await response.body?.cancel();
    return { status: response.status, text: isStream ? "" : await Promise.race([response.text(), late]) };
  } finally {
    clearTimeout(timer);
  }
}

/** Asserts that an error has a code of the closed set and a message for people, and tells nothing of the inside. */
function assertRefusal({ status, text }: Answered, { method }: HostileRequest): void {
  assert.doesNotMatch(text, /\bat .+\.ts:\d|node_modules|Cannot read propert|is not a function/);
  // A range that cannot be sent is told by header fields alone.
  if (method === "HEAD" || (status === 416 && text === "")) return;
  const json = JSON.parse(text);
  const [first = {}] = json.errors ?? [];
  const code: string = json.code ?? json.data?.code ?? first.code;
  assert.ok(Object.hasOwn(errorFacts, code), `no code: ${text}`);
  const message: unknown = json.message ?? first.detail;
  assert.ok(typeof message === "string" && message.length > 10, `no message: ${text}`);
}

/**
 * True if a refused request may make this commit: the trail of attempts; a claim of an idempotency key, which the refusal is
 * kept under; the list of a bulk request's actions, which is written before they are tried one by one; the
 * tries of a one-time code; that the session of valid credentials was used; and when background work looks at an owner.
 */
function isAllowed({ partition, batch }: WatchedCommit): boolean {
  if (partition === "g:control") return batch.writes.every(({ key }) => key === "due");
  if (/:(audit|code|idempotency|action_batch)(:|$)/.test(partition)) return true;
  return batch.writes.every(({ key }) => /^(audit|sessions|session:.+)$/.test(key));
}

async function attack(watched: Watched, operation: Operation, example: Example): Promise<number> {
  const { world, store, failures, credentials } = watched;
  const base = { ...operation.headers, ...credentials.get(operation.scheme), ...example.headers };
  const random = createRandom(seed);
  let sent = 0;
  for (const request of hostileRequests(operation, example)) {
    if (!random.chance(share)) continue;
    // Background work of an earlier request does not count.
    await world.platform.idle();
    const changes = store.changes.length;
    const answer = await answerTo(watched, request, base).catch(cause => {
      throw new Error(`${operation.id} with ${request.what}: ${cause}`, { cause });
    });
    sent++;
    const where = `${operation.id} with ${request.what}: ${answer.status} ${answer.text.slice(0, 400)}`;
    assert.ok(answer.status < 500, `${where} ${JSON.stringify(failures)}`);
    if (request.method === operation.method && request.isOnPath)
      assert.ok(operation.statuses.has(answer.status), `${where} is not documented`);
    if (answer.status < 400) continue;
    assertRefusal(answer, request);
    await world.platform.idle();
    const made = store.changes.slice(changes).filter(change => !isAllowed(change));
    assert.deepEqual(made, [], `${where} changed something`);
  }
  assert.deepEqual(failures, [], operation.id);
  return sent;
}

describe("hostile input", () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  let watched: Watched | undefined;
  let open: Awaited<ReturnType<typeof exampleWorlds>>;
  before(async () => {
    process.on("unhandledRejection", note);
    open = await exampleWorlds();
  });
  after(async () => {
    process.off("unhandledRejection", note);
    await watched?.world.dispose();
  });

  async function openWatched(): Promise<Watched> {
    const failures: unknown[] = [];
    const opened = await open({
      logger: {
        enabled: () => true,
        log: (level, event, fields) => {
          if (level === "error" || event === "request_failed") failures.push({ event, ...fields });
        },
      },
    });
    return { ...opened, failures };
  }

  it("may come without a host, as in HTTP/1.0, of which a runtime may make no URL", async t => {
    const { world, failures, examples, credentials } = await openWatched();
    t.after(() => world.dispose());
    for (const operation of await operationsOf(world)) {
      const headers = { ...operation.headers, ...credentials.get(operation.scheme) };
      for (const example of examplesFor(operation, examples)) {
        const { method, body } = { method: operation.method, body: example.body };
        const target = targetOf(operation, example);
        const request = new Request(`http://club.example${target}`, {
          method,
          headers: {
            "content-type": "application/json",
            ...headers,
            ...example.headers,
            "idempotency-key": "k",
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const hostless = new Proxy(request, {
          get(of, name) {
            const value: unknown = name === "url" ? target : Reflect.get(of, name, of);
            return typeof value === "function" ? value.bind(of) : value;
          },
        });
        const response = await world.platform.fetch(hostless);
        await response.body?.cancel();
        assert.ok(response.status < 500, `${operation.id} ${JSON.stringify(failures)}`);
      }
    }
  });

  it("is refused by every operation without a failure, and changes nothing", async t => {
    let sent = 0;
    watched = await openWatched();
    const operations = await operationsOf(watched.world);
    for (const [index, operation] of operations.entries()) {
      if (index > 0 && index % perPlatform === 0) {
        await watched.world.dispose();
        watched = await openWatched();
      }
      for (const example of examplesFor(operation, watched.examples))
        sent += await attack(watched, operation, example);
    }
    await new Promise(resolve => setImmediate(resolve));
    assert.deepEqual(unhandled, [], `with the seed ${seed}`);
    t.diagnostic(`${sent} requests with the seed ${seed}`);
  });
});
