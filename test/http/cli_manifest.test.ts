/** Manifests: plan, apply and export. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { parse } from "yaml";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import type { PlatformOptions } from "../../lib/mod.ts";
import { ids } from "../support/platform.ts";
import type { Outcome, Surroundings } from "../support/terminal.ts";
import { AppServer, catalogueUrl } from "./_apps.ts";
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
    enabled_types: [poll, quiz, group, ask]
    settings_file: settings.json
    annotations: { context: Friday show }
    events:
      - key: ep1
        name: Episode 1
        duration: 3600
        settings: { skin: dark }
        elements:
          - { key: q1, type: quiz, name: First, publish: true, data: { question: "Who {{vars.word}}?", options: [Home, Away], fields: { correctAnswer: 2 } } }
          - { key: rail, type: group, publish: true, children: ["{{q1}}", {{q2}}], data: { fields: { title: Today } } }
          - { key: q2, type: poll, publish: true, label: "{{q1.name}}", data: { question: Who loses?, options: [{ text: { en: Yes, es: Sí } }, No] } }
      - key: ep2
        name: Episode 2
        start_at: "{{vars.start}}"
        elements:
          - { key: a, type: ask, data: { fields: { prompt: "{{b}}" } } }
          - { key: b, type: ask, data: { fields: { prompt: "{{a}}" } } }
`;

interface Stage extends CliWorld {
  readonly files: Map<string, string>;
  /** Runs a command beside the manifest, and expects success. */
  readonly run: (line: string, around?: Surroundings) => Promise<Outcome>;
  /** Runs a command that is refused with this code. */
  readonly refused: (line: string, code: number, around?: Surroundings) => Promise<string>;
  /** Replaces a part of the manifest. */
  readonly edit: (from: string, to: string) => void;
}

const variables = {
  START: "2099-01-01T20:00:00Z",
  // Links to further pages begin with the public address.
  GRANDSTAND_CONTROL_URL: "http://127.0.0.1:8787",
};

async function openStage(t: TestContext, options: Partial<PlatformOptions> = {}): Promise<Stage> {
  const world = await openCliWorld(options);
  t.after(world.dispose);
  const settings = JSON.stringify([{ key: "skin", values: { all: "dark" } }]);
  const files = new Map([
    ["grandstand.yaml", show],
    ["settings.json", settings],
  ]);
  const cli = (line: string, around: Surroundings = {}) =>
    world.cli(line, { files, ...around, variables: { ...variables, ...around.variables } });
  return {
    ...world,
    files,
    async run(line, around) {
      const outcome = await cli(line, around);
      assert.equal(outcome.code, 0, outcome.stderr);
      return outcome;
    },
    async refused(line, code, around) {
      const outcome = await cli(line, around);
      assert.equal(outcome.code, code, `${line}: ${outcome.stdout}${outcome.stderr}`);
      assert.equal(outcome.stdout, "");
      return outcome.stderr;
    },
    edit(from, to) {
      const text = files.get("grandstand.yaml") ?? "";
      assert.ok(text.includes(from), from);
      files.set("grandstand.yaml", text.replace(from, to));
    },
  };
}

interface Row {
  readonly action: string;
  readonly key: string;
  readonly id: string;
  readonly fields: readonly string[];
  readonly notes: readonly string[];
}

/** Lists what a plan would do, as `action key field,field`. */
function todo({ json }: Outcome): readonly string[] {
  return (json.data as readonly Row[])
    .filter(({ action }) => action !== "noop")
    .map(({ action, key, fields }) => `${action} ${key} ${fields.join()}`.trim());
}

function rowOf({ json }: Outcome, key: string): Row {
  const row = (json.data as readonly Row[]).find(each => each.key === key);
  assert.ok(row !== undefined, key);
  return row;
}

async function attributesOf({ call, token }: CliWorld, path: string) {
  const answer = await call(`/api/v2/${path}`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data.attributes;
}

async function change(
  { call, token }: CliWorld,
  type: string,
  id: string,
  attributes: object,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const body = { data: { type, id, attributes } };
  const answer = await call(`/api/v2/${type}/${id}`, { method: "PATCH", headers, body });
  assert.ok(answer.status < 300, answer.text);
}

describe("manifests", () => {
  it("make a whole show, wait for its event, and leave alone what is as it should be", async t => {
    const stage = await openStage(t);
    const plan = await stage.run("plan --json");
    assert.equal(todo(plan).length, 9);
    assert.deepEqual(plan.json.meta, { add: 9, update: 0, noop: 0, unmanaged: 1 });
    const applied = await stage.run("apply --yes --json");
    assert.deepEqual(
      applied.requests.map(line => line.replace(/ \/api\/v2\/(\w+).*/, " $1")),
      ["GET spaces", "GET spaces", "POST apps", "POST operations", "GET projects", "PATCH projects"],
    );
    const project = await attributesOf(stage, `projects/${rowOf(applied, "main").id}`);
    assert.deepEqual(project.enabled_types.toSorted(), ["ask", "group", "poll", "quiz"]);
    assert.deepEqual(project.settings, [{ key: "skin", values: { all: "dark" } }]);
    const event = await attributesOf(stage, `events/${rowOf(applied, "main/ep2").id}`);
    assert.deepEqual([event.start_mode, event.start_at_iso], ["clock", "2099-01-01T20:00:00.000Z"]);
    const a = await attributesOf(stage, `elements/${rowOf(applied, "main/ep2/a").id}`);
    assert.deepEqual(a.custom_fields, [{ key: "prompt", values: { all: rowOf(applied, "main/ep2/b").id } }]);
    const waiting = await stage.run("plan --json --exit-code");
    assert.deepEqual(rowOf(waiting, "main/ep1/q1").notes, ["waits for the event to start"]);

    await change(stage, "events", rowOf(applied, "main/ep1").id, { action: "start" });
    assert.deepEqual(todo(await stage.run("plan --json")), [
      "update main/ep1/q1 publish",
      "update main/ep1/rail publish",
      "update main/ep1/q2 publish",
    ]);
    await stage.run("apply --yes");
    const rail = await attributesOf(stage, `elements/${rowOf(applied, "main/ep1/rail").id}`);
    assert.equal(rail.state, "current");
    const { stderr } = await stage.run("apply");
    assert.match(stderr, /0 additions and 0 changes; 9 as they should be; 1 on the server/);
  });

  it("name all faults at once, with their places", async t => {
    const stage = await openStage(t);
    stage.edit("duration: 3600", "duration: long");
    stage.edit("name: Episode 2", "title: Episode 2");
    stage.edit("{{vars.word}}", "{{vars.none}} {{q3}}");
    stage.edit("{{b}}", "{{c}}");
    stage.edit("key: a,", "key: b,");
    stage.edit("settings.json", "none.json");
    stage.edit('["{{q1}}", {{q2}}]', '["{{rail}}"]');
    const text = await stage.refused("plan", 8, { variables: {} });
    for (const line of [
      "grandstand.yaml:17:19: Expected a number",
      "grandstand.yaml:24:16: There is no such member of events",
      "grandstand.yaml:20:82: {{vars.none}}: There is no none in vars",
      "grandstand.yaml:20:82: {{q3}}: There is nothing with this key",
      "{{c}}: There is nothing with this key",
      "Another entity has the key main/ep2/b",
      "grandstand.yaml:12:20: There is no such file",
      "A wrapper is in no wrapper: main/ep1/rail → main/ep1/rail",
    ])
      assert.ok(text.includes(line), `${line}\n${text}`);
  });

  it("read the environment only as far as they list it", async t => {
    const stage = await openStage(t);
    assert.match(
      await stage.refused("plan", 8, { variables: { START: undefined as never } }),
      /has no START/,
    );
    stage.edit("env: [START]", "env: []");
    assert.match(await stage.refused("plan", 8), /List START under env to read it/);
  });

  it("rename what has an alias, and move elements between wrappers", async t => {
    const stage = await openStage(t);
    const first = await stage.run("apply --yes --json");
    stage.edit("key: ep1", "key: opening\n        aliases: [ep1]");
    stage.edit('["{{q1}}", {{q2}}]', '["{{q1}}"]');
    const plan = await stage.run("plan --json");
    assert.deepEqual(todo(plan), [
      "update main/opening key",
      "update main/opening/q1 key",
      "update main/opening/rail key",
      "update main/opening/q2 parent,key",
    ]);
    const second = await stage.run("apply --yes --json");
    assert.equal(rowOf(second, "main/opening").id, rowOf(first, "main/ep1").id);
    assert.deepEqual(todo(await stage.run("plan --json")), []);
  });

  it("adopt by id, propose it for a name, and refuse two with one mark", async t => {
    const stage = await openStage(t);
    const applied = await stage.run("apply --yes --json");
    const project = rowOf(applied, "main").id;
    const related = { project: ["projects", project] } as const;
    const id = await stage.create("/events", "events", { name: "Pilot" }, related);
    stage.edit("    events:\n", "    events:\n      - { key: pilot, name: Pilot, duration: 60 }\n");
    const proposed = rowOf(await stage.run("plan --json"), "main/pilot");
    assert.deepEqual([proposed.action, proposed.notes.length], ["add", 1]);
    assert.ok(proposed.notes[0]?.includes(id));
    stage.edit("key: pilot,", `key: pilot, id: ${id},`);
    assert.deepEqual(todo(await stage.run("plan --json")), ["update main/pilot duration"]);
    await stage.run("apply --yes");
    assert.equal(
      (await attributesOf(stage, `events/${id}`)).annotations["manifest/key"],
      "autumn-show/main/pilot",
    );
    const annotations = { "manifest/key": "autumn-show/main/pilot" };
    await stage.create("/events", "events", { name: "Twin", annotations }, related);
    assert.match(await stage.refused("plan", 7), /Two events are main\/pilot/);
    stage.edit(`id: ${id}`, `id: ${ids.event}`);
    assert.match(await stage.refused("plan", 7), /Two events/);
    stage.edit("key: pilot,", "key: other,");
    assert.match(await stage.refused("plan", 8), /grandstand.yaml:\d+:\d+: There is no event 0d000000/);
  });

  it("tell what others changed, and replace it by force alone", async t => {
    const stage = await openStage(t);
    const applied = await stage.run("apply --yes --json");
    const id = rowOf(applied, "main/ep1").id;
    await change(stage, "events", id, { duration: 60, name: "Elsewhere", extra_time_duration: 5 });
    const row = rowOf(await stage.run("plan --json"), "main/ep1");
    assert.deepEqual([row.fields, row.notes], [["name", "duration"], ["changed elsewhere: name, duration"]]);
    const text = await stage.refused("apply --yes", 7);
    assert.match(text, /main\/ep1: name, duration/);
    // A person who sees it may decide.
    await stage.run("apply", { answers: ["y"] });
    const { name, duration, extra_time_duration: extra } = await attributesOf(stage, `events/${id}`);
    assert.deepEqual([name, duration, extra], ["Episode 1", 3_600, 5]);
    await change(stage, "events", id, { duration: 60 });
    await stage.run("apply --yes --force-conflicts");
    // What the file changes alone is no conflict.
    stage.edit("duration: 3600", "duration: 7200");
    await stage.run("apply --yes");
  });

  it("ask before they change something, and never change what is published", async t => {
    const stage = await openStage(t);
    assert.match(await stage.refused("apply", 2), /Apply 9 additions and 0 changes: nobody can be asked/);
    assert.match(await stage.refused("apply", 10, { answers: ["n"] }), /add main\/ep1\/q1/);
    assert.equal((await stage.run("plan --json")).json.meta.add, 9);
    const applied = await stage.run("apply --yes --json");
    await change(stage, "events", rowOf(applied, "main/ep1").id, { action: "start" });
    await stage.run("apply --yes");
    stage.edit("options: [Home, Away]", "options: [Home, Away, Nobody]");
    assert.match(await stage.refused("apply --yes", 7), /main\/ep1\/q1: question.options/);
    stage.edit(
      "options: [Home, Away, Nobody], fields: { correctAnswer: 2 }",
      "options: [Home, Away], fields: { correctAnswer: 1 }",
    );
    await stage.run("apply --yes");
    const { correct_option: answer } = await attributesOf(
      stage,
      `elements/${rowOf(applied, "main/ep1/q1").id}`,
    );
    assert.equal(answer, 1);
  });

  it("are checked by the server in a dry run, which changes nothing", async t => {
    const stage = await openStage(t);
    const tried = await stage.run("apply --dry-run --json");
    assert.deepEqual(
      tried.requests.filter(line => !line.startsWith("GET")),
      ["POST /api/v2/apps?dry_run=true"],
    );
    assert.equal(tried.json.data[1].result, "not checked");
    await stage.run("apply --yes");
    stage.edit("options: [{ text", "options: [{ textt");
    const text = await stage.refused("apply --dry-run", 8);
    assert.match(text, /main\/ep1\/q2 \/attributes\/question\/options\/0\/fields\/0\/key: Expected a field/);
    stage.edit("textt", "text");
    stage.edit("duration: 3600", "duration: 60");
    const checked = await stage.run("apply --dry-run --json");
    assert.equal(checked.json.data[2].result, "checked");
    assert.deepEqual(todo(await stage.run("plan --json")), ["update main/ep1 duration"]);
  });

  it("are refused by the allow-list before anything is sent that changes something", async t => {
    const stage = await openStage(t);
    const config = {
      version: 1,
      current: "p",
      profiles: { p: { allow: [{ kind: "event", id: ids.event }] } },
    };
    stage.files.set("config.json", JSON.stringify(config));
    assert.match(await stage.refused("apply --yes", 5), /may not change space/);
    stage.files.delete("config.json");
    await stage.run("apply --yes");
  });

  it("have settings of more than 2 MB only where this is confirmed", async t => {
    const stage = await openStage(t);
    const large = JSON.stringify([{ key: "skin", values: { all: "x".repeat(2_100_000) } }]);
    stage.files.set("settings.json", large);
    assert.match(await stage.refused("apply --yes", 2), /give --confirm/);
    await stage.run("apply --yes --confirm");
    assert.deepEqual(todo(await stage.run("plan --json")), []);
  });

  it("find 20 events and 400 elements in at most 30 requests", async t => {
    const stage = await openStage(t);
    const element = (index: number) =>
      `{ key: q${index}, type: poll, data: { question: "${index}", options: [A, B] } }`;
    const elements = Array.from({ length: 20 }, (_, index) => element(index)).join(", ");
    const events = Array.from(
      { length: 20 },
      (_, index) => `{ key: e${index}, name: E${index}, elements: [${elements}] }`,
    );
    stage.edit("    events:\n", `    events:\n${events.map(event => `      - ${event}\n`).join("")}`);
    await stage.run("apply --yes");
    const { requests, json } = await stage.run("plan --json");
    assert.deepEqual([json.meta.add + json.meta.update, json.meta.noop], [0, 429]);
    assert.ok(requests.length <= 30, String(requests.length));
  });
});

describe("apps of manifests", () => {
  it("are registered once, and projects move to them, wherever a run ends", async t => {
    const server = new AppServer();
    await server.start();
    t.after(() => server.stop());
    const address = server.publish("match");
    const outbound = createOutbound({ networks: ["127.0.0.1"] });
    const requests = 9;
    for (let after = 0; after <= requests; after++) {
      const stage = await openStage(t, { outbound });
      stage.files.set("grandstand.yaml", small);
      await stage.run("apply --yes");
      stage.edit(catalogueUrl, address);
      stage.edit("[poll, quiz]", "[poll]");
      stage.edit("options: [A, B]", "options: [A, B, C]");
      let sent = 0;
      const fetch = async (request: Request): Promise<Response> => {
        if (sent++ < after) return await stage.platform.fetch(request);
        throw new TypeError("fetch failed");
      };
      const { code } = await stage.cli("apply --yes", { files: stage.files, fetch });
      assert.equal(code, after < requests ? 9 : 0, String(after));
      const { data } = (await stage.run("apply --yes --json")).json;
      assert.deepEqual(todo(await stage.run("plan --json")), []);
      const project = await attributesOf(stage, `projects/${data[1].id}`);
      assert.deepEqual(project.enabled_types, ["poll"]);
    }
  });
});

const small = `
version: 1
id: small
apps: [{ key: app, spec_url: "${catalogueUrl}" }]
projects:
  - key: main
    name: Small
    app: "{{app}}"
    enabled_types: [poll, quiz]
    events:
      - { key: e, name: E, elements: [{ key: q, type: poll, question: Who?, options: [A, B] }] }
`;

describe("large manifests", () => {
  it("are finished after a failure between two batches", async t => {
    const stage = await openStage(t);
    const element = (index: number) =>
      `{ key: q${index}, type: ask, data: { fields: { prompt: "{{q${(index + 1) % 510}}}" } } }`;
    const elements = Array.from({ length: 510 }, (_, index) => element(index)).join(", ");
    stage.edit(
      "    events:\n",
      `    events:\n      - { key: large, name: Large, elements: [${elements}] }\n`,
    );
    let batches = 0;
    const fetch = async (request: Request): Promise<Response> => {
      if (request.url.endsWith("/operations") && ++batches > 1) throw new TypeError("fetch failed");
      return await stage.platform.fetch(request);
    };
    assert.match(await stage.refused("apply --yes", 9, { fetch }), /Done already: wrote 500 changes of main/);
    const { requests, json } = await stage.run("apply --yes --json");
    assert.equal(requests.filter(line => line.startsWith("POST")).length, 1);
    assert.deepEqual(todo(await stage.run("plan --json")), []);
    const last = await attributesOf(stage, `elements/${rowOf({ json } as Outcome, "main/large/q509").id}`);
    assert.equal(last.custom_fields[0].values.all, rowOf({ json } as Outcome, "main/large/q0").id);
  });
});

describe("saved plans", () => {
  it("are applied as long as they are true", async t => {
    const stage = await openStage(t);
    await stage.run("plan --out plan.json");
    stage.files.delete("grandstand.yaml");
    const plan = stage.files.get("plan.json") ?? "";
    await stage.run("apply --plan plan.json --yes", { variables: { START: "2000-01-01T00:00:00Z" } });
    stage.files.set("grandstand.yaml", show);
    assert.deepEqual(todo(await stage.run("plan --json")), []);
    stage.files.set("plan.json", plan);
    assert.match(await stage.refused("apply --plan plan.json --yes", 7), /main exists now/);
    stage.files.set("noop.json", (await stage.run("plan --out -")).stdout);
    await stage.run("apply --plan noop.json");
    assert.match(await stage.refused("apply --plan none.json --yes", 2), /There is no file none.json/);
    assert.match(await stage.refused("apply --plan settings.json --yes", 8), /is no plan/);
  });

  it("say what has changed since, and who changed it", async t => {
    const stage = await openStage(t);
    const applied = await stage.run("apply --yes --json");
    stage.edit("duration: 3600", "duration: 60");
    stage.edit("name: First", "name: The first");
    stage.edit("{{a}}", "A text");
    await stage.run("plan --out plan.json");
    stage.clock.advance(60_000);
    await change(stage, "events", rowOf(applied, "main/ep1").id, { extra_time_duration: 9 });
    await change(stage, "elements", rowOf(applied, "main/ep1/q1").id, { label: "1" });
    const text = await stage.refused("apply --plan plan.json --yes", 7);
    const { id: user } = (
      await stage.call("/api/v2/me", { headers: { authorization: `Bearer ${stage.token}` } })
    ).json.data;
    assert.ok(
      text.includes(`main/ep1: extra_time_duration changed by user ${user} at 2025-06-15T15:07:40.000Z`),
      text,
    );
    assert.ok(text.includes(`main/ep1/q1: label changed by user ${user}`), text);
    assert.ok(!text.includes("main/ep2/b"));
    assert.match(text, /nothing was changed/);
    assert.equal((await attributesOf(stage, `events/${rowOf(applied, "main/ep1").id}`)).duration, 3_600);
  });

  it("are refused where somebody was faster than the writes", async t => {
    const stage = await openStage(t);
    const applied = await stage.run("apply --yes --json");
    stage.edit("{{a}}", "A text");
    const element = rowOf(applied, "main/ep2/b").id;
    const fetch = async (request: Request): Promise<Response> => {
      if (request.url.endsWith("/operations")) await change(stage, "elements", element, { label: "Mine" });
      return await stage.platform.fetch(request);
    };
    const text = await stage.refused("apply --yes", 7, { fetch });
    assert.match(text, /Somebody has changed what the plan is about/);
    assert.match(text, /main\/ep2\/b/);
    await stage.run("apply --yes");
    stage.edit("- { key: b,", "- { key: c, type: ask }\n          - { key: b,");
    const event = rowOf(applied, "main/ep2").id;
    const inBetween = async (request: Request): Promise<Response> => {
      const related = { event: ["events", event] } as const;
      if (request.url.endsWith("/operations"))
        await stage.create("/elements", "elements", { content_type: "ask" }, related);
      return await stage.platform.fetch(request);
    };
    assert.match(await stage.refused("apply --yes", 7, { fetch: inBetween }), /main\/ep2/);
    await stage.run("apply --yes");
  });
});

describe("exports of manifests", () => {
  it("replace no file that differs, and can be read back", async t => {
    const stage = await openStage(t);
    const id = rowOf(await stage.run("apply --yes --json"), "main").id;
    const line = `export --project ${id} --out shows/out.yaml`;
    const { stdout } = await stage.run(line);
    assert.equal(stdout, "shows/out.yaml\t2\t5\n");
    assert.deepEqual(todo(await stage.run("plan --file shows/out.yaml --json --exit-code")), []);
    await stage.run(line);
    stage.files.set("shows/out.settings.json", "[]\n");
    assert.match(await stage.refused(line, 7), /out.settings.json exists and differs/);
    await stage.run(`${line} --force`);
    const text = (await stage.run(`export --project ${id} --out -`)).stdout;
    const { json } = await stage.run(`export --project ${id} --out - --json`);
    assert.deepEqual(json.data.manifest, parse(text));
    assert.deepEqual(parse(text).projects[0].settings, [{ key: "skin", values: { all: "dark" } }]);
    assert.deepEqual(parse(text).projects[0].events[0].elements[0], {
      ...{ key: "rail", id: json.data.manifest.projects[0].events[0].elements[0].id, type: "group" },
      ...{ data: { fields: { title: "Today" } }, children: ["{{q1}}", "{{q2}}"] },
    });
    assert.match(await stage.refused(`export --project ${ids.otherSpace}`, 6), /./);
  });
});
