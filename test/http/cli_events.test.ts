/** Commands about events. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { describeOnStores, openShow } from "./_cli_show.ts";
import { resource, to } from "./_control_examples.ts";

const start = "2099-11-22T20:00:00+01:00";

describeOnStores("commands about events", open => {
  it("create, list, start and stop", async t => {
    const show = await openShow(t, open);
    const created = await show.run("events create --project $PROJECT --name Final --json");
    assert.deepEqual(created.requests, ["POST /api/v2/events"]);
    const { id, ...event } = created.json.data;
    assert.deepEqual(event, { name: "Final", state: "future", start_at: null, duration: 3_600 });
    const timed = await show.data(
      `events create --project $PROJECT --name Cup --start-at ${start} --duration 0`,
    );
    assert.deepEqual([timed.start_at, timed.duration], ["2099-11-22T19:00:00.000Z", 0]);

    const listed = await show.run("events list --project $PROJECT");
    assert.equal(
      listed.stdout,
      [
        `${timed.id}\tCup\tfuture\t2099-11-22T19:00:00.000Z\t0\t0\t0\n`,
        `${id}\tFinal\tfuture\t\t3600\t0\t0\n`,
      ].join(""),
    );
    assert.deepEqual(await show.data("events list --project $PROJECT --state past"), []);
    const badState = await show.run("events list --project $PROJECT --state soon");
    assert.deepEqual([badState.code, badState.requests], [2, []]);

    const values = { EVENT: id };
    assert.equal((await show.run("events stop $EVENT", values)).code, 7, "it has not begun");
    assert.equal((await show.data("events start $EVENT", values)).result, "started");
    const again = await show.run("events start $EVENT --json", values);
    assert.deepEqual([again.code, again.json.data.result, again.requests.length], [0, "already current", 1]);
    assert.equal((await show.data("events stop $EVENT", values)).result, "stopped");
    assert.equal((await show.data("events stop $EVENT", values)).result, "already past");
    const late = await show.run("events start $EVENT --json", values);
    assert.deepEqual([late.code, late.error.code], [7, "conflict"]);
    const clock = await show.run("events start $EVENT", { EVENT: timed.id });
    assert.equal(clock.code, 7);
    assert.match(clock.stderr, /begins by the clock at 2099-11-22T19:00:00/);
    const needless = await show.run("events create --project $PROJECT --name X --start-mode clock");
    assert.deepEqual([needless.code, needless.requests], [8, []]);
    for (const time of ["2099-11-22T20:00:00", "tomorrow"]) {
      const local = await show.run(`events create --project $PROJECT --name X --start-at ${time}`);
      assert.deepEqual([local.code, local.requests], [2, []]);
    }
  });

  it("are idempotent beside another producer", async t => {
    const show = await openShow(t, open);
    const id = await show.event();
    let isFirst = true;
    const fetch = async (request: Request): Promise<Response> => {
      if (request.method === "PATCH" && isFirst) {
        isFirst = false;
        await show.patch("events", id, { action: "start" });
      }
      return await show.world.platform.fetch(request);
    };
    const outcome = await show.run("events start $EVENT --json", { EVENT: id }, { fetch });
    assert.deepEqual([outcome.code, outcome.json.data.result], [0, "already current"]);
  });

  it("clone events and make them from templates", async t => {
    const show = await openShow(t, open);
    const id = await show.event();
    await show.apply(id, "- { type: poll, name: q1, question: Who wins?, options: [Home, Away] }");
    const copy = await show.data("events clone $EVENT", { EVENT: id });
    assert.deepEqual([copy.name, copy.elements], ["Final (copy)", 1]);
    assert.equal((await show.data("events clone $EVENT --name Rerun", { EVENT: id })).name, "Rerun");

    const template = await show.create(
      "event_templates",
      { name: "Match" },
      { project: to("projects", show.project), event: to("events", id) },
    );
    assert.deepEqual(await show.data("events templates --project $PROJECT"), [
      { id: template, name: "Match", elements: 1 },
    ]);
    const made = await show.data("events from-template $TEMPLATE --project $PROJECT", { TEMPLATE: template });
    assert.equal(made.name, "Match");
    const project = await show.create(
      "projects",
      { name: "Other" },
      {
        space: to("spaces", "0b000000-0000-4000-8000-000000000001"),
        app: to("apps", (await show.call(`/projects/${show.project}`)).json.data.relationships.app.data.id),
      },
    );
    const strange = await show.run("events from-template $TEMPLATE --project $OTHER", {
      TEMPLATE: template,
      OTHER: project,
    });
    assert.deepEqual([strange.code, strange.requests.length], [8, 1]);
  });

  it("schedule what is unpublished", async t => {
    const show = await openShow(t, open);
    const id = await show.event();
    const ids = await show.apply(
      id,
      [
        // The clock shows the rail with its children, whatever time they had.
        "- { type: message, name: a, fields: { body: A } }",
        "- { type: message, name: child, fields: { body: B } }",
        "- { type: group, name: rail, fields: { title: Today }, children: ['{{child}}'] }",
        "- { type: message, name: b, fields: { body: C }, start_mode: timecode, start_offset: 7 }",
      ].join("\n"),
    );
    const before = await show.audited();
    const line = "events schedule --event $EVENT --space-seconds 60 --start-offset 30";
    const dry = await show.run(`${line} --dry-run --json`, { EVENT: id });
    const rows = [
      [1, ids[0], null, 30],
      [2, ids[2], null, 90],
      [2, ids[1], null, 90],
      [3, ids[3], 7, 150],
    ];
    const shown = (data: Record<string, unknown>[]) =>
      data.map(({ order, id: element, old_offset: old, offset }) => [order, element, old, offset]);
    assert.deepEqual(shown(dry.json.data), rows);
    assert.equal(await show.audited(), before);
    const done = await show.run(`${line} --json`, { EVENT: id });
    assert.deepEqual(shown(done.json.data), rows);
    assert.equal(done.requests.length, 3);
    const listed = await show.data("elements list --event $EVENT", { EVENT: id });
    assert.deepEqual(
      listed.map((one: Record<string, unknown>) => one.start_offset),
      [30, 90, 90, 150],
    );
    assert.deepEqual(done.json.data[2].wrapper, ids[2]);
    await show.data("events start $EVENT", { EVENT: id });
    assert.equal((await show.run(line, { EVENT: id })).code, 7);
    show.world.clock.advance(90_000);
    const aired = await show.data("elements list --event $EVENT", { EVENT: id });
    assert.deepEqual(
      aired.map(({ state }: Record<string, unknown>) => state),
      ["current", "current", "current", "future"],
    );
  });

  it("name the drafts that a wrapper with a timecode is shown without", async t => {
    const show = await openShow(t, open);
    const event = await show.event();
    const timed = "start_mode: timecode, start_offset: 9";
    show.files.set(
      "rail.yaml",
      [
        `- { type: group, name: rail, fields: { title: Today }, children: [a, b, c], ${timed} }`,
        "- { type: message, name: a, fields: { body: A } }",
        `- { type: message, name: b, fields: { body: B }, ${timed} }`,
        "- { type: message, name: c, fields: { body: C } }",
      ].join("\n"),
    );
    const values = { EVENT: event };
    const note = /rail is shown by the clock without what are drafts: a, c/;
    for (let nth = 0; nth < 2; nth++)
      assert.match((await show.run("elements apply --event $EVENT --file rail.yaml", values)).stderr, note);
    await show.data("events schedule --event $EVENT", values);
    const scheduled = await show.run("elements apply --event $EVENT --file rail.yaml --update", values);
    assert.doesNotMatch(scheduled.stderr, note);
    const children = "{ key: a, type: message, publish: true }, { key: b, type: message }";
    const rail = `{ key: rail, type: group, children: ["{{a}}", "{{b}}"], publish: true, ${timed} }`;
    const shown = `{ key: ep, name: Final, elements: [${rail}, ${children}] }`;
    show.files.set(
      "show.json",
      `{ version: 1, id: show, space: 0b000000-0000-4000-8000-000000000001, projects: [{ key: main, id: ${show.project}, events: [${shown}] }] }`,
    );
    const [, , planned] = await show.data("plan --file show.json");
    const left = "is published by the clock, and shown without what are drafts: main/ep/a, main/ep/b";
    assert.deepEqual(planned.notes, [left]);
  });

  it("prune what was never shown, but nothing that changes meanwhile", async t => {
    const show = await openShow(t, open);
    const [empty, drafts, shown, running, planned] = await Promise.all([
      show.event({ name: "empty" }),
      show.event({ name: "drafts" }),
      show.event({ name: "shown" }),
      show.event({ name: "running" }),
      show.event({ name: "planned", start_mode: "clock", start_at: Date.parse(start) / 1_000 }),
    ] as const);
    const message = "- { type: message, name: m, fields: { body: Hello } }";
    await show.apply(drafts, message);
    for (const event of [shown, running]) await show.data(`events start ${event}`);
    await show.apply(shown, message, "--publish");
    await show.data(`events stop ${shown}`);

    const line = "events prune --project $PROJECT";
    const names = (data: { name: string }[]) => data.map(({ name }) => name).sort();
    const before = await show.audited();
    assert.deepEqual(names(await show.data(`${line} --dry-run`)), ["drafts", "empty", "planned"]);
    assert.deepEqual(names(await show.data(`${line} --dry-run --empty`)), ["empty", "planned"]);
    assert.deepEqual(names(await show.data(`${line} --dry-run --before 2090-01-01T00:00:00Z`)), [
      "drafts",
      "empty",
    ]);
    const unasked = await show.run(`${line} --json`);
    assert.deepEqual([unasked.code, unasked.error.code], [2, "consent_missing"]);
    const asked = await show.run(line, {}, { answers: ["n"] });
    assert.equal(asked.code, 10);
    assert.match(asked.stderr, /Delete 3 events: /);
    for (const name of [`empty (${empty})`, `drafts (${drafts})`, `planned (${planned})`])
      assert.ok(asked.stderr.includes(name), asked.stderr);
    assert.equal(await show.audited(), before);

    let isFirst = true;
    const fetch = async (request: Request): Promise<Response> => {
      if (request.method === "DELETE" && isFirst) {
        isFirst = false;
        await show.call("/elements", {
          body: resource(
            "elements",
            { content_type: "message" },
            { relationships: { event: to("events", new URL(request.url).pathname.split("/").at(-1) ?? "") } },
          ),
        });
      }
      return await show.world.platform.fetch(request);
    };
    const pruned = await show.run(`${line} --yes --json`, {}, { fetch });
    assert.equal(pruned.code, 7);
    const results = pruned.json.data.map(({ result }: { result: string }) => result);
    assert.deepEqual(results.toSorted(), ["deleted", "deleted", "kept: changed meanwhile"]);
    const left = await show.data("events list --project $PROJECT");
    assert.equal(left.length, 3);
    assert.deepEqual([empty, planned, drafts].length, 3);
    await show.data(`${line} --yes`);
    assert.deepEqual(names(await show.data("events list --project $PROJECT")), ["running", "shown"]);
  });
});
