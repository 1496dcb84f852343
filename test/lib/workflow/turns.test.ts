/** Turns of a dialogue: views, state, inputs and actions that take effect once. */

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import * as v from "valibot";
import { alert, input, text, textInput, workflow } from "../../../lib/workflow/mod.ts";
import { describeOnEveryStore } from "../../support/stores.ts";
import { openWorld, TestTalk, type World } from "./_world.ts";

describeOnEveryStore("turns of a workflow", open => {
  let world: World;
  let token: string;
  before(async () => {
    world = await openWorld(open);
    token = await world.person("mia@example.com", "creator");
  });
  after(() => world.world.dispose());

  it("greets, reads inputs and remembers", async () => {
    const wf = workflow({
      ...world.options,
      state: v.object({ name: v.optional(v.string()) }),
    })
      .start(c => c.view(text`Hi <strong>${"<b>"}</strong>`, input.text("name", "Name")).button("go", "Go"))
      .on("go", { inputs: { name: textInput({ max: 5 }) } }, (c, { name }) =>
        c.setState({ name }).view(text`Sure?`).button("yes", "Yes"),
      )
      .on("yes", c => c.view(alert("success", `Bye, ${c.state.name}`)).end());
    const talk = new TestTalk(wf, token);
    const first = await talk.start();
    assert.equal(first.status, 200, first.text);
    assert.equal(first.texts[0], "Hi <strong>&lt;b&gt;</strong>");
    const refused = await talk.press("go", { name: "too long" });
    assert.deepEqual(refused.texts.slice(0, 1), ["Name: At most 5 characters, please"]);
    await talk.press("go", { name: "Ada" });
    const end = await talk.press("yes");
    assert.deepEqual(end.view, {
      blocks: [{ type: "alert", severity: "success", text: "Bye, Ada" }],
      actions: [],
    });
  });
});
