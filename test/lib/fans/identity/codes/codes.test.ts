import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { codeAgeMsMax, codeCost, codeTriesMax } from "../../../../../lib/fans/identity/codes/codes.ts";
import type { Store } from "../../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { databases } from "../../../../support/databases.ts";
import { ProbeStore } from "../../../../support/probe_store.ts";
import { describeOnStores } from "../../../../support/stores.ts";
import { type CodesBench, email, openCodes, otherProject, owner, project } from "./_setup.ts";

const codeDigits = 8;

it("codes have the bounds that the documents state", () => {
  assert.deepEqual([codeDigits, codeAgeMsMax, codeTriesMax], [8, 600_000, 5]);
  assert.deepEqual(codeCost, { algorithm: "scrypt", logN: 14, r: 8, p: 1 });
});

describeOnStores("codes by e-mail", open => {
  const opened: Store[] = [];
  after(() => Promise.all(opened.map(store => store[Symbol.asyncDispose]())));

  async function start(): Promise<CodesBench & { readonly time: { advance(ms: number): void } }> {
    const time = createTestClock();
    const store = await open(time.now);
    opened.push(store);
    return { time, ...openCodes(store, time.now) };
  }

  it("have eight digits and are taken once", async () => {
    const { issue, redeem } = await start();
    const code = await issue();
    assert.match(code, /^\d{8}$/);
    assert.equal(await redeem(code), true);
    assert.equal(await redeem(code), false);
  });

  it("belong to one project and one address, in any case of its ASCII letters", async () => {
    const { codes, issue } = await start();
    const code = await issue();
    const attempt = (of: string, address: string): Promise<boolean> =>
      codes.redeem(of, "password", { email: address, holder: owner, code });
    assert.equal(await attempt(otherProject, email), false);
    assert.equal(await attempt(project, "fan2@example.org"), false);
    assert.equal(await attempt(project, "FAN@Example.ORG"), true);
  });

  it("end after ten minutes", async () => {
    const { time, issue, redeem } = await start();
    const first = await issue();
    time.advance(codeAgeMsMax - 1);
    assert.equal(await redeem(first), true);
    const second = await issue();
    time.advance(codeAgeMsMax);
    assert.equal(await redeem(second), false);
  });

  it("keep their end when a try is spent", async () => {
    const { time, issue, redeem, fail } = await start();
    const code = await issue();
    time.advance(codeAgeMsMax - 1);
    await fail();
    time.advance(1);
    assert.equal(await redeem(code), false);
  });

  it("survive four wrong tries and not five", async () => {
    const { issue, redeem, fail } = await start();
    const first = await issue();
    await fail(4);
    assert.equal(await redeem(first), true);
    const second = await issue();
    await fail(5);
    assert.equal(await redeem(second), false);
  });

  it("end with a new one and with a revocation", async () => {
    const { codes, issue, redeem } = await start();
    const first = await issue();
    const second = await issue();
    assert.equal(await redeem(first), first === second);
    await codes.revoke(project, email, "password");
    assert.equal(await redeem(second), false);
    assert.equal(await redeem(await issue()), true);
  });

  it("have five tries for who asked and five for all others together, and new ones with every code", async () => {
    const { issue, redeem, fail } = await start();
    for (let round = 0; round < 5; round++) {
      await issue("a stranger");
      await fail(5, "a stranger");
      await fail(5, "another stranger");
    }
    const code = await issue();
    await fail(5, "a stranger");
    await fail(5, "another stranger");
    assert.equal(await redeem(code, "a third stranger"), false);
    await fail(4);
    assert.equal(await redeem(code), true);
    const next = await issue();
    await fail(5);
    assert.equal(await redeem(next), false);
    await fail(4, "a stranger");
    assert.equal(await redeem(next, "the same person on another network"), true);
  });

  it("are taken as people paste them, and lose no try of theirs", async () => {
    const { issue, redeem } = await start();
    for (const paste of [
      (code: string) => `${code.slice(0, 4)} ${code.slice(4)}`,
      (code: string) => `\u00a0${code}\r\n`,
      (code: string) => `${code.slice(0, 2)}-${code.slice(2)}.`,
      (code: string) => code.replace(/\d/g, digit => String.fromCharCode(0xff10 + Number(digit))),
    ]) {
      assert.equal(await redeem(paste(await issue())), true);
    }
    assert.equal(await redeem(`${await issue()}0`), false);
  });

  it("are taken by exactly one of twenty who have the right one at once", async () => {
    const { hasher, issue, redeem } = await start();
    const code = await issue();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => redeem(code)));
    assert.equal(outcomes.filter(Boolean).length, 1);
    assert.equal(hasher.compared, codeTriesMax);
    assert.equal(await redeem(code), false);
  });

  it("give twenty who try wrong ones at once five tries together", async () => {
    const { hasher, issue, redeem } = await start();
    const code = await issue();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => redeem("wrong")));
    assert.deepEqual(new Set(outcomes), new Set([false]));
    assert.deepEqual([hasher.compared, hasher.pretended], [codeTriesMax, 20 - codeTriesMax]);
    assert.equal(await redeem(code), false);
  });

  it("are not taken when a new one arrives during the comparison", async () => {
    const { hasher, issue, redeem } = await start();
    const old = await issue();
    let fresh = "";
    hasher.beforeVerify = async () => {
      hasher.beforeVerify = async () => {};
      fresh = await issue();
    };
    assert.equal(await redeem(old), false);
    assert.equal(await redeem(fresh), true);
  });

  it("spend their try before the comparison, so that breaking it off gains nothing", async () => {
    const { hasher, issue, redeem } = await start();
    const code = await issue();
    hasher.beforeVerify = () => Promise.reject(new Error("broken off"));
    for (let time = 0; time < codeTriesMax; time++) await assert.rejects(redeem("wrong"), /broken off/);
    hasher.beforeVerify = async () => {};
    assert.equal(await redeem(code), false);
  });
});

for (const { name, skip, handles } of databases) {
  it(`codes by e-mail of two processes on ${name} are taken by exactly one of twenty, and tried five times`, {
    skip,
  }, async () => {
    const time = createTestClock();
    const stores = await handles(2, time.now);
    const [here, there] = stores.map(store => openCodes(store, time.now));
    assert.ok(here !== undefined && there !== undefined);
    const racers = (code: string): Promise<boolean[]> =>
      Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? here : there).redeem(code)));
    const outcomes = await racers(await here.issue());
    assert.equal(outcomes.filter(Boolean).length, 1);
    assert.ok(here.hasher.compared + there.hasher.compared <= codeTriesMax);

    const before = here.hasher.compared + there.hasher.compared;
    await there.issue();
    assert.ok(!(await racers("wrong")).includes(true));
    assert.equal(here.hasher.compared + there.hasher.compared - before, codeTriesMax);
    await Promise.all(stores.map(store => store[Symbol.asyncDispose]()));
  });
}

describe("the answers about codes", () => {
  it("costs one derivation and one read whether there is a code, a spent one or none", async () => {
    const store = new ProbeStore();
    const { hasher, issue, redeem } = openCodes(store, () => 1_750_000_000_000);
    async function cost(): Promise<{ derivations: number; reads: number }> {
      const before = { derivations: hasher.compared + hasher.pretended, reads: store.reads.length };
      assert.equal(await redeem("wrong"), false);
      return {
        derivations: hasher.compared + hasher.pretended - before.derivations,
        reads: store.reads.length - before.reads,
      };
    }
    const expected = { derivations: 1, reads: 1 };
    assert.deepEqual(await cost(), expected);
    await issue();
    for (let time = 0; time < codeTriesMax + 1; time++) assert.deepEqual(await cost(), expected);
  });

  it("makes the same operations for an address without a user", async () => {
    async function operations(address: string): Promise<unknown> {
      const store = new ProbeStore();
      const { codes, hasher } = openCodes(store, () => 1_750_000_000_000);
      await codes.issue(project, "password", { email: address, holder: owner });
      await codes.redeem(project, "password", { email: address, holder: owner, code: "wrong" });
      const writes = store.commits.map(({ writes }) => writes.map(({ type, key }) => [type, key]));
      return { reads: store.reads, writes, hashed: hasher.hashed, compared: hasher.compared };
    }
    assert.deepEqual(await operations("nobody@example.org"), await operations(email));
  });

  it("stores neither the address nor the code", async () => {
    const store = createMemoryStore();
    const seen: string[] = [];
    const spied = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          seen.push(JSON.stringify(args));
          return Reflect.apply(value, target, args);
        };
      },
    });
    const { issue, fail } = openCodes(spied, Date.now);
    const code = await issue();
    await fail();
    assert.ok(seen.length >= 3);
    for (const text of seen) {
      assert.ok(!text.includes(code));
      assert.ok(!text.includes("fan@") && !text.includes("example"));
    }
  });

  it("is a salt of its own for every code", async () => {
    const store = new ProbeStore();
    const { issue } = openCodes(store, () => 1_750_000_000_000);
    await issue();
    await issue();
    const salts = store.commits.map(({ writes: [put] }) =>
      put?.type === "put" ? /"hash":"\$scrypt\$ln=14,r=8,p=1\$([^$]{22})\$/.exec(put.value)?.[1] : undefined,
    );
    assert.equal(salts.length, 2);
    assert.ok(salts[0] !== undefined && salts[0] !== salts[1]);
  });
});
