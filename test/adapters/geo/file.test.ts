import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { databaseBytesMax } from "../../../adapters/geo/format_checks.ts";
import { type GeoFile, openGeoFile } from "../../../adapters/geo/mod.ts";
import { buildDatabase } from "../../support/mmdb_writer.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-geo-"));
after(() => rmSync(folder, { recursive: true }));

const path = join(folder, "country.mmdb");
const address = "192.0.2.1";

function version(code: string, type = "Test-Country"): Buffer {
  return buildDatabase({
    networks: { "192.0.2.0/24": { country_code: code } },
    metadata: { database_type: type },
  });
}

/** Puts a complete file in the place of the other, as an updater should. */
function replace(bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}

interface Opened {
  readonly geo: GeoFile;
  readonly reloads: string[];
  readonly refusals: string[];
}

async function open(): Promise<Opened> {
  const reloads: string[] = [];
  const refusals: string[] = [];
  const geo = await openGeoFile(path, {
    every: () => () => {},
    onReload: database => reloads.push(database.type),
    onRefuse: error => refusals.push(error instanceof Error ? error.message : "no error"),
  });
  return { geo, reloads, refusals };
}

const codeOf = (geo: GeoFile): string | undefined => geo.lookup(address)?.isoCode;

describe("a country database in a file", () => {
  beforeEach(() => replace(version("DE")));

  it("answers from the new version once it is found", async () => {
    const { geo, reloads, refusals } = await open();
    assert.equal(codeOf(geo), "DE");
    await geo.refresh();
    assert.deepEqual(reloads, []);
    replace(version("GB", "Newer-Country"));
    assert.equal(codeOf(geo), "DE");
    await geo.refresh();
    assert.equal(codeOf(geo), "GB");
    assert.equal(geo.database.type, "Newer-Country");
    assert.deepEqual([reloads, refusals], [["Newer-Country"], []]);
    await geo.refresh();
    assert.equal(reloads.length, 1);
    await geo[Symbol.asyncDispose]();
  });

  it("sees a version of the same size by its time, and one of the same time by its size", async () => {
    const { geo } = await open();
    const long = 1_000_000;
    utimesSync(path, long, long);
    await geo.refresh();
    writeFileSync(path, version("FR"));
    utimesSync(path, long + 1, long + 1);
    await geo.refresh();
    assert.equal(codeOf(geo), "FR");
    writeFileSync(path, version("GB", "A-Longer-Name-Country"));
    utimesSync(path, long + 1, long + 1);
    await geo.refresh();
    assert.equal(codeOf(geo), "GB");
  });

  it("keeps the old version while the new one cannot be used, and reports why once", async () => {
    const { geo, reloads, refusals } = await open();
    replace(version("GB").subarray(0, 40));
    await geo.refresh();
    await geo.refresh();
    assert.equal(codeOf(geo), "DE");
    assert.equal(refusals.length, 1);
    assert.match(refusals[0] ?? "", /^Cannot use .*country\.mmdb as a country database: it is no MaxMind DB/);
    replace(Buffer.from("<html>"));
    await geo.refresh();
    assert.equal(refusals.length, 2);
    rmSync(path);
    await geo.refresh();
    await geo.refresh();
    assert.equal(refusals.length, 3);
    assert.match(refusals[2] ?? "", /ENOENT/);
    assert.equal(codeOf(geo), "DE");
    replace(version("FR"));
    await geo.refresh();
    assert.deepEqual([codeOf(geo), reloads.length, refusals.length], ["FR", 1, 3]);
  });

  it("may be written in place: an incomplete version is refused, a complete one used", async () => {
    const { geo, reloads, refusals } = await open();
    const bytes = version("GB");
    writeFileSync(path, bytes.subarray(0, 60));
    await geo.refresh();
    assert.deepEqual([codeOf(geo), refusals.length], ["DE", 1]);
    appendFileSync(path, bytes.subarray(60));
    await geo.refresh();
    assert.deepEqual([codeOf(geo), reloads.length], ["GB", 1]);
  });

  it("is checked at the given interval until it is closed", async () => {
    const asked: number[] = [];
    let look: () => void = () => assert.fail("nobody watches");
    let isStopped = false;
    const every = (ms: number, given: () => void): (() => void) => {
      asked.push(ms);
      look = given;
      return () => {
        isStopped = true;
      };
    };
    let reload: (type: string) => void = () => {};
    const reloaded = new Promise<string>(resolve => {
      reload = resolve;
    });
    const geo = await openGeoFile(path, { pollMs: 250, every, onReload: ({ type }) => reload(type) });
    replace(version("GB", "Polled-Country"));
    look();
    assert.equal(await reloaded, "Polled-Country");
    assert.equal(codeOf(geo), "GB");
    await geo[Symbol.asyncDispose]();
    assert.deepEqual([asked, isStopped], [[250], true]);
    const byDefault = await openGeoFile(path, { every });
    await byDefault[Symbol.asyncDispose]();
    assert.deepEqual(asked, [250, 10_000]);
  });

  it("is read once for concurrent checks", async () => {
    const { geo, reloads } = await open();
    replace(version("GB"));
    await Promise.all([geo.refresh(), geo.refresh(), geo.refresh()]);
    assert.equal(reloads.length, 1);
  });

  it("answers from one version or the other during a reload", async () => {
    const { geo } = await open();
    for (let round = 0; round < 20; round++) {
      const [before, next] = round % 2 === 0 ? ["DE", "GB"] : ["GB", "DE"];
      replace(version(next));
      let isDone = false;
      const reloading = geo.refresh().then(() => {
        isDone = true;
      });
      while (!isDone) {
        assert.ok([before, next].includes(codeOf(geo) ?? ""));
        await new Promise(resolve => setImmediate(resolve));
      }
      await reloading;
      assert.equal(codeOf(geo), next);
    }
  });

  it("is watched without keeping the process alive", async () => {
    const geo = await openGeoFile(path);
    const timers = process.getActiveResourcesInfo().filter(name => name === "Timeout");
    assert.deepEqual(timers, []);
    await geo[Symbol.asyncDispose]();
  });

  it("is refused at the start if it cannot be used", async () => {
    const missing = join(folder, "missing.mmdb");
    await assert.rejects(openGeoFile(missing), {
      name: "UnusableDatabaseError",
      message: /^Cannot use .*missing\.mmdb as a country database: ENOENT/,
    });
    const inside = join(folder, "folder.mmdb");
    mkdirSync(inside);
    await assert.rejects(openGeoFile(inside), { name: "UnusableDatabaseError", message: /it is not a file/ });
    const large = join(folder, "large.mmdb");
    writeFileSync(large, "");
    truncateSync(large, databaseBytesMax + 1);
    await assert.rejects(openGeoFile(large), { name: "UnusableDatabaseError", message: /it is larger than/ });
  });
});
