/**
 * How long one request holds the event loop: every operation with a body of JSON, with the largest bodies that it takes in the
 * shapes that cost most, in memory, where nothing but a pause of our own lets other requests in. Prints the worst ten.
 *
 * ```sh
 * npm run bench -- event_loop [part of an operation's name]
 * ```
 */

import { performance } from "node:perf_hooks";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { silentLogger } from "../../lib/mod.ts";
import {
  credentialsFor,
  type Example,
  examplesFor,
  type Operation,
  operationsOf,
  targetOf,
  validExamples,
} from "../http/_operations.ts";
import { openPlatform, type TestPlatform } from "../support/platform.ts";
import { figure } from "./figure.ts";

const [only = ""] = process.argv.slice(2);
const holdMsBar = 50;
/** Requests that held the loop for longer are sent again, and the shortest hold counts: the rest is the machine. */
const againMs = 15;
const repeats = 6;
/** Bodies of one example that fill a value inside the body: so many of all, evenly spread. Those at the root and lists are all sent. */
const insideMax = 16;
const shown = 10;

interface Hold {
  readonly what: string;
  readonly ms: number;
  readonly status: number;
}

type Wrap = (json: string) => string;

/** Texts of JSON that fill so many bytes, each of a shape that costs a parser or a check much. */
function fillings(bytes: number): readonly (readonly [what: string, json: () => string])[] {
  const fill = (what: string, each: (index: number) => string, [open, join, close]: string) => {
    const json = (): string => {
      const parts: string[] = [];
      for (let length = 2, index = 0; ; index++) {
        const part = each(index);
        length += part.length + 1;
        if (length > bytes) break;
        parts.push(part);
      }
      return `${open}${parts.join(join === "|" ? "" : join)}${close}`;
    };
    return [what, json] as const;
  };
  const text = (what: string, part: string) =>
    [what, () => `"${part.repeat(Math.floor((bytes - 2) / Buffer.byteLength(part)))}"`] as const;
  return [
    fill("members", index => `"a${index}":1`, "{,}"),
    fill("members of texts", index => `"a${index}":"b"`, "{,}"),
    fill("empty objects", () => "{}", "[,]"),
    fill("small objects", index => `{"a${index}":1}`, "[,]"),
    fill("numbers", () => "1", "[,]"),
    fill("texts", index => `"a${index}"`, "[,]"),
    fill("levels", () => `${"[".repeat(50)}${"]".repeat(50)}`, "[,]"),
    fill("blanks", () => " ", "[|]"),
    text("a text", "QUJD+Q0o"),
    text("escapes", "\\/"),
    text("escaped letters", "\\u00e9"),
    text("letters of two bytes", "é"),
    text("letters of three bytes", "你"),
  ];
}

/** Every place of a value, as the value with some other JSON there. */
function* places(
  value: unknown,
  wrap: Wrap,
  at: string,
): Generator<readonly [at: string, Wrap, value: unknown]> {
  yield [at, wrap, value];
  if (typeof value !== "object" || value === null) return;
  const isArray = Array.isArray(value);
  const members = Object.entries(value).map(([name, part]) => [name, JSON.stringify(part)] as const);
  for (const [name, part] of Object.entries(value)) {
    const inside: Wrap = json => {
      const texts = members.map(([other, text]) => {
        const own = other === name ? json : text;
        return isArray ? own : `${JSON.stringify(other)}:${own}`;
      });
      return wrap(isArray ? `[${texts}]` : `{${texts}}`);
    };
    yield* places(part, inside, `${at}/${name}`);
  }
}

/** The largest bodies near a valid one. */
function* bodies(valid: unknown, bytesMax: number): Generator<readonly [what: string, body: () => string]> {
  for (const [at, wrap, value] of places(valid, json => json, "")) {
    const room = bytesMax - Buffer.byteLength(wrap("")) - 8;
    for (const [what, json] of fillings(room)) yield [`${what} at ${at || "/"}`, () => wrap(json())];
    if (!Array.isArray(value) || value.length === 0) continue;
    const item = JSON.stringify(value[0]);
    const most = Math.floor(room / (Buffer.byteLength(item) + 1));
    for (const count of new Set([100, 500, 1_000, 10_000, most].filter(each => each <= most))) {
      const other = (index: number) => item.replace(/"[^"]*somebody[^"]*"/, `"user-${index}"`);
      yield [`${count} equal items at ${at || "/"}`, () => wrap(`[${Array(count).fill(item).join()}]`)];
      const items = () => Array.from({ length: count }, (_, index) => other(index));
      yield [`${count} items at ${at || "/"}`, () => wrap(`[${items().join()}]`)];
    }
  }
}

/** Leaves out bodies inside, evenly, where there are too many. */
function chosen<T extends readonly [what: string, body: () => string]>(all: readonly T[]): readonly T[] {
  const isInside = ([what]: T): boolean => !/at \/$| items at \/[^/]*$/.test(what);
  const step = Math.max(1, Math.ceil(all.filter(isInside).length / insideMax));
  let inside = 0;
  return all.filter(body => !isInside(body) || inside++ % step === 0);
}

/** Sends a request, and returns the longest time for which nothing else could run. */
async function hold(
  answer: () => Promise<Response>,
): Promise<{ readonly ms: number; readonly status: number }> {
  let longest = 0;
  let isOver = false;
  let last = performance.now();
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await new Promise(setImmediate);
  last = performance.now();
  longest = 0;
  const response = await answer();
  await response.arrayBuffer();
  await new Promise(setImmediate);
  isOver = true;
  await new Promise(setImmediate);
  return { ms: longest, status: response.status };
}

async function bytesMaxOf(world: TestPlatform, operation: Operation, request: RequestInit, target: string) {
  const headers = { ...request.headers, "content-length": "999999999999" };
  const body = new Uint8Array([123, 125]);
  const answer = await world.platform.fetch(
    new Request(`http://club.example${target}`, { ...request, headers, body }),
    { target },
  );
  const text = await answer.text();
  const bound = /must not exceed (\d+) bytes/.exec(text)?.[1];
  if (bound === undefined) throw new Error(`${operation.id} has no bound: ${answer.status} ${text}`);
  return Number(bound);
}

let keys = 0;
async function walk(world: TestPlatform, operation: Operation, example: Example): Promise<readonly Hold[]> {
  const credentials = await credentialsFor(operation.scheme, world);
  const headers = {
    "content-type": "application/json",
    ...operation.headers,
    ...credentials,
    ...example.headers,
  };
  const { method } = operation;
  const target = targetOf(operation, example);
  const bytesMax = await bytesMaxOf(world, operation, { method, headers }, target);
  const holds: Hold[] = [];
  for (const [what, text] of chosen([...bodies(example.body, bytesMax)])) {
    const body = new TextEncoder().encode(text());
    const send = async () => {
      const init = { method, headers: { ...headers, "idempotency-key": `"${keys++}"` }, body };
      const request = new Request(`http://club.example${target}`, init);
      return await hold(() => world.platform.fetch(request, { target }));
    };
    let { ms, status } = await send();
    for (let more = 0; ms > againMs && more < repeats; more++) ms = Math.min(ms, (await send()).ms);
    holds.push({ what: `${operation.id}, ${body.length} bytes: ${what}`, ms, status });
    await world.platform.idle();
  }
  return holds;
}

function openWorld(): Promise<TestPlatform> {
  return openPlatform(async clock => createMemoryStore({ clock }), {
    rateLimits: "off",
    logger: silentLogger,
  });
}

async function operationsWithBodies(): Promise<readonly Operation[]> {
  const world = await openWorld();
  const operations = await operationsOf(world);
  await world.dispose();
  return operations.filter(({ hasBody, id }) => hasBody && id.includes(only));
}

const operations = await operationsWithBodies();
const holds: Hold[] = [];
for (const operation of operations) {
  const world = await openWorld();
  const before = holds.length;
  const began = performance.now();
  for (const example of examplesFor(operation, await validExamples(world))) {
    if (example.body !== undefined) holds.push(...(await walk(world, operation, example)));
  }
  await world.dispose();
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const worst = Math.max(0, ...holds.slice(before).map(({ ms }) => ms)).toFixed(0);
  console.error(`${operation.id}: ${holds.length - before} bodies in ${seconds} s, at most ${worst} ms`);
}
holds.sort((a, b) => b.ms - a.ms);
for (const { what, ms, status } of holds.slice(0, shown))
  console.log(`${ms.toFixed(1)} ms  ${status}  ${what}`);
const [worst] = holds;
figure(
  "longest time that a request with the largest body holds the event loop",
  `${worst?.ms.toFixed(0)} ms (${operations.length} operations, ${holds.length} bodies)`,
  `${holdMsBar} ms`,
);
