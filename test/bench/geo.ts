/**
 * The cost of looking up a country and of loading the database, and the time for which loading blocks the process.
 *
 *     npm run bench -- geo [database.mmdb]
 *
 * Without a file it makes one of 250 full records, 456,704 IPv4 and 65,536 IPv6 networks that leave no gaps, which is about
 * what a real one has. Everything is measured in fresh processes. The text of every address is made anew for every
 * call, as a server does; the baseline is that text alone. Remembered: 10,000 live addresses. New: a million addresses, so
 * that hardly any is in the cache. Rounds go through the variants in turns, each in the reverse order of the last.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Reader, type Response } from "mmdb-lib";
import { createRandom, type Random } from "../../adapters/conformance/random.ts";
import { knownCountry } from "../../adapters/geo/database.ts";
import { loadGeoDatabase } from "../../adapters/geo/mod.ts";
import { buildDatabase } from "../support/mmdb_writer.ts";
import { figure } from "./figure.ts";

const rounds = 5;
const liveAddresses = 10_000;
const newAddresses = 1_000_000;

interface Variant {
  readonly name: string;
  /** Calls per round. */
  readonly calls: number;
  readonly addresses: readonly Buffer[];
  readonly lookup: (address: string) => unknown;
}

let sink = 0;

function sampleDatabase(random: Random): Buffer {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const records = letters
    .flatMap(first => letters.map(second => knownCountry(first + second) ?? []))
    .flat()
    .map(({ geonameId, isoCode, isInEuropeanUnion, names }) => {
      const eu = isInEuropeanUnion ? { is_in_european_union: true } : {};
      const country = { geoname_id: geonameId, ...eu, iso_code: isoCode, names };
      return { continent: { code: "XX", names }, country, registered_country: country };
    });
  const networks: Record<string, unknown> = {};
  for (let block = 0; block < 223 * 256; block++) {
    const prefix = `${1 + (block >> 8)}.${block & 255}`;
    for (let part = 0; part < 8; part++) networks[`${prefix}.${part * 32}.0/19`] = random.pick(records);
  }
  for (let block = 0; block < 65_536; block++)
    networks[`2${hexOf(block >> 4, 3)}:${hexOf(block & 15, 1)}000::/20`] = random.pick(records);
  return buildDatabase({ networks });
}

function ipv4(random: Random): string {
  return [1 + random.integer(223), random.integer(256), random.integer(256), random.integer(256)].join(".");
}

function ipv6(random: Random): string {
  return `2${hex(random, 3)}:${hex(random, 4)}:${hex(random, 4)}::${hex(random, 4)}`;
}

function hex(random: Random, digits: number): string {
  return hexOf(random.integer(16 ** digits), digits);
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

function addresses(count: number, make: () => string): readonly Buffer[] {
  return Array.from({ length: count }, () => Buffer.from(make(), "latin1"));
}

async function speed(path: string): Promise<void> {
  const random = createRandom(1);
  const bytes = readFileSync(path);
  const database = await loadGeoDatabase(bytes);
  const lookup = (address: string): unknown => database.lookup(address);
  const plain = new Reader<Response>(bytes);
  const live = addresses(liveAddresses, () => ipv4(random));
  const fresh = addresses(newAddresses, () => ipv4(random));
  const fresh6 = addresses(newAddresses, () => ipv6(random));
  const variants: readonly Variant[] = [
    { name: "text alone (baseline)", calls: 1_000_000, addresses: fresh, lookup: address => address },
    { name: "remembered", calls: 1_000_000, addresses: live, lookup },
    { name: "new IPv4", calls: 300_000, addresses: fresh, lookup },
    { name: "new IPv6", calls: 300_000, addresses: fresh6, lookup },
    { name: "mmdb-lib alone, IPv4", calls: 30_000, addresses: fresh, lookup: address => plain.get(address) },
  ];
  const times = new Map<string, number[]>(variants.map(({ name }) => [name, []]));
  const places = new Map<string, number>();
  for (let round = -1; round < rounds; round++) {
    for (const { name, calls, addresses: texts, lookup } of round % 2 === 0
      ? variants
      : variants.toReversed()) {
      let place = places.get(name) ?? 0;
      const started = process.cpuUsage();
      for (let call = 0; call < calls; call++) {
        place = (place + 1) % texts.length;
        if (lookup(texts[place]?.toString("latin1") ?? "") !== null) sink += 1;
      }
      const ms = cpuMs(started);
      places.set(name, place);
      // The first round warms up.
      if (round >= 0) times.get(name)?.push((calls / ms) * 1_000);
    }
  }
  console.log(
    "| variant | look-ups per second of processor time, median | rounds, in thousands |\n|---|---|---|",
  );
  for (const [name, rates] of times) {
    const all = rates.map(rate => Math.round(rate / 1_000)).join(" ");
    console.log(`| ${name} | ${Math.round(median(rates)).toLocaleString("en")} | ${all} |`);
    figure(`country look-ups, ${name}`, `${Math.round(median(rates)).toLocaleString("en")}/s`);
  }
  console.log(`\n(checksum ${sink})`);
}

async function load(path: string): Promise<void> {
  const random = createRandom(2);
  // Loading once before makes modules and compiled code part of what is there already.
  await loadGeoDatabase(buildDatabase({ networks: { "192.0.2.0/24": { country_code: "DE" } } }));
  const before = memoryMb();
  const bytes = readFileSync(path);
  let longestMs = 0;
  let last = process.cpuUsage();
  let isLoading = true;
  function tick(): void {
    longestMs = Math.max(longestMs, cpuMs(last));
    last = process.cpuUsage();
    if (isLoading) setImmediate(tick);
  }
  tick();
  const started = process.cpuUsage();
  const database = await loadGeoDatabase(bytes);
  const loadMs = cpuMs(started);
  isLoading = false;
  const loaded = memoryMb();
  for (let index = 0; index < 100_000; index++) if (database.lookup(ipv4(random)) !== null) sink += 1;
  const used = memoryMb();
  const rows = {
    "file, MiB": bytes.length / 2 ** 20,
    "load and check, ms of processor time": loadMs,
    "longest turn meanwhile, ms of processor time": longestMs,
    "memory beside the file, MiB": loaded - before - bytes.length / 2 ** 20,
    "memory of full caches, MiB": used - loaded,
  };
  for (const [name, value] of Object.entries(rows)) console.log(`| ${name} | ${value.toFixed(1)} |`);
}

/** Processor time in ms that all threads of this process spent since then. */
function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

/** Heap and buffers after a collection, in MiB. */
function memoryMb(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? Number.NaN;
}

function run(path: string): void {
  const { nodeCount, databaseType } = new Reader<Response>(readFileSync(path)).metadata;
  const size = `${nodeCount.toLocaleString("en")} nodes, ${statSync(path).size.toLocaleString("en")} bytes`;
  console.log(`${process.version}, ${availableParallelism()} cores; ${databaseType}, ${size}\n`);
  const self = fileURLToPath(import.meta.url);
  for (const part of ["speed", "load"]) {
    if (part === "load") console.log("\n| what | value |\n|---|---|");
    const args = ["--expose-gc", "--import", "tsx", self, path, part];
    const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    if (status !== 0) throw new Error(`Cannot measure ${part}: the process failed`);
  }
}

const [, , given, part] = process.argv;
if (given !== undefined && part === "speed") await speed(given);
else if (given !== undefined && part === "load") await load(given);
else if (given !== undefined) run(given);
else {
  const folder = mkdtempSync(join(tmpdir(), "grandstand-geo-"));
  try {
    const path = join(folder, "country.mmdb");
    writeFileSync(path, sampleDatabase(createRandom(20_250_615)));
    run(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
