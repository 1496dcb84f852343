/** The conformance suite of workflow backends: it passes what is right and finds every fault by name. */

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { type CheckPlatform, openCheckPlatform } from "../../../lib/testing/workflow/check_platform.ts";
import { checkBackend, conformanceChecks } from "../../../lib/workflow/conformance/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { type BackendFault, faults, openBackend } from "./_faulty_backend.ts";

const url = "http://control.example";
const listenerUrl = "http://foreign.example";
const json = { headers: { "content-type": "application/json" } };
const names = Object.keys(faults) as BackendFault[];

describe("the conformance suite", () => {
  let world: CheckPlatform;
  before(async () => {
    world = await openCheckPlatform({ url, listenerUrl });
  });

  async function check(
    fault?: BackendFault,
    only: readonly string[] = conformanceChecks.map(({ id }) => id),
  ) {
    const { fixtures } = world;
    const clock = createTestClock();
    const backend = openBackend({
      control: url,
      expiredToken: fixtures.expiredToken ?? "",
      fetch: request =>
        (new URL(request.url).host === "foreign.example" ? world.listener : world.fetch)(request, {}),
      fault,
      advance: clock.advance,
    });
    // A request that is never answered ends when nothing else is left to do.
    const timeLimit = (): AbortSignal => {
      const controller = new AbortController();
      if (fault === "never answers a poll") setImmediate(() => setImmediate(() => controller.abort()));
      return controller.signal;
    };
    return await checkBackend({
      ...fixtures,
      url: "http://backend.example/",
      send: backend.fetch,
      clock: clock.now,
      pause: () => Promise.resolve(),
      timeLimit,
      only,
    });
  }

  it("passes a backend without faults, and skips nothing", async () => {
    const report = await check();
    assert.deepEqual(
      report.checks.filter(({ result }) => result !== "pass"),
      [],
    );
    assert.equal(report.passed, true);
    assert.deepEqual(
      report.checks.map(({ id }) => id),
      conformanceChecks.map(({ id }) => id),
    );
  });

  it("counts the changes that the backend makes through the control API", async () => {
    const before = Number(world.fixtures.effects?.());
    // The suite presses once before its checks.
    await check(undefined, []);
    assert.equal(Number(world.fixtures.effects?.()) - before, 1);
  });

  for (const name of names) {
    it(`finds a backend that ${name}`, async () => {
      // The second one is refused, so that there is a refusal to look at.
      const { checks } = await check(name, [faults[name], "authentication.missing"]);
      const found = checks.find(({ id }) => id === faults[name]);
      assert.equal(found?.result, "fail", JSON.stringify(checks));
      assert.ok(found?.detail && found.hint);
    });
  }

  it("reports backends that answer anything at all, and never rejects", async () => {
    const block = { type: "text", text: "Hello" };
    const actions = [{ type: "button", action_id: "go", label: "Go" }];
    const answers: Readonly<Record<string, () => Response>> = {
      "endless auto actions": () => Response.json({ blocks: [], autoAction: { action_id: "next" } }),
      "an endless task": () => Response.json({ blocks: [], actions, task: { id: "1", state: "running" } }),
      "another view each time": () =>
        Response.json({ blocks: [{ ...block, text: crypto.randomUUID() }], actions }),
      "a large answer": () => Response.json({ blocks: [block], payload: { large: "x".repeat(3_000_000) } }),
      "a deep answer": () => new Response("[".repeat(99_999) + "]".repeat(99_999), json),
      "half an answer": () => new Response('{"blocks": [', json),
      "a redirect": () => new Response(null, { status: 302, headers: { location: "http://127.0.0.1/" } }),
      "no content": () => new Response(null, { status: 204 }),
    };
    for (const [name, answer] of Object.entries(answers)) {
      let count = 0;
      const report = await checkBackend({
        ...world.fixtures,
        url: "http://backend.example/",
        async send() {
          count += 1;
          return answer();
        },
        pause: () => Promise.resolve(),
      });
      assert.equal(report.passed, false, name);
      assert.ok(count < 1_500, `${name}: ${count} requests`);
    }
  });

  it("has a fault for every check", () => {
    const found = new Set<string>(Object.values(faults));
    assert.deepEqual(
      conformanceChecks.map(({ id }) => id).filter(id => !found.has(id)),
      [],
    );
  });
});
