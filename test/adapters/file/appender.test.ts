import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Appender, backlogCharsMax, groupCharsMax } from "../../../adapters/file/journal/appender.ts";
import {
  digestOf,
  encodeLine,
  headerText,
  LogFile,
  lineOverhead,
} from "../../../adapters/file/journal/log_file.ts";
import type { AppError } from "../../../lib/base/errors/mod.ts";
import { temporaryDirectory } from "./directory.ts";

async function appending() {
  const path = join(await temporaryDirectory(), "log");
  const log = await LogFile.create(path);
  const groups: number[] = [];
  const onGroup = async (bytes: number) => {
    groups.push(bytes);
  };
  const appender = new Appender(log, { syncs: true, onGroup });
  return { path, log, appender, groups };
}

function append(appender: Appender, frame: string): Promise<AppError | undefined> {
  return new Promise(resolve => appender.append(frame, resolve));
}

describe("appending to a log", () => {
  it("writes frames that arrive together as one group with one sync, in order", async () => {
    const { path, log, appender, groups } = await appending();
    const frames = Array.from({ length: 1_000 }, (_, at) => `frame ${at} \u{1F600}`);
    const settled: number[] = [];
    await Promise.all(
      frames.map((frame, at) => append(appender, frame).then(failure => settled.push(failure ? -1 : at))),
    );
    assert.equal(groups.length, 1);
    assert.deepEqual(settled, [...frames.keys()]);
    const lines = (await readFile(path, "utf8")).split("\n").slice(1, -1);
    let digest = digestOf(headerText, 0);
    for (const [at, frame] of frames.entries()) {
      digest = digestOf(frame, digest);
      assert.equal(lines[at], encodeLine(frame, digest).trimEnd());
    }
    assert.equal(lines.length, frames.length);
    await log.close();
  });

  it("lets frames that arrive while the disk is busy wait for the next group", async () => {
    const { log, appender, groups } = await appending();
    const later: Promise<AppError | undefined>[] = [];
    await new Promise<void>(resolve => {
      appender.append("first", () => {
        for (let at = 0; at < 50; at++) later.push(append(appender, `later ${at}`));
        resolve();
      });
    });
    await Promise.all(later);
    await appender.idle();
    assert.equal(groups.length, 2);
    await log.close();
  });

  it(`writes up to ${groupCharsMax} characters as one group`, async () => {
    const groupsOf = async (chars: number): Promise<number> => {
      const { log, appender, groups } = await appending();
      const half = groupCharsMax / 2 - lineOverhead;
      await Promise.all([half, half + chars].map(length => append(appender, "x".repeat(length))));
      await log.close();
      return groups.length;
    };
    assert.equal(await groupsOf(0), 1);
    assert.equal(await groupsOf(1), 2);
  });

  it("refuses with busy what exceeds the backlog, and recovers from it", async () => {
    const { log, appender } = await appending();
    const frame = "x".repeat(8_388_608);
    const accepted: Promise<AppError | undefined>[] = [];
    for (let chars = 0; chars < backlogCharsMax; chars += frame.length)
      accepted.push(append(appender, frame));
    assert.throws(() => appender.append("one more", () => {}), { code: "busy" });
    assert.deepEqual(await Promise.all(accepted), Array(accepted.length).fill(undefined));
    assert.equal(await append(appender, "one more"), undefined);
    await log.close();
  });

  it("loses a group, and all that waits behind it, where the disk fails, and then accepts nothing", async () => {
    const { log, appender } = await appending();
    assert.equal(await append(appender, "kept"), undefined);
    // Writing, and cutting back what was written, fails on a file that is not open.
    await log.close();
    const failures = await Promise.all([append(appender, "a"), append(appender, "b")]);
    assert.deepEqual(
      failures.map(failure => failure?.code),
      ["outcome_unknown", "outcome_unknown"],
    );
    assert.equal(appender.losses, 1);
    assert.throws(() => appender.append("c", () => {}), { code: "storage_unavailable" });
    assert.throws(() => appender.requireSound(), { code: "storage_unavailable", message: /restart/ });
  });
});
