/** Every bound that a module exports is named by a test, which shows what it promises. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { files, sources, textOf, withoutComments } from "./files.ts";

// Why no test names a bound.
const memory = "saves work alone: what a process has forgotten it reads or works out again, to the same end";
const pace = "decides how soon or by which way something is done, and never what comes of it";
const reach = "is reached by more processes or longer work than a test has";

const untested: Readonly<Record<string, string>> = {
  "adapters/geo/database.ts cachedPartsMax": memory,
  "adapters/redis/bounds.ts blobAttemptsMax": reach,
  "adapters/redis/bounds.ts blobChunksInFlightMax": pace,
  "adapters/redis/bounds.ts scanKeysMax": pace,
  "lib/audience/search/judge.ts sparseRatioMin": pace,
  "lib/audience/search/plan.ts rangeAdvantageMin": pace,
  "lib/auth/passwords/portable_kernels.ts sliceMsMax": pace,
  "lib/exports/file/noble_primitives.ts sliceMsMax": pace,
  "lib/exports/jobs/turns.ts sliceMsMax": pace,
  "lib/identity/sessions/create_sessions.ts authenticatedMax": memory,
  "lib/leaderboards/scores/feed_targets.ts fedTargetsMax": memory,
  "lib/loyalty/engine/replay.ts replayedInstantsMax": reach,
  "lib/loyalty/loyalty.ts parsedStatesMax": memory,
};

const isTest = (file: string): boolean => /^(test\/(?!repo\/)|adapters\/conformance\/).*\.ts$/.test(file);
const names = new Set(
  files.filter(isTest).flatMap(file => withoutComments(textOf(file)).match(/\b[a-z]\w*(?:Max|Min)\b/g) ?? []),
);
const bounds = sources
  .filter(file => !isTest(file))
  .flatMap(file =>
    [...textOf(file).matchAll(/^export const (\w+(?:Max|Min))\b/gm)].map(([, name = ""]) => ({ file, name })),
  );

describe("the bounds that modules export", () => {
  it("are named by a test each, but for those that are listed with a reason", () => {
    const missing = bounds.filter(({ name }) => !names.has(name)).map(({ file, name }) => `${file} ${name}`);
    assert.deepEqual(missing.toSorted(), Object.keys(untested).toSorted());
  });

  it("are more than a few, so that the pattern that finds them still does", () => {
    assert.ok(bounds.length > 300, `${bounds.length} bounds`);
  });
});
