/**
 * Thousands of requests near valid ones, of every operation: none may fail the platform.
 *
 * `GRANDSTAND_FUZZ_SEED` and `GRANDSTAND_FUZZ_COUNT` repeat or lengthen a run.
 */

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { createRandom, type Random } from "../../adapters/conformance/random.ts";
import { sampleSize } from "../support/full.ts";
import { type Answer, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";
import { type FuzzRequest, mutated } from "./_mutations.ts";
import {
  credentialsFor,
  type Example,
  examplesFor,
  type FamilyName,
  type Operation,
  operationsOf,
  validExamples,
} from "./_operations.ts";

const seed = Number(process.env.GRANDSTAND_FUZZ_SEED ?? 20_250_615);
const count = Number(process.env.GRANDSTAND_FUZZ_COUNT ?? sampleSize(5_000, 1_500));
/** Requests that are under way at once. */
const atOnce = 16;
/** Requests after which the clock moves on and credentials are renewed. */
const perPeriod = 480;
/** Longest time that an answer may take, in ms. */
const answerMsMax = 10_000;

interface Target {
  readonly operation: Operation;
  readonly examples: readonly Example[];
  readonly headers: Readonly<Record<string, string>>;
}

/** Every operation with valid requests and valid credentials. */
async function targetsOf(world: TestPlatform): Promise<readonly Target[]> {
  const examples = await validExamples(world);
  const operations = await operationsOf(world);
  return await Promise.all(
    operations.map(async operation => ({
      operation,
      examples: examplesFor(operation, examples),
      headers: { ...operation.headers, ...(await credentialsFor(operation.scheme, world)) },
    })),
  );
}

function described({ method, url, headers, body }: FuzzRequest): string {
  const sent = body === null || typeof body === "string" ? body : { bytes: [...body] };
  return JSON.stringify({ seed, method, url, headers, body: sent });
}

async function answerTo(world: TestPlatform, fuzzed: FuzzRequest): Promise<Answer> {
  const { method, url, headers, body } = fuzzed;
  const request = new Request(url, { method, headers, ...(body === null ? {} : { body }) });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer came")), answerMsMax);
  });
  try {
    const response = await Promise.race([world.platform.fetch(request), late]);
    const text = await Promise.race([response.text(), late]);
    const isJson = response.headers.get("content-type")?.match(/[/+]json/) != null;
    const json = isJson && text !== "" ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, text, json };
  } finally {
    clearTimeout(timer);
  }
}

function assertAnswered(answer: Answer, { operation }: Target, { method, isOnPath }: FuzzRequest): void {
  const { status, headers, json, text } = answer;
  assert.ok(status < 500, `${status} ${text}`);
  assert.ok(headers.get("x-request-id"), "no request id");
  if (isOnPath) assert.ok(operation.statuses.has(status), `${status} is not documented: ${text}`);
  if (method === "HEAD") {
    assert.equal(text, "");
    return;
  }
  if (status >= 400) {
    errorCode(answer, isOnPath ? operation.family : familyOf(answer));
    return;
  }
  if (!isOnPath || status === 204 || text === "" || !headers.get("content-type")?.includes("/json")) return;
  if (operation.family === "identity") assert.equal(json.result, 1);
  else assert.equal(typeof json, "object");
}

/** The family of an answer of a path that may be nobody's. */
function familyOf({ headers, json }: Answer): FamilyName {
  if (headers.get("content-type") === "application/vnd.api+json") return "jsonApi";
  return json?.result === 0 ? "identity" : "problem";
}

/** Rounds, and requests in each, for operations that none of the others has reached. */
const roundsMax = 20;
const perMissed = 5;

async function fuzz(world: TestPlatform, count: number): Promise<Map<string, number>> {
  const random: Random = createRandom(seed);
  const succeeded = new Map<string, number>();
  let targets = await targetsOf(world);
  async function once(among: readonly Target[]): Promise<void> {
    const target = random.pick(among);
    const example = random.pick(target.examples);
    const request = mutated(random, target.operation, {
      example,
      headers: { ...target.headers, ...example.headers },
    });
    try {
      const answer = await answerTo(world, request);
      assertAnswered(answer, target, request);
      if (request.isOnPath && answer.status < 300) {
        succeeded.set(target.operation.id, (succeeded.get(target.operation.id) ?? 0) + 1);
      }
    } catch (cause) {
      throw new Error(`Failed by ${described(request)}: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      });
    }
  }
  for (let sent = 0; sent < count; sent += atOnce) {
    if (sent % perPeriod === 0 && sent > 0) {
      world.clock.advance(random.integer(40) * 60_000);
      targets = await targetsOf(world);
    }
    await Promise.all(Array.from({ length: Math.min(atOnce, count - sent) }, () => once(targets)));
  }
  // Operations that no random step has called are called explicitly, each with things that exist.
  const isMissed = ({ operation }: Target): boolean => !succeeded.has(operation.id);
  for (let round = 0; round < roundsMax && targets.some(isMissed); round++) {
    targets = await targetsOf(world);
    for (const target of targets.filter(isMissed)) {
      for (let n = 0; n < perMissed; n++) await once([target]);
    }
  }
  await world.platform.idle();
  for (const { operation } of targets)
    assert.ok(succeeded.has(operation.id), `${operation.id} never succeeded`);
  return succeeded;
}

describeOnStores("the platform under mutated requests", open => {
  let world: TestPlatform;
  const failures: unknown[] = [];
  const note = (reason: unknown): void => void failures.push(reason);
  before(async () => {
    process.on("unhandledRejection", note);
    world = await openPlatform(open, {
      logger: {
        enabled: () => true,
        log: (_, event, fields) => {
          if (event === "request_failed" || event === "board_update_deferred") failures.push(fields);
        },
      },
    });
  });
  after(async () => {
    process.off("unhandledRejection", note);
    await world.dispose();
  });

  it("answers every one in its family's shape, reaches every operation, and leaves nothing unhandled", async t => {
    const succeeded = await fuzz(world, count);
    await new Promise(resolve => setImmediate(resolve));
    assert.deepEqual(failures, [], `with the seed ${seed}`);
    const total = [...succeeded.values()].reduce((sum, value) => sum + value, 0);
    t.diagnostic(`${count} requests with the seed ${seed}, of which ${total} succeeded`);
  });
});
