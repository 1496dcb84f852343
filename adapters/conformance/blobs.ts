/** The blob port as tests. */
import { blobNameCharactersMax } from "../../lib/storage/limits.ts";
import type { Blobs } from "../../lib/storage/ports.ts";
import { equal, ok, rejects } from "./expect.ts";
import { type Cases, type Fixture, type Runner, register } from "./harness.ts";

/** A blob store that no other test has touched. */
export interface BlobsFixture extends Fixture {
  readonly blobs: Blobs;
}

/** What to test and with which runner. */
export interface BlobsConformanceOptions extends Runner {
  /** Creates a blob store that no other test sees. */
  factory(): Promise<BlobsFixture> | BlobsFixture;
}

/** Registers the whole suite for {@linkcode Blobs}. */
export function blobsConformance(options: BlobsConformanceOptions): void {
  const cases: Cases<BlobsFixture> = { ...contentCases, ...replaceCases, ...nameCases };
  options.describe("blobs", () => register(options, cases, () => options.factory()));
}

const contentCases: Cases<BlobsFixture> = {
  async "an unknown name is null, and removing it changes nothing"({ blobs }) {
    equal(await blobs.get("a"), null);
    await blobs.remove("a");
    equal(await blobs.get("a", { start: 0, end: 1 }), null);
  },

  async "the bytes come back as they went in, with their number"({ blobs }) {
    const all = Uint8Array.from({ length: 256 }, (_, index) => index);
    equal(await blobs.put("a", stream(all)), { size: 256 });
    equal(await read(blobs, "a"), { size: 256, bytes: [...all] });
  },

  async "an empty blob is a blob"({ blobs }) {
    equal(await blobs.put("none", stream()), { size: 0 });
    equal(await blobs.put("empty", stream(new Uint8Array(0))), { size: 0 });
    equal(await read(blobs, "none"), { size: 0, bytes: [] });
    equal(await read(blobs, "empty", { start: 0, end: 9 }), { size: 0, bytes: [] });
  },

  async "a large blob of many chunks comes back whole"({ blobs }) {
    const chunks = Array.from({ length: 64 }, (_, index) => new Uint8Array(65_537).fill(index));
    const size = 64 * 65_537;
    equal(await blobs.put("large", stream(...chunks)), { size });
    const found = await blobs.get("large");
    ok(found !== null && found.size === size, "the large blob is missing");
    let offset = 0;
    for await (const chunk of chunksOf(found.body)) {
      for (const byte of chunk) {
        if (byte !== Math.floor(offset / 65_537)) throw new RangeError(`the byte at ${offset} is ${byte}`);
        offset += 1;
      }
    }
    equal(offset, size);
  },

  async "a range gives its bytes and the size of the whole"({ blobs }) {
    const bytes = Array.from({ length: 10 }, (_, index) => index);
    await blobs.put("a", stream(Uint8Array.from(bytes.slice(0, 3)), Uint8Array.from(bytes.slice(3))));
    const ranges = [
      {},
      { start: 3 },
      { end: 4 },
      { start: 2, end: 5 },
      { start: 0, end: 10 },
      { start: 9, end: 10 },
      { start: 4, end: 4 },
      { start: 5, end: 2 },
      { start: 8, end: 99 },
      { start: 10 },
      { start: 99 },
    ];
    for (const range of ranges) {
      const { start = 0, end = 10 } = range;
      const expected = end > start ? bytes.slice(start, end) : [];
      equal(await read(blobs, "a", range), { size: 10, bytes: expected }, JSON.stringify(range));
    }
    for (const range of [{ start: -1 }, { end: -1 }, { start: 0.5 }, { end: Number.NaN }]) {
      await rejects(async () => blobs.get("a", range), [TypeError, RangeError], JSON.stringify(range));
    }
  },

  async "a body may be abandoned"({ blobs }) {
    await blobs.put("a", stream(new Uint8Array(300_000)));
    const first = await blobs.get("a");
    await first?.body.cancel();
    const second = await blobs.get("a");
    const reader = second?.body.getReader();
    await reader?.read();
    await reader?.cancel();
    await blobs.remove("a");
    equal(await blobs.get("a"), null);
  },

  async "changing a chunk after it was taken does not change the blob"({ blobs }) {
    const chunk = new Uint8Array([1, 2, 3]);
    await blobs.put("a", stream(chunk));
    chunk.fill(9);
    const before = await read(blobs, "a");
    equal(before.bytes, [1, 2, 3]);
    const found = await blobs.get("a");
    for await (const each of chunksOf(found?.body ?? stream())) each.fill(7);
    equal((await read(blobs, "a")).bytes, [1, 2, 3]);
  },
};

const replaceCases: Cases<BlobsFixture> = {
  async "a blob is replaced only once the whole stream has arrived"({ blobs }) {
    await blobs.put("a", stream(new Uint8Array([1])));
    const gate = signal();
    const began = signal();
    const slow = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          began.give();
          controller.enqueue(new Uint8Array([2]));
          await gate.given;
          controller.enqueue(new Uint8Array([3]));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const replacing = blobs.put("a", slow);
    await began.given;
    equal((await read(blobs, "a")).bytes, [1]);
    gate.give();
    equal(await replacing, { size: 2 });
    equal((await read(blobs, "a")).bytes, [2, 3]);
  },

  async "a stream that fails leaves what was there"({ blobs }) {
    await blobs.put("a", stream(new Uint8Array([1])));
    for (const name of ["a", "b"]) {
      const error = await rejects(() => blobs.put(name, failing()), [Error], "a failing stream");
      equal(error.message, "the source broke");
    }
    equal((await read(blobs, "a")).bytes, [1]);
    equal(await blobs.get("b"), null);
  },

  async "a body that was opened stays whole while the blob is replaced and removed"({ blobs }) {
    const old = new Uint8Array(200_000).fill(1);
    await blobs.put("a", stream(old));
    const found = await blobs.get("a");
    ok(found !== null, "the blob is missing");
    await blobs.put("a", stream(new Uint8Array(200_000).fill(2)));
    await blobs.remove("a");
    let sum = 0;
    for await (const chunk of chunksOf(found.body)) for (const byte of chunk) sum += byte;
    equal(sum, 200_000);
  },

  async "of many parallel puts one stays, whole"({ blobs }) {
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        blobs.put("a", stream(new Uint8Array(1_000).fill(index), new Uint8Array(1_000).fill(index))),
      ),
    );
    const { bytes } = await read(blobs, "a");
    equal(bytes.length, 2_000);
    equal(new Set(bytes).size, 1, "writers mixed");
  },

  async "a removed blob is gone and its name may be used again"({ blobs }) {
    await blobs.put("a", stream(new Uint8Array([1])));
    await blobs.remove("a");
    equal(await blobs.get("a"), null);
    await blobs.put("a", stream(new Uint8Array([2])));
    equal((await read(blobs, "a")).bytes, [2]);
  },
};

const good = [
  "a",
  "A",
  "a.b",
  "a/b",
  "a/b/c",
  "a.",
  ".a",
  "..a",
  "a..",
  "...",
  "-",
  "_",
  "a.tmp",
  "x/a",
  "0",
  "con",
  "a/-/b",
];

const nameCases: Cases<BlobsFixture> = {
  async "names that differ are different blobs, however similar"({ blobs }) {
    for (const [index, name] of good.entries()) await blobs.put(name, stream(new Uint8Array([index])));
    for (const [index, name] of good.entries()) equal((await read(blobs, name)).bytes, [index], name);
    await blobs.remove("a/b");
    equal((await read(blobs, "a/b/c")).bytes, [4]);
    equal((await read(blobs, "a")).bytes, [0]);
  },

  async "the longest name works and one character more does not"({ blobs }) {
    for (const longest of ["x".repeat(blobNameCharactersMax), `${"x".repeat(127)}/${"y".repeat(128)}`]) {
      await blobs.put(longest, stream(new Uint8Array([1])));
      equal((await read(blobs, longest)).bytes, [1]);
    }
    await rejects(async () => blobs.get("x".repeat(blobNameCharactersMax + 1)), [RangeError], "too long");
  },

  async "a name that could leave its place is refused"({ blobs }) {
    const bad = [
      "",
      "/",
      "/a",
      "a/",
      "a//b",
      ".",
      "..",
      "a/..",
      "../a",
      "a/../b",
      "a/./b",
      "a b",
      "a\0",
      "a\\b",
      "ä",
      "a:b",
      "%2e%2e",
      "a\n",
      "~",
      "a/..",
    ];
    for (const name of bad) {
      await rejects(async () => blobs.get(name), [TypeError, RangeError], `get ${JSON.stringify(name)}`);
      await rejects(
        async () => blobs.remove(name),
        [TypeError, RangeError],
        `remove ${JSON.stringify(name)}`,
      );
      await rejects(
        async () => blobs.put(name, stream(new Uint8Array(1))),
        [TypeError, RangeError],
        `put ${name}`,
      );
    }
  },
};

interface Signal {
  readonly given: Promise<void>;
  give(): void;
}

function signal(): Signal {
  let give = (): void => {};
  const given = new Promise<void>(resolve => {
    give = resolve;
  });
  return { given, give: () => give() };
}

function stream(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

function failing(): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      sent += 1;
      if (sent <= 3) controller.enqueue(new Uint8Array(100_000));
      else controller.error(new Error("the source broke"));
    },
  });
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

async function read(
  blobs: Blobs,
  name: string,
  range?: { start?: number; end?: number },
): Promise<{ size: number; bytes: number[] }> {
  const found = await (range === undefined ? blobs.get(name) : blobs.get(name, range));
  ok(found !== null, `the blob ${name} is missing`);
  const bytes: number[] = [];
  for await (const chunk of chunksOf(found.body)) bytes.push(...chunk);
  return { size: found.size, bytes };
}
