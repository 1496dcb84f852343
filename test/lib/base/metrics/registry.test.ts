import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Metrics, metricDefinitions } from "../../../../lib/base/metrics/mod.ts";

const failures = "grandstand_metrics_read_failures_total";

describe("the definitions of metrics", () => {
  it("have names by the conventions of Prometheus: units and totals at the end", () => {
    for (const [name, { kind, labels, help }] of Object.entries(metricDefinitions)) {
      assert.match(name, /^[a-z][a-z0-9_]*$/);
      assert.equal(name.endsWith("_total"), kind === "counter", name);
      assert.equal(kind === "histogram" && !name.endsWith("_seconds"), false, name);
      for (const label of labels) assert.match(label, /^[a-z][a-z_]*$/);
      assert.match(help, /^[A-Z].*\.$/, name);
    }
  });
});

describe("the metrics of a process", () => {
  it("show counters without labels from the beginning, and others once they are counted", async () => {
    const metrics = new Metrics();
    const text = await metrics.render();
    assert.match(text, new RegExp(`# TYPE ${failures} counter\\n${failures} 0\\n`));
    assert.doesNotMatch(text, /rate_limit_decisions/);
  });

  it("escape what a label cannot hold as it is", async () => {
    const metrics = new Metrics();
    const labels = { policy: 'a "quoted\\" one\nof two lines', outcome: "allowed" };
    metrics.counter("grandstand_rate_limit_decisions_total", labels).add(3);
    assert.ok(
      (await metrics.render()).includes(
        'grandstand_rate_limit_decisions_total{policy="a \\"quoted\\\\\\" one\\nof two lines",outcome="allowed"} 3\n',
      ),
    );
  });

  it("are the same for the same labels", async () => {
    const metrics = new Metrics();
    const labels = { policy: "minute", outcome: "refused" };
    metrics.counter("grandstand_rate_limit_decisions_total", { ...labels }).add();
    metrics.counter("grandstand_rate_limit_decisions_total", { ...labels }).add();
    const samples = await metrics.snapshot();
    const name = "grandstand_rate_limit_decisions_total";
    assert.deepEqual(
      samples.filter(sample => sample.name === name),
      [{ name, labels, value: 2 }],
    );
  });
});

describe("figures that are read for a scrape", () => {
  it("are read once for scrapes of the same time, and again after two seconds", async () => {
    let now = 0;
    let reads = 0;
    const metrics = new Metrics({ clock: () => now });
    const end = metrics.beforeScrape(() => metrics.gauge("http_server_active_requests", {}).set(++reads));
    await Promise.all([metrics.render(), metrics.snapshot()]);
    now = 1_999;
    assert.match(await metrics.render(), /^http_server_active_requests 1$/m);
    now = 2_000;
    assert.match(await metrics.render(), /^http_server_active_requests 2$/m);
    end();
    now = 4_000;
    assert.match(await metrics.render(), /^http_server_active_requests 2$/m);
  });

  it("that fail are counted, and leave the others alone", async () => {
    const metrics = new Metrics();
    metrics.beforeScrape(() => Promise.reject(new Error("no connection")));
    metrics.beforeScrape(() => metrics.gauge("http_server_active_requests", {}).set(7));
    const text = await metrics.render();
    assert.match(text, /^http_server_active_requests 7$/m);
    assert.match(text, new RegExp(`^${failures} 1$`, "m"));
  });

  it("that hang hold a scrape up for three seconds and not for longer", async () => {
    let late = (): void => assert.fail("no scrape waits");
    const metrics = new Metrics({
      timer(callback, ms) {
        assert.equal(ms, 3_000);
        late = callback;
        return () => {};
      },
    });
    metrics.beforeScrape(() => new Promise(() => {}));
    const text = metrics.render();
    late();
    assert.match(await text, new RegExp(`^${failures} 0$`, "m"));
  });
});
