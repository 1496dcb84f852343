/** Random manifests: what is applied is as planned, also after failures in between. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stringify } from "yaml";
import { createRandom } from "../../adapters/conformance/random.ts";
import { sampleSize } from "../support/full.ts";
import { ids } from "../support/platform.ts";
import type { Outcome } from "../support/terminal.ts";
import { type CliWorld, openCliWorld } from "./_cli_examples.ts";
import { randomShow } from "./_cli_shows.ts";

interface Row {
  readonly action: string;
  readonly kind: string;
  readonly key: string;
  readonly id: string;
}

const fileOf = (show: unknown) => new Map([["grandstand.yaml", stringify(show)]]);

/** Asserts that a command succeeded, and returns its document. */
function documentOf(outcome: Outcome): {
  readonly data: readonly Row[];
  readonly meta: { readonly unmanaged: number };
} {
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome.json;
}

function assertNoop({ data }: { readonly data: readonly Row[] }, seed: number): void {
  assert.deepEqual(
    data.filter(({ action }) => action !== "noop"),
    [],
    `seed ${seed}`,
  );
}

/** Returns how many changes of a space and its projects are on record. */
async function changesOf(world: CliWorld, rows: readonly Row[]): Promise<readonly unknown[]> {
  const projects = rows.filter(({ kind }) => kind === "project").map(({ id }) => `projects/${id}`);
  const headers = { authorization: `Bearer ${world.token}` };
  const paths = [`spaces/${ids.space}`, ...projects].map(path => `/api/v2/${path}/audit?page%5Bcount%5D=100`);
  return await Promise.all(paths.map(async path => (await world.call(path, { headers })).json.data));
}

describe("random manifests", () => {
  const seedsOfWorld = 20;
  const seedsMax = sampleSize(30, 6);
  for (let first = 1; first <= seedsMax; first += seedsOfWorld) {
    it(`are as they should be once they are applied, from seed ${first}`, async t => {
      const world = await openCliWorld();
      t.after(world.dispose);
      for (let seed = first; seed < first + seedsOfWorld && seed <= seedsMax; seed++) {
        // Every second one replaces another edition of itself.
        const edition = seed % 2;
        if (edition === 1)
          documentOf(await world.cli("apply --yes --json", { files: fileOf(randomShow(seed)) }));
        const files = fileOf(randomShow(seed, edition));
        const { data } = documentOf(await world.cli("apply --yes --json", { files }));
        const before = await changesOf(world, data);
        assertNoop(documentOf(await world.cli("apply --json", { files })), seed);
        assert.deepEqual(await changesOf(world, data), before);
        for (const { id } of data.filter(({ kind }) => kind === "project")) {
          const out = new Map<string, string>();
          documentOf(await world.cli(`export --project ${id} --json`, { files: out }));
          assertNoop(documentOf(await world.cli("plan --json", { files: out })), seed);
        }
      }
    });
  }
});

const strange = [
  ...[
    null,
    [],
    {},
    0,
    -1,
    1e9,
    true,
    "",
    "x".repeat(300),
    [[]],
    [null],
    { key: 1 },
    { lid: "q" },
    { all: 1 },
  ],
  ...[
    "{{",
    "{{}}",
    "{{x}}",
    "{{vars.word}}",
    "{{env.A}}",
    "{{q0}}",
    "a {{q0}}",
    "{{q0.id.name}}",
    "{{toString}}",
  ],
  ...[
    "{{project-0.name}}",
    "{{catalogue.url}}",
    ["{{q0}}"],
    "\u0001q0",
    "constructor",
    "2099-01-01T00:00:00Z",
  ],
];
const members = [
  "__proto",
  "constructor",
  "id",
  "aliases",
  "children",
  "settings_file",
  "services",
  "question",
  "app",
];

type Owner = Record<string, unknown>;

/** Lists every member of a document. */
function membersOf(value: unknown): readonly (readonly [Owner, string])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [[value as Owner, key] as const, ...membersOf(each)]);
}

describe("manifests with strange values", () => {
  it("are refused for what is wrong, or applied", async t => {
    const world = await openCliWorld();
    t.after(world.dispose);
    for (let seed = 1; seed <= sampleSize(100, 20); seed++) {
      const { integer, pick } = createRandom(seed);
      const show = structuredClone(randomShow(1 + integer(6)));
      for (let left = 1 + integer(2); left > 0; left--) {
        const [owner, key] = pick(membersOf(show));
        if (integer(4) === 0) delete owner[key];
        else owner[integer(4) === 0 && !Array.isArray(owner) ? pick(members) : key] = pick(strange);
      }
      const line = integer(3) === 0 ? "apply --yes" : "apply --dry-run";
      const { code, stderr } = await world.cli(line, { files: fileOf(show) });
      assert.ok([0, 2, 7, 8].includes(code), `seed ${seed}: ${code} ${stderr}`);
    }
  });
});

describe("runs of apply that end early", () => {
  for (let seed = 1; seed <= sampleSize(2, 1); seed++) {
    for (const loses of ["request", "answer"] as const) {
      it(`are finished by the next one, seed ${seed}, no ${loses}`, async t => {
        let count = 0;
        for (let isOver = false, after = 0; !isOver; after++) {
          const world = await openCliWorld();
          t.after(world.dispose);
          isOver = true;
          for (const edition of [0, 1]) {
            const files = fileOf(randomShow(seed, edition));
            let sent = 0;
            const fetch = async (request: Request): Promise<Response> => {
              if (sent++ < after) return await world.platform.fetch(request);
              // The line is dead; the first request may have arrived.
              if (loses === "answer" && sent === after + 1) await world.platform.fetch(request);
              throw new TypeError("fetch failed");
            };
            const { code } = await world.cli("apply --yes", { files, fetch });
            isOver &&= code === 0;
            documentOf(await world.cli("apply --yes --json", { files }));
            const { data, meta } = documentOf(await world.cli("plan --json", { files }));
            assertNoop({ data }, seed);
            // Nothing is there twice: beside the manifest there is the project of the test.
            assert.equal(meta.unmanaged, 1);
          }
          count++;
        }
        assert.ok(count > 4);
      });
    }
  }
});
