/** The dashboard and the alert rules name metrics and labels that exist, in valid PromQL. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";
import { type MetricDefinition, metricDefinitions } from "../../../../lib/base/metrics/mod.ts";

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly action: string; readonly runbook: string };
}

const folder = "runtime/operations";
const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
  readFileSync(`${folder}/grafana.json`, "utf8"),
);
const alerts: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
  readFileSync(`${folder}/alerts.yaml`, "utf8"),
);
const rules = alerts.groups.flatMap(group => group.rules);
const expressions = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ place: title, text: expr.replaceAll("$__rate_interval", "5m") })),
  ),
  ...rules.map(({ alert, expr }) => ({ place: alert, text: expr })),
];
/** Added by Prometheus itself. */
const scraped: Readonly<Record<string, MetricDefinition>> = {
  up: { kind: "gauge", labels: [], help: "" },
};
const scrapedLabels = ["job", "instance"];

/** Returns the metrics of an expression and the names of all its labels. */
function namesOf(text: string): { metrics: string[]; labels: string[]; isValid: boolean } {
  const metrics: string[] = [];
  const labels: string[] = [];
  let isValid = true;
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) isValid = false;
      const name = text.slice(node.from, node.to);
      if (node.name === "Identifier") metrics.push(name);
      if (node.name === "LabelName") labels.push(name);
    },
  });
  return { metrics, labels, isValid };
}

function definitionOf(name: string): MetricDefinition | undefined {
  const definitions: Readonly<Record<string, MetricDefinition>> = { ...metricDefinitions, ...scraped };
  const base = name.replace(/_(bucket|count|sum)$/, "");
  return definitions[name] ?? (definitions[base]?.kind === "histogram" ? definitions[base] : undefined);
}

describe("dashboard and alert rules", () => {
  it("are many, and valid PromQL", () => {
    assert.ok(dashboard.panels.length > 20 && rules.length > 10);
    for (const { place, text } of expressions) {
      const { metrics, isValid } = namesOf(text);
      assert.ok(isValid, `${place}: ${text}`);
      assert.ok(metrics.length > 0, place);
    }
  });

  it("name only metrics that exist, with their labels", () => {
    for (const { place, text } of expressions) {
      const { metrics, labels } = namesOf(text);
      const definitions = metrics.map(name => definitionOf(name) ?? assert.fail(`${place}: ${name}`));
      const possible = new Set([...scrapedLabels, ...definitions.flatMap(definition => definition.labels)]);
      if (metrics.some(name => name.endsWith("_bucket"))) possible.add("le");
      for (const label of labels) assert.ok(possible.has(label), `${place}: ${label}`);
    }
  });

  it("take note of the first of an event, whose series has not increased yet", () => {
    for (const { alert, expr } of rules) {
      for (const [, name = ""] of expr.matchAll(/increase\((\w+)/g)) {
        const isThereBefore = definitionOf(name)?.labels.length === 0;
        assert.ok(
          isThereBefore || /increase\([^)]*\) > 0\s+or \(\s*\w+\{.*\}\s+unless .* offset/s.test(expr),
          alert,
        );
      }
    }
  });

  it("leave out no metric", () => {
    const shown = new Set(expressions.flatMap(({ text }) => namesOf(text).metrics.map(definitionOf)));
    for (const [name, definition] of Object.entries(metricDefinitions))
      assert.ok(shown.has(definition), name);
  });

  it("lead from an alert to a section of the guide", () => {
    const guide = readFileSync("runtime/README.md", "utf8");
    for (const { alert, labels, annotations } of rules) {
      assert.match(labels.severity, /^(page|ticket)$/, alert);
      assert.ok(annotations.summary !== "" && annotations.action !== "", alert);
      assert.match(guide, new RegExp(`^###? ${annotations.runbook}$`, "m"), alert);
    }
  });
});
