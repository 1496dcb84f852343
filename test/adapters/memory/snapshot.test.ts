/** The frames in which the memory store describes itself to a journal. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { frameCharsMax } from "../../../adapters/memory/frames.ts";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { HeldJournal } from "./held_journal.ts";

describe("a description of the state", () => {
  it(`comes in frames of about ${frameCharsMax} characters, so that none holds up requests`, async () => {
    const clock = createTestClock();
    const journal = new HeldJournal();
    await using store = createMemoryStore({ clock: clock.now, journal });
    const valueChars = 1_000;
    const value = "v".repeat(valueChars);
    const writes = Array.from({ length: 400 }, (_, n) => ({ type: "put", key: `k${n}`, value }) as const);
    const done = store.commit("p", { writes });
    await store.ping();
    journal.keep();
    await done;
    const frames: string[] = [];
    const snapshot = journal.snapshot();
    for (let step = snapshot.next(); !step.done; step = snapshot.next()) frames.push(step.value);
    const sizes = frames.map(({ length }) => length);
    assert.ok(Math.max(...sizes) < frameCharsMax + 2 * valueChars);
    const expected = Math.ceil((writes.length * valueChars) / frameCharsMax);
    assert.ok(frames.length >= expected && frames.length <= expected + 2, `${frames.length} frames`);
  });
});
