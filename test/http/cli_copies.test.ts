/** Copies of shows by the command line name each other, as the copies of the control API do. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ids } from "../support/platform.ts";
import { catalogueUrl } from "./_apps.ts";
import { openCliWorld } from "./_cli_examples.ts";
import { describeOnStores, openShow } from "./_cli_show.ts";
import { to } from "./_control_examples.ts";

describeOnStores("copies of elements by the command line", open => {
  it("map ids wherever elements have them, whatever copies them", async t => {
    const show = await openShow(t, open);
    // Elements of a project without an app may have any fields.
    const inProject = { project: to("projects", ids.project) };
    const event = () => show.create("events", { name: "Show" }, inProject);
    const values: Record<string, string> = { EVENT: await event() };
    const [first = "", second = ""] = await show.apply(
      values.EVENT ?? "",
      "[{ type: message, name: first, fields: { body: x } }, { type: message, name: '{second}', fields: { body: x } }]",
    );
    /** Each mentions the other, itself and the event: alone, in a text, behind a backslash and by name. */
    const attributesFor = (event: string, one: string, other: string) => ({
      label: `of ${event}`,
      annotations: { context: `beside ${other}` },
      custom_fields: [
        { key: "body", values: { all: `{{${one}}} \\${one}, {${other}} of ${event}, {{name}}` } },
        { key: "prompt", values: { all: { next: other, points: { [one]: 1, [`x ${other}`]: 2 } } } },
      ],
    });
    for (const [one, other] of [
      [first, second],
      [second, first],
    ] as const)
      await show.patch("elements", one, attributesFor(values.EVENT ?? "", one, other));
    const assertMapped = async (event: string) => {
      const { data } = (await show.call(`/events/${event}/elements?sort=position`)).json;
      const [one, other] = data.map(({ id }: { id: string }) => id);
      for (const { id, attributes } of data) {
        const wanted = attributesFor(event, id, id === one ? other : one);
        const { label, annotations, custom_fields } = attributes;
        assert.deepEqual({ label, annotations, custom_fields }, wanted);
      }
    };
    for (const copy of ["clone-from", "export", "clone"]) {
      values.OTHER = copy === "clone" ? (await show.data("events clone $EVENT", values)).id : await event();
      if (copy === "clone-from")
        await show.data("elements clone-from --src-event $EVENT --dst-event $OTHER", values);
      if (copy === "export") {
        await show.data("elements export --event $EVENT --out copy.yaml --force", values);
        await show.data("elements apply --event $OTHER --file copy.yaml", values);
      }
      await assertMapped(values.OTHER ?? "");
    }
  });
});

const manifest = `
version: 1
id: autumn-show
apps: [{ key: show, spec_url: "${catalogueUrl}" }]
projects:
  - key: main
    name: Autumn show
    app: "{{show}}"
    events:
      - key: ep1
        name: Episode 1
        settings: { skin: "{{q1}}", rail: { order: ["of {{ep1}}"], points: { "{{q2}}": 3 } } }
        elements:
          - { key: q1, type: poll, data: { question: Who wins?, options: [Home, Away] } }
          - { key: q2, type: poll, data: { question: Who loses?, options: [Home, Away] } }
      - key: ep2
        name: Episode 2
        elements:
          - { key: a, type: ask, data: { fields: { prompt: "first {{a}} of {{ep2}}, then {{b}}" } } }
          - { key: b, type: ask, data: { fields: { prompt: "{{a}}" } } }
`;

interface Row {
  readonly key: string;
  readonly id: string;
  readonly action: string;
}

describe("copies of shows by manifests", () => {
  it("name entities wherever ids stand, so that another show has its own", async t => {
    const world = await openCliWorld();
    t.after(world.dispose);
    const files = new Map([["grandstand.yaml", manifest]]);
    const variables = { GRANDSTAND_CONTROL_URL: "http://127.0.0.1:8787" };
    const run = async (line: string) => {
      const outcome = await world.cli(line, { files, variables });
      assert.equal(outcome.code, 0, outcome.stderr);
      return outcome.json?.data;
    };
    const attributesOf = async (path: string) => {
      const headers = { authorization: `Bearer ${world.token}` };
      return (await world.call(`/api/v2/${path}`, { headers })).json.data.attributes;
    };
    const rows: readonly Row[] = await run("apply --yes --json");
    const plan: readonly Row[] = await run("plan --json");
    assert.deepEqual([...new Set(plan.map(({ action }) => action))], ["noop"]);
    const settingsFor = (key: (name: string) => string) => [
      { key: "skin", values: { all: key("q1") } },
      { key: "rail", values: { all: { order: [`of ${key("")}`], points: { [key("q2")]: 3 } } } },
    ];
    const idOf = (made: readonly Row[], path: string) => made.find(({ key }) => key === path)?.id ?? "";
    const assertMapped = async (made: readonly Row[]) => {
      const idIn = (event: string) => (name: string) =>
        idOf(made, ["main", event, name].filter(each => each !== "").join("/"));
      const [first, second] = [idIn("ep1"), idIn("ep2")];
      assert.deepEqual((await attributesOf(`events/${first("")}`)).settings, settingsFor(first));
      const { custom_fields } = await attributesOf(`elements/${second("a")}`);
      const prompt = `first ${second("a")} of ${second("")}, then ${second("b")}`;
      assert.deepEqual(custom_fields, [{ key: "prompt", values: { all: prompt } }]);
    };
    await assertMapped(rows);
    await run(`export --project ${idOf(rows, "main")} --out copy.yaml --json`);
    const text = String(files.get("copy.yaml"));
    const others = text.replace("id: autumn-show", "id: spring-show").replace(/^ +id: .*\n/gm, "");
    files.set("copy.yaml", others);
    const copied: readonly Row[] = await run("apply --file copy.yaml --yes --json");
    assert.notEqual(idOf(copied, "main/ep1/q1"), idOf(rows, "main/ep1/q1"));
    await assertMapped(copied);
  });
});
