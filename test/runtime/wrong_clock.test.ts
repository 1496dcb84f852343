/** A server whose clock is set wrong while it runs beside another one on the same database. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it, type TestContext } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { databases } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const folder = mkdtempSync(join(tmpdir(), "grandstand-clock-"));
after(() => rmSync(folder, { recursive: true }));
const built = runtimes.find(({ skip }) => skip === false);
const hoursAhead = 26;

/** Sets the clock of a program ahead by as many hours as a file says. */
const settableClock = `
import { readFileSync } from "node:fs";
const now = Date.now;
Date.now = () => now() + 3_600_000 * Number(readFileSync(process.env.HOURS_AHEAD));
`;

interface Server {
  readonly program: Program;
  readonly demo: Demo;
  setAhead(hours: number): void;
}

async function serve(
  context: TestContext,
  database: Readonly<Record<string, string>>,
  name: string,
): Promise<Server> {
  assert.ok(built !== undefined);
  const [preload, hours, file] = ["clock.mjs", `${name}.hours`, `${name}.json`].map(each =>
    join(folder, each),
  );
  writeFileSync(preload as string, settableClock);
  writeFileSync(hours as string, "0");
  const [node, ...rest] = cliCommand(built);
  const args = ["serve", "--demo", "--port", "0", "--demo-file", file as string, "--log", "warn"];
  const environment = { GRANDSTAND_SECRET: secret, ...database, HOURS_AHEAD: hours as string };
  const program = start([node, "--import", preload as string, ...rest, ...args], environment);
  context.after(() => program.signal("SIGKILL"));
  await program.match(/listens on/);
  const demo: Demo = JSON.parse(readFileSync(file as string, "utf8"));
  return { program, demo, setAhead: ahead => writeFileSync(hours as string, String(ahead)) };
}

for (const { name, setting, skip, empty } of databases) {
  it(`a server far ahead of ${name} is not ready, writes nothing, and serves again once its clock is right`, {
    skip: built === undefined ? "nothing is built" : skip,
  }, async context => {
    const database = { [setting]: await empty() };
    const right = await serve(context, database, "right");
    const wrong = await serve(context, database, "wrong");
    const { apiKey, organisationId } = right.demo;
    const headers = {
      "content-type": "application/json",
      "x-api-key": apiKey?.key ?? "",
      "x-api-secret": apiKey?.secret ?? "",
      "x-platform-org-id": organisationId,
    };
    const users = Array.from({ length: 51 }, (_, n) => `0e000000-0000-4000-8000-0000000000${10 + n}`);
    const reward = async (server: Server, ...userIds: readonly string[]): Promise<number> => {
      const rewards = userIds.map(userId => ({ userId, type: "metric", currency: "points", amount: 1 }));
      const path = `${server.demo.baseUrl}/v1/api/audience/internal/rewards/bulk`;
      const response = await fetch(path, { method: "POST", headers, body: JSON.stringify({ rewards }) });
      const { data } = (await response.json()) as { data: { summary: { succeeded: number } } };
      return data.summary.succeeded;
    };
    const readiness = async ({ demo }: Server): Promise<number> =>
      (await fetch(`${demo.baseUrl}/readyz`)).status;

    assert.deepEqual([await readiness(wrong), await reward(wrong, ...users)], [200, users.length]);
    wrong.setAhead(hoursAhead);
    assert.equal(await reward(wrong, ...users), 0);
    assert.deepEqual([await readiness(wrong), await readiness(right)], [503, 200]);
    await until("the log says why", () =>
      /clock of this process is 93600 s ahead/.test(wrong.program.stderr()),
    );
    // A minute is too much to be ready, and too little to harm.
    wrong.setAhead(1 / 60);
    assert.deepEqual([await readiness(wrong), await reward(wrong, ...users)], [503, users.length]);
    wrong.setAhead(0);
    assert.deepEqual([await readiness(wrong), await reward(wrong, ...users)], [200, users.length]);
  });
}
