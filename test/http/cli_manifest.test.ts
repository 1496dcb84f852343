/** Manifests: plan, apply and export. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { catalogueUrl } from "./_apps.ts";
import { type CliWorld, openCliWorld } from "./_cli_examples.ts";

const show = `
version: 1
id: autumn-show
env: [START]
vars: { start: "{{env.START}}", word: wins }
apps: [{ key: show, spec_url: "${catalogueUrl}" }]
projects:
  - key: main
    name: Autumn show
    app: "{{show}}"
    enabled_types: [poll, quiz, group, cta, message]
    settings_file: settings.json
    annotations: { context: Friday show }
    events:
      - key: ep1
        aliases: [pilot]
        name: Episode 1
        start_at: "{{vars.start}}"
        duration: 3600
        settings: { skin: dark }
        elements:
          - { key: q1, type: quiz, name: First, publish: true, data: { question: "Who {{vars.word}}?", options: [Home, Away], fields: { correctAnswer: 2 } } }
          - { key: rail, type: group, children: ["{{q1}}", {{q2}}], data: { fields: { title: Today } } }
          - { key: q2, type: poll, label: "\\\\{{as it is}}", data: { question: "{{q1.name}}", options: [{ text: { en: Yes, es: Sí } }, No] } }
`;

async function openShow(): Promise<CliWorld & { files: Map<string, string> }> {
  const world = await openCliWorld();
  const settings = JSON.stringify([{ key: "skin", values: { all: "dark" } }]);
  return {
    ...world,
    files: new Map([
      ["grandstand.yaml", show],
      ["settings.json", settings],
    ]),
  };
}

const start = { variables: { START: "2099-01-01T20:00:00Z" } };

describe("manifests", () => {
  it("are planned and applied, and what is as it should be is left alone", async t => {
    const { cli, files, dispose } = await openShow();
    t.after(dispose);
    const around = { ...start, files };
    const plan = await cli("plan --json", around);
    assert.equal(plan.code, 0, plan.stderr);
    assert.deepEqual(
      plan.json.data.map((row: { action: string; key: string }) => `${row.action} ${row.key}`),
      ["add show", "add main", "add main/ep1", "add main/ep1/q1", "add main/ep1/rail", "add main/ep1/q2"],
    );
    const applied = await cli("apply --yes --json", around);
    assert.equal(applied.code, 0, applied.stderr);
    console.log(applied.requests);
    const again = await cli("plan", around);
    assert.equal(again.code, 0, again.stderr);
    console.log(again.stdout, again.stderr, again.requests);
    const more = await cli("apply", around);
    assert.equal(more.code, 0, more.stderr);
    console.log(more.stdout, more.stderr, more.requests);
    const project = applied.json.data[1].id;
    const exported = await cli(`export --project ${project} --out out.yaml`, { files });
    assert.equal(exported.code, 0, exported.stderr);
    console.log(files.get("out.yaml"));
    const noop = await cli("plan --file out.yaml --exit-code", { files });
    console.log(noop.stdout, noop.stderr);
  });
});
