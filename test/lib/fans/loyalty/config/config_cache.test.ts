import assert from "node:assert/strict";
import { it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { createDirectory } from "../../../../../lib/fans/directory/directory.ts";
import { createLoyaltyVersions } from "../../../../../lib/fans/directory/loyalty_versions.ts";
import { createConfigCache } from "../../../../../lib/fans/loyalty/config/config_cache.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { ids } from "../../../../support/platform.ts";
import { describeOnStores } from "../../../../support/stores.ts";
import { keptLog } from "../../../http/kit.ts";

const valid = (id: string): unknown => ({ metrics: [{ id, title: "Metric" }] });
const invalid = { metrics: "what an earlier release accepted" };

describeOnStores("the configuration in force", open => {
  async function opened(t: { after(close: () => unknown): void }) {
    const clock = createTestClock();
    let listed = 0;
    const store = await open(clock.now);
    t.after(() => store[Symbol.asyncDispose]());
    const versions = createLoyaltyVersions({ store, clock: clock.now });
    const logger = keptLog();
    const counted = {
      get: versions.get,
      list: (spaceId: string) => {
        listed++;
        return versions.list(spaceId);
      },
    };
    const directory = createDirectory({ store, clock: clock.now });
    const configs = createConfigCache({ directory, versions: counted, logger });
    const put = (document: unknown) => versions.put(ids.space, { document, by: "file" });
    const metricIds = async (): Promise<string[]> => {
      clock.advance(1_000);
      return (await configs(ids.space)).config.metrics.map(({ id }) => id);
    };
    return { put, metricIds, configs, logger, listed: () => listed };
  }

  it("is empty in a space without one", async t => {
    const { metricIds } = await opened(t);
    assert.deepEqual(await metricIds(), []);
  });

  it("is compiled once per version", async t => {
    const { put, metricIds, configs } = await opened(t);
    await put(valid("a"));
    await metricIds();
    const first = await configs(ids.space);
    await metricIds();
    assert.equal(await configs(ids.space), first);
    await put(valid("b"));
    assert.deepEqual(await metricIds(), ["b"]);
  });

  it("is the newest earlier version that compiles while the stored one does not, and the log says so", async t => {
    const { put, metricIds, logger, listed } = await opened(t);
    for (const document of [valid("a"), valid("b"), { ...invalid, rules: [] }, invalid]) await put(document);
    assert.deepEqual(await metricIds(), ["b"]);
    assert.deepEqual(await metricIds(), ["b"]);
    assert.equal(listed(), 1);
    const [failed, replaced, ...others] = logger.lines;
    assert.deepEqual([failed?.level, failed?.event], ["error", "loyalty_config_invalid"]);
    assert.deepEqual([failed?.fields.spaceId, failed?.fields.version], [ids.space, "4"]);
    assert.match(String(failed?.fields.faults), /^\/metrics: /);
    assert.deepEqual([replaced?.event, replaced?.fields.version], ["loyalty_config_replaced", "2"]);
    assert.deepEqual(others, []);
    await put(valid("c"));
    assert.deepEqual(await metricIds(), ["c"]);
  });

  it("fails with internal_error where no stored version compiles", async t => {
    const { put, metricIds, listed } = await opened(t);
    await put(invalid);
    for (let attempts = 0; attempts < 2; attempts++) {
      await assert.rejects(metricIds(), { name: "AppError", code: "internal_error" });
    }
    assert.equal(listed(), 1);
  });

  it("is looked up again after the earlier versions could not be read", async t => {
    const clock = createTestClock();
    const store = await open(clock.now);
    t.after(() => store[Symbol.asyncDispose]());
    const versions = createLoyaltyVersions({ store, clock: clock.now });
    await versions.put(ids.space, { document: valid("a"), by: "file" });
    await versions.put(ids.space, { document: invalid, by: "file" });
    let isDown = true;
    const list: typeof versions.list = spaceId =>
      isDown ? Promise.reject(new AppError("storage_unavailable", "Down")) : versions.list(spaceId);
    const directory = createDirectory({ store, clock: clock.now });
    const configs = createConfigCache({
      directory,
      versions: { get: versions.get, list },
      logger: keptLog(),
    });
    await assert.rejects(async () => configs(ids.space), { code: "storage_unavailable" });
    isDown = false;
    assert.equal((await configs(ids.space)).config.metrics.length, 1);
  });

  it("logs at most ten errors of a document", async t => {
    const { put, metricIds, logger } = await opened(t);
    await put(valid("a"));
    await put({ metrics: Array.from({ length: 11 }, () => 5) });
    await metricIds();
    assert.equal(String(logger.lines[0]?.fields.faults).split("; ").length, 10);
  });
});
