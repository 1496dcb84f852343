/** The lines that the demo prints, run by a shell against a server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { createPlatform, type Demo, demoWalk, describeDemo, seedDemo } from "../../lib/mod.ts";
import { toNodeListener } from "../../runtime/node.ts";

const run = promisify(execFile);
const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);

async function serveDemo(t: TestContext): Promise<Demo> {
  const store = createMemoryStore();
  const ids = await seedDemo({ store, random: systemRandom, clock: Date.now });
  const secret = new MasterSecret("a master secret for tests, long enough to be accepted");
  const platform = await createPlatform({
    store,
    secret,
    control: createControl,
    defaultSpaceId: ids.spaceId,
  });
  const server = createServer(toNodeListener(platform.fetch));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.close();
    await platform.close();
  });
  const { port } = server.address() as AddressInfo;
  return await describeDemo(platform, { ids, baseUrl: `http://127.0.0.1:${port}` });
}

it("the lines of the demo answer JSON, each on a line of its own", {
  skip: hasCurl ? false : "curl is not installed",
}, async t => {
  const { stdout } = await run("sh", ["-c", demoWalk(await serveDemo(t))]);
  assert.ok(stdout.endsWith("\n"));
  const answers = stdout
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line));
  // Sam, the status of prediction and outcome, what they earned three times over, three boards, two calls of the back end,
  // and a producer: the new event and element, the feed, and three actions on them.
  assert.equal(answers.length, 17);
  assert.deepEqual(answers.slice(1, 3), [200, 200]);
  assert.equal(answers[3].data.metrics.points, 13);
  assert.deepEqual(
    answers.slice(6, 9).map(({ data }) => data.length),
    [1, 1, 1],
  );
  assert.deepEqual(
    answers.slice(11, 13).map(({ data }) => data.type),
    ["events", "elements"],
  );
  const [started, published, feed, stopped] = answers.slice(13);
  assert.deepEqual([started, published, stopped], [204, 204, 204]);
  assert.deepEqual(
    feed.timeline.map(({ id }: { id: string }) => id),
    [answers[12].data.id],
  );
});

it("HEAD returns the length of a board, but none for its endless events", async t => {
  const { baseUrl, projectId } = await serveDemo(t);
  const lengthOf = async (accept: string): Promise<string | null> => {
    const url = `${baseUrl}/projects/${projectId}/leaderboards/overall`;
    const { status, headers } = await fetch(url, { method: "HEAD", headers: { accept } });
    assert.deepEqual([status, headers.get("content-type")], [200, accept]);
    return headers.get("content-length");
  };
  assert.ok(Number(await lengthOf("application/json")) > 10);
  assert.equal(await lengthOf("text/event-stream"), null);
});
