/** Random manifests: what is applied is as planned, whatever happens in between. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stringify } from "yaml";
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

function assertNoop({ data }: { readonly data: readonly Row[] }): void {
  assert.deepEqual(
    data.filter(({ action }) => action !== "noop"),
    [],
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
  for (let seed = 1; seed <= sampleSize(200, 12); seed++) {
    it(`are as they should be once they are applied, seed ${seed}`, async t => {
      const world = await openCliWorld();
      t.after(world.dispose);
      for (const edition of [0, 1]) {
        const files = fileOf(randomShow(seed, edition));
        const { data } = documentOf(await world.cli("apply --yes --json", { files }));
        assertNoop(documentOf(await world.cli("plan --json", { files })));
        const before = await changesOf(world, data);
        documentOf(await world.cli("apply --json", { files }));
        assert.deepEqual(await changesOf(world, data), before);
        for (const { id } of data.filter(({ kind }) => kind === "project")) {
          const out = new Map<string, string>();
          documentOf(await world.cli(`export --project ${id} --json`, { files: out }));
          assertNoop(documentOf(await world.cli("plan --json", { files: out })));
        }
      }
    });
  }
});

describe("runs of apply that end early", () => {
  for (let seed = 1; seed <= sampleSize(20, 3); seed++) {
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
            assertNoop({ data });
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
