/** Commands about the settings of projects. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { CliHost } from "../../lib/cli/mod.ts";
import { documentDigest } from "../../lib/fans/directory/loyalty_versions.ts";
import { sampleSize } from "../support/full.ts";
import { ids } from "../support/platform.ts";
import { type Surroundings, testHost } from "../support/terminal.ts";
import { openAuthor } from "./_apps.ts";
import { dataOf, openCli } from "./_cli.ts";

const project = ids.project;
const setting = (key: string, all: unknown) => ({ key, values: { all } });
type Settings = readonly ReturnType<typeof setting>[];
const nameOf = (settings: unknown): string => documentDigest(settings).slice(7, 19);

async function opened(t: TestContext) {
  const author = await openAuthor(t, async clock => createMemoryStore({ clock }));
  const files = new Map<string, string | Uint8Array>();
  const { call } = author;
  async function edit(change: (settings: Settings) => Settings): Promise<Settings> {
    const { json, headers } = await call(`/projects/${project}`);
    const settings = change(json.data.attributes.settings);
    const answer = await call(`/projects/${project}`, {
      method: "PATCH",
      body: { data: { type: "projects", id: project, attributes: { settings } } },
      headers: { "if-match": String(headers.get("etag")) },
    });
    assert.equal(answer.status, 204, answer.text);
    return settings;
  }
  return {
    files,
    edit,
    world: author.world,
    cli: await openCli(author.world, files),
    remote: async (): Promise<Settings> => (await call(`/projects/${project}`)).json.data.attributes.settings,
    local: (path = "settings.json"): Settings => JSON.parse(String(files.get(path))),
    save: (settings: unknown, path = "settings.json") => void files.set(path, JSON.stringify(settings)),
  };
}

describe("settings on the command line", () => {
  it("pulls to a file named by its digest, and overwrites nothing else", async t => {
    const { cli, files, edit, save, local } = await opened(t);
    const settings = await edit(() => [setting("skin", "dark")]);
    const pulled = await dataOf(cli, `projects settings pull ${project}`);
    const file = `backups/${project}/${nameOf(settings)}.json`;
    assert.deepEqual(pulled, {
      file,
      digest: documentDigest(settings),
      bytes: JSON.stringify(settings).length,
      settings: null,
    });
    assert.deepEqual(local(file), settings);
    assert.deepEqual(JSON.parse(String(files.get(`${file}.base.json`))).project, project);

    files.set(file, "[ ]\n");
    const refused = await cli(`projects settings pull ${project} --json`);
    assert.equal(refused.code, 7);
    assert.equal(refused.error.next, `grandstand projects settings diff ${project} --file ${file}`);
    assert.equal(files.get(file), "[ ]\n");
    await dataOf(cli, `projects settings pull ${project} --force`);
    const own = JSON.stringify(settings, null, 8);
    files.set(file, own);
    await dataOf(cli, `projects settings pull ${project}`);
    assert.equal(files.get(file), own);
    save(settings, "copy.json");
    assert.deepEqual(JSON.parse((await cli(`projects settings pull ${project} --out -`)).stdout), settings);
    assert.deepEqual((await dataOf(cli, `projects settings pull ${project} --out -`)).settings, settings);
  });

  it("refuses a file in which a name stands twice", async t => {
    const { cli, files, remote } = await opened(t);
    const text = `[{"key": "skin", "key": "a:b", "values": {"all": "x:y"}}]`;
    files.set("settings.json", text);
    const refused = await cli(`projects settings push ${project} --file settings.json`);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /unique|twice|key/);
    assert.deepEqual(await remote(), []);
    files.set("settings.json", text.replace('"key": "skin", ', ""));
    assert.equal((await cli(`projects settings push ${project} --file settings.json --force`)).code, 0);
  });

  it("compares by key, in any order and layout", async t => {
    const { cli, edit, save } = await opened(t);
    await edit(() => [setting("skin", { a: 1, b: [2] }), setting("menu", "x")]);
    save([setting("menu", "x"), setting("skin", { b: [3], c: null }), setting("new", true)]);
    const line = `projects settings diff ${project}`;
    assert.deepEqual(await dataOf(cli, line), [
      { op: "remove", key: "skin", pointer: "/values/all/a", remote: 1, local: null },
      { op: "change", key: "skin", pointer: "/values/all/b", remote: [2], local: [3] },
      { op: "add", key: "skin", pointer: "/values/all/c", remote: null, local: null },
      { op: "add", key: "new", pointer: "", remote: null, local: setting("new", true) },
    ]);
    assert.equal((await cli(`${line} --exit-code`)).code, 3);
    save([setting("menu", "x"), setting("skin", { b: [2], a: 1 })]);
    const [moved] = await dataOf(cli, line);
    assert.deepEqual([moved.op, moved.remote, moved.local], ["order", ["skin", "menu"], ["menu", "skin"]]);
  });

  it("pushes what was pulled and edited, with a copy of what it replaces", async t => {
    const { cli, files, edit, save, remote, local } = await opened(t);
    const before = await edit(() => [setting("skin", "dark"), setting("menu", 1)]);
    await dataOf(cli, `projects settings pull ${project} --out settings.json`);
    const unchanged = await cli(`projects settings push ${project}`);
    assert.deepEqual([unchanged.code, unchanged.requests.length], [0, 1]);
    assert.match(unchanged.stderr, /No change/);
    const after = [setting("skin", "light"), setting("menu", 1)];
    save(after);
    const pushed = await cli(`projects settings push ${project} --json`);
    assert.equal(pushed.code, 0, pushed.stderr);
    assert.equal(pushed.requests.length, 2);
    const backup = `backups/${project}/${nameOf(before)}.json`;
    assert.deepEqual(pushed.json.data, {
      project,
      keys: ["skin"],
      old_digest: documentDigest(before),
      new_digest: documentDigest(after),
      backup,
    });
    assert.deepEqual([await remote(), local(backup)], [after, before]);
    // A copy that somebody edits is left alone.
    files.set(backup, "[]");
    save(before);
    await dataOf(cli, `projects settings push ${project}`);
    save(after);
    const second = await dataOf(cli, `projects settings push ${project}`);
    assert.equal(second.backup, backup.replace(".json", "-2.json"));
    assert.equal(files.get(backup), "[]");
    save([]);
    assert.equal((await dataOf(cli, `projects settings push ${project} --no-backup`)).backup, null);
    save(after);
    const elsewhere = await dataOf(cli, `projects settings push ${project} --backup-dir kept`);
    assert.equal(elsewhere.backup, `kept/${nameOf([])}.json`);
  });

  it("refuses to undo what others changed, and says what both changed", async t => {
    const { cli, edit, save, remote, local } = await opened(t);
    await edit(() => [setting("skin", 1), setting("menu", 1), setting("foot", 1)]);
    save([setting("skin", 2)]);
    const unknown = await cli(`projects settings push ${project} --json`);
    assert.deepEqual([unknown.code, unknown.error.code], [7, "no_base"]);
    await dataOf(cli, `projects settings pull ${project} --out settings.json --force`);
    await dataOf(cli, `projects settings pull ${project}`);
    save([setting("skin", 2), setting("menu", 2), setting("foot", 1)]);
    const theirs = await edit(() => [setting("skin", 1), setting("menu", 3), setting("foot", 3)]);
    const stale = await cli(`projects settings push ${project} --json`);
    assert.deepEqual([stale.code, stale.error.code], [7, "stale"]);
    assert.deepEqual(stale.error.details, ["mine: skin", "theirs: foot", "both: menu"]);
    assert.deepEqual(await remote(), theirs);
    const forced = await dataOf(cli, `projects settings push ${project} --force`);
    assert.deepEqual(local(forced.backup), theirs);
  });

  it("names every fault of a file before it sends anything", async t => {
    const { cli, files, save } = await opened(t);
    const push = async (...more: string[]) =>
      await cli(["projects", "settings", "push", project, "--json", ...more]);
    const missing = await push();
    assert.deepEqual([missing.code, missing.requests], [2, []]);
    assert.equal(missing.error.next, `grandstand projects settings pull ${project} --out settings.json`);
    save([setting("a", 1), setting("a", 2), { key: 1, values: [] }, 3]);
    const faulty = await push();
    assert.deepEqual([faulty.code, faulty.requests], [8, []]);
    assert.deepEqual(
      faulty.error.details.map((line: string) => line.split(" ")[1]),
      ["/1/key:", "/2/key:", "/2/values:", "/3:"],
    );
    files.set("settings.json", '[\n  {"key": "a"}]');
    assert.match((await push()).error.details[0], /^settings\.json:2:\d+ \/0\/values: /);
    files.set("settings.json", '[\n  {"key": "a",,}]');
    assert.match((await push()).error.details[0], /^settings\.json:2:\d+/);
    const piped = await push("--file", "-");
    assert.deepEqual([piped.code, piped.requests], [2, []]);
    files.set("-", "{");
    assert.equal((await push("--file", "-")).code, 8);
    save([setting("a", "x".repeat(2_100_000))]);
    const large = await push("--force");
    assert.deepEqual([large.code, large.requests], [2, []]);
    assert.match(large.error.message, /--confirm/);
    assert.equal((await push("--force", "--confirm")).code, 0);
    save([setting("a", "x".repeat(4_200_000))]);
    const tooLarge = await push("--force", "--confirm");
    assert.deepEqual([tooLarge.code, tooLarge.requests], [8, []]);
  });

  it("sends nothing if the copy cannot be kept", async t => {
    const { cli, files, edit, save, remote } = await opened(t);
    const before = await edit(() => [setting("skin", 1)]);
    await dataOf(cli, `projects settings pull ${project} --out settings.json`);
    save([setting("skin", 2)]);
    const real = testHost({ files }).files;
    const broken: readonly Partial<CliHost["files"]>[] = [
      { writeText: () => Promise.reject(new Error("ENOSPC: no space left on device")) },
      { writeText: (path, text) => real.writeText(path, text.slice(0, -4)) },
      { writeText: async () => {} },
      {
        readText: (path, bytesMax) =>
          path.startsWith("backups/") ? Promise.reject(new Error("EACCES")) : real.readText(path, bytesMax),
      },
    ];
    for (const part of broken) {
      files.delete(`backups/${project}/${nameOf(before)}.json`);
      const around: Surroundings = { host: { files: { ...real, ...part } } };
      const { code, error, requests } = await cli(`projects settings push ${project} --json`, around);
      assert.deepEqual([code, error.code, requests.length], [1, "no_backup", 1]);
      assert.deepEqual(await remote(), before);
    }
  });

  it("loses no edit of another editor, whenever it comes", async t => {
    const { cli, files, edit, save, remote, local, world } = await opened(t);
    const { files: real } = testHost({ files });
    let seed = 1_509;
    const chance = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    let current = await edit(() => [setting("mine", 0), setting("theirs", 0)]);
    async function maybeEdit(): Promise<void> {
      if (chance() < 0.85) return;
      current = await edit(settings =>
        settings.map(one => (one.key === "theirs" ? setting("theirs", chance()) : one)),
      );
    }
    const outcomes = new Map<number, number>();
    for (let run = 1; run <= sampleSize(150, 60); run++) {
      await dataOf(cli, `projects settings pull ${project} --out settings.json --force`);
      const base = nameOf(local());
      const mine = local().map(one => (one.key === "mine" ? setting("mine", run) : one));
      save(mine);
      await maybeEdit();
      let replaced: Settings | null = null;
      const line = `projects settings push ${project}${chance() < 0.5 ? " --force" : ""}`;
      const { code, stderr } = await cli(line, {
        async fetch(request) {
          await maybeEdit();
          const before = current;
          const response = await world.platform.fetch(request);
          if (request.method === "PATCH" && response.ok) [replaced, current] = [before, mine];
          await maybeEdit();
          return response;
        },
        host: {
          files: {
            ...real,
            async writeText(path, text) {
              await maybeEdit();
              await real.writeText(path, text);
            },
          },
        },
      });
      outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
      assert.ok(code === 0 || code === 7, stderr);
      assert.deepEqual(await remote(), current);
      if (replaced === null || nameOf(replaced) === base) continue;
      assert.deepEqual(local(`backups/${project}/${nameOf(replaced)}.json`), replaced);
    }
    assert.ok((outcomes.get(0) ?? 0) > 10 && (outcomes.get(7) ?? 0) > 10, String([...outcomes]));
  });
});
