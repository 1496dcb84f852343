/** What a process remembers of public profiles is bounded: who was asked for longest ago is read once more. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import {
  createPublicProfiles,
  publicProfileProjectsMax,
  publicProfilesMax,
} from "../../../lib/identity/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { WatchedStore } from "../../support/watched_store.ts";

describe("the public profiles that a process remembers", () => {
  const clock = createTestClock();
  const opened = (): WatchedStore => new WatchedStore(createMemoryStore({ clock: clock.now }));

  it(`are ${publicProfilesMax} of a project`, async () => {
    const store = opened();
    const profiles = createPublicProfiles({ store, clock: clock.now });
    for (let n = 0; n < publicProfilesMax; n++) await profiles("p", [`u${n}`]);
    assert.ok(!(profiles("p", ["u0"]) instanceof Promise));
    await profiles("p", ["one more"]);
    assert.ok(profiles("p", ["u0"]) instanceof Promise);
    assert.equal(store.reads.length, publicProfilesMax + 2);
  });

  it(`are those of ${publicProfileProjectsMax} projects`, async () => {
    const store = opened();
    const profiles = createPublicProfiles({ store, clock: clock.now });
    for (let n = 0; n < publicProfileProjectsMax; n++) await profiles(`p${n}`, ["u"]);
    assert.ok(!(profiles("p0", ["u"]) instanceof Promise));
    await profiles("one more", ["u"]);
    assert.ok(profiles("p0", ["u"]) instanceof Promise);
    assert.equal(store.reads.length, publicProfileProjectsMax + 2);
  });
});
