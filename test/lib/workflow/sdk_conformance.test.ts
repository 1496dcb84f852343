/** Backends of the SDK keep to everything that the conformance suite demands. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { silentLogger } from "../../../lib/mod.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import { type CheckPlatform, openCheckPlatform } from "../../../lib/testing/workflow/check_platform.ts";
import { checkBackend } from "../../../lib/workflow/conformance/mod.ts";
import { leaderboardWinners, quizFromCsv } from "../../../lib/workflow/examples/mod.ts";
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
import { describeOnStores } from "../../support/stores.ts";

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

/** Options of a backend whose control API is the platform. */
function backendOptions(world: CheckPlatform, store: Store) {
  return {
    secret: "a secret of the backend, long enough to be accepted",
    store,
    control: url,
    endpoint: "http://backend.example",
    logger: silentLogger,
    async fetch(address: string | URL | Request, init?: RequestInit) {
      const request = new Request(address, init);
      const serve = new URL(request.url).origin === listenerUrl ? world.listener : world.fetch;
      return await serve(request, {});
    },
  };
}

describeOnStores("the SDK", open => {
  for (const kind of ["a task in the process", "a task in steps"] as const) {
    it(`passes the conformance suite with ${kind}, and skips nothing`, async t => {
      const scope = kind === "a task in steps" ? "space" : "event";
      const world = await openCheckPlatform({ url, listenerUrl, scope });
      const store = await open(Date.now);
      t.after(() => store[Symbol.asyncDispose]());
      let effects = 0;
      const backend = workflow<{ title?: string }>({
        ...backendOptions(world, store),
        name: "import",
        require: { scope: [scope], role: "creator" },
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
        // Polls are counted, and a task needs the database meanwhile.
        pause: () => setTimeout(10),
      });
      assert.deepEqual(
        report.checks.filter(({ result }) => result !== "pass"),
        [],
      );
    });
  }
});

describe("the example workflows", () => {
  for (const create of [quizFromCsv, leaderboardWinners]) {
    it(`keep to what is mandatory: ${create.name}`, async () => {
      const world = await openCheckPlatform({ url, listenerUrl });
      const { checks, passed } = await checkBackend({
        ...world.fixtures,
        url: "http://backend.example/",
        send: create(backendOptions(world, createMemoryStore())).fetch,
        inputs: { csv: btoa("question,option 1,option 2,correct\nWho won?,Home,Away,1\n") },
        // Polls are counted, and a task needs the database meanwhile.
        pause: () => setTimeout(10),
      });
      assert.deepEqual(
        checks.filter(({ result }) => result === "fail"),
        [],
      );
      assert.equal(passed, true);
      // Its task writes the one question in one request, however often it is pressed.
      if (create === quizFromCsv) assert.equal(world.fixtures.effects?.(), 1);
    });
  }
});
