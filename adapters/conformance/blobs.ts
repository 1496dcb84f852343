/** Tests of the blob port. */
import { storageLimits } from "../../lib/storage/contract.ts";
import type { Blobs } from "../../lib/storage/ports.ts";
import { type Cases, equal, type Fixture, ok, register, rejects, type Suite } from "./harness.ts";

/** A blob store that no other test has touched. */
export interface BlobsFixture extends Fixture {
  readonly blobs: Blobs;
  /** Another handle on the same data, for example a second client. @default the blobs themselves */
  readonly peer?: Blobs;
}

type BlobsCase = Required<BlobsFixture>;

/** Registers the whole suite for {@linkcode Blobs}. */
export function blobsConformance(options: Suite<BlobsFixture>): void {
  const cases: Cases<BlobsCase> = { ...contentCases, ...replaceCases, ...nameCases };
  async function factory(): Promise<BlobsCase> {
    const fixture = await options.factory();
    return { peer: fixture.blobs, ...fixture };
  }
  options.describe("blobs", () => register(options, cases, factory));
}

const contentCases: Cases<BlobsCase> = {
  async "an unknown name is null, and removing it changes nothing"({ blobs }) {
    equal(await blobs.get("a"), null);
    await blobs.remove("a");
    equal(await blobs.get("a", { start: 0, end: 1 }), null);
  },

  async "a read returns the stored bytes and their number"({ blobs }) {
    const all = Uint8Array.from({ length: 256 }, (_, index) => index);
    equal(await blobs.put("a", stream(all)), { size: 256 });
    equal(await read(blobs, "a"), { size: 256, bytes: [...all] });
  },

  async "a stored chunk's memory may be reused"({ blobs }) {
    const chunk = Uint8Array.of(1, 2, 3);
    await blobs.put("a", stream(chunk));
    chunk.fill(9);
    equal(await read(blobs, "a"), { size: 3, bytes: [1, 2, 3] });
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

  async "a range of a large blob spans stored pieces"({ blobs }) {
    const size = 1_500_001;
    await blobs.put("large", stream(...counted(0, size, 99_991)));
    const bounds = [1, 3, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 1_048_576, size - 1, size];
    for (const start of bounds) {
      for (const end of [start + 1, start + 2, start + 262_145]) {
        const found = await blobs.get("large", { start, end });
        ok(found !== null && found.size === size, "the large blob is missing");
        const expected = Math.max(0, Math.min(end, size) - start);
        equal(await countedFrom(found.body, start), expected, `${start} to ${end}`);
      }
    }
  },

  async "many bodies may be read concurrently"({ blobs }) {
    const size = 700_001;
    await blobs.put("shared", stream(...counted(0, size, size)));
    const starts = Array.from({ length: 8 }, (_, index) => index * 87_654);
    const lengths = await Promise.all(
      starts.map(async start => countedFrom((await blobs.get("shared", { start }))?.body ?? stream(), start)),
    );
    equal(
      lengths,
      starts.map(start => size - start),
    );
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

const replaceCases: Cases<BlobsCase> = {
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

  async "a failing stream leaves the previous blob"({ blobs }) {
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

  async "many parallel puts leave one whole blob"({ blobs }) {
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        blobs.put("a", stream(new Uint8Array(1_000).fill(index), new Uint8Array(1_000).fill(index))),
      ),
    );
    const { bytes } = await read(blobs, "a");
    equal(bytes.length, 2_000);
    equal(new Set(bytes).size, 1, "writers mixed");
  },

  async "a body opened before its blob is replaced never mixes the two"({ blobs }) {
    const size = 600_000;
    await blobs.put("a", stream(new Uint8Array(size).fill(1)));
    const found = await blobs.get("a");
    const reader = (found?.body ?? stream()).getReader();
    const first = await reader.read();
    await blobs.put("a", stream(new Uint8Array(size).fill(2)));
    const seen = new Set(first.value);
    let length = first.value?.length ?? 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      for (const byte of part.value) seen.add(byte);
      length += part.value.length;
    }
    equal([...seen], [1]);
    equal(length, size);
  },

  async "a change by one handle is visible to another at once"({ blobs, peer }) {
    equal(await peer.get("a"), null);
    await blobs.put("a", stream(new Uint8Array([1, 2])));
    equal((await read(peer, "a")).bytes, [1, 2]);
    await peer.put("a", stream(new Uint8Array([3])));
    equal((await read(blobs, "a")).bytes, [3]);
    await peer.remove("a");
    equal(await blobs.get("a"), null);
  },

  async "a removed blob is gone and its name may be used again"({ blobs }) {
    await blobs.put("a", stream(new Uint8Array([1])));
    await blobs.remove("a");
    equal(await blobs.get("a"), null);
    await blobs.put("a", stream(new Uint8Array([2])));
    equal((await read(blobs, "a")).bytes, [2]);
  },
};

const validNames = [
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

const nameCases: Cases<BlobsCase> = {
  async "names that differ are different blobs, however similar"({ blobs }) {
    for (const [index, name] of validNames.entries()) await blobs.put(name, stream(new Uint8Array([index])));
    for (const [index, name] of validNames.entries()) equal((await read(blobs, name)).bytes, [index], name);
    await blobs.remove("a/b");
    equal((await read(blobs, "a/b/c")).bytes, [4]);
    equal((await read(blobs, "a")).bytes, [0]);
  },

  async "the longest name works and one character more does not"({ blobs }) {
    for (const longest of [
      "x".repeat(storageLimits.blobNameCharactersMax),
      `${"x".repeat(127)}/${"y".repeat(128)}`,
    ]) {
      await blobs.put(longest, stream(new Uint8Array([1])));
      equal((await read(blobs, longest)).bytes, [1]);
    }
    await rejects(
      async () => blobs.get("x".repeat(storageLimits.blobNameCharactersMax + 1)),
      [RangeError],
      "too long",
    );
  },

  async "a name that could escape its folder is refused"({ blobs }) {
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

/** Returns the bytes from `start` to `end` of a sequence that identifies each position, in chunks. */
function* counted(start: number, end: number, chunkBytes: number): Generator<Uint8Array> {
  for (let from = start; from < end; from += chunkBytes) {
    const length = Math.min(chunkBytes, end - from);
    yield Uint8Array.from({ length }, (_, index) => countedByte(from + index));
  }
}

function countedByte(place: number): number {
  return (place + (place >>> 8) * 7 + (place >>> 16) * 13) & 255;
}

/** Returns the number of bytes of a body that is such a sequence from `start` on. */
async function countedFrom(body: ReadableStream<Uint8Array>, start: number): Promise<number> {
  let place = start;
  for await (const chunk of chunksOf(body)) {
    for (const byte of chunk) {
      if (byte !== countedByte(place)) throw new RangeError(`the byte at ${place} is ${byte}`);
      place += 1;
    }
  }
  return place - start;
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
