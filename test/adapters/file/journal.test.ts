import assert from "node:assert/strict";
import {
  appendFile,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createRandom } from "../../../adapters/conformance/random.ts";
import { createOperations } from "../../../adapters/conformance/random_runs.ts";
import type { FsyncPolicy, RecoveredTail } from "../../../adapters/file/journal/file_journal.ts";
import { digestOf, encodeLine } from "../../../adapters/file/journal/log_file.ts";
import { openFileStore } from "../../../adapters/file/mod.ts";
import type { Store, Write } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { dump } from "../memory/dump.ts";
import { temporaryDirectory } from "./directory.ts";

const put = (key: string, value: string): Write => ({ type: "put", key, value });

async function values(store: Store, count: number): Promise<(string | undefined)[]> {
  const keys = Array.from({ length: count }, (_, at) => ({ type: "record" as const, key: `k${at}` }));
  return (await store.read("p", keys)).map(found => found?.value);
}

/** The size of all files that are there from the listing to the end. */
async function bytesIn(directory: string): Promise<number> {
  const sizes = (await readdir(directory)).map(name =>
    stat(join(directory, name)).catch(() => ({ size: 0 })),
  );
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}

/** A closed journal of `count` commits, each of which puts one record. */
async function written(directory: string, count: number): Promise<string> {
  await using store = await openFileStore(directory);
  for (let at = 0; at < count; at++)
    await store.commit("p", { writes: [put(`k${at}`, `v${at}\n\u{1F600}`)] });
  return join(directory, "log-0000000001");
}

describe("a file journal", () => {
  for (const fsync of ["always", "interval", "never"] satisfies FsyncPolicy[]) {
    it(`brings everything back after a restart, over many compactions (fsync ${fsync})`, async () => {
      const directory = await temporaryDirectory();
      const clock = createTestClock();
      const operations = createOperations(createRandom(8), clock);
      const options = { clock: clock.now, fsync, compactBytesMin: 3_000, compactRatio: 1 };
      let last: unknown;
      for (let life = 0; life < 5; life++) {
        await using store = await openFileStore(directory, options);
        assert.equal(store.traits.durable, fsync === "always");
        if (life > 0) assert.deepEqual(await dump(store), last);
        for (let round = 0; round < 40; round++) {
          const commits = Array.from({ length: 5 }, () => {
            const partition = operations.partition();
            return store.commit(partition, { writes: operations.batch(partition).writes });
          });
          await Promise.all(commits);
          clock.advance(round % 4);
        }
        last = await dump(store);
      }
      const names = await readdir(directory);
      assert.ok(
        names.some(name => name.startsWith("log-") && name > "log-0000000003"),
        names.join(),
      );
    });
  }

  it("compacts so that overwritten states do not stay on disk", async () => {
    const directory = await temporaryDirectory();
    const options = { compactBytesMin: 50_000 };
    let rounds = 0;
    let writtenBytes = 0;
    {
      await using store = await openFileStore(directory, options);
      // Commits wait for the disk, and so does the compaction beside them: it gets its turn however slow the disk is.
      for (let small = false; !small && rounds < 2_000; rounds++) {
        const value = `${rounds};`.repeat(100);
        await Promise.all([0, 1, 2, 3, 4].map(at => store.commit("p", { writes: [put(`k${at}`, value)] })));
        writtenBytes += 5 * value.length;
        small = writtenBytes > 400_000 && (await bytesIn(directory)) < writtenBytes / 3;
      }
    }
    assert.ok(rounds < 2_000, `${await bytesIn(directory)} of ${writtenBytes} bytes are still on disk`);
    await using store = await openFileStore(directory, options);
    assert.deepEqual(await values(store, 5), Array(5).fill(`${rounds - 1};`.repeat(100)));
  });

  it("never uses a version again after a restart, with the clock standing still", async () => {
    const directory = await temporaryDirectory();
    const versions = new Set<string>();
    for (let life = 0; life < 4; life++) {
      await using store = await openFileStore(directory, { clock: () => 5, compactBytesMin: 600 });
      for (let at = 0; at < 20; at++) {
        const outcome = await store.commit("p", { writes: [put("a", "same")] });
        assert.ok(outcome.ok && !versions.has(outcome.version));
        versions.add(outcome.version);
        await store.commit("p", { writes: [{ type: "delete", shape: "record", key: "a" }] });
      }
    }
  });

  it("cuts off and reports a frame that was not written to its end, wherever it was torn", async () => {
    const directory = await temporaryDirectory();
    const log = await written(directory, 3);
    const content = await readFile(log);
    const lastStart = content.lastIndexOf("\n", content.length - 2) + 1;
    for (let length = lastStart; length < content.length; length += 3) {
      await writeFile(log, content.subarray(0, length));
      const tails: RecoveredTail[] = [];
      const onRecover = (tail: RecoveredTail) => tails.push(tail);
      {
        await using store = await openFileStore(directory, { onRecover });
        assert.deepEqual(await values(store, 3), ["v0\n\u{1F600}", "v1\n\u{1F600}", undefined]);
        const expected = { path: log, offset: lastStart, bytes: length - lastStart };
        assert.deepEqual(tails, length === lastStart ? [] : [expected]);
        await store.commit("p", { writes: [put("k2", "again")] });
      }
      await using store = await openFileStore(directory, { onRecover });
      assert.equal((await values(store, 3))[2], "again");
      assert.ok(tails.length <= 1);
    }
  });

  it("cuts off the traces of a system crash: zeros, or a torn first line", async () => {
    const directory = await temporaryDirectory();
    const log = await written(directory, 2);
    await appendFile(log, Buffer.alloc(5_000));
    {
      await using store = await openFileStore(directory);
      assert.equal((await values(store, 2))[1], "v1\n\u{1F600}");
    }
    const unused = await temporaryDirectory();
    await writeFile(join(unused, "log-0000000001"), (await readFile(log)).subarray(0, 4));
    await using store = await openFileStore(unused);
    assert.deepEqual(await values(store, 2), [undefined, undefined]);
    await store.commit("p", { writes: [put("k0", "new")] });
  });

  it("refuses to start where a frame is damaged that has intact ones behind it, and changes nothing", async () => {
    const directory = await temporaryDirectory();
    const log = await written(directory, 5);
    const content = await readFile(log);
    const secondFrame = content.indexOf("\n", content.indexOf("\n") + 1) + 1;
    for (const at of [secondFrame, secondFrame + 8, secondFrame + 30, content.indexOf("\n", secondFrame)]) {
      const damaged = Buffer.from(content);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      await writeFile(log, damaged);
      await assert.rejects(openFileStore(directory), error => {
        assert.ok(error instanceof Error && "code" in error);
        assert.equal(error.code, "storage_unavailable");
        assert.match(error.message, / at line 3, byte /);
        assert.ok(error.message.includes(`truncate -s ${secondFrame} ${log}`), error.message);
        return true;
      });
      assert.deepEqual(await readFile(log), damaged);
    }
    await truncate(log, secondFrame);
    await using store = await openFileStore(directory);
    assert.deepEqual((await values(store, 2)).map(Boolean), [true, false]);
  });

  it("refuses to start where a file of the chain is missing, ends early or is of another format", async () => {
    const directory = await temporaryDirectory();
    const original = join(directory, "original");
    {
      await using store = await openFileStore(original, { compactBytesMin: 400 });
      for (let at = 0; at < 60; at++) await store.commit("p", { writes: [put(`k${at}`, `v${at}`)] });
    }
    const snapshot = (await readdir(original)).find(name => name.startsWith("snapshot-"));
    assert.ok(snapshot !== undefined);
    const log = snapshot.replace("snapshot", "log");
    const mishaps: readonly [hint: RegExp, mishap: (copy: string) => Promise<void>][] = [
      [/is missing/, copy => rm(join(copy, log))],
      [/is missing/, copy => rm(join(copy, snapshot))],
      [
        /ends early/,
        async copy => truncate(join(copy, snapshot), (await stat(join(copy, snapshot))).size - 20),
      ],
      [/goes on behind its end/, copy => appendFile(join(copy, snapshot), "more")],
      [/is missing/, copy => rename(join(copy, log), join(copy, "log-0000009999"))],
      [
        /expected "grandstand journal 2"/,
        copy => {
          const header = "grandstand journal 3";
          return writeFile(join(copy, log), encodeLine(header, digestOf(header, 0)) + "x".repeat(99));
        },
      ],
    ];
    for (const [index, [hint, mishap]] of mishaps.entries()) {
      const copy = join(directory, `copy-${index}`);
      await mkdir(copy);
      for (const name of await readdir(original)) await copyFile(join(original, name), join(copy, name));
      await mishap(copy);
      await assert.rejects(
        openFileStore(copy),
        { code: "storage_unavailable", message: hint },
        `mishap ${index}`,
      );
    }
    await using store = await openFileStore(original);
    assert.equal((await values(store, 60))[59], "v59");
  });

  it("survives a crash at every step of a compaction", async () => {
    const directory = await temporaryDirectory();
    const before = await written(directory, 3);
    const next = join(directory, "log-0000000002");
    // The next log was created, with its header or without, and then the process died.
    for (const header of ["", `${(await readFile(before, "utf8")).split("\n", 1)[0]}\n`]) {
      await writeFile(next, header);
      await writeFile(join(directory, "snapshot-0000000002.partial"), "half a snap");
      await using store = await openFileStore(directory);
      assert.deepEqual((await values(store, 3)).map(Boolean), [true, true, true]);
    }
    await using store = await openFileStore(directory);
    await store.commit("p", { writes: [put("k3", "v3")] });
    assert.deepEqual((await values(store, 4)).map(Boolean), [true, true, true, true]);
  });

  it("refuses to start where any line is missing or has a flipped bit, and names its number", async () => {
    const directory = await temporaryDirectory();
    const log = await written(directory, 4);
    const lines = (await readFile(log, "latin1")).split(/(?<=\n)/);
    assert.equal(lines.length, 5);
    const flip = (line: string, at: number): string =>
      line.slice(0, at) + String.fromCharCode(line.charCodeAt(at) ^ 1) + line.slice(at + 1);
    const mishaps = lines.flatMap((line, index) => [
      // Without the last line the file is as it was before that was appended.
      ...(index < lines.length - 1 ? [{ number: index + 1, changed: "" }] : []),
      ...[0, 12, line.length - 1].map(at => ({ number: index + 1, changed: flip(line, at) })),
    ]);
    for (const { number, changed } of mishaps) {
      await writeFile(log, lines.with(number - 1, changed).join(""), "latin1");
      await assert.rejects(openFileStore(directory), error => {
        assert.ok(error instanceof Error && "code" in error && error.code === "storage_unavailable");
        assert.match(
          error.message,
          new RegExp(` at line ${number}, byte |begins with`),
          JSON.stringify(changed),
        );
        return true;
      });
    }
  });

  it("refuses to start where a log that held data is empty or gone, and says what to do", async () => {
    for (const lose of [
      (log: string) => truncate(log, 0),
      async (log: string) => truncate(log, (await readFile(log)).indexOf("\n") + 1),
      (log: string) => rm(log),
    ]) {
      const directory = await temporaryDirectory();
      await lose(await written(directory, 3));
      const before = await readdir(directory);
      const advice = /is empty, but held data before\. Restore .* from a backup.* remove .*manifest/;
      await assert.rejects(openFileStore(directory), { code: "storage_unavailable", message: advice });
      assert.deepEqual(await readdir(directory), before);
      await rm(join(directory, "manifest"));
      await using store = await openFileStore(directory);
      assert.deepEqual(await values(store, 1), [undefined]);
    }
  });

  it("reads the files of earlier releases, goes on in today's format, and refuses damage in both", async () => {
    const directory = await temporaryDirectory();
    const log = await written(directory, 3);
    const [, ...frames] = (await readFile(log, "utf8")).trimEnd().split("\n");
    const texts = ["grandstand journal 1", ...frames.map(line => line.slice(9))];
    const earlier = texts.map(text => encodeLine(text, digestOf(text, 0))).join("");
    await rm(join(directory, "manifest"));
    await writeFile(log, `${earlier}torn`);
    {
      await using store = await openFileStore(directory);
      assert.deepEqual((await values(store, 3)).map(Boolean), [true, true, true]);
      await store.commit("p", { writes: [put("k3", "v3")] });
    }
    const next = join(directory, "log-0000000002");
    assert.match(await readFile(next, "utf8"), /^[0-9a-f]{8} grandstand journal 2\n/);
    {
      await using store = await openFileStore(directory);
      assert.deepEqual((await values(store, 4)).map(Boolean), [true, true, true, true]);
    }
    await truncate(next, 0);
    await assert.rejects(openFileStore(directory), { message: /log-0000000002 is empty/ });
    await writeFile(log, earlier.replace("v1", "v9"));
    await assert.rejects(openFileStore(directory), { code: "storage_unavailable" });
  });

  it("can be read by its owner alone, for it may hold secrets", async () => {
    const directory = await temporaryDirectory();
    const inner = join(directory, "data");
    const log = await written(inner, 1);
    assert.equal((await stat(log)).mode & 0o777, 0o600);
    assert.equal((await stat(inner)).mode & 0o777, 0o700);
  });
});
