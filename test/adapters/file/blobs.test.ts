import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { blobsConformance } from "../../../adapters/conformance/mod.ts";
import { createFileBlobs, fileChunkBytesMax, fileLeftoverMsMin } from "../../../adapters/file/blobs.ts";
import { streamOf } from "../streams.ts";

async function temporary(): Promise<{ directory: string; dispose(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "grandstand-blobs-"));
  return { directory, dispose: () => rm(directory, { recursive: true, force: true }) };
}

describe("in files", () => {
  blobsConformance({
    describe,
    it,
    async factory() {
      const { directory, dispose } = await temporary();
      const folder = join(directory, "made", "later");
      return { blobs: createFileBlobs(folder), peer: createFileBlobs(folder), dispose };
    },
  });

  it("keeps blobs across two handles on the same directory", async () => {
    const { directory, dispose } = await temporary();
    try {
      await createFileBlobs(directory).put("exports/users.json", streamOf(new Uint8Array([1, 2])));
      const found = await createFileBlobs(directory).get("exports/users.json");
      assert.deepEqual(found && [...new Uint8Array(await new Response(found.body).arrayBuffer())], [1, 2]);
    } finally {
      await dispose();
    }
  });

  it("leaves nothing behind when a stream fails", async () => {
    const { directory, dispose } = await temporary();
    try {
      const blobs = createFileBlobs(directory);
      let chunks = 0;
      const failing = new ReadableStream<Uint8Array>({
        pull(controller) {
          chunks += 1;
          if (chunks < 4) controller.enqueue(new Uint8Array(10_000));
          else controller.error(new Error("gone"));
        },
      });
      await assert.rejects(blobs.put("a", failing), /gone/);
      assert.deepEqual(await readdir(directory), []);
    } finally {
      await dispose();
    }
  });

  it("removes what an ended process left of a blob a day ago, and nothing else", async () => {
    const { directory, dispose } = await temporary();
    try {
      const now = Date.now();
      const [old, young] = [`${crypto.randomUUID()}.part`, `${crypto.randomUUID()}.part`];
      for (const file of [old, young, "mine.part", "notes.txt"]) {
        await writeFile(join(directory, file), "x");
        const at = new Date(file === young ? now - fileLeftoverMsMin + 60_000 : now - fileLeftoverMsMin);
        await utimes(join(directory, file), at, at);
      }
      await createFileBlobs(directory, { clock: () => now }).put("a", streamOf(new Uint8Array([1])));
      const left = (await readdir(directory)).filter(file => !file.endsWith(".blob"));
      assert.deepEqual(left.sort(), ["mine.part", "notes.txt", young].sort());
    } finally {
      await dispose();
    }
  });

  it("writes only below its directory, one flat file per blob", async () => {
    const { directory, dispose } = await temporary();
    try {
      const blobs = createFileBlobs(directory);
      for (const name of ["a", "A", "a/b", "CON", "..a"])
        await blobs.put(name, streamOf(new Uint8Array([1])));
      const files = await readdir(directory);
      assert.equal(new Set(files.map(file => file.toLowerCase())).size, 5);
      for (const file of files) assert.match(file, /^[0-9a-f]{64}\.blob$/);
    } finally {
      await dispose();
    }
  });

  it("streams a body in bounded chunks", async () => {
    const { directory, dispose } = await temporary();
    try {
      const blobs = createFileBlobs(directory);
      await blobs.put("a", streamOf(new Uint8Array(fileChunkBytesMax * 3 + 5)));
      const found = await blobs.get("a", { start: 1 });
      const sizes: number[] = [];
      for await (const chunk of found?.body ?? streamOf()) sizes.push(chunk.byteLength);
      assert.deepEqual(sizes, [fileChunkBytesMax, fileChunkBytesMax, fileChunkBytesMax, 4]);
    } finally {
      await dispose();
    }
  });

  it("fails with the file system's error where the directory cannot be made", async () => {
    const { directory, dispose } = await temporary();
    try {
      await createFileBlobs(directory).put("a", streamOf(new Uint8Array([1])));
      const [file = ""] = await readdir(directory);
      const blobs = createFileBlobs(join(directory, file, "below"));
      await assert.rejects(blobs.put("a", streamOf(new Uint8Array([1]))), { code: "ENOTDIR" });
    } finally {
      await dispose();
    }
  });
});
