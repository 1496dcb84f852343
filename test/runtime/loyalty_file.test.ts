import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { parseDocumentText } from "../../lib/base/text/document.ts";
import { createLoyaltyVersions } from "../../lib/fans/directory/loyalty_versions.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { readDocumentFile } from "../../runtime/services/document_file.ts";
import { readSeedFiles } from "../../runtime/services/seed_files.ts";
import { createTestClock } from "../support/clock.ts";
import { ids, loyalty, seed } from "../support/platform.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-loyalty-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("a document file", () => {
  it("is JSON, however it is laid out, or YAML with comments", () => {
    for (const text of [
      JSON.stringify(loyalty),
      JSON.stringify(loyalty, null, 2),
      JSON.stringify(loyalty, null, "\t"),
      `\n${JSON.stringify(loyalty, null, 4)}\n`,
    ]) {
      assert.deepEqual(parseDocumentText(text, "f").document, loyalty);
    }
    const yaml =
      "# what fans collect\nmetrics:\n  - id: points # short\n    title: 2025-06-01\n    media: no\n";
    assert.deepEqual(parseDocumentText(yaml, "f").document, {
      metrics: [{ id: "points", title: "2025-06-01", media: "no" }],
    });
    const strange = { "": [{ "a/b~c": 1 }], text: '\u0000"\\\u2028😀', numbers: [1e300, -0.5, 12345678901] };
    assert.deepEqual(parseDocumentText(JSON.stringify(strange, null, 1), "f").document, strange);
  });

  it("returns the position of a pointer, or of its nearest parent", () => {
    const { locate } = parseDocumentText('{\n  "a": [\n    {"b/c": 1},\n    2\n  ]\n}', "f.json");
    assert.equal(locate(""), "f.json:1:1");
    assert.equal(locate("/a"), "f.json:2:8");
    assert.equal(locate("/a/0/b~1c"), "f.json:3:13");
    assert.equal(locate("/a/1"), "f.json:4:5");
    assert.equal(locate("/a/0/missing/deeper"), "f.json:3:5");
    assert.equal(locate("/none"), "f.json:1:1");
  });

  it("is refused with every place where it is neither", () => {
    const cases: [text: string, places: RegExp][] = [
      ['{"a": 1,\n "a": 2}', /\n {2}f:2:2: .*unique/i],
      ["a: 1\nb: [1, 2\nc: 3\n", /\n {2}f:\d:\d/],
      ["a: !strange 1", /\n {2}f:1:4: .*tag/i],
      ["a: &x 1\nb: *y", /y/],
      ["--- 1\n--- 2", /document/i],
    ];
    for (const [text, places] of cases) {
      assert.throws(() => parseDocumentText(text, "f"), { message: places }, text);
    }
  });

  it("resolves at most 50 aliases, and has at most 2,097,152 bytes", async () => {
    const aliases = (count: number): string => `a: &a [x]\nb: [${Array(count).fill("*a").join(", ")}]`;
    assert.ok(parseDocumentText(aliases(50 - 1), "f"));
    assert.throws(() => parseDocumentText(aliases(50 + 1), "f"), /alias/i);
    const padded = file("large.json", "{}".padEnd(2_097_152));
    assert.deepEqual((await readDocumentFile(padded)).document, {});
    await assert.rejects(readDocumentFile(file("larger.json", "{}".padEnd(2_097_152 + 1))), /exceed/);
  });
});

describe("the loyalty file of a server", () => {
  const clock = createTestClock();
  const loyaltyFromFile = async (
    store: Store,
    { path, spaceId }: { readonly path: string; readonly spaceId: string | undefined },
  ): Promise<void> => (await readSeedFiles({ loyalty: path, spaceId })).write(store, clock.now);

  it("becomes the newest version where it differs from the current one", async () => {
    const store = createMemoryStore();
    await seedDirectory(store, seed, { clock: clock.now });
    const versions = createLoyaltyVersions({ store, clock: clock.now });
    const options = { spaceId: ids.space.toUpperCase() };
    await loyaltyFromFile(store, { ...options, path: file("same.json", JSON.stringify(loyalty)) });
    assert.equal((await versions.current(ids.space))?.number, 1);
    const yaml = file("other.yaml", "metrics: [{id: gems, title: Gems}]");
    await loyaltyFromFile(store, { ...options, path: yaml });
    await loyaltyFromFile(store, { ...options, path: yaml });
    const current = await versions.current(ids.space);
    assert.deepEqual([current?.number, current?.by], [2, "file"]);
    assert.deepEqual(current?.document, { metrics: [{ id: "gems", title: "Gems" }] });
  });

  it("is refused with every fault and its place, and then nothing is written", async () => {
    const store = createMemoryStore();
    await seedDirectory(store, seed, { clock: clock.now });
    const wrong = 'metrics:\n  - id: "not an id"\n    title: 5\nrules: {}\n';
    const path = file("wrong.yaml", wrong);
    const options = { path, spaceId: ids.space };
    await assert.rejects(loyaltyFromFile(store, options), (error: Error) => {
      assert.match(error.message, /wrong\.yaml:2:9 \/metrics\/0\/id: /);
      assert.match(error.message, /wrong\.yaml:3:12 \/metrics\/0\/title: /);
      assert.match(error.message, /wrong\.yaml:4:8 \/rules: /);
      return true;
    });
    const right = file("right.json", "{}");
    await assert.rejects(
      loyaltyFromFile(store, { ...options, path: right, spaceId: undefined }),
      /DEFAULT_SPACE/,
    );
    const unknown = { ...options, path: right, spaceId: "0b000000-0000-4000-8000-00000000ffff" };
    await assert.rejects(loyaltyFromFile(store, unknown), /there is no such space/);
    await assert.rejects(loyaltyFromFile(store, { ...options, path: join(folder, "missing") }), /missing/);
    const current = await createLoyaltyVersions({ store, clock: clock.now }).current(ids.space);
    assert.equal(current?.number, 1);
  });

  it("makes one version beside a seed that says something else, however often a server starts", async () => {
    const built = runtimes.find(({ skip }) => skip === false);
    assert.ok(built !== undefined);
    const data = join(folder, "data");
    for (const title of ["Gems", "Gems", "Jewels"]) {
      const program = start([...cliCommand(built), "serve", "--port", "0", "--log", "silent"], {
        GRANDSTAND_SECRET: "a master secret for tests and long enough to be accepted",
        GRANDSTAND_DATA: data,
        GRANDSTAND_SEED: file("seed.json", JSON.stringify(seed)),
        GRANDSTAND_LOYALTY: file("beside.json", JSON.stringify({ metrics: [{ id: "gems", title }] })),
        GRANDSTAND_DEFAULT_SPACE: ids.space.toUpperCase(),
      });
      await program.match(/listens on (\S+)/);
      program.signal("SIGTERM");
      assert.equal(await program.ended, 0, program.stderr());
    }
    const store = await openFileStore(data);
    const listed = await createLoyaltyVersions({ store, clock: clock.now }).list(ids.space);
    await store[Symbol.asyncDispose]();
    assert.deepEqual(
      listed.map(({ number, by }) => [number, by]),
      [
        [2, "file"],
        [1, "file"],
      ],
    );
  });

  it("is served by the command, or ends it with exit code 1", async () => {
    const built = runtimes.find(({ skip }) => skip === false);
    assert.ok(built !== undefined);
    const command = [...cliCommand(built), "serve", "--demo", "--port", "0", "--log", "silent"] as const;
    const good = file("good.yaml", "metrics: [{id: gems, title: Gems}]");
    const program = start([...command, "--loyalty", good]);
    const [, url] = await program.match(/listens on (\S+)/);
    const { data } = (await (await fetch(`${url}/api/loyalty/config`)).json()) as {
      data: { metrics: readonly { id: string }[] };
    };
    assert.deepEqual(
      data.metrics.map(({ id }) => id),
      ["gems"],
    );
    program.signal("SIGTERM");
    assert.equal(await program.ended, 0);
    const bad = start([...command], { GRANDSTAND_LOYALTY: file("bad.json", '{"metrics": [{}]}') });
    assert.equal(await bad.ended, 1);
    assert.match(bad.stderr(), /^Cannot serve: Cannot use the loyalty configuration in .*bad\.json:\n/);
    assert.match(bad.stderr(), /bad\.json:1:14 \/metrics\/0\/id: /);
    assert.equal(bad.stdout(), "");
  });
});
