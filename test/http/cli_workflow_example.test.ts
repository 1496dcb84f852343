/** `grandstand workflow example` against a platform in memory. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Handler } from "../../lib/http/mod.ts";
import { openTestWorld } from "../../lib/testing/workflow/test_dialogue.ts";
import { runCli } from "../support/terminal.ts";

for (const [name, shown] of [
  ["quiz-from-csv", "CSV file"],
  ["leaderboard-winners", "Number of winners"],
] as const) {
  it(`serves ${name} for the platform of the profile until Ctrl-C`, async () => {
    const world = await openTestWorld();
    const served: string[] = [];
    const interruption = new AbortController();
    const answers: string[] = [];
    /** Asks the backend once, and presses Ctrl-C. */
    async function ask(handler: Handler): Promise<void> {
      const { authors } = world.platform;
      const { id: userId } = await authors.findOrCreate("ann@test.example");
      const { token } = await authors.createToken({ userId, name: "Own" });
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
      };
      const init = { method: "POST", headers, body: JSON.stringify({ context: world.dialogueContext }) };
      answers.push(await (await handler(new Request("http://127.0.0.1:3001/", init), {})).text());
      interruption.abort();
    }
    const { code, stderr } = await runCli(["workflow", "example", name, "--port", "3001"], {
      variables: { GRANDSTAND_CONTROL_URL: world.environment.control },
      fetch: request => world.environment.fetch(request),
      clock: world.now,
      host: {
        interruption: () => interruption.signal,
        memoryStore: async () => createMemoryStore({ clock: world.now }),
        async serve(port, handler) {
          served.push(String(port));
          queueMicrotask(() => void ask(handler));
          return { url: `http://127.0.0.1:${port}`, stop: async () => served.push("stopped") };
        },
      },
    });
    assert.deepEqual([code, served], [0, ["3001", "stopped"]], stderr);
    assert.ok(answers[0]?.includes(shown), answers[0]);
    assert.match(stderr, /workflow run http:\/\/127\.0\.0\.1:3001 /);
    await world.platform.close();
  });
}
