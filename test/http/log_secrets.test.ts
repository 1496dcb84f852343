/**
 * The log at its finest, through every operation while all goes well and while the store fails: it holds no secret, and what a
 * store says is nowhere else.
 */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { createJsonLogger } from "../../lib/http/mod.ts";
import { type Answer, openPlatform, type TestPlatform } from "../support/platform.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { operatorHeaders } from "./_control_examples.ts";
import {
  credentialsFor,
  type Example,
  examplesFor,
  operationsOf,
  send,
  validExamples,
} from "./_operations.ts";

/** Members of bodies, parameters and header fields of which nothing may be logged. */
const secretNames =
  /^(authorization|x-api-secret|(access|refresh|profile|id|social)?token|secret|signature|password|previousPassword|confirmationCode|codes?|externalId|capability|downloadUrl|email|passwordEmail|to)$/i;
/** Shorter texts are found by chance. */
const secretCharsMin = 6;

/** Adds every secret text of a value, and of a URL its last part, to the list. */
function collect(value: unknown, into: Set<string>, name = ""): void {
  if (typeof value === "string") {
    const text = value.replace(/^(Bearer |https?:\/\/.*\/)/, "");
    // A text of this form is the code of an error.
    if (secretNames.test(name) && text.length >= secretCharsMin && !/^[a-z_]+$/.test(text)) into.add(text);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, into, name);
  } else if (typeof value === "object" && value !== null) {
    for (const [member, part] of Object.entries(value)) collect(part, into, member);
  }
}

/** What a store may say, and no client may read. */
const storeText = "OOM command not allowed, script: f_0a1b2c, /var/lib/grandstand/journal";
const failureCodes = ["storage_unavailable", "outcome_unknown", "internal_error"] as const;

/** A store that can be told to fail as one that is out of reach does. */
class FailingStore extends WatchedStore {
  fails = false;

  override read: WatchedStore["read"] = (partition, queries) => {
    if (this.fails) return Promise.reject(this.#failure());
    return super.read(partition, queries);
  };

  override commit: WatchedStore["commit"] = (partition, batch) => {
    if (this.fails) return Promise.reject(this.#failure());
    return super.commit(partition, batch);
  };

  #failure(): AppError {
    const code = failureCodes[this.commits.length % failureCodes.length] ?? "internal_error";
    return new AppError(code, `Cannot use the store: ${storeText}`, { cause: new Error(storeText) });
  }
}

interface Subject {
  readonly world: TestPlatform;
  readonly store: FailingStore;
  readonly lines: string[];
}

async function openSubject(): Promise<Subject> {
  const lines: string[] = [];
  let store: FailingStore | undefined;
  const world = await openPlatform(
    async clock => {
      store = new FailingStore(createMemoryStore({ clock }));
      return store;
    },
    { logger: createJsonLogger({ level: "debug", write: line => lines.push(line) }) },
  );
  assert.ok(store !== undefined);
  return { world, store, lines };
}

/** Sends every example of every operation, with what `around` does to each, and answers the secrets that were met. */
async function walk(
  world: TestPlatform,
  around: (ask: () => Promise<Answer>) => Promise<void>,
): Promise<ReadonlySet<string>> {
  const secrets = new Set<string>();
  let valid = await validExamples(world);
  for (const [index, operation] of (await operationsOf(world)).entries()) {
    // Made anew now and then, because they are used up; an organisation has only so many API keys.
    if (index % 6 === 5) valid = await validExamples(world);
    const examples: readonly Example[] = examplesFor(operation, valid);
    const credentials = await credentialsFor(operation.scheme, world);
    const ask = (example: Example, headers: Readonly<Record<string, string>>) => {
      collect({ ...headers, ...example.params, ...example.query, body: example.body }, secrets);
      return around(async () => {
        const answer = await send(world, operation, { example, headers });
        collect(answer.json, secrets);
        return answer;
      });
    };
    for (const example of examples) {
      await ask(example, { ...credentials, ...example.headers });
      if (operation.adminRole === null) continue;
      await ask(example, { ...example.headers, ...(await operatorHeaders(world)) });
    }
    world.clock.advance(1_000);
  }
  return secrets;
}

function assertClean(lines: readonly string[], secrets: ReadonlySet<string>): void {
  const log = lines.join("");
  for (const secret of secrets) {
    const at = log.indexOf(secret);
    assert.equal(at, -1, `"${secret}" is in the log: …${log.slice(Math.max(0, at - 200), at + 80)}`);
  }
}

describe("the log", () => {
  it("holds no secret of what goes well", async t => {
    const { world, lines } = await openSubject();
    t.after(() => world.dispose());
    let succeeded = 0;
    const secrets = await walk(world, async ask => {
      if ((await ask()).status < 300) succeeded++;
    });
    assert.ok(succeeded > 100, `${succeeded} requests succeeded`);
    await world.platform.idle();
    await world.platform.work();
    await world.platform.idle();
    assert.ok(secrets.size > 80 && lines.length > 100, `${secrets.size} secrets, ${lines.length} lines`);
    assertClean(lines, secrets);
  });

  it("holds no secret of what fails with the store", async t => {
    const { world, store, lines } = await openSubject();
    t.after(() => world.dispose());
    let failed = 0;
    const secrets = await walk(world, async ask => {
      await world.platform.idle();
      store.fails = true;
      // Caches are out of date, so that most operations come to the store.
      world.clock.advance(2_000);
      const { status, text } = await ask();
      if (status >= 500) failed++;
      assert.doesNotMatch(text, /OOM|f_0a1b2c|var.lib/);
      await world.platform.idle().catch(() => {});
      store.fails = false;
    });
    assert.ok(failed > 50, `${failed} requests failed`);
    assert.ok(lines.some(line => line.includes("request_failed")));
    assertClean(lines, secrets);
  });
});
