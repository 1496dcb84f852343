/** Rates and quantiles that the studio computes from two readings of a process. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Comparison, type Reading } from "../../../../lib/pages/studio/page/operations.ts";

const requests = "http_server_request_duration_seconds";

function readingAt(measured_at: number, buckets: number[], failed: number): Reading {
  const labels = { http_request_method: "GET", http_route: "/a", http_response_status_code: "200" };
  const figures = [
    { name: requests, labels, sum: 1, buckets },
    { name: "grandstand_queue_depth", labels: {}, value: 7 },
    { name: "grandstand_log_events_total", labels: { level: "warn", event: "export_failed" }, value: failed },
  ];
  return { measured_at, bucket_bounds: [0.1, 0.2], figures };
}

describe("comparisons of two readings", () => {
  // Between the readings 10 requests took up to 0.1 s and 10 up to 0.2 s.
  const made = new Comparison(readingAt(100, [5, 5, 5], 1), readingAt(110, [15, 25, 25], 3));

  it("count what came between them", () => {
    assert.equal(made.rate(requests), 2);
    assert.equal(
      made.rate(requests, () => false),
      0,
    );
    assert.equal(made.rate("grandstand_log_events_total"), 0.2);
    assert.equal(
      made.total("grandstand_log_events_total", () => true),
      3,
    );
    assert.equal(made.value("grandstand_queue_depth"), 7);
    assert.equal(made.value("v8js_memory_heap_used_bytes"), null);
  });

  it("interpolate quantiles of what came between them", () => {
    assert.equal(made.quantile(requests, 0.5), 0.1);
    assert.ok(Math.abs((made.quantile(requests, 0.75) ?? 0) - 0.15) < 1e-9);
    assert.equal(
      made.quantile(requests, 0.5, () => false),
      null,
    );
    assert.deepEqual(
      made.routes().map(({ name, perSecond }) => [name, perSecond]),
      [["GET /a", 2]],
    );
  });
});
