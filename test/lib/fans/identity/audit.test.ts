import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import {
  Audit,
  auditLogs,
  auditPageDefault,
  projectEntriesMax,
  userEntriesMax,
} from "../../../../lib/fans/identity/audit/audit.ts";
import type { AuditEntry, AuditPageOptions } from "../../../../lib/fans/identity/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { testSecret } from "../../../support/platform.ts";
import { ProbeStore } from "../../../support/probe_store.ts";
import { describeOnDatabases } from "../../../support/stores.ts";
import { keptLog } from "../../http/kit.ts";

const auditAttemptsMax = 3;
const auditBatchMax = 500;
const auditWaitingMax = 10_000;
const refusalKindsMax = 10_000;
const refusalQuietMs = 60_000;

const clock = createTestClock();

function entry(number: number, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    at: clock.now() + number,
    event: "login",
    outcome: "ok",
    provider: "managedPool",
    requestId: `r-${number}`,
    ...more,
  };
}

type Reader = (page: AuditPageOptions) => Promise<{ entries: readonly AuditEntry[]; cursor: string | null }>;

/** Every entry, page by page. */
async function walk(read: Reader, limit: number): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Reader>> = await read(cursor === null ? { limit } : { limit, cursor });
    assert.ok(page.entries.length <= limit);
    assert.ok(page.entries.length > 0 || page.cursor === null);
    found.push(...page.entries);
    cursor = page.cursor;
  } while (cursor !== null);
  return found;
}

/** Records one by one, so that each entry is a batch of its own and the next log's. */
async function recordApart(audit: Audit, projectId: string, entries: readonly AuditEntry[]): Promise<void> {
  for (const one of entries) {
    audit.record(projectId, one);
    await audit.idle();
  }
}

describeOnDatabases("the audit trail", open => {
  async function withTrail(test: (audit: Audit, store: Store) => Promise<void>): Promise<void> {
    const store = await open(clock.now);
    try {
      await test(new Audit(store, testSecret, keptLog()), store);
    } finally {
      await store[Symbol.asyncDispose]();
    }
  }

  it("lists a project's entries newest first over all logs, in pages of any size", () =>
    withTrail(async audit => {
      const entries = Array.from({ length: 3 * auditLogs + 5 }, (_, number) => entry(number));
      await recordApart(audit, "p-1", entries);
      for (const limit of [1, 7, auditLogs, 100]) {
        const found = await walk(page => audit.ofProject("p-1", page), limit);
        assert.deepEqual(found, entries.toReversed());
      }
    }));

  it("neither repeats nor leaves out entries of the same millisecond", () =>
    withTrail(async audit => {
      const at = clock.now();
      const entries = Array.from({ length: 40 }, (_, number) => entry(number, { at }));
      await recordApart(audit, "p-1", entries);
      for (const limit of [1, 3, 17]) {
        const found = await walk(page => audit.ofProject("p-1", page), limit);
        assert.deepEqual(
          found.map(({ requestId }) => requestId).toSorted(),
          entries.map(({ requestId }) => requestId).toSorted(),
        );
      }
    }));

  it("continues after a page although more was recorded meanwhile", () =>
    withTrail(async audit => {
      const entries = Array.from({ length: 10 }, (_, number) => entry(number));
      await recordApart(audit, "p-1", entries);
      const first = await audit.ofProject("p-1", { limit: 4 });
      await recordApart(audit, "p-1", [entry(100), entry(101)]);
      assert.ok(first.cursor !== null);
      const rest = await audit.ofProject("p-1", { limit: 100, cursor: first.cursor });
      assert.deepEqual([...first.entries, ...rest.entries], entries.toReversed());
      assert.equal(rest.cursor, null);
    }));

  it("lists a user's entries and separates users and projects", () =>
    withTrail(async audit => {
      audit.record("p-1", entry(1, { userId: "u-1", outcome: "invalid_credentials" }));
      audit.record("p-1", entry(2, { userId: "u-2" }));
      audit.record("p-2", entry(3, { userId: "u-1" }));
      audit.record("p-1", entry(4));
      await audit.idle();
      const numbers = (page: { readonly entries: readonly AuditEntry[] }): string[] =>
        page.entries.map(({ requestId }) => requestId);
      assert.deepEqual(numbers(await audit.ofUser("p-1", "u-1")), ["r-1"]);
      assert.deepEqual(numbers(await audit.ofUser("p-1", "u-2")), ["r-2"]);
      assert.deepEqual(numbers(await audit.ofUser("p-2", "u-1")), ["r-3"]);
      assert.deepEqual(numbers(await audit.ofProject("p-1")), ["r-4", "r-2", "r-1"]);
      assert.deepEqual(await audit.ofUser("p-1", "nobody"), { entries: [], cursor: null });
    }));

  it("keeps the newest entries of a user up to the bound", () =>
    withTrail(async audit => {
      const entries = Array.from({ length: userEntriesMax + 10 }, (_, number) =>
        entry(number, { userId: "u-1" }),
      );
      for (const one of entries) audit.record("p-1", one);
      await audit.idle();
      const found = await walk(page => audit.ofUser("p-1", "u-1", page), 7);
      assert.deepEqual(found, entries.slice(10).toReversed());
      await recordApart(audit, "p-1", [entry(1_000, { userId: "u-1" })]);
      const [newest, ...others] = (await audit.ofUser("p-1", "u-1", { limit: 100 })).entries;
      assert.equal(newest?.requestId, "r-1000");
      assert.deepEqual(others, entries.slice(11).toReversed());
    }));

  it("has 50 entries in a page by default", () =>
    withTrail(async audit => {
      for (let number = 0; number < auditPageDefault + 1; number++) audit.record("p-1", entry(number));
      await audit.idle();
      assert.equal((await audit.ofProject("p-1")).entries.length, auditPageDefault);
    }));

  it("refuses a cursor that is of no page", () =>
    withTrail(async audit => {
      for (const cursor of ["", "1-1", "1-1.", "0-1.3", "a-b.c", "1-1.3.4", "-1-1.2"]) {
        await assert.rejects(audit.ofProject("p-1", { cursor }), { code: "validation_failed" }, cursor);
      }
    }));
});

describe("the writer of the audit trail", () => {
  it("writes what waits together with one commit per project and user", async () => {
    const store = new ProbeStore(clock.now);
    const audit = new Audit(store, testSecret, keptLog());
    for (let number = 0; number < auditBatchMax; number++)
      audit.record("p-1", entry(number, { userId: "u-1" }));
    await audit.idle();
    assert.equal(store.commits.length, 2);
    assert.equal(store.reads.length, 1);
  });

  it("bounds the logs of a project, and needs none for a user", async () => {
    const store = new ProbeStore(clock.now);
    const audit = new Audit(store, testSecret, keptLog());
    audit.record("p-1", entry(1, { userId: "u-1" }));
    await audit.idle();
    const bounds = store.commits.flatMap(({ writes }) =>
      writes.map(write => (write.type === "append" ? write.maxLength : 0)),
    );
    assert.deepEqual(bounds.toSorted(), [0, projectEntriesMax]);
  });

  it("retries while the store is down, and logs the loss after the last attempt", async () => {
    const store = new ProbeStore(clock.now);
    const log = keptLog();
    const audit = new Audit(store, testSecret, log);
    let failures = 1;
    store.always = (_, pass) => {
      if (failures === 0) return pass();
      failures -= 1;
      return Promise.reject(new AppError("storage_unavailable", "away"));
    };
    audit.record("p-1", entry(1));
    await audit.idle();
    assert.equal((await audit.ofProject("p-1")).entries.length, 1);
    assert.equal(log.lines.length, 0);
    failures = auditAttemptsMax;
    audit.record("p-1", entry(2));
    await audit.idle();
    assert.equal((await audit.ofProject("p-1")).entries.length, 1);
    assert.deepEqual(
      log.lines.map(({ event, fields }) => [event, fields?.count]),
      [["audit_entries_lost", 1]],
    );
  });

  it("does not write twice what may have been written", async () => {
    const store = new ProbeStore(clock.now);
    const audit = new Audit(store, testSecret, keptLog());
    store.interceptions.push(async (_, pass) => {
      await pass();
      throw new AppError("outcome_unknown", "no answer");
    });
    audit.record("p-1", entry(1));
    await audit.idle();
    assert.equal((await audit.ofProject("p-1")).entries.length, 1);
  });

  it("lets no more wait than its bound, and counts what it lost", async () => {
    const store = new ProbeStore(clock.now);
    const log = keptLog();
    const audit = new Audit(store, testSecret, log);
    for (let number = 0; number < auditWaitingMax + 3; number++) audit.record("p-1", entry(number));
    await audit.idle();
    assert.deepEqual(
      log.lines.map(({ fields }) => fields?.count),
      [3],
    );
  });

  it("records what a limit refused once a minute, for each network and user", async () => {
    const audit = new Audit(new ProbeStore(clock.now), testSecret, keptLog());
    const refused = (at: number, more: Partial<AuditEntry> = {}): AuditEntry =>
      entry(at, { outcome: "too_many_attempts", addressTag: "192.0.2.0/24", ...more });
    for (let number = 0; number < 100; number++) audit.record("p-1", refused(number));
    audit.record("p-1", refused(refusalQuietMs - 1));
    audit.record("p-1", refused(refusalQuietMs));
    audit.record("p-1", refused(refusalQuietMs, { addressTag: "198.51.100.0/24" }));
    audit.record("p-1", refused(refusalQuietMs, { event: "confirm" }));
    audit.record("p-1", refused(refusalQuietMs, { userId: "u-1" }));
    audit.record("p-1", refused(refusalQuietMs, { outcome: "invalid_credentials" }));
    audit.record("p-1", refused(refusalQuietMs, { outcome: "invalid_credentials" }));
    await audit.idle();
    assert.equal((await audit.ofProject("p-1")).entries.length, 7);
  });

  it("remembers a bounded number of refusals, and forgets the oldest first", async () => {
    const audit = new Audit(new ProbeStore(clock.now), testSecret, keptLog());
    const refused = (number: number): AuditEntry =>
      entry(0, { outcome: "rate_limited", addressTag: `network ${number}` });
    for (let number = 0; number <= refusalKindsMax; number++) {
      audit.record("p-1", refused(number));
      if (number % 1_000 === 0) await audit.idle();
    }
    await audit.idle();
    const before = (await walk(page => audit.ofProject("p-1", page), 100)).length;
    audit.record("p-1", refused(refusalKindsMax));
    audit.record("p-1", refused(0));
    await audit.idle();
    assert.equal((await walk(page => audit.ofProject("p-1", page), 100)).length, before + 1);
  });

  it("is done with what was recorded so far though more and more is", async () => {
    const store = new ProbeStore(clock.now);
    const audit = new Audit(store, testSecret, keptLog());
    let number = 0;
    let isSteady = true;
    store.always = async (_, pass) => {
      if (isSteady) audit.record("p-1", entry(++number));
      return await pass();
    };
    audit.record("p-1", entry(0));
    await audit.idle();
    const written = (await audit.ofProject("p-1", { limit: 100 })).entries;
    assert.ok(written.some(({ requestId }) => requestId === "r-0"));
    isSteady = false;
    await audit.idle();
    assert.equal((await walk(page => audit.ofProject("p-1", page), 100)).length, number + 1);
  });

  it("keeps what is of the project alone from the user's trail", async () => {
    const store = new ProbeStore(clock.now);
    const audit = new Audit(store, testSecret, keptLog());
    audit.record("p-1", entry(1, { userId: "u-1" }), { isProjectOnly: true });
    await audit.idle();
    assert.equal((await audit.ofUser("p-1", "u-1")).entries.length, 0);
    assert.equal((await audit.ofProject("p-1")).entries.length, 1);
  });
});

describe("the tags of a client", () => {
  const audit = new Audit(createMemoryStore(), testSecret, keptLog());
  const tagClient = audit.tagsOf.bind(audit);
  const request = (userAgent?: string): Request =>
    new Request(
      "http://club.example/",
      userAgent === undefined ? {} : { headers: { "user-agent": userAgent } },
    );

  it("distinguish networks and user agents without revealing them", () => {
    const tags = tagClient(request("Mozilla/5.0 (X11)"), { address: "203.0.113.77" });
    assert.equal(tags.addressTag, "203.0.113.0/24");
    assert.match(tags.userAgentTag ?? "", /^[A-Za-z0-9_-]{12}$/);
    assert.deepEqual(tagClient(request("Mozilla/5.0 (X11)"), { address: "203.0.113.78" }), tags);
    assert.notEqual(tagClient(request("curl/8"), {}).userAgentTag, tags.userAgentTag);
    assert.equal(tagClient(request(), { address: "2001:db8:1:2::9" }).addressTag, "2001:db8:1:2::/64");
  });

  it("are omitted for an unknown client", () => {
    assert.deepEqual(tagClient(request(), {}), {});
    assert.deepEqual(tagClient(request(), { address: "unix" }), {});
  });
});
