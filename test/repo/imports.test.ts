/** Imports point one way, as `.github/ARCHITECTURE.md` draws it. */

import assert from "node:assert/strict";
import { posix } from "node:path";
import { describe, it } from "node:test";
import { importsOf, sources } from "./files.ts";

interface Import {
  readonly from: string;
  readonly to: string;
}

const all: Import[] = sources.flatMap(from =>
  importsOf(from).map(specifier => ({
    from,
    to: specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : specifier,
  })),
);

/** Folders of lib/ that areas may build on, from the ground up; every other folder of lib/ is an area. */
const layers = [
  ["errors"],
  ["calendar"],
  ["ports"],
  ["storage"],
  ["rate_limit"],
  ["http"],
  ["auth"],
  ["directory"],
  ["expressions", "space_tokens", "export_file", "user_index"],
];
const shared = layers.flat();
/** The files at the top of lib/ are the composition root. */
const isComposition = (file: string): boolean => /^lib\/[^/]+\.ts$/.test(file);
const folderOf = (file: string): string => file.split("/")[1] ?? "";
const areas = [
  ...new Set(sources.filter(file => file.startsWith("lib/") && !isComposition(file)).map(folderOf)),
].filter(folder => !shared.includes(folder));

function forbidden(rule: (edge: Import) => boolean): string[] {
  return all.filter(rule).map(({ from, to }) => `${from} -> ${to}`);
}

describe("imports", () => {
  it("are found at all", () => {
    assert.ok(all.length > 100);
    assert.ok(areas.length >= 3, `areas: ${areas.join(", ")}`);
  });

  it("of lib/ never reach adapters or runtime", () => {
    assert.deepEqual(
      forbidden(({ from, to }) => from.startsWith("lib/") && /^(adapters|runtime|test)\//.test(to)),
      [],
    );
  });

  it("of adapters/ reach lib/storage, lib/ports and lib/errors, and no other folder or adapter", () => {
    const allowed = (from: string, to: string): boolean =>
      /^lib\/(storage|ports|errors)\//.test(to) ||
      to.split("/", 2).join("/") === from.split("/", 2).join("/");
    const own = ({ from, to }: Import): boolean =>
      from.startsWith("adapters/") && /^(lib|adapters|runtime|test)\//.test(to);
    // The file journal is a journal of the memory adapter.
    const journal = ({ from, to }: Import): boolean =>
      from.startsWith("adapters/file/") && to.startsWith("adapters/memory/");
    assert.deepEqual(
      forbidden(edge => own(edge) && !journal(edge) && !allowed(edge.from, edge.to)),
      [],
    );
  });

  it("of an area never reach another area or the composition root", () => {
    const isArea = (file: string): boolean =>
      file.startsWith("lib/") && !isComposition(file) && areas.includes(folderOf(file));
    assert.deepEqual(
      forbidden(
        ({ from, to }) =>
          isArea(from) && (isComposition(to) || (isArea(to) && folderOf(to) !== folderOf(from))),
      ),
      [],
    );
  });

  it("of shared folders never reach areas or the composition root", () => {
    const isShared = (file: string): boolean =>
      file.startsWith("lib/") && !isComposition(file) && shared.includes(folderOf(file));
    assert.deepEqual(
      forbidden(
        ({ from, to }) =>
          isShared(from) && to.startsWith("lib/") && (isComposition(to) || !shared.includes(folderOf(to))),
      ),
      [],
    );
  });

  it("of shared folders point down, layer by layer", () => {
    const layerOf = (file: string): number =>
      file.startsWith("lib/") && !isComposition(file)
        ? layers.findIndex(layer => layer.includes(folderOf(file)))
        : -1;
    assert.deepEqual(
      forbidden(({ from, to }) => layerOf(from) >= 0 && layerOf(to) > layerOf(from)),
      [],
    );
  });

  it("of tests stay out of the product", () => {
    assert.deepEqual(
      forbidden(({ to }) => to.startsWith("test/")),
      [],
    );
  });

  it("have no cycles", () => {
    assert.deepEqual(cycles(), []);
  });

  it("name itty-router, jose, ioredis, srvx, nodemailer and temporal-polyfill in one place each", () => {
    const users = (name: string): string[] => [
      ...new Set(all.filter(({ to }) => to === name || to.startsWith(`${name}/`)).map(({ from }) => from)),
    ];
    assert.deepEqual(users("itty-router"), ["lib/http/routing/router.ts"]);
    assert.deepEqual(users("jose"), ["lib/auth/tokens/jose.ts"]);
    assert.deepEqual(users("nodemailer"), ["adapters/mail/smtp.ts"]);
    assert.deepEqual(
      users("temporal-polyfill").filter(file => !file.startsWith("lib/calendar/")),
      [],
    );
    assert.ok(users("ioredis").length > 0);
    assert.deepEqual(
      users("ioredis").filter(file => !file.startsWith("adapters/redis/")),
      [],
    );
    assert.deepEqual(
      users("srvx").filter(file => !file.startsWith("runtime/_node_")),
      [],
    );
  });

  it("of Node's modules stay in runtime and native adapters", () => {
    const standard = /^(lib|adapters\/(memory|conformance))\//;
    assert.deepEqual(
      forbidden(({ from, to }) => standard.test(from) && to.startsWith("node:")),
      [],
    );
  });
});

function cycles(): string[] {
  const targets = new Map(
    sources.map(file => [file, all.filter(edge => edge.from === file).map(({ to }) => to)]),
  );
  const done = new Set<string>();
  const path: string[] = [];
  const found: string[] = [];
  function visit(file: string): void {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    if (done.has(file) || path.includes(file)) return;
    path.push(file);
    for (const target of targets.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  }
  for (const file of sources) visit(file);
  return found;
}
