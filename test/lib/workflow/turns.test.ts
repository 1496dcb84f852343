/** Turns of a dialogue: views, state, inputs, payloads, and actions that take effect once. */

import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import * as v from "valibot";
import { encodeFile } from "../../../lib/workflow/dialogue/mod.ts";
import {
  alert,
  colourInput,
  fileInput,
  imageInput,
  input,
  optional,
  text,
  textInput,
  type Workflow,
  workflow,
} from "../../../lib/workflow/mod.ts";
import { ids } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { controlUrl, eventContext, openWorld, send, TestTalk, type World } from "./_world.ts";

const minute = 60_000;

describeOnStores("turns of a workflow", open => {
  let world: World;
  let token: string;
  let effects: string[];
  let gate: (() => Promise<void>) | null;
  let wf: Workflow<{ note?: string | undefined }>;

  before(async () => {
    world = await openWorld(open);
    token = await world.person("mia@example.com", "creator");
    wf = build();
  });
  after(() => world.world.dispose());
  beforeEach(() => {
    effects = [];
    gate = null;
  });

  function build(more: object = {}) {
    return workflow({ ...world.options, state: v.object({ note: v.optional(v.string()) }), ...more })
      .start(c =>
        c
          .view(text`Hi <strong>${"<b>"}</strong>`, input.text("note", "Note"))
          .button("save", "Save")
          .button("drop", "Drop")
          .button("break", "Break")
          .button("bad", "Bad"),
      )
      .on("save", { inputs: { note: textInput({ max: 100_000 }) } }, async (c, { note }) => {
        await gate?.();
        effects.push(`save ${note.length}`);
        return c.setState({ note }).view(text`Saved`).button("next", "Next");
      })
      .on("drop", c => {
        effects.push("drop");
        return c.view(text`Dropped`).auto("next");
      })
      .on("next", c => c.view(alert("success", `Noted ${c.state.note?.slice(0, 5) ?? "nothing"}`)).end())
      .on("break", () => {
        effects.push("break");
        throw new Error("hush");
      })
      .on("bad", c => c.view({ type: "colour", value: "mauve" }).button("next", "Next"));
  }
  const opened = async (of = wf): Promise<TestTalk> => {
    const talk = new TestTalk(of, token);
    assert.equal((await talk.start()).status, 200, talk.last?.text);
    return talk;
  };

  it("remembers from turn to turn, and ends without payload", async () => {
    const talk = await opened();
    assert.deepEqual(talk.last?.texts, ["Hi <strong>&lt;b&gt;</strong>", ""]);
    await talk.press("save", { note: "Hello" });
    const end = await talk.press("next");
    const said = { type: "alert", severity: "success", text: "Noted Hello" };
    assert.deepEqual(end.view, { blocks: [said], actions: [] });
    assert.equal(end.headers.get("cache-control"), "no-store");
  });

  it("shows the view again where an input does not fit, and lets it be sent again", async () => {
    const talk = await opened();
    const again = await talk.press("save", { note: " " });
    assert.deepEqual(again.texts.slice(0, 2), ["Note: Please fill this in", "Hi <strong>&lt;b&gt;</strong>"]);
    assert.equal(again.view.actions?.length, 4);
    const twice = await talk.press("save", {});
    assert.equal(twice.view.blocks.length, 3, "alerts must not pile up");
    await talk.press("save", { note: "Hello", other: "ignored" });
    assert.deepEqual(effects, ["save 5"]);
  });

  it("lets one of two simultaneous presses take effect, and answers both alike", async () => {
    const talk = await opened();
    const { payload } = talk;
    let release = (): void => {};
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    gate = () => released;
    const [first, second] = [
      talk.press("save", { note: "one" }),
      talk.press("save", { note: "one" }, payload),
    ];
    const early = await Promise.race([first, second]);
    assert.equal(early.status, 409, early.text);
    assert.equal(early.headers.get("retry-after"), "1");
    release();
    const answers = [await first, await second].filter(({ status }) => status === 200);
    assert.equal(answers.length, 1);
    const repeated = await talk.press("save", { note: "one" }, payload);
    assert.equal(repeated.text, answers[0]?.text);
    assert.deepEqual(effects, ["save 3"]);
  });

  it("warns about another action of a used view, and shows what came of the first", async () => {
    const talk = await opened();
    const { payload } = talk;
    await talk.press("drop");
    const late = await talk.press("save", { note: "late" }, payload);
    assert.equal(late.status, 200);
    assert.deepEqual(late.texts, ["This was already done", "Dropped"]);
    assert.deepEqual(late.view.autoAction, { action_id: "next" });
    assert.deepEqual(effects, ["drop"]);
  });

  it("warns about actions that the view does not offer", async () => {
    const talk = await opened();
    for (const action of ["next", "nonsense", "constructor", "__proto__"]) {
      const answer = await talk.press(action);
      assert.equal(answer.status, 200, action);
      assert.deepEqual(answer.texts[0], "This is not possible here any more");
      assert.equal(answer.view.actions?.length, 4);
    }
    assert.equal((await talk.press("drop")).status, 200);
    assert.deepEqual(effects, ["drop"]);
  });

  it("answers a failing handler with 500 and no detail, and lets the action be sent again", async () => {
    const talk = await opened();
    const { payload } = talk;
    for (let count = 1; count <= 2; count++) {
      const failed = await talk.press("break", {}, payload);
      assert.equal(failed.status, 500);
      assert.match(failed.headers.get("content-type") ?? "", /problem\+json/);
      assert.doesNotMatch(failed.text, /hush|blocks/);
      assert.equal(effects.length, count);
    }
    assert.equal((await talk.press("bad", {}, payload)).status, 500, "a view that is none of the protocol");
    assert.equal((await talk.press("drop", {}, payload)).status, 200);
  });

  it("begins again where payload or answer have expired, and never repeats an effect", async () => {
    const talk = await opened();
    const { payload } = talk;
    await talk.press("drop");
    world.world.clock.advance(11 * minute);
    const forgotten = await talk.press("drop", {}, payload);
    assert.equal(forgotten.texts[0], "This was already done");
    world.world.clock.advance(48 * minute);
    await talk.press("drop", {}, payload);
    world.world.clock.advance(2 * minute);
    const expired = await talk.press("drop", {}, payload);
    assert.equal(expired.status, 200);
    assert.match(expired.texts[0] ?? "", /expired/);
    assert.equal(expired.view.actions?.length, 4);
    assert.deepEqual(effects, ["drop"]);
  });

  it("takes an action whose process died again after a minute", async () => {
    const talk = await opened();
    const { payload } = talk;
    await new Promise<void>(resolve => {
      gate = () => {
        resolve();
        return new Promise(() => {});
      };
      void talk.press("save", { note: "lost" });
    });
    gate = null;
    assert.equal((await talk.press("save", { note: "lost" }, payload)).status, 409);
    world.world.clock.advance(minute);
    assert.equal((await talk.press("save", { note: "lost" }, payload)).status, 200);
    assert.deepEqual(effects, ["save 4"]);
  });

  it("answers with the responses of the runtime that serves it", async () => {
    const made: [unknown, number][] = [];
    const request = (body: object) =>
      new Request("https://backend.example/", {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const answer = await wf.fetch(request({ context: eventContext }), {
      createResponse(text, init) {
        made.push([text, init.status]);
        return new Response(text, init);
      },
    });
    assert.deepEqual(made, [[await answer.text(), 200]]);
  });

  it("keeps a memory that is too long for the payload", async () => {
    const talk = await opened();
    const note = "ü😀".repeat(25_000);
    const saved = await talk.press("save", { note });
    assert.equal(saved.status, 200, saved.text.slice(0, 300));
    assert.ok(saved.text.length < 1_000);
    assert.deepEqual((await talk.press("next")).texts, [`Noted ${note.slice(0, 5)}`]);
  });

  it("refuses payloads that were changed, cut, or made for another user, place or workflow", async () => {
    const talk = await opened();
    const sealed = String(talk.payload?._s);
    const other = await world.person("noa@example.com", "creator");
    const foreign = new TestTalk(wf, other);
    const elsewhere = new TestTalk(wf, token, { baseURL: controlUrl, projectId: ids.project });
    const renamed = new TestTalk(build({ name: "other" }), token);
    for (const [who, one] of Object.entries({ foreign, elsewhere, renamed }))
      assert.equal((await one.press("drop", {}, { _s: sealed })).status, 400, who);
    const flipped = (at: number) =>
      sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
    const [id = "", body = ""] = sealed.split(".").slice(1);
    const broken: unknown[] = [
      ...[3, 12, 20, 40, sealed.length >> 1, sealed.length - 3].map(flipped),
      ...[1, 11, 12, 30, sealed.length - 1].map(at => sealed.slice(0, at)),
      ...["", `${sealed}A`, `v2.${id}.${body}`, `v1.${id}.`, "v1", 7, null, [], {}, { _s: sealed }],
      ...[[sealed], { toString: 1 }],
    ];
    for (const _s of broken) {
      const answer = await talk.press("drop", {}, { _s });
      assert.equal(answer.status, 400, JSON.stringify(_s));
      assert.deepEqual(JSON.parse(answer.text).errors[0].pointer, "/payload/_s");
    }
    assert.deepEqual(effects, []);
    assert.equal((await talk.press("drop", {}, { _s: sealed, extra: 1 })).status, 200);
  });

  it("goes on while keys are rotated, until the old one is gone", async () => {
    const [old, fresh] = [world.options.secret as string, "another secret for workflow tests, long enough"];
    const [both, after] = [build({ secret: [fresh, old] }), build({ secret: fresh })];
    const { payload } = await opened();
    const talk = new TestTalk(both, token);
    assert.equal((await talk.press("save", { note: "abc" }, payload)).status, 200);
    assert.deepEqual((await new TestTalk(after, token).press("next", {}, talk.payload)).texts, ["Noted abc"]);
    assert.equal((await new TestTalk(after, token).press("drop", {}, payload)).status, 400);
  });

  it("begins again where a new version does not know the state any more", async () => {
    const talk = await opened();
    await talk.press("save", { note: "abc" });
    const next = build({ state: v.object({ note: v.optional(v.number()) }) });
    assert.match((await new TestTalk(next, token).press("next", {}, talk.payload)).texts[0] ?? "", /expired/);
  });

  it("reads inputs of every type", async () => {
    let seen: unknown;
    const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]);
    const inputs = {
      word: textInput({ pattern: /^[a-z]+$/, expected: "Lower case, please" }),
      csv: fileInput({ bytesMax: 10 }),
      logo: imageInput(),
      tint: colourInput(),
      extra: optional(textInput()),
    };
    const all = workflow(world.options)
      .start(c =>
        c
          .view(
            input.text("word", "Word"),
            input.file("csv", "File"),
            input.image("logo", "Logo"),
            input.colour("tint", "Tint"),
            input.text("extra", "Extra"),
          )
          .button("go", "Go"),
      )
      .on("go", { inputs }, (c, values) => {
        seen = values;
        return c.view(text`Read`).end();
      });
    const talk = await opened(all as never);
    const good = { word: " abc ", csv: btoa("a;b"), logo: encodeFile(png), tint: "#A0B1c2" };
    const refused: readonly (readonly [object, string])[] = [
      [{ word: "ABC" }, "Word: Lower case, please"],
      [{ csv: "%%%" }, "File: This file did not arrive as it was sent"],
      [{ csv: "" }, "File: Please choose a file"],
      [{ csv: btoa("longer than ten") }, "File: It has more than 10 bytes"],
      [{ logo: btoa("<svg onload=alert(1)>") }, "Logo: Please choose a PNG, JPEG, GIF or WebP image"],
      [{ tint: "red" }, "Tint: Please choose a colour"],
    ];
    for (const [change, message] of refused) {
      const answer = await talk.press("go", { ...good, ...change });
      assert.equal(answer.status, 200);
      assert.equal(answer.texts[0], message);
    }
    const prefixed = { ...good, csv: `data:text/csv;base64,${good.csv}` };
    assert.deepEqual((await talk.press("go", prefixed)).texts, ["Read"]);
    const csv = { bytes: new TextEncoder().encode("a;b") };
    const logo = { bytes: png, type: "image/png" };
    assert.deepEqual(seen, { word: "abc", csv, logo, tint: "#a0b1c2", extra: undefined });
  });

  it("answers named origins alone across origins", async () => {
    const cors = build({ origins: ["https://page.example"] });
    const ask = (origin: string, method = "OPTIONS") =>
      send(cors, undefined, { method, headers: { origin } });
    const allowed = await ask("https://page.example");
    assert.equal(allowed.status, 204);
    assert.equal(allowed.headers.get("access-control-allow-origin"), "https://page.example");
    assert.equal((await ask("https://evil.example")).status, 405);
    const refused = await send(cors, {}, { headers: { origin: "https://page.example" } });
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get("access-control-allow-origin"), "https://page.example");
  });
});
