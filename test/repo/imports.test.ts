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

/** The areas of lib/ in the order in which they build on each other: each may import those before it. A folder is of the nearest area that is named. */
const order = [
  "lib/base/errors/",
  "lib/base/json/",
  "lib/base/calendar/",
  "lib/base/text/",
  "lib/base/metrics/",
  "lib/base/tracing/",
  "lib/base/expressions/",
  "lib/base/outbound/",
  "lib/storage/",
  "lib/storage/background/",
  "lib/http/",
  "lib/auth/",
  "lib/fans/directory/",
  "lib/fans/space_tokens/",
  "lib/fans/location/",
  "lib/fans/leaderboards/",
  "lib/fans/users/",
  "lib/fans/identity/",
  "lib/fans/loyalty/",
  "lib/fans/audience/",
  "lib/fans/exports/",
  "lib/workflow/dialogue/",
  "lib/authoring/table/",
  "lib/authoring/feeds/",
  "lib/authoring/control/",
  "lib/client/",
  "lib/workflow/",
  "lib/pages/shared/",
  "lib/pages/show/",
  "lib/pages/studio/",
  "lib/pages/docs/",
  "lib/platform/",
  "lib/testing/",
  "lib/cli/",
];
/** The public entry at the top of lib/ is above all areas. */
const rankOf = (file: string): number => {
  if (!file.startsWith("lib/")) return -1;
  if (!file.includes("/", "lib/".length)) return order.length;
  const area = order.filter(each => file.startsWith(each)).toSorted((a, b) => b.length - a.length)[0];
  return area === undefined ? -1 : order.indexOf(area);
};

function forbidden(rule: (edge: Import) => boolean): string[] {
  return all.filter(rule).map(({ from, to }) => `${from} -> ${to}`);
}

describe("imports", () => {
  it("are found at all", () => {
    assert.ok(all.length > 100);
  });

  it("know every area of lib/", () => {
    assert.deepEqual(
      sources.filter(file => file.startsWith("lib/") && rankOf(file) < 0),
      [],
    );
  });

  it("of lib/ never reach adapters or runtime, but for the default limiter of platforms and the memory of test kits", () => {
    assert.deepEqual(
      forbidden(({ from, to }) => from.startsWith("lib/") && /^(adapters|runtime|test)\//.test(to)),
      [
        "lib/platform/options.ts -> adapters/memory/limiter.ts",
        "lib/testing/kit.ts -> adapters/memory/mod.ts",
        "lib/testing/world.ts -> adapters/memory/mod.ts",
      ],
    );
  });

  it("of adapters/ reach lib/storage, lib/base/errors and the ports that they implement, and no other adapter", () => {
    const allowed = (from: string, to: string): boolean =>
      /^lib\/(storage|base\/(outbound|tracing|errors|text))\//.test(to) ||
      [
        "lib/fans/location/location.ts",
        "lib/auth/passwords/kernels.ts",
        "lib/fans/exports/file/kernels.ts",
      ].includes(to) ||
      to.split("/", 2).join("/") === from.split("/", 2).join("/");
    const isInternal = ({ from, to }: Import): boolean =>
      from.startsWith("adapters/") && /^(lib|adapters|runtime|test)\//.test(to);
    // The file journal is a journal of the memory adapter.
    const journal = ({ from, to }: Import): boolean =>
      from.startsWith("adapters/file/") && to.startsWith("adapters/memory/");
    assert.deepEqual(
      forbidden(edge => isInternal(edge) && !journal(edge) && !allowed(edge.from, edge.to)),
      [],
    );
  });

  it("of lib/ reach only areas that come earlier in the order", () => {
    assert.deepEqual(
      forbidden(
        ({ from, to }) => from.startsWith("lib/") && to.startsWith("lib/") && rankOf(to) > rankOf(from),
      ),
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

  it("name itty-router, jose, ioredis, pg, srvx, nodemailer and temporal-polyfill where they belong", () => {
    const users = (name: string): string[] => [
      ...new Set(all.filter(({ to }) => to === name || to.startsWith(`${name}/`)).map(({ from }) => from)),
    ];
    assert.deepEqual(users("itty-router"), ["lib/http/handler.ts", "lib/http/routing/route_index.ts"]);
    assert.deepEqual(users("jose"), [
      "lib/auth/remote_issuers/mod.ts",
      "lib/auth/tokens/jose.ts",
      "lib/auth/tokens/jose_functions.ts",
    ]);
    assert.deepEqual(users("nodemailer"), ["adapters/mail/smtp.ts"]);
    assert.deepEqual(
      users("temporal-polyfill").filter(file => !file.startsWith("test/")),
      [],
    );
    for (const [name, folder] of Object.entries({ ioredis: "adapters/redis/", pg: "adapters/postgres/" })) {
      assert.ok(users(name).length > 0);
      assert.deepEqual(
        users(name).filter(file => !file.startsWith(folder)),
        [],
      );
    }
    assert.deepEqual(
      users("srvx").filter(file => !file.startsWith("runtime/server/node_")),
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
