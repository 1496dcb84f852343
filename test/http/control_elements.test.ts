/** Elements and Atomic Operations of the control API over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Answer, ids, openPlatform } from "../support/platform.ts";
import { describeOnCluster, describeOnStores, type OpenStore } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";
import { errorCode } from "./_families.ts";

const inProject = { relationships: { project: to("projects", ids.project) } };

function pointers({ json }: Answer): string[] {
  return json.errors.map(({ source }: { source: { pointer: string } }) => source.pointer);
}

function elements(open: OpenStore): void {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const authorization = await operatorHeaders(world);
    const call = (
      path: string,
      options: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
    ) => world.call(`/api/v2${path}`, { ...options, headers: { ...authorization, ...options.headers } });
    const create = async (type: string, attributes: unknown, more: object): Promise<string> => {
      const answer = await call(`/${type}`, { body: resource(type, attributes, more) });
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data.id;
    };
    const patch = (type: string, id: string, attributes: unknown, more: object = {}, headers = {}) =>
      call(`/${type}/${id}`, {
        method: "PATCH",
        body: resource(type, attributes, { id, ...more }),
        headers,
      });
    const read = async (type: string, id: string) => (await call(`/${type}/${id}`)).json.data;
    const operations = (list: readonly unknown[], query = "") =>
      call(`/operations${query}`, { body: { "atomic:operations": list } });
    const event = await create(
      "events",
      { name: "Show", duration: 3_600, on_demand_duration: 600 },
      inProject,
    );
    const element = (attributes: object = {}, more: object = {}) =>
      create(
        "elements",
        { content_type: "poll", ...attributes },
        {
          relationships: { event: to("events", event), ...more },
        },
      );
    return { world, call, create, patch, read, operations, event, element };
  }

  it("keeps what a PATCH of a part does not name, and freezes published elements", async t => {
    const { patch, read, event, element } = await opened(t);
    const fields = [{ key: "text", values: { all: "Who?" } }];
    const options = [{ fields }, { fields }];
    const id = await element({
      question: { fields, options },
      custom_fields: [
        { key: "a", values: { all: 1 } },
        { key: "correctAnswer", values: { all: "2" } },
      ],
    });
    assert.equal((await read("elements", id)).attributes.correct_option, 2);
    const changed = [{ key: "text", values: { all: "Who wins?" } }];
    const custom = [{ key: "b", values: { all: 2 } }];
    const answer = await patch("elements", id, {
      question: { fields: changed },
      custom_fields: custom,
      offset: 5,
    });
    assert.equal(answer.status, 204, answer.text);
    const { attributes } = await read("elements", id);
    assert.deepEqual(attributes.question, { fields: changed, options });
    assert.deepEqual(
      attributes.custom_fields.map(({ key }: { key: string }) => key),
      ["a", "correctAnswer", "b"],
    );
    assert.deepEqual([attributes.offset, attributes.start_offset], [5, 5]);
    await patch("events", event, { action: "start" });
    assert.equal((await patch("elements", id, { action: "publish" })).status, 204);
    const frozen = await patch("elements", id, { label: "x", duration: 5, offset: 5 });
    assert.equal(frozen.status, 422, frozen.text);
    assert.deepEqual(pointers(frozen), ["/data/attributes/label", "/data/attributes/duration"]);
    const wrong = await patch("elements", id, { action: "reveal_answer", correct_option: 3 });
    assert.deepEqual(pointers(wrong), ["/data/attributes/correct_option"]);
    const sent = [{ key: "correctAnswer", values: { all: 1 } }];
    const revealed = await patch("elements", id, { action: "reveal_answer", custom_fields: sent });
    assert.equal(revealed.status, 204, revealed.text);
    const after = (await read("elements", id)).attributes;
    assert.equal(after.correct_option, 1);
    assert.notEqual(after.answer_revealed_at_iso, null);
    assert.equal((await patch("elements", id, { annotations: { note: "1" } })).status, 204);
    assert.equal((await patch("elements", id, { action: "revoke" })).status, 204);
    assert.deepEqual((await read("elements", id)).attributes.actions, []);
    const again = await patch("elements", id, { action: "stop" });
    assert.deepEqual(pointers(again), ["/data/attributes/action"]);
  });

  it("publishes wrappers after their children, and orders elements", async t => {
    const { call, patch, read, event, element } = await opened(t);
    const wrapper = await element({ content_type: "group" });
    const child = await element({}, { parent: to("elements", wrapper) });
    const late = await element({ start_mode: "timecode", start_offset: 60 });
    const inside = await call("/elements", {
      body: resource(
        "elements",
        { content_type: "poll" },
        {
          relationships: { event: to("events", event), parent: to("elements", child) },
        },
      ),
    });
    assert.deepEqual(pointers(inside), ["/data/relationships/parent"]);
    const path = `/events/${event}/relationships/elements`;
    const order = (list: readonly string[]) =>
      call(path, { method: "PATCH", body: { data: list.map(id => ({ type: "elements", id })) } });
    const { etag } = (await read("events", event)).meta;
    for (const list of [
      [wrapper, child],
      [wrapper, child, late, late],
      [wrapper, child, event],
    ])
      assert.deepEqual(pointers(await order(list)), ["/data"]);
    const ordered = await order([late, child, wrapper]);
    assert.equal(ordered.status, 204, ordered.text);
    assert.notEqual(ordered.headers.get("etag"), etag);
    assert.equal((await read("elements", late)).attributes.position, 0);
    await patch("events", event, { action: "start" });
    const early = await patch("elements", wrapper, { action: "publish" });
    assert.equal(errorCode(early, "jsonApi"), "conflict");
    assert.match(early.text, new RegExp(child));
    assert.equal((await patch("elements", child, { action: "publish" })).status, 204);
    assert.equal((await patch("elements", wrapper, { action: "publish" })).status, 204);
    const list = async (query: string) =>
      (await call(`/events/${event}/elements?${query}`)).json.data.map(({ id }: { id: string }) => id);
    assert.deepEqual(await list(""), [child, wrapper, late]);
    assert.deepEqual(await list("filter[state]=future&fields[elements]=name"), [late]);
    assert.deepEqual(await list("sort=position"), [late, child, wrapper]);
    const freed = await patch("elements", child, {}, { relationships: { parent: { data: null } } });
    assert.equal(freed.status, 204, freed.text);
    assert.deepEqual((await read("elements", wrapper)).relationships.children.data, []);
  });

  it("frees the children of a wrapper that is removed", async t => {
    const { call, read, element } = await opened(t);
    const wrapper = await element({ content_type: "group" });
    const other = await element({ content_type: "group" });
    const child = await element({}, { parent: to("elements", wrapper) });
    const kept = await element({}, { parent: to("elements", other) });
    assert.equal((await call(`/elements/${wrapper}`, { method: "DELETE" })).status, 204);
    assert.equal((await read("elements", child)).relationships.parent.data, null);
    assert.deepEqual((await read("elements", kept)).relationships.parent.data, {
      type: "elements",
      id: other,
    });
  });

  it("shows results and answers as their modes say", async t => {
    const { world, patch, read, event, element } = await opened(t);
    const duration = 60;
    const modes = ["vote", "close", "event_end", "never", "manual"];
    const made: string[] = [];
    for (const mode of modes) made.push(await element({ duration, reveal_results_mode: mode }));
    const quiz = await element({
      duration,
      reveal_answer_mode: "auto",
      reveal_answer_in: 30,
      correct_option: 1,
    });
    await patch("events", event, { action: "start" });
    for (const id of [...made, quiz]) await patch("elements", id, { action: "publish" });
    const shown = async (): Promise<string> => {
      const all = await Promise.all(made.map(id => read("elements", id)));
      const names = modes.filter((_, index) => all[index].attributes.results_revealed_at_iso !== null);
      const answer = (await read("elements", quiz)).attributes.answer_revealed_at_iso;
      return [...names, ...(answer === null ? [] : ["answer"])].join();
    };
    assert.equal(await shown(), "vote");
    world.clock.advance(60_000);
    assert.equal(await shown(), "vote,close");
    world.clock.advance(30_000);
    assert.equal(await shown(), "vote,close,answer");
    world.clock.advance(3_600_000);
    assert.equal(await shown(), "vote,close,event_end,answer");
    await patch("elements", made[4] ?? "", { action: "reveal_results" });
    assert.equal(await shown(), "vote,close,event_end,manual,answer");
  });

  it("lets exactly one of 64 editors with one entity tag win, in two processes", async t => {
    const { world, read, element } = await opened(t);
    const id = await element();
    const { etag } = (await read("elements", id)).meta;
    const other = await openPlatform(async () => world.store, { startAt: world.clock.now() });
    t.after(() => other.platform.close());
    const headers = { ...(await operatorHeaders(world)), "if-match": etag };
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, n) => {
        const { call } = n % 2 === 0 ? world : other;
        const body = resource("elements", { label: String(n) }, { id });
        return call(`/api/v2/elements/${id}`, { method: "PATCH", body, headers });
      }),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [204, 412]);
    assert.equal(answers.filter(({ status }) => status === 204).length, 1);
    const lost = answers.find(({ status }) => status === 412);
    assert.equal(lost?.headers.get("etag"), (await read("elements", id)).meta.etag);
  });

  it("makes all operations or none", async t => {
    const { operations, read, call, event } = await opened(t);
    const add = (lid: string, attributes: object, more: object = {}) => ({
      op: "add",
      data: {
        type: "elements",
        lid,
        attributes: { content_type: "poll", ...attributes },
        relationships: { event: to("events", event), ...more },
      },
    });
    const group = { type: "elements", lid: "group" };
    const list = [
      add("group", { content_type: "group" }),
      add(
        "poll",
        { custom_fields: [{ key: "next", values: { all: { lid: "group" } } }] },
        { parent: { data: group } },
      ),
      {
        op: "update",
        ref: { type: "events", id: event },
        data: resource("events", { name: "Cup" }, { id: event }).data,
      },
      {
        op: "update",
        ref: { type: "events", id: event, relationship: "elements" },
        data: [{ type: "elements", lid: "poll" }, group],
      },
      add("gone", {}),
      { op: "remove", ref: { type: "elements", lid: "gone" } },
    ];
    const dry = await operations(list, "?dry_run=true");
    assert.equal(dry.status, 200, dry.text);
    assert.equal(dry.json.meta.dry_run, true);
    assert.equal((await call(`/events/${event}/elements`)).json.meta.total, 0);
    const made = await operations(list);
    assert.equal(made.status, 200, made.text);
    assert.match(made.headers.get("content-type") ?? "", /ext="https:\/\/jsonapi\.org\/ext\/atomic"/);
    const [wrapper, poll] = made.json["atomic:results"].map(({ data }: { data: { id: string } }) => data?.id);
    assert.deepEqual(made.json["atomic:results"][5], {});
    const { attributes, relationships, meta } = await read("elements", poll);
    assert.deepEqual(attributes.custom_fields[0].values, { all: wrapper });
    assert.deepEqual([relationships.parent.data.id, attributes.position], [wrapper, 0]);
    assert.equal(made.json["atomic:results"][1].meta.etag, meta.etag);
    const before = (await read("events", event)).meta.etag;
    const update = (id: string, change: object, meta?: object) => ({
      op: "update",
      data: resource("elements", change, { id }).data,
      ...(meta === undefined ? {} : { meta }),
    });
    const other = await call("/events", {
      body: resource(
        "events",
        { name: "Other" },
        { relationships: { project: to("projects", ids.otherProject) } },
      ),
    });
    const faults: readonly (readonly [number, string, readonly unknown[]])[] = [
      [
        422,
        "/atomic:operations/1/data/attributes/colour",
        [update(poll, { label: "1" }), update(poll, { colour: 1 })],
      ],
      [
        412,
        "/atomic:operations/1",
        [update(poll, { label: "1" }), update(poll, { label: "2" }, { if_match: '"v9"' })],
      ],
      [
        404,
        "/atomic:operations/1",
        [update(poll, { label: "1" }), { op: "remove", ref: { type: "elements", id: event } }],
      ],
      [
        422,
        "/atomic:operations/0/data/relationships/parent/data/lid",
        [add("a", {}, { parent: { data: group } })],
      ],
      [422, "/atomic:operations/1/data/lid", [add("a", {}), add("a", {})]],
      [403, "/atomic:operations/0/data/id", [{ op: "add", data: { type: "events", id: event } }]],
      [422, "/atomic:operations/0/data/type", [{ op: "add", data: { type: "scope_roles" } }]],
      [
        422,
        "/atomic:operations/1",
        [
          update(poll, { label: "1" }),
          { op: "update", data: resource("events", { name: "x" }, { id: other.json.data.id }).data },
        ],
      ],
      [400, "/atomic:operations", Array.from({ length: 501 }, () => update(poll, { label: "1" }))],
    ];
    for (const [status, pointer, sent] of faults) {
      const answer = await operations(sent);
      assert.equal(answer.status, status, answer.text);
      assert.deepEqual(pointers(answer), [pointer]);
    }
    assert.equal((await read("events", event)).meta.etag, before);
  });

  it("lets local ids that are UUIDs stand for ids inside texts", async t => {
    const { call, operations, event } = await opened(t);
    const lids = ["0e5fd4a5-1111-4111-8111-000000000001", "0e5fd4a5-1111-4111-8111-000000000002"] as const;
    const body = (values: object) => ({ custom_fields: [{ key: "body", values }] });
    const add = (lid: string, attributes: object) => ({
      op: "add",
      data: {
        ...{ type: "elements", lid, attributes: { content_type: "text", ...attributes } },
        relationships: { event: to("events", event) },
      },
    });
    const update = (attributes: object, more = {}) => ({
      op: "update",
      data: { type: "elements", lid: lids[0], attributes, ...more },
    });
    const early = await operations([add(lids[0], body({ all: `see ${lids[1]}` })), add(lids[1], {})]);
    assert.equal(early.status, 422, early.text);
    const place = "/atomic:operations/0/data/attributes/custom_fields/0/values/all";
    assert.equal(early.json.errors[0].source.pointer, place);
    const texts = { all: { [lids[0]]: `see ${lids[1].toUpperCase()}`, whole: lids[1] } };
    const made = await operations([add(lids[0], {}), add(lids[1], {}), update(body(texts))]);
    assert.equal(made.status, 200, made.text);
    const [one, other] = made.json["atomic:results"].map(({ data }: { data: { id: string } }) => data.id);
    const values = { all: { [one]: `see ${other}`, whole: other } };
    const { attributes } = (await call(`/elements/${one}`)).json.data;
    assert.deepEqual(attributes.custom_fields, [{ key: "body", values }]);
    // In relationships an id is an id.
    const parent = { relationships: { parent: to("elements", lids[1]) } };
    const strange = await operations([add(lids[0], {}), add(lids[1], {}), update({}, parent)]);
    assert.equal(strange.status, 404, strange.text);
  });

  it("creates a project with its events and elements in one request", async t => {
    const { operations, call } = await opened(t);
    const link = (type: string, lid: string) => ({ data: { type, lid } });
    const space = to("spaces", ids.space);
    const spec_url = "http://127.0.0.1:8787/apps/catalogue/1.0.0/spec.json";
    const catalogue = await call("/apps", {
      body: resource("apps", { spec_url }, { relationships: { space } }),
    });
    const app = {
      op: "add",
      data: {
        type: "projects",
        lid: "p",
        attributes: { name: "App" },
        relationships: { space, app: to("apps", catalogue.json.data.id) },
      },
    };
    const show = {
      op: "add",
      data: {
        type: "events",
        lid: "e",
        attributes: { name: "Show" },
        relationships: { project: link("projects", "p") },
      },
    };
    const poll = {
      op: "add",
      data: {
        type: "elements",
        attributes: { content_type: "poll" },
        relationships: { event: link("events", "e") },
      },
    };
    const made = await operations([app, show, poll]);
    assert.equal(made.status, 200, made.text);
    const id = made.json["atomic:results"][2].data.id;
    const element = await call(`/elements/${id}?include=event.project`);
    assert.equal(element.json.included.length, 2, element.text);
  });

  it("shows readers all of a batch of 500 or nothing", async t => {
    const { operations, call, event } = await opened(t);
    const batch = (label: string, known: readonly string[]) =>
      Array.from({ length: 500 }, (_, n) =>
        known[n] === undefined
          ? {
              op: "add",
              data: {
                type: "elements",
                attributes: { content_type: "poll", label },
                relationships: { event: to("events", event) },
              },
            }
          : { op: "update", data: resource("elements", { label }, { id: known[n] }).data },
      );
    const seen = new Set<string>();
    let isOver = false;
    const readers = Array.from({ length: 2 }, async () => {
      while (!isOver) {
        const { status, json, text } = await call(`/events/${event}/elements?page[count]=100&sort=-position`);
        assert.equal(status, 200, text);
        const labels = new Set(
          json.data.map(({ attributes }: { attributes: { label: string } }) => attributes.label),
        );
        seen.add(`${json.meta.total} ${[...labels].join()}`);
        await setImmediate();
      }
    });
    const made = await operations(batch("a", []));
    assert.equal(made.status, 200, made.text);
    const known = made.json["atomic:results"].map(({ data }: { data: { id: string } }) => data.id);
    assert.equal((await operations(batch("b", known))).status, 200);
    assert.equal((await operations(batch("c", known))).status, 200);
    isOver = true;
    await Promise.all(readers);
    assert.deepEqual(
      [...seen].filter(each => !["0 ", "500 a", "500 b", "500 c"].includes(each)),
      [],
    );
  });

  it("accepts the extension of JSON:API for operations alone", async t => {
    const { call, event } = await opened(t);
    const ext = 'application/vnd.api+json; ext="https://jsonapi.org/ext/atomic"';
    const other = 'application/vnd.api+json; ext="https://example.com/ext"';
    const body = {
      "atomic:operations": [{ op: "update", data: resource("events", { name: "x" }, { id: event }).data }],
    };
    const send = async (path: string, method: string, type: string, accept: string, sent: unknown) =>
      (await call(path, { method, body: sent, headers: { "content-type": type, accept } })).status;
    assert.equal(await send("/operations", "POST", ext, ext, body), 200);
    assert.equal(await send("/operations", "POST", "application/json", "application/json", body), 200);
    assert.equal(await send("/operations", "POST", other, ext, body), 415);
    assert.equal(await send("/operations", "POST", ext, other, body), 406);
    const change = resource("events", { name: "y" }, { id: event });
    assert.equal(await send(`/events/${event}`, "PATCH", ext, "*/*", change), 415);
  });
}

describeOnStores("elements of the control API", elements);
describeOnCluster("elements of the control API", elements);
