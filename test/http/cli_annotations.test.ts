/** Commands about annotations, context and addresses. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { ids } from "../support/platform.ts";
import { catalogueUrl, openAuthor } from "./_apps.ts";
import { dataOf, openCli } from "./_cli.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";
import { personWith } from "./_people.ts";

async function opened(t: TestContext) {
  const author = await openAuthor(t, async clock => createMemoryStore({ clock }));
  const files = new Map<string, string | Uint8Array>();
  return { ...author, files, cli: await openCli(author.world, files) };
}

describe("annotations on the command line", () => {
  it("sets the named ones, from files too, and leaves the rest", async t => {
    const { cli, files } = await opened(t);
    files.set("note.txt", "Rain\nand wind\n");
    const line = ["annotations", "set", "projects", ids.project];
    const first = await cli([...line, "show/context=Friday show", "note=@note.txt", "at=@@home", "--json"]);
    assert.equal(first.code, 0, first.stderr);
    assert.equal(first.requests.length, 2);
    assert.deepEqual(first.json.data, [
      { key: "show/context", old: null, new: "Friday show" },
      { key: "note", old: null, new: "Rain\nand wind\n" },
      { key: "at", old: null, new: "@home" },
    ]);
    await dataOf(cli, [...line, "at=away"]);
    const same = await cli([...line, "at=away"]);
    assert.deepEqual([same.code, same.requests.length], [0, 1]);
    assert.equal((await dataOf(cli, `annotations get project ${ids.project}`)).length, 3);
    const raw = await cli(`annotations get project ${ids.project} --key note`);
    assert.equal(raw.stdout, "Rain\nand wind\n\n");
    assert.equal((await cli(`annotations get project ${ids.project} --key none`)).code, 6);
    const removed = await dataOf(cli, `annotations delete project ${ids.project} at`);
    assert.deepEqual(removed, { key: "at", old: "away" });
    const absent = await cli(`annotations delete project ${ids.project} at`);
    assert.deepEqual([absent.code, absent.requests.length], [0, 1]);
  });

  it("refuses what is no pair, and reports what the server refuses", async t => {
    const { cli } = await opened(t);
    const set = (...pairs: string[]) => cli(["annotations", "set", "event", ids.event, ...pairs, "--json"]);
    for (const pairs of [[], ["note"], ["=x"], ["a=1", "a=2"], ["a=@none.txt"]]) {
      const { code, requests } = await set(...pairs);
      assert.deepEqual([code, requests], [2, []], pairs.join(" "));
    }
    assert.equal((await set("bad key=1")).code, 8);
    assert.equal((await set(`long=${"x".repeat(8_193)}`)).code, 8);
    assert.equal((await cli(`annotations get show ${ids.event}`)).code, 2);
    assert.equal((await cli(`annotations get organisation ${ids.event}`)).code, 6);
  });

  it("keeps an annotation that somebody sets meanwhile", async t => {
    const { cli, world } = await opened(t);
    const headers = await operatorHeaders(world);
    const path = `/api/v2/events/${ids.event}/annotations`;
    const outcome = await cli(["annotations", "set", "event", ids.event, "note=mine"], {
      async fetch(request) {
        const answer = await world.platform.fetch(request);
        if (request.method === "GET") {
          const body = resource("events", { annotations: { note: "theirs" } }, { id: ids.event });
          assert.equal((await world.call(path, { method: "PATCH", body, headers })).status, 204);
        }
        return answer;
      },
    });
    assert.equal(outcome.code, 7, outcome.stderr);
    const { json } = await world.call(path, { headers });
    assert.deepEqual(json.data.attributes.annotations, { note: "theirs" });
  });
});

describe("context on the command line", () => {
  it("shows a resource and what it belongs to with one request", async t => {
    const { cli, create } = await opened(t);
    await dataOf(cli, ["annotations", "set", "project", ids.project, "context=Friday show"]);
    const element = await create(
      "elements",
      { content_type: "poll", name: "Q" },
      { event: to("events", ids.event) },
    );
    const outcome = await cli(`context element ${element} --json`);
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.equal(outcome.requests.length, 1);
    const { data } = outcome.json;
    assert.deepEqual(
      data.map((one: { kind: string; name: string; role: string }) => [one.kind, one.name, one.role]),
      [
        ["element", "Q", "admin"],
        ["event", "Match", "admin"],
        ["project", "Club app", "admin"],
        ["space", "Club space", "admin"],
        ["organisation", "Club", "admin"],
      ],
    );
    assert.equal(data[2].context, "Friday show");
    assert.deepEqual(
      data.map((one: { state: string }) => one.state),
      ["non_scheduled", "current", "staging", null, null],
    );
    for (const [kind, id, levels] of [
      ["events", ids.event, 4],
      ["project", ids.project, 3],
      ["spaces", ids.space, 2],
      ["org", ids.organisation, 1],
    ] as const) {
      assert.equal((await dataOf(cli, `context ${kind} ${id}`)).length, levels);
    }
    assert.equal((await dataOf(cli, `context element ${element} --only-target`)).length, 1);
    const template = await create("event_templates", { name: "T" }, { project: to("projects", ids.project) });
    assert.equal((await dataOf(cli, `context event-template ${template}`)).length, 4);
  });

  it("names what is above, also where you have no role", async t => {
    const { cli, world } = await opened(t);
    const role = { level: "projects", id: ids.project, role: "viewer" } as const;
    const variables = { GRANDSTAND_TOKEN: await personWith(world, role) };
    const data = await dataOf(cli, `context event ${ids.event}`, { variables });
    assert.deepEqual(
      data.map((one: { kind: string; role: string }) => [one.kind, one.role]),
      [
        ["event", "viewer"],
        ["project", "viewer"],
        ["space", "none"],
        ["organisation", "none"],
      ],
    );
    const refused = await cli(`annotations set event ${ids.event} a=1`, { variables });
    assert.equal(refused.code, 5);
    const capped = { ...role, role: "creator" } as const;
    const creator = { GRANDSTAND_TOKEN: await personWith(world, capped) };
    assert.equal((await cli(`annotations set event ${ids.event} a=1`, { variables: creator })).code, 0);
    const hidden = await cli(`context space ${ids.otherSpace}`, { variables });
    assert.equal(hidden.code, 6);
  });
});

describe("addresses on the command line", () => {
  it("prints them alone", async t => {
    const { cli, addApp, addProject, create } = await opened(t);
    const base = "http://127.0.0.1:8787";
    const consumer = await cli(`url consumer --project ${ids.project} --event ${ids.event}`);
    assert.equal(consumer.stdout, `${base}/show?project=${ids.project}&event=${ids.event}\n`);
    assert.equal(consumer.requests.length, 1);
    assert.equal(
      (await cli(`url studio --project ${ids.project}`)).stdout,
      `${base}/studio?project=${ids.project}\n`,
    );
    const feed = `${base}/projects/0c/${ids.project}/listings.json`;
    assert.equal((await cli(`url feeds --project ${ids.project}`)).stdout, `listings ${feed}\n`);
    assert.deepEqual(await dataOf(cli, `url feeds --project ${ids.project}`), [
      { name: "listings", url: feed },
    ]);
    const stats = await cli(`url livestats --event ${ids.event}`);
    assert.equal(stats.stdout, `${base}/events/0d/${ids.event}/livestats.json\n`);

    const app = (await addApp(catalogueUrl)).json.data.id;
    const project = (await addProject(app)).json.data.id;
    const event = await create("events", { name: "Other" }, { project: to("projects", project) });
    const foreign = await cli(`url studio --project ${ids.project} --event ${event} --json`);
    assert.equal(foreign.code, 8);
    assert.equal((await cli("forms demo")).stdout, "00000000-0000-8000-8000-000000000f02\n");
  });
});
