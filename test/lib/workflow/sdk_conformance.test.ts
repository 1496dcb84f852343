/** Backends of the SDK keep to everything that the conformance suite demands. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { silentLogger } from "../../../lib/mod.ts";
import { openCheckPlatform } from "../../../lib/platform/check_platform.ts";
import { checkBackend } from "../../../lib/workflow/conformance/mod.ts";
import {
  alert,
  colourInput,
  fileInput,
  imageInput,
  input,
  optional,
  text,
  textInput,
  workflow,
} from "../../../lib/workflow/mod.ts";
import { describeOnEveryStore } from "../../support/stores.ts";

const url = "http://control.example";
const listenerUrl = "http://foreign.example";
const blocks = [
  text`Import into the event`,
  input.text("title", "Title"),
  input.file("csv", "CSV"),
  input.image("logo", "Logo"),
  input.colour("tint", "Tint"),
];
const inputs = {
  title: textInput({ min: 0 }),
  csv: fileInput(),
  logo: imageInput(),
  tint: optional(colourInput()),
};

describeOnEveryStore("the SDK", open => {
  for (const kind of ["a task in the process", "a task in steps"] as const) {
    it(`passes the conformance suite with ${kind}, and skips nothing`, async t => {
      const scope = kind === "a task in steps" ? "space" : "event";
      const world = await openCheckPlatform({ store: createMemoryStore(), url, listenerUrl, scope });
      const store = await open(Date.now);
      t.after(() => store[Symbol.asyncDispose]());
      let effects = 0;
      const backend = workflow<{ title?: string }>({
        name: "import",
        secret: "a secret of the backend, long enough to be accepted",
        store,
        control: url,
        require: { scope: [scope], role: "creator" },
        logger: silentLogger,
        fetch: async (address, init) => {
          const request = new Request(address, init);
          return await (new URL(request.url).host === "foreign.example" ? world.listener : world.fetch)(
            request,
            {},
          );
        },
      })
        .start(c =>
          c
            .view(...blocks)
            .button("go", "Go")
            .button("skip", "Skip"),
        )
        .on("go", { inputs }, (c, { title }) => {
          effects += 1;
          return c.setState({ title }).task("import", {}, text`Importing ${title}`);
        })
        .on("skip", c => c.view(alert("info", "Skipped")).end())
        .done("import", c => c.view(alert("success", "Imported")).end());
      if (kind === "a task in steps") {
        backend.step("import", { poll: 500 }, async (run, _, cursor: number | undefined = 0) => {
          await run.progress(cursor * 40);
          return cursor < 2 ? { next: cursor + 1 } : { done: {} };
        });
      } else {
        backend.task("import", { poll: 500 }, async run => {
          for (const percent of [40, 80]) {
            await run.progress(percent);
            await setImmediate();
          }
          return {};
        });
      }
      const report = await checkBackend({
        ...world.fixtures,
        url: "http://backend.example/",
        send: backend.fetch,
        effects: () => effects,
        pause: () => setImmediate(),
      });
      assert.deepEqual(
        report.checks.filter(({ result }) => result !== "pass"),
        [],
      );
    });
  }
});
