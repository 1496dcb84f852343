import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryLimiter, limiterSubjectsMax } from "../../../adapters/memory/limiter.ts";
import { createTestClock } from "../../support/clock.ts";

const two = { name: "two", limit: 2, windowMs: 1_000 };

async function allowed(
  limiter: ReturnType<typeof createMemoryLimiter>,
  subject: string,
  rule = two,
): Promise<boolean> {
  const [verdict] = await limiter.take(subject, [rule]);
  assert.ok(verdict);
  return verdict.allowed;
}

describe("the memory limiter", () => {
  it("forgets the subject unused for longest when it is full", async () => {
    const clock = createTestClock();
    const limiter = createMemoryLimiter({ clock: clock.now, subjectsMax: 3 });
    for (const subject of ["a", "b", "c", "a", "d"]) await allowed(limiter, subject);
    const [b] = await limiter.take("b", [two]);
    assert.equal(b?.remaining, 1, "b was forgotten");
    const [a] = await limiter.take("a", [two]);
    assert.equal(a?.allowed, false, "a was used again, so c and d had to go first");
  });

  it(`remembers ${limiterSubjectsMax} subjects by default`, async () => {
    const clock = createTestClock();
    const limiter = createMemoryLimiter({ clock: clock.now });
    for (let subject = 0; subject < limiterSubjectsMax; subject++) await limiter.take(`${subject}`, [two]);
    const [kept] = await limiter.take("0", [two]);
    assert.equal(kept?.remaining, 0);
    await limiter.take("one more", [two]);
    const [forgotten] = await limiter.take("1", [two]);
    assert.equal(forgotten?.remaining, 1);
  });

  it("keeps a blocked subject through a flood of new ones", async () => {
    const clock = createTestClock();
    const limiter = createMemoryLimiter({ clock: clock.now, subjectsMax: 100 });
    for (let take = 0; take < 2; take++) assert.equal(await allowed(limiter, "attacker"), true);
    for (let subject = 0; subject < 10_000; subject++)
      assert.equal(await allowed(limiter, `flood ${subject}`), true);
    assert.equal(await allowed(limiter, "attacker"), false);
  });

  it("forgets a blocked subject only when every other is blocked too", async () => {
    const clock = createTestClock();
    const limiter = createMemoryLimiter({ clock: clock.now, subjectsMax: 3 });
    for (const subject of ["a", "a", "b", "b", "c", "c"]) assert.equal(await allowed(limiter, subject), true);
    assert.equal(await allowed(limiter, "d"), true);
    assert.equal(await allowed(limiter, "b"), false);
    assert.equal(await allowed(limiter, "c"), false);
    assert.equal(await allowed(limiter, "a"), true, "a was blocked first, so a was forgotten");
  });

  it("forgets one that was blocked and is no more before one that still owes", async () => {
    const clock = createTestClock();
    const limiter = createMemoryLimiter({ clock: clock.now, subjectsMax: 2 });
    await limiter.take("was blocked", [two], 2);
    clock.advance(900);
    await limiter.take("owes", [two]);
    clock.advance(110);
    await limiter.take("new", [two]);
    const [owes] = await limiter.take("owes", [two]);
    assert.equal(owes?.remaining, 0);
  });

  it("gives nothing back when its clock goes back", async () => {
    let now = 1_000_000;
    const limiter = createMemoryLimiter({ clock: () => now });
    await limiter.take("a", [two], 2);
    now -= 10_000;
    assert.equal(await allowed(limiter, "a"), false);
    now += 11_009;
    assert.equal(await allowed(limiter, "a"), false, "1,009 ms after the first");
    now += 1;
    assert.equal(await allowed(limiter, "a"), true, "1,010 ms after the first");
  });

  it("survives rules that come and go while it is full", async () => {
    const clock = createTestClock();
    const limiter = createMemoryLimiter({ clock: clock.now, subjectsMax: 1 });
    for (let round = 0; round < 50; round++) {
      const rule = { name: `rule ${round % 3}`, limit: 1, windowMs: 1_000 };
      assert.equal(await allowed(limiter, "a", rule), true, `round ${round}`);
      assert.equal(await allowed(limiter, "a", rule), false, `round ${round}, again`);
    }
  });

  it("refuses misuse by a subject that it knows", async () => {
    const limiter = createMemoryLimiter({ clock: createTestClock().now });
    await limiter.take("a", [two]);
    for (const cost of [0, -1, 0.5, 3, Number.NaN]) {
      assert.throws(() => limiter.take("a", [two], cost), RangeError, `cost ${cost}`);
    }
    assert.throws(() => limiter.take("a", [{ ...two, limit: 0 }]), RangeError);
    const [verdict] = await limiter.take("a", [two]);
    assert.equal(verdict?.remaining, 0, "one unit was spent before, and one now");
  });
});
