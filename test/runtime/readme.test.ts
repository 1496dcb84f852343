/** What the README shows is run: its lines of the shell against a demo, its commands by the command line, its settings by who reads them. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse } from "yaml";
import { customFieldsOf } from "../../lib/audience/profile/custom_fields.ts";
import { commands } from "../../lib/cli/mod.ts";
import { exportSettings } from "../../lib/exports/jobs/settings.ts";
import { parseBoards } from "../../lib/leaderboards/mod.ts";
import { applyAction } from "../../lib/loyalty/engine/mod.ts";
import { compileConfig } from "../../lib/loyalty/mod.ts";
import { emptyState } from "../../lib/loyalty/user/state.ts";
import { demoLoyalty } from "../../lib/platform/demo_loyalty.ts";
import { declaredIndexes } from "../../lib/users/mod.ts";
import { parseCommandLine } from "../../runtime/commands/command_line.ts";
import { ids } from "../support/platform.ts";
import { start } from "./processes.ts";

const run = promisify(execFile);
const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const cli = fileURLToPath(new URL("../../runtime/cli.ts", import.meta.url));
const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);

const blocksOf = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, code = ""]) => code,
  );

/** An error status ends the shell, and says which line it was. */
const strict = `set -eu
curl() { command curl --fail-with-body --show-error "$@"; }`;

describe("the README", () => {
  it("shows requests that a demo answers, in the order in which they are shown", {
    skip: hasCurl ? false : "curl is not installed",
  }, async t => {
    const server = start([process.execPath, "--import", "tsx", cli, "serve", "--demo", "--port", "0"]);
    t.after(async () => {
      server.signal("SIGTERM");
      await server.ended;
    });
    const [walk] = await server.match(/^# 0\.[\s\S]*^# 5\..*\n.*\n.*\n/m);
    const requests = blocksOf("sh").filter(code => /\bcurl\b|\$GRANDSTAND_URL|: \$GRANDSTAND/.test(code));
    const [streams, others] = [
      requests.filter(code => code.includes("text/event-stream")),
      requests.filter(code => !code.includes("text/event-stream")),
    ];
    assert.equal(streams.length, 1);
    assert.equal(others.length, 8);

    const { stdout } = await run("sh", ["-c", [strict, walk, ...others].join("\n")]);
    for (const answer of [
      /"username":"Sam"/,
      /"summary":\{"total":2,"queued":2,"duplicate":0,"failed":0\}/,
      /"id":"derby-1","userId":"fan-1","status":"succeeded",/,
      /"user_id":"nobody","data":null,"error":\{"code":"not_found"/,
      /"userId":"fan-1","status":"succeeded","version":1,/,
      /"productId":"mug",.*"status":"pending"/,
      /"status":"refunded"/,
      /"productId":"half-price-scarf",.*"status":"completed".*"coupon_code":"/,
      /"type":"debit"/,
      /"displayName":null,"metrics":\{"points":8\}/,
      /"exportId":".*"format":"csv"/,
    ]) {
      assert.match(stdout, answer);
    }

    const [names] = /^export .*$/m.exec(walk) ?? assert.fail("the demo tells no names");
    const stream = start(["sh", "-c", `${names}\nexec ${streams[0]}`]);
    await stream.match(/^data: \{.*"data":\[/m);
    stream.signal("SIGTERM");
    await stream.ended;
  });

  it("shows commands that the command line takes", () => {
    const lines = blocksOf("sh").flatMap(code =>
      code.split("\n").filter(line => line.startsWith("grandstand ")),
    );
    assert.ok(lines.length > 15);
    const environment = {
      GRANDSTAND_URL: "http://127.0.0.1",
      GRANDSTAND_ORGANISATION: ids.organisation,
      GRANDSTAND_SPACE: ids.space,
      GRANDSTAND_API_KEY: "gsk_1",
    };
    const wrong = lines.flatMap(line => {
      const words = line
        .replace(/\s#.*$/, "")
        .trim()
        .split(/\s+/)
        .slice(1);
      const invocation = parseCommandLine(words, environment);
      return invocation.kind === "command" ? [] : [{ line, invocation }];
    });
    assert.deepEqual(wrong, []);
    assert.ok(commands.length > 0);
  });

  it("shows settings that are valid", () => {
    const settings = Object.assign({}, ...blocksOf("json").map(code => JSON.parse(code)));
    assert.deepEqual(
      parseBoards(settings.leaderboards, "").map(({ id }) => id),
      ["overall", "monthly", "sprint"],
    );
    assert.deepEqual(declaredIndexes(settings), ["points"]);
    const fields = blocksOf("json").flatMap(code => [...customFieldsOf(JSON.parse(code)).keys()]);
    assert.deepEqual(fields, ["shirt", "member"]);
    const { notify, webhook } = exportSettings({ id: ids.organisation, name: "Ours", settings });
    assert.deepEqual([notify, webhook?.url], [settings.exports.notify, settings.exports.webhook.url]);
    const { webhooks } = parse(blocksOf("yaml").find(code => code.startsWith("webhooks:")) ?? "");
    const { config } = compileConfig(Object.assign({}, demoLoyalty, { webhooks }));
    assert.deepEqual(
      config.webhooks.map(({ id }) => id),
      ["crm"],
    );
  });

  it("shows a condition that a rule can have, and that holds when it says so", () => {
    const { when } = parse(blocksOf("yaml").find(code => code.startsWith("when:")) ?? "");
    const rule = {
      id: "shown",
      trigger: { action: "prediction" },
      when,
      effects: [{ type: "metric", metricId: "points", metricQuantity: 100 }],
    };
    const { config } = compileConfig(demoLoyalty);
    const compiled = compileConfig({ ...config, rules: [...config.rules, rule], challenges: [] });
    const dayMs = 86_400_000;
    const startsAt = Date.parse("2026-11-16T12:00:00Z");
    let state = emptyState(null);
    // On the third day it is not the second week yet; on the tenth the three of the first week are too long ago.
    const firedOn = [0, 1, 2, 9, 10, 11].filter(day => {
      const data = { outcome: "exact", eventId: "e" };
      const outcome = applyAction(compiled, state, {
        name: "prediction",
        data,
        at: startsAt + day * dayMs,
      });
      state = outcome.state;
      return outcome.fired.includes("shown");
    });
    assert.deepEqual(firedOn, [11]);
  });
});
