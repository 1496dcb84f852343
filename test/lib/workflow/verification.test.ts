/** Who may run a workflow, and requests that are none. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { input, text, textInput, type Workflow, workflow } from "../../../lib/workflow/mod.ts";
import { ids } from "../../support/platform.ts";
import { controlUrl, eventContext, openWorld, send, TestTalk, type World } from "./_world.ts";

describe("verification of workflow callers", () => {
  let world: World;
  let token: string;
  let handled: number;
  let wf: Workflow<never>;

  before(async () => {
    world = await openWorld(async clock => createMemoryStore({ clock }));
    token = await world.person("mia@example.com", "creator");
    wf = workflow(world.options)
      .start(c => {
        handled += 1;
        return c
          .view(text`${c.role} ${c.user.email} ${c.context.organisationId}`, input.text("a", "A"))
          .button("go", "Go");
      })
      .on("go", { inputs: { a: textInput() } }, c => {
        handled += 1;
        return c.view(text`Went`).end();
      });
  });
  after(() => world.world.dispose());
  beforeEach(() => {
    handled = 0;
    world.failing = null;
    world.world.clock.advance(10_000);
    world.asked.length = 0;
  });

  const ask = (context: object, as = token) => send(wf, { context }, { token: as });

  it("asks for the user and for the role in the deepest place, once in 10 s", async () => {
    const talk = new TestTalk(wf, token);
    const shown = `creator mia@example.com ${ids.organisation}`;
    assert.equal((await talk.start()).texts[0], shown);
    assert.deepEqual(world.asked.toSorted(), [
      `GET ${controlUrl}/api/v2/events/${ids.event}?include=my_role`,
      `GET ${controlUrl}/api/v2/me`,
    ]);
    await Promise.all(Array.from({ length: 50 }, () => new TestTalk(wf, token).start()));
    world.world.clock.advance(9_999);
    await talk.press("go", { a: "x" });
    assert.equal(world.asked.length, 2);
    world.world.clock.advance(1);
    await talk.start();
    assert.equal(world.asked.length, 4);
    await ask({ baseURL: `${controlUrl}/`, projectId: ids.project });
    assert.equal(world.asked.length, 5, "another place is another question about the same user");
  });

  it("shares one question among a thousand requests at once", async () => {
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => ask(eventContext)));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal(world.asked.length, 2);
  });

  it("refuses callers without a token that the platform knows, before anything else", async () => {
    for (const headers of [
      {},
      { authorization: "Basic eDp5" },
      { authorization: "Bearer " },
      { authorization: "Bearer a b" },
    ]) {
      const answer = await send(wf, "no JSON", { headers });
      assert.equal(answer.status, 401, JSON.stringify(headers));
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
    }
    assert.deepEqual(world.asked, []);
    const unknown = await ask(eventContext, "gst_unknown");
    assert.equal(unknown.status, 401, unknown.text);
    assert.match(unknown.headers.get("www-authenticate") ?? "", /^Bearer/);
    assert.equal(handled, 0);
  });

  it("reads nothing of a body whose caller the platform does not know", async () => {
    for (const authorization of [undefined, "Bearer gst_unknown"]) {
      let pulled = 0;
      const body = new ReadableStream<Uint8Array>(
        { pull: controller => void controller.enqueue(new Uint8Array(++pulled)) },
        { highWaterMark: 0 },
      );
      const headers = { "content-type": "application/json", ...(authorization && { authorization }) };
      const init = { method: "POST", headers, body, duplex: "half" };
      const answer = await wf.fetch(new Request("https://backend.example/hook", init));
      assert.deepEqual([answer.status, pulled], [401, 0]);
    }
  });

  it("refuses a body of too many values", async () => {
    const many = `{"context":${JSON.stringify(eventContext)},"inputs":{"a":[${"{},".repeat(50_000)}{}]}}`;
    const answer = await send(wf, many, { token });
    assert.equal(answer.status, 413);
    assert.match(answer.text, /must not have more than 32768 values/);
  });

  it("asks no address that is not configured", async () => {
    const hosts = [
      "https://evil.example",
      `${controlUrl}.evil.example`,
      "https://studio.example@evil.example",
      `${controlUrl}:444`,
    ];
    for (const baseURL of [
      ...hosts,
      "http://studio.example",
      `${controlUrl}/other`,
      "no address",
      "file:///etc/passwd",
    ]) {
      const answer = await ask({ ...eventContext, baseURL });
      assert.equal(answer.status, 403, baseURL);
    }
    assert.deepEqual(world.asked, [`GET ${controlUrl}/api/v2/me`], "who it is, and nothing of the place");
    const { baseURL: _, ...without } = eventContext;
    assert.equal((await ask(without)).status, 200);
  });

  it("lets nobody in at one platform whom another one has verified", async () => {
    const elsewhere = "https://other.example";
    const both = workflow({ ...world.options, control: [controlUrl, elsewhere] }).start(c =>
      c.view(text`Hello`),
    );
    world.failing = url => (url.startsWith(elsewhere) ? new Response(null, { status: 401 }) : null);
    assert.equal((await send(both, { context: eventContext }, { token })).status, 200);
    const there = { context: { ...eventContext, baseURL: elsewhere } };
    assert.equal((await send(both, there, { token })).status, 401);
  });

  it("refuses places that are not below one another, unknown ones and other scopes", async () => {
    const contexts = [
      { ...eventContext, organisationId: ids.otherOrganisation },
      { ...eventContext, spaceId: ids.otherSpace },
      { ...eventContext, projectId: ids.otherProject },
      { baseURL: controlUrl, projectId: ids.project, organisationId: ids.otherOrganisation },
      { baseURL: controlUrl, projectId: ids.otherProject },
      { baseURL: controlUrl, eventId: "0d000000-0000-4000-8000-00000000dead" },
      { baseURL: controlUrl, eventId: `${ids.event}/../../me` },
      { baseURL: controlUrl, eventId: `${ids.event}?include=my_role#` },
      { baseURL: controlUrl, eventId: ".." },
      { baseURL: controlUrl, eventId: "." },
      { baseURL: controlUrl, projectId: "../../api/v2/organisations" },
      // The platform takes them, but they name places that are there already.
      { baseURL: controlUrl, eventId: ids.event.toUpperCase() },
      { baseURL: controlUrl, projectId: ids.project.toUpperCase() },
      { baseURL: controlUrl, spaceId: ids.space },
      { baseURL: controlUrl, organisationId: ids.organisation },
      { baseURL: controlUrl },
      {},
    ];
    for (const context of contexts) assert.equal((await ask(context)).status, 403, JSON.stringify(context));
    assert.equal(handled, 0);
    const whole = { organisationId: ids.organisation, spaceId: ids.space, ...eventContext };
    assert.equal((await ask(whole)).status, 200);
  });

  it("refuses lower roles, and a role that is taken away in the middle within 10 s", async () => {
    for (const role of [undefined, "viewer"] as const) {
      const weak = await world.person(`${role}@example.com`, role);
      assert.equal((await ask(eventContext, weak)).status, 403, role);
    }
    const roleId = await world.grant("noa@example.com", "creator");
    const talk = new TestTalk(wf, await world.person("noa@example.com"));
    await talk.start();
    await world.revoke(roleId);
    world.world.clock.advance(10_000);
    assert.equal((await talk.press("go", { a: "x" })).status, 403);
    assert.equal(handled, 1);
  });

  it("does not let anybody in where the platform gives no usable answer", async () => {
    const answers: readonly (readonly [number, (url: string) => Response])[] = [
      [503, () => new Response("down", { status: 500 })],
      [503, () => Response.json({}, { status: 429 })],
      [
        503,
        () => {
          throw new TypeError("fetch failed");
        },
      ],
      [502, () => new Response(null, { status: 302, headers: { location: "https://evil.example" } })],
      [502, () => new Response("<html>")],
      [502, () => Response.json({ data: { id: "", attributes: {} } })],
      [502, () => Response.json({ data: { type: "scope_roles", attributes: { role: "owner" } } })],
      [502, () => Response.json([])],
      [502, () => new Response("x".repeat(300_000))],
      [
        403,
        url =>
          url.endsWith("/me")
            ? Response.json({ data: { id: "u", attributes: {} } })
            : new Response(null, { status: 404 }),
      ],
    ];
    for (const [status, failing] of answers) {
      world.failing = failing;
      const answer = await ask(eventContext);
      assert.equal(answer.status, status, answer.text);
    }
    assert.equal(handled, 0);
    world.failing = null;
    assert.equal((await ask(eventContext)).status, 200, "failures are not kept");
  });

  it("answers what is no request of the protocol", async () => {
    const valid = JSON.stringify({ context: eventContext });
    const rows: readonly (readonly [number, unknown, object?])[] = [
      [405, undefined, { method: "GET" }],
      [405, valid, { method: "PUT" }],
      [405, valid, { method: "DELETE" }],
      [415, valid, { type: "text/plain" }],
      [415, valid, { type: "application/json; charset=latin1" }],
      [415, valid, { headers: { "content-encoding": "gzip" } }],
      [400, "", {}],
      [400, "{", {}],
      [400, "[]", {}],
      [400, "null", {}],
      [400, '"text"', {}],
      [400, { context: [] }, {}],
      [400, { context: { ...eventContext, eventId: 7 } }, {}],
      [400, { context: { ...eventContext, eventId: "" } }, {}],
      [400, { context: { ...eventContext, eventId: "x".repeat(201) } }, {}],
      [400, { context: eventContext, action: 7 }, {}],
      [400, { context: eventContext, taskId: {} }, {}],
      [400, { context: eventContext, inputs: [] }, {}],
      [400, { context: eventContext, inputs: { a: 7 } }, {}],
      [400, { context: eventContext, payload: [] }, {}],
      [400, `{"context":{},"payload":${'{"a":'.repeat(70)}1${"}".repeat(70)}}`, {}],
      [400, `{"context":{},"payload":{"__proto__":{"a":1}}}`, {}],
      [413, `{"context":{},"inputs":{"a":"${"A".repeat(16 * 1_048_576)}"}}`, {}],
    ];
    for (const [status, body, options] of rows) {
      const answer = await send(wf, body, { token, ...options });
      assert.equal(answer.status, status, `${JSON.stringify(body)?.slice(0, 80)} ${answer.text}`);
      assert.match(answer.headers.get("content-type") ?? "", /problem\+json/);
      if (status === 405) assert.equal(answer.headers.get("allow"), "POST");
    }
    assert.equal(handled, 0);
    const extra = { context: { ...eventContext, more: 1 }, more: [1] };
    assert.equal((await send(wf, extra, { token })).status, 200);
    assert.equal(
      (await send(wf, { context: eventContext }, { token, type: "application/json; charset=utf-8" })).status,
      200,
    );
  });

  it("shows the first view for actions without payload, and no task to whom it is not", async () => {
    for (const taskId of ["nobody", "A".repeat(22), "x".repeat(200), "%{}:😀".repeat(20)]) {
      const answer = await send(wf, { context: eventContext, taskId }, { token });
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.view, {
        blocks: [{ type: "alert", severity: "info", text: "This task does not exist any more" }],
      });
    }
    const answer = await send(wf, { context: eventContext, action: "go" }, { token });
    assert.match(answer.texts[0] ?? "", /begin again/);
    assert.equal(answer.view.actions?.length, 1);
  });

  it("is refused where it could not work", () => {
    const made = (options: object) => () => workflow({ ...world.options, ...options });
    assert.throws(made({ control: [] }), TypeError);
    assert.throws(made({ control: "ftp://studio.example" }), TypeError);
    assert.throws(made({ control: "studio" }), TypeError);
    for (const endpoint of [[], "ftp://backend.example", "backend"])
      assert.throws(made({ endpoint }), TypeError);
    assert.throws(made({ secret: "short" }), RangeError);
    assert.throws(made({ secret: [] }), TypeError);
    assert.throws(
      () =>
        workflow(world.options)
          .on("a", c => c.view())
          .on("a", c => c.view()),
      TypeError,
    );
  });
});
