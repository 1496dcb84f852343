/** Commands about assets. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { ids } from "../support/platform.ts";
import { testHost } from "../support/terminal.ts";
import { catalogueUrl, field, openAuthor } from "./_apps.ts";
import { dataOf, openCli } from "./_cli.ts";
import { to } from "./_control_examples.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function opened(t: TestContext) {
  const outbound = createOutbound({ networks: ["127.0.0.1"] });
  const author = await openAuthor(t, async clock => createMemoryStore({ clock }), outbound);
  const files = new Map<string, string | Uint8Array>([
    ["pictures/logo.png", png],
    ["a.txt", "Hello"],
    ["b.txt", "World"],
  ]);
  const cli = await openCli(author.world, files);
  const tag = await author.create("tags", { name: "Logos" }, { space: to("spaces", ids.space) });
  return { ...author, cli, files, tag };
}

describe("assets on the command line", () => {
  it("uploads files once, and lists them with tags and uploader", async t => {
    const { cli, tag } = await opened(t);
    const first = await cli("assets upload pictures/logo.png --json");
    assert.equal(first.requests.length, 1);
    const [logo] = first.json.data;
    assert.deepEqual(
      { ...logo, id: "" },
      {
        ...{ file: "pictures/logo.png", id: "", mime: "image/png", bytes: png.length },
        ...{ result: "created", error: null },
      },
    );
    const more = await dataOf(cli, "assets upload pictures/logo.png a.txt b.txt --tag logos");
    assert.deepEqual(
      more.map((one: { id: string; result: string }) => one.result),
      ["exists", "created", "created"],
    );
    assert.equal(more[0].id, logo.id);
    const [uploader] = await dataOf(cli, "assets uploaders");
    const list = await cli("assets list --json");
    assert.equal(list.requests.length, 1);
    assert.deepEqual(list.json.meta, { page: { number: 1, size: 100, total: 3 } });
    const found = list.json.data.find((one: { id: string }) => one.id === logo.id);
    assert.deepEqual([found.name, found.tags, found.uploader], ["logo.png", [], uploader.name]);
    const byTag = await dataOf(cli, `assets list --tag ${tag}`);
    assert.deepEqual(
      byTag.map((one: { tags: string[] }) => one.tags),
      [["Logos"], ["Logos"]],
    );
    assert.equal((await dataOf(cli, "assets list --mime image/* --limit 1")).length, 1);
    assert.equal((await cli("assets list --page 2 --limit 2 --json")).json.data.length, 1);
    assert.equal((await cli("assets list --limit 101")).code, 2);
    assert.deepEqual(await dataOf(cli, "assets media-types"), [
      { mime: "text/plain", count: 2 },
      { mime: "image/png", count: 1 },
    ]);
    assert.equal(uploader.count, 3);
  });

  it("stores the others where one file fails", async t => {
    const { cli, world } = await opened(t);
    const outcome = await cli("assets upload a.txt pictures/logo.png b.txt --json", {
      fetch: request =>
        request.url.includes("logo.png")
          ? Promise.resolve(new Response(null, { status: 500 }))
          : world.platform.fetch(request),
    });
    assert.equal(outcome.code, 1);
    const results = outcome.json.data.map((one: { result: string }) => one.result);
    assert.deepEqual(results, ["created", "failed", "created"]);
    assert.match(outcome.json.data[1].error, /500/);
    assert.equal((await dataOf(cli, "assets list")).length, 2);
    const again = await dataOf(cli, "assets upload a.txt pictures/logo.png b.txt");
    assert.deepEqual(
      again.map((one: { result: string }) => one.result),
      ["exists", "created", "exists"],
    );
  });

  it("says what is stored already when it is interrupted", async t => {
    const { cli, world } = await opened(t);
    const controller = new AbortController();
    const outcome = await cli("assets upload a.txt b.txt", {
      interruption: controller.signal,
      async fetch(request) {
        const answer = await world.platform.fetch(request);
        if (!request.url.includes("b.txt")) return answer;
        controller.abort();
        throw new Error("aborted");
      },
    });
    assert.equal(outcome.code, 130);
    assert.match(outcome.stderr, /Done already: uploaded a\.txt as /);
  });

  it("shows how far it is, in whole lines on a terminal that cannot replace one", async t => {
    const { cli } = await opened(t);
    let now = 0;
    const clock = (): number => (now += 400);
    const shown = await cli("assets upload a.txt b.txt", { clock, isTerminal: true });
    assert.match(shown.stderr, /\d\/2 uploading\r/);
    const dumb = await cli("assets upload a.txt b.txt", {
      clock,
      isTerminal: true,
      variables: { TERM: "dumb" },
    });
    assert.match(dumb.stderr, /\d\/2 uploading\n/);
    assert.doesNotMatch(dumb.stderr, /\r/);
  });

  it("finds the files of patterns that the shell left", async t => {
    const { cli, files } = await opened(t);
    files.set("what?.txt", "Name");
    files.set(".hidden.txt", "No");
    const uploadedBy = async (...names: string[]) =>
      (await dataOf(cli, ["assets", "upload", ...names])).map(({ file }: { file: string }) => file);
    assert.deepEqual(await uploadedBy("*.txt", "a.*"), ["a.txt", "b.txt", "what?.txt"]);
    assert.deepEqual(await uploadedBy("pictures/l?go*"), ["pictures/logo.png"]);
    // A file of that very name is no pattern.
    assert.deepEqual(await uploadedBy("what?.txt"), ["what?.txt"]);
    const none = await cli(["assets", "upload", "*.gif", "a.txt"]);
    assert.deepEqual([none.code, none.requests], [2, []]);
    assert.match(none.stderr, /There is no file \*\.gif/);
  });

  it("says on a page that there are more", async t => {
    const { cli } = await opened(t);
    await dataOf(cli, "assets upload pictures/logo.png a.txt b.txt");
    const first = await cli("assets list --limit 2");
    assert.equal(first.stderr, "1 more: --page 2\n");
    assert.equal((await cli("assets list --limit 2 --page 2")).stderr, "");
  });

  it("refuses missing files and unknown tags before it sends anything", async t => {
    const { cli, files } = await opened(t);
    files.set("empty.png", "");
    const empty = await cli("assets upload empty.png --json");
    assert.deepEqual([empty.code, empty.error.details], [8, []]);
    assert.match(empty.error.message, /at least one byte/);
    const missing = await cli("assets upload a.txt none.png other.png --json");
    assert.deepEqual([missing.code, missing.requests], [2, []]);
    assert.match(missing.error.message, /none\.png, other\.png/);
    const unknown = await cli("assets upload a.txt --tag Logos --tag None --json");
    assert.deepEqual([unknown.code, unknown.error.message], [8, "The space has no tag None"]);
    assert.equal((await dataOf(cli, "assets list")).length, 0);
    assert.equal((await cli("assets upload")).code, 2);
  });

  it("lets the server read addresses, and tries again where it is busy", async t => {
    const { cli, world } = await opened(t);
    const server = createServer((_, response) => response.end(png)).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await new Promise(resolve => server.once("listening", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    const url = `http://127.0.0.1:${address.port}/crest.png`;
    const [crest] = await dataOf(cli, ["assets", "upload", "--url", url]);
    assert.deepEqual([crest.file, crest.mime], [url, "image/png"]);
    const bad = await cli(["assets", "upload", "--url", "http://127.0.0.1:1/x.png", "--json"]);
    assert.equal(bad.code, 8);
    let attempts = 0;
    const outcome = await cli("assets upload a.txt", {
      fetch: request =>
        ++attempts === 1
          ? Promise.resolve(new Response(null, { status: 429 }))
          : world.platform.fetch(request),
    });
    assert.deepEqual([outcome.code, attempts], [0, 2]);
    attempts = 0;
    const { files } = testHost({});
    const stream = () => new Blob(["piped"]).stream();
    const piped = await cli("assets upload -", {
      fetch: async () => new Response(null, { status: 429, headers: { attempt: String(++attempts) } }),
      host: { files: { ...files, open: async () => ({ bytes: null, stream }) } },
    });
    assert.deepEqual([piped.code, attempts], [9, 1]);
  });

  it("changes names, texts and tags, and deletes with consent", async t => {
    const { cli, tag } = await opened(t);
    const [{ id }] = await dataOf(cli, "assets upload pictures/logo.png");
    const renamed = await dataOf(cli, [
      "assets",
      "update",
      id,
      "--name",
      "crest.png",
      "--alt-text",
      "The crest",
    ]);
    assert.deepEqual(renamed, { id, name: "crest.png", alt_text: "The crest" });
    assert.equal((await dataOf(cli, ["assets", "update", id, "--alt-text="])).alt_text, "");
    assert.equal((await cli(`assets update ${id}`)).code, 2);
    assert.deepEqual(await dataOf(cli, `assets tag ${id} ${tag} ${tag}`), { id, tags: [tag] });
    const unknown = await cli(`assets tag ${id} ${crypto.randomUUID()} --json`);
    assert.deepEqual([unknown.code, unknown.error.status], [6, 404]);
    assert.deepEqual(await dataOf(cli, `assets untag ${id} ${tag}`), { id, tags: [] });
    assert.equal((await cli(`assets tag ${crypto.randomUUID()} ${tag}`)).code, 6);

    const off = await cli(`assets delete ${id}`);
    assert.equal(off.code, 2);
    assert.deepEqual(
      off.requests.map(request => request.split(" ")[0]),
      ["GET"],
    );
    assert.match(off.stderr, /Delete asset crest\.png .*--yes/s);
    assert.equal((await cli(`assets delete ${id}`, { answers: ["n"] })).code, 10);
    assert.equal((await cli(`assets delete ${id}`, { answers: ["y"] })).code, 0);
    assert.equal((await cli(`assets delete ${id} --yes`)).code, 6);
  });

  it("keeps an asset that an element shows, and names the element", async t => {
    const { cli, addApp, addProject, create } = await opened(t);
    const [{ id }] = await dataOf(cli, "assets upload pictures/logo.png");
    const app = (await addApp(catalogueUrl)).json.data.id;
    const project = (await addProject(app)).json.data.id;
    const event = await create("events", { name: "Final" }, { project: to("projects", project) });
    const shown = { content_type: "media", name: "Crest", custom_fields: [field("asset", id)] };
    const element = await create("elements", shown, { event: to("events", event) });
    const refused = await cli(`assets delete ${id} --yes --json`);
    assert.equal(refused.code, 7);
    assert.match(refused.error.message, new RegExp(element));
  });
});
