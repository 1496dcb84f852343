/** Assets over the control API, and their public files. */

import assert from "node:assert/strict";
import { after, describe, it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createMemoryBlobs, createMemoryStore } from "../../adapters/memory/mod.ts";
import { createS3Blobs } from "../../adapters/s3/mod.ts";
import { OutboundError } from "../../lib/base/outbound/outbound.ts";
import type { Blobs } from "../../lib/storage/mod.ts";
import { createDyingStore, moments } from "../support/dying_store.ts";
import { type Answer, ids, openPlatform } from "../support/platform.ts";
import { s3Available, sharedS3, stopS3 } from "../support/s3.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { createManualTimer } from "../support/timer.ts";
import { until } from "../support/until.ts";
import { clientOf, digestOf, read } from "./_assets.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

const png = Uint8Array.from(
  Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGP4z8DA8J8BRAIADvkB/w==", "base64"),
);
const svg = `<?xml version="1.0"?><!-- logo --><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30"><script>alert(1)</script></svg>`;

const idsOf = ({ json }: Answer): readonly string[] => json.data.map(({ id }: { id: string }) => id);

/** A stream that fails in the middle, as that of a client which is gone. */
function brokenStream(): ReadableStream<Uint8Array> {
  let isFirst = true;
  return new ReadableStream({
    pull(controller) {
      if (!isFirst) throw new Error("reset");
      isFirst = false;
      controller.enqueue(png);
    },
  });
}

/** Blobs that count what they hold. */
function countedBlobs(): Blobs & { readonly names: Set<string> } {
  const blobs = createMemoryBlobs();
  const names = new Set<string>();
  return {
    names,
    async put(name, body) {
      const info = await blobs.put(name, body);
      names.add(name);
      return info;
    },
    get: (name, range) => blobs.get(name, range),
    async remove(name) {
      names.delete(name);
      await blobs.remove(name);
    },
    [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose](),
  };
}

describeOnEveryStore("assets", open => {
  async function opened(t: TestContext) {
    const blobs = countedBlobs();
    const world = await openPlatform(open, { blobs });
    t.after(() => world.dispose());
    return { world, blobs, ...(await clientOf(world)) };
  }

  it("stores a file, finds its type and size, and serves it to everybody", async t => {
    const { world, upload } = await opened(t);
    const made = await upload({ name: "goal (1).txt" }, png, { headers: { "content-type": "text/html" } });
    assert.equal(made.status, 201, made.text);
    const { id, attributes, relationships, links } = made.json.data;
    assert.equal(made.headers.get("location"), links.self);
    assert.deepEqual(
      [attributes.mime, attributes.bytes, attributes.width, attributes.height, attributes.sha256],
      ["image/png", png.length, 3, 2, digestOf(png)],
    );
    assert.equal(relationships.uploader.data.type, "users");
    assert.ok(id.startsWith(ids.space.slice(0, 13)));

    const file = await read(world, attributes.url);
    assert.equal(file.status, 200);
    assert.deepEqual(new Uint8Array(await file.arrayBuffer()), png);
    assert.equal(file.headers.get("content-type"), "image/png");
    assert.equal(file.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(file.headers.get("x-content-type-options"), "nosniff");
    assert.equal(
      file.headers.get("content-disposition"),
      `inline; filename="goal__1_.txt"; filename*=UTF-8''goal%20%281%29.txt`,
    );
    const etag = file.headers.get("etag") ?? "";
    const same = await read(world, attributes.url, { headers: { "if-none-match": etag } });
    assert.equal(same.status, 304);
    const head = await read(world, attributes.url, { method: "HEAD" });
    assert.deepEqual([head.headers.get("content-length"), await head.text()], [String(png.length), ""]);
  });

  it("serves ranges", async t => {
    const { world, upload } = await opened(t);
    const { url } = (await upload({ name: "a" }, "0123456789")).json.data.attributes;
    const ranges: readonly (readonly [string, number, string, string | null])[] = [
      ["bytes=2-4", 206, "234", "bytes 2-4/10"],
      ["bytes=7-", 206, "789", "bytes 7-9/10"],
      ["bytes=-3", 206, "789", "bytes 7-9/10"],
      ["bytes=4-99", 206, "456789", "bytes 4-9/10"],
      ["bytes=10-", 416, "", "bytes */10"],
      ["bytes=-0", 416, "", "bytes */10"],
      ["bytes=5-2", 200, "0123456789", null],
      ["bytes=0-1,4-5", 200, "0123456789", null],
      ["lines=1-2", 200, "0123456789", null],
    ];
    for (const [range, status, text, position] of ranges) {
      const part = await read(world, url, { headers: { range } });
      const seen = [part.status, await part.text(), part.headers.get("content-range")];
      assert.deepEqual(seen, [status, text, position], range);
    }
    const stale = { range: "bytes=0-1", "if-range": '"another"' };
    assert.equal((await read(world, url, { headers: stale })).status, 200);
    assert.equal((await read(world, url, { headers: { "if-match": '"another"' } })).status, 412);
  });

  it("serves nothing that runs", async t => {
    const { world, upload } = await opened(t);
    const drawing = (await upload({ name: "logo.svg" }, svg)).json.data.attributes;
    assert.deepEqual([drawing.mime, drawing.width, drawing.height], ["image/svg+xml", 40, 30]);
    const served = await read(world, drawing.url);
    assert.match(served.headers.get("content-security-policy") ?? "", /default-src 'none'.*sandbox/);
    const page = (await upload({ name: "page.html" }, "<!doctype html><script>1</script>")).json.data;
    assert.equal(page.attributes.mime, "text/plain");
    const unknown = (await upload({ name: "x.png" }, Uint8Array.of(0, 1, 2, 3))).json.data.attributes;
    assert.equal(unknown.mime, "application/octet-stream");
    const saved = await read(world, unknown.url);
    assert.match(saved.headers.get("content-disposition") ?? "", /^attachment/);
  });

  it("stores equal files of a space once, also at the same time", async t => {
    const { upload, blobs, call } = await opened(t);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => upload({ name: `${n}.png` }, png)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
    assert.equal(new Set(answers.map(({ json }) => json.data.id)).size, 1);
    assert.equal(blobs.names.size, 1);
    const list = await call(`/spaces/${ids.space}/assets?page%5Bnumber%5D=1`);
    assert.equal(list.json.meta.total, 1);
    const { json } = await call(`/spaces/${ids.space}/media_types`);
    assert.deepEqual(json.data[0].attributes, { mime: "image/png", count: 1 });
    // Another space knows nothing of it.
    const other = await upload({ name: "a.png" }, png, { space: ids.otherSpace });
    assert.equal(other.status, 201);
  });

  it("looks at a file again that it has already", async t => {
    const { world, upload, call } = await opened(t);
    const { id, attributes } = (await upload({ name: "table.txt" }, "a,b")).json.data;
    assert.equal(attributes.mime, "text/plain");
    const body = resource("assets", { name: "table.csv" }, { id });
    assert.equal((await call(`/assets/${id}`, { method: "PATCH", body })).status, 204);
    for (const name of ["table.txt", "again.csv"]) {
      const again = await upload({ name }, "a,b");
      assert.deepEqual([again.status, again.json.data.id], [200, id]);
      assert.deepEqual(
        [again.json.data.attributes.name, again.json.data.attributes.mime],
        ["table.csv", "text/csv"],
      );
    }
    const typed = (mime: string) => call(`/spaces/${ids.space}/assets?filter%5Bmime%5D=${mime}`);
    assert.deepEqual(idsOf(await typed("text/csv")), [id]);
    assert.deepEqual(idsOf(await typed("text/plain")), []);
    const types = async () => (await call(`/spaces/${ids.space}/media_types`)).json.data;
    assert.deepEqual(
      (await types()).map((each: { attributes: unknown }) => each.attributes),
      [{ mime: "text/csv", count: 1 }],
    );
    assert.equal((await read(world, attributes.url)).headers.get("content-type"), "text/csv; charset=utf-8");
    assert.equal((await call(`/assets/${id}`, { method: "DELETE" })).status, 204);
    assert.deepEqual(await types(), []);
  });

  it("lists by pages and filters", async t => {
    const { world, upload, call, tag } = await opened(t);
    const [logos, goals] = [await tag("Logos"), await tag("Goals")];
    const made: string[] = [];
    for (let n = 0; n < 7; n++) {
      world.clock.advance(1_000);
      const body = n % 2 === 0 ? `text ${n}` : Uint8Array.of(...png, n);
      const tags = n < 3 ? { tag: n === 0 ? `${logos},${goals}` : logos } : {};
      made.unshift((await upload({ name: `${n}`, ...tags }, body)).json.data.id);
    }
    const list = (query: Readonly<Record<string, string>>) =>
      call(`/spaces/${ids.space}/assets?${new URLSearchParams(query)}`);
    const second = await list({ "page[count]": "3", "page[number]": "2" });
    assert.deepEqual(idsOf(second), made.slice(3, 6));
    assert.deepEqual(second.json.meta.page, { number: 2, size: 3, total: 7 });
    const { prev, next } = second.json.links;
    assert.deepEqual(
      [prev, next].map(link => new URL(link).searchParams.get("page[number]")),
      ["1", "3"],
    );
    assert.equal((await list({ "page[count]": "3", "page[number]": "3" })).json.links.next, null);

    const walked: string[] = [];
    for (let at: string | null = `${ids.space}?page%5Bcount%5D=3`; at !== null; ) {
      const page: Answer = at.startsWith("http")
        ? await call(at.slice(at.indexOf("/spaces")))
        : await list({ "page[count]": "3" });
      walked.push(...idsOf(page));
      at = page.json.links.next;
    }
    assert.deepEqual(walked, made);
    assert.deepEqual(idsOf(await list({ sort: "created_at" })), made.toReversed());

    const uploader = (await call(`/assets/${made[0]}`)).json.data.relationships.uploader.data.id;
    const filters: readonly (readonly [Readonly<Record<string, string>>, readonly number[]])[] = [
      [{ "filter[mime]": "image/*" }, [5, 3, 1]],
      [{ "filter[mime]": "text/plain" }, [6, 4, 2, 0]],
      [{ "filter[tag]": logos }, [2, 1, 0]],
      [{ "filter[tag]": goals, "filter[uploader]": uploader }, [0]],
      [{ "filter[tag]": logos, "filter[mime]": "image/png", "filter[uploader]": uploader }, [1]],
      [{ "filter[uploader]": ids.event }, []],
    ];
    for (const [filter, wanted] of filters) {
      const found = await list(filter);
      assert.deepEqual(
        idsOf(found),
        wanted.map(n => made[6 - n]),
        JSON.stringify(filter),
      );
      assert.equal(found.json.meta.total, wanted.length);
    }
    assert.equal((await list({ "filter[mime]": "png" })).status, 400);
    assert.equal((await list({ "page[number]": "1", "page[cursor]": "x" })).status, 400);
    const people = await call(`/spaces/${ids.space}/uploaders`);
    assert.deepEqual(people.json.data, [
      { type: "users", id: uploader, attributes: { name: "op", count: 7 } },
    ]);
  });

  it("tags, renames and removes", async t => {
    const { world, blobs, upload, call, tag } = await opened(t);
    const [logos, goals] = [await tag("Logos"), await tag("Goals")];
    const relationships = { space: to("spaces", ids.space) };
    const twice = await call("/tags", { body: resource("tags", { name: "logos" }, { relationships }) });
    assert.equal(twice.status, 409, twice.text);
    const { id, attributes } = (await upload({ name: "a.png", tag: logos }, png)).json.data;
    const path = `/assets/${id}/relationships/tags`;
    const tags = async () =>
      (await call(`/assets/${id}?include=tags`)).json.included.map(
        (each: { attributes: { name: string } }) => each.attributes.name,
      );
    const change = (method: string, ...named: string[]) =>
      call(path, { method, body: { data: named.map(each => ({ type: "tags", id: each })) } });
    assert.equal((await change("POST", goals, logos)).status, 204);
    assert.deepEqual(await tags(), ["Logos", "Goals"]);
    const again = await change("POST", goals);
    assert.equal(again.headers.get("etag"), '"v2"');
    const unknown = await change("POST", ids.event);
    assert.equal(unknown.status, 404);
    assert.equal(unknown.json.errors[0].source.pointer, "/data");
    const dry = { method: "DELETE", body: { data: [{ type: "tags", id: logos }] } };
    assert.equal((await call(`${path}?dry_run=true`, dry)).status, 200);
    assert.deepEqual(await tags(), ["Logos", "Goals"]);
    assert.equal((await change("DELETE", logos)).status, 204);
    assert.deepEqual(await tags(), ["Goals"]);
    const tagged = (tagId: string) => call(`/spaces/${ids.space}/assets?filter%5Btag%5D=${tagId}`);
    assert.deepEqual(idsOf(await tagged(logos)), []);
    assert.deepEqual(idsOf(await tagged(goals)), [id]);

    const body = resource("assets", { name: "b.png", alt_text: "" }, { id });
    assert.equal((await call(`/assets/${id}`, { method: "PATCH", body })).status, 204);
    // The address of a file never stops to work.
    assert.equal((await read(world, attributes.url)).status, 200);
    const slash = resource("assets", { name: "a/b.png" }, { id });
    assert.equal((await call(`/assets/${id}`, { method: "PATCH", body: slash })).status, 422);

    const stale = await call(`/assets/${id}`, { method: "DELETE", headers: { "if-match": '"v1"' } });
    assert.equal(stale.status, 412);
    assert.equal((await call(`/assets/${id}`, { method: "DELETE" })).status, 204);
    assert.equal((await read(world, attributes.url)).status, 404);
    assert.deepEqual(idsOf(await tagged(goals)), []);
    assert.deepEqual((await call(`/spaces/${ids.space}/media_types`)).json.data, []);
    assert.equal(blobs.names.size, 1);
    world.clock.advance(20_000);
    await world.platform.work();
    assert.equal(blobs.names.size, 0);
    assert.equal((await upload({ name: "a.png" }, png)).status, 201);
  });

  it("refuses bad uploads and keeps nothing of them", async t => {
    const { world, upload, blobs, call } = await opened(t);
    const faults: readonly (readonly [Readonly<Record<string, string>>, BodyInit, number])[] = [
      [{ name: "a" }, "", 400],
      [{ name: "a" }, brokenStream(), 400],
      [{ name: "a/b" }, "x", 400],
      [{ name: ".." }, "x", 400],
      [{ name: "" }, "x", 400],
      [{}, "x", 400],
      [{ name: "a", tag: "x" }, "x", 400],
      [{ name: "a", tag: ids.event }, "x", 404],
      [{ name: "a", dry_run: "true" }, "x", 400],
    ];
    for (const [query, body, status] of faults) {
      const answer = await upload(query, body);
      assert.equal(answer.status, status, `${JSON.stringify(query)} ${answer.text}`);
    }
    const long = { "content-length": String(2 ** 32) };
    assert.equal((await upload({ name: "a" }, "x", { headers: long })).status, 413);
    assert.equal((await call(`/spaces/${ids.space}/assets`)).json.data.length, 0);
    assert.deepEqual([...blobs.names], [], "at once");
    world.clock.advance(90_000_000);
    await world.platform.work();
    const user = await world.platform.authors.findOrCreate("sam@example.com");
    const { token } = await world.platform.authors.createToken({ userId: user.id, name: "Test" });
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await upload({ name: "a" }, "x", { headers })).status, 404);
    const role = resource("scope_roles", { email: "sam@example.com", role: "viewer" });
    assert.equal((await call(`/spaces/${ids.space}/roles`, { body: role })).status, 201);
    world.clock.advance(1_000);
    assert.equal((await upload({ name: "a" }, "x", { headers })).status, 403);
    assert.deepEqual([...blobs.names], []);
  });

  it("waits for a slow client, and not for a silent one", async t => {
    const { timer, advance } = createManualTimer();
    const blobs = countedBlobs();
    const world = await openPlatform(open, { blobs, timer });
    t.after(() => world.dispose());
    const { upload, call } = await clientOf(world);
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const begin = (name: string): Promise<Answer> =>
      upload(
        { name },
        new ReadableStream({
          start(given) {
            controller = given;
          },
        }),
      );
    const send = async (text: string, waitMs: number): Promise<void> => {
      controller?.enqueue(new TextEncoder().encode(text));
      await setImmediate();
      await advance(waitMs);
    };
    const slow = begin("slow.txt");
    for (const part of ["one ", "two ", "three"]) await send(part, 29_000);
    controller?.close();
    const { status, json } = await slow;
    assert.deepEqual([status, json.data.attributes.sha256], [201, digestOf("one two three")]);
    const silent = begin("silent.txt");
    await send("one ", 0);
    await until("the platform reads on", async () => {
      await advance(30_000);
      return await Promise.race([silent.then(() => true), setImmediate(false)]);
    });
    assert.equal((await silent).status, 400);
    assert.deepEqual(idsOf(await call(`/spaces/${ids.space}/assets`)), [json.data.id]);
    world.clock.advance(90_000_000);
    await world.platform.work();
    assert.equal(blobs.names.size, 1);
  });

  it("reads files from addresses", async t => {
    const files: Readonly<Record<string, ReadableStream<Uint8Array>>> = {
      "https://files.example/a/logo%20(1).png": new Blob([png]).stream(),
      "https://files.example/broken.png": brokenStream(),
    };
    const blobs = countedBlobs();
    const world = await openPlatform(open, {
      blobs,
      outbound: {
        get: async ({ url }) => {
          if (!url.startsWith("https:")) throw new OutboundError("address", "the address is not public");
          const body = files[url];
          const common = { url, mediaType: "text/html", bytes: null };
          return { ...common, status: body === undefined ? 404 : 200, body: body ?? new Blob([]).stream() };
        },
        post: () => assert.fail("Nothing is posted"),
      },
    });
    t.after(() => world.dispose());
    const { upload } = await clientOf(world);
    const made = await upload({ url: "https://files.example/a/logo%20(1).png" }, "");
    assert.equal(made.status, 201, made.text);
    const { name, mime } = made.json.data.attributes;
    assert.deepEqual([name, mime], ["logo (1).png", "image/png"]);
    for (const url of [
      "https://files.example/no.png",
      "https://files.example/broken.png",
      "http://10.0.0.1/a",
    ]) {
      const refused = await upload({ url }, "");
      assert.equal(refused.status, 400, refused.text);
      assert.equal(refused.json.errors[0].source.parameter ?? refused.json.errors[0].source.pointer, "url");
    }
    assert.equal((await upload({ url: "https://files.example/" }, "")).status, 400);
    assert.equal(blobs.names.size, 1);
  });

  it("removes what a process left behind that died at any step", async t => {
    const blobs = countedBlobs();
    const world = await openPlatform(open, { blobs });
    t.after(() => world.dispose());
    const { call } = await clientOf(world);
    const role = await operatorHeaders(world);
    for (const when of moments) {
      for (let at = 0; at < 40; at++) {
        const dying = createDyingStore(world.store);
        const other = await openPlatform(async () => dying, { blobs, startAt: world.clock.now() });
        const target = `http://localhost/api/v2/spaces/${ids.space}/assets?name=a`;
        const init = { method: "POST", body: `${when} ${at}`, headers: role };
        dying.dieAt({ at, when });
        const { status } = await other.platform.fetch(new Request(target, init));
        if (!dying.isDead) {
          assert.equal(status, 201);
          break;
        }
      }
    }
    world.clock.advance(90_000_000);
    await world.platform.work();
    const list = await call(`/spaces/${ids.space}/assets?page%5Bcount%5D=100`);
    assert.deepEqual(new Set(idsOf(list).map(id => `assets/${ids.space}/${id}`)), blobs.names);
    assert.ok(blobs.names.size >= 2);
    for (const { attributes } of list.json.data)
      assert.equal((await read(world, attributes.url)).status, 200);
  });
});

describe("assets in a bucket", { skip: s3Available() }, () => {
  after(stopS3);

  it("come in parts and go out in ranges across them", async t => {
    const blobs = createS3Blobs({ ...(await sharedS3()), prefix: "assets-test/" });
    const world = await openPlatform(async clock => createMemoryStore({ clock }), { blobs });
    t.after(() => world.dispose());
    const { upload } = await clientOf(world);
    const bytes = Buffer.alloc(9 * 1_048_576, "0123456789");
    const made = await upload({ name: "large.txt" }, bytes);
    assert.equal(made.status, 201, made.text);
    const { url, sha256, mime } = made.json.data.attributes;
    assert.deepEqual([sha256, mime], [digestOf(bytes), "text/plain"]);
    const [first, last] = [8_388_600, 8_388_619];
    const part = await read(world, url, { headers: { range: `bytes=${first}-${last}` } });
    assert.deepEqual([part.status, await part.text()], [206, bytes.subarray(first, last + 1).toString()]);
    const whole = await read(world, url);
    assert.equal(digestOf(new Uint8Array(await whole.arrayBuffer())), sha256);
    assert.equal((await upload({ name: "a" }, brokenStream())).status, 400);
  });
});
