/** Commands about users, loyalty, webhooks, exports and keys, with an API key and with the token of an admin. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ajv } from "ajv";
import { createMemoryQueue } from "../../adapters/memory/mod.ts";
import { WebhookError } from "../../lib/base/outbound/outbound.ts";
import { schemaOf } from "../../lib/cli/frame/output.ts";
import { type CommandSpec, groups, requestsOf } from "../../lib/cli/mod.ts";
import { loyaltyFaults } from "../../runtime/services/seed_files.ts";
import { ids, loyalty, seed } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { type CliWorld, exampleArgs, openCliWorld } from "./_cli_examples.ts";
import { exportExamples } from "./_export_examples.ts";
import { newKey } from "./_operations.ts";

const commands = (await Promise.all(groups.map(({ load }) => load()))).flat();
const ajv = new Ajv({ formats: { "date-time": true } });

function commandOf(words: string): CommandSpec {
  return commands.find(command => command.words.join(" ") === words) ?? assert.fail(words);
}

interface BackEnd {
  readonly world: CliWorld;
  readonly variables: Record<string, string>;
  readonly files: Map<string, string | Uint8Array>;
  readonly receiver: { isThere: boolean };
}

/** A platform with a user, an action and a delivery that failed for good, and an export. */
async function openBackEnd(): Promise<BackEnd> {
  const receiver = { isThere: false };
  const webhooks = [{ id: "crm", url: "https://crm.example/", events: ["actionRewarded"] }];
  const world = await openCliWorld({
    seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks } } },
    queue: createMemoryQueue({ clock: Date.now }),
    webhooks: {
      async send() {
        if (!receiver.isThere) throw new WebhookError("the service answered 410", { status: 410 });
      },
    },
  });
  const fan = await world.fan("Sam");
  await fan.act("prediction", { outcome: "exact" });
  await world.platform.idle();
  const history = await world.call("/api/loyalty/history", { token: fan.token });
  const exports = new Map(await exportExamples(world));
  return {
    world,
    receiver,
    files: new Map([
      ["users.csv", "userId,displayName\nfan-1,Ann\nfan-2,Bo\n"],
      ["loyalty.yaml", JSON.stringify(loyalty)],
    ]),
    variables: {
      ...world.variables,
      USER_ID: fan.userId,
      TRANSACTION: history.json.data[0].id,
      EXPORT: String(exports.get("getAudienceExport")?.[0]?.params?.exportId),
      KEY: (await newKey(world)).key,
    },
  };
}

/** Queues an action that no configuration knows, and waits until it has failed for good. */
async function failAction({ world, variables }: BackEnd, credentials: Record<string, string>): Promise<void> {
  const worker = world.platform.startActionWorker();
  const path = "/v1/api/audience/internal/actions";
  const headers = { "x-platform-org-id": ids.organisation, ...credentials };
  const body = { userId: variables.USER_ID, action: "dance" };
  assert.equal((await world.call(path, { body, headers })).status, 202);
  const dead = async () => (await world.call(`${path}/dead-letters`, { headers })).json.totalCount === 1;
  await until("the action has failed", dead);
  await worker.stop();
}

for (const caller of ["an API key", "the token of an admin"]) {
  describe(`commands of back ends with ${caller}`, () => {
    it("work as their first examples say, in as many requests, and print data of their schemas", async t => {
      const made = await openBackEnd();
      const { world, variables, files } = made;
      t.after(() => world.dispose());
      const { key, secret } = await newKey(world);
      await failAction(made, { "x-api-key": key, "x-api-secret": secret });
      const credentials =
        caller === "an API key"
          ? { GRANDSTAND_API_KEY: key, GRANDSTAND_API_SECRET: secret, GRANDSTAND_TOKEN: "" }
          : {};
      const around = {
        variables: credentials,
        files,
        host: { loyaltyFaults: async (one: unknown) => loyaltyFaults(one) },
      };
      const run = async (words: string): Promise<void> => {
        const command = commandOf(words);
        const args = exampleArgs(command, variables);
        const { code, stderr, requests, json } = await world.cli([...args, "--json"], around);
        assert.equal(code, 0, `${words}: ${stderr}`);
        assert.equal(requests.length, requestsOf(command), `${words}: ${requests.join(", ")}`);
        const validate = ajv.compile(schemaOf(command.output));
        assert.ok(validate(json.data), `${words}: ${JSON.stringify([validate.errors, json.data])}`);
        if (command.changes !== undefined) return;
        for (const isTerminal of [false, true]) {
          const { stdout } = await world.cli(args, { ...around, isTerminal });
          assert.doesNotMatch(stdout, /undefined|\[object/, words);
        }
      };

      await run("webhooks list");
      await run("webhooks dead-letters list");
      made.receiver.isThere = true;
      await run("webhooks enable");
      await run("webhooks dead-letters replay");
      for (const words of ["keys list", "keys create", "keys rotate", "keys revoke"]) await run(words);
      await run("loyalty validate");
      for (const words of ["replay", "dry-run", "reconcile", "reverse"]) await run(`loyalty ${words}`);
      files.delete("loyalty.yaml");
      for (const words of ["pull", "push", "versions", "rollback"]) await run(`loyalty ${words}`);
      await run("actions dead-letters list");
      await run("actions dead-letters replay");
      for (const words of ["list", "show", "create"]) await run(`exports ${words}`);
      await run("projects client-token");
      await run("users import");
      for (const words of ["find", "show", "export", "sessions", "ban", "unban"]) await run(`users ${words}`);
      const gone = await world.cli(
        `users delete ${variables.USER_ID} --project ${ids.project} --yes`,
        around,
      );
      assert.match(gone.stdout, /projectTrail\s+stays\s+The trail shows/);
      const shown = await world.cli(`users show ${variables.USER_ID} --project ${ids.project}`, around);
      assert.match(shown.stderr, /unknown|no such|not_found/i);
    });
  });
}

describe("grandstand users import", () => {
  async function open(t: { after(dispose: () => unknown): void }): Promise<CliWorld> {
    const world = await openCliWorld();
    t.after(() => world.dispose());
    return world;
  }

  it("counts what changed, and changes nothing the second time", async t => {
    const world = await open(t);
    const files = new Map([["-", '{"userId":"a","displayName":"Ann"}\n{"userId":"b"}\n']]);
    const first = await world.cli("users import -", { files });
    assert.deepEqual([first.code, first.stdout, first.requests.length], [0, "", 1]);
    assert.match(first.stderr, /2 rows: 2 changed, 0 unchanged, 0 failed, 0 unknown/);
    const second = await world.cli("users import - --format jsonl --json", { files });
    assert.deepEqual(second.json.meta.summary, { total: 2, changed: 0, unchanged: 2, failed: 0, unknown: 0 });
  });

  it("lists in a dry run who would be created, and changes nothing", async t => {
    const world = await open(t);
    const files = new Map([["users.csv", "userId,displayName\n0012,Ann\n"]]);
    await world.cli("users import users.csv", { files });
    const changed = new Map([["users.csv", "userId,displayName\n12,Ann\n0012,Ann\n"]]);
    const dry = await world.cli("users import users.csv --dry-run", { files: changed });
    assert.deepEqual([dry.code, dry.stdout], [0, "1\t12\tnew\t\n"]);
    assert.match(dry.stderr, /2 rows: 1 of users who would be created, 1 of known ones, 0 failed/);
    const after = await world.cli("users import users.csv", { files: changed });
    assert.match(after.stderr, /2 rows: 1 changed, 1 unchanged/);
  });

  it("lists the rows that were not applied, up to 1,000, and exits with 1", async t => {
    const world = await open(t);
    const wrong = Array.from({ length: 1_001 }, (_, index) => `fan-${index},${"x".repeat(300)}\n`).join("");
    const files = new Map([["users.csv", `userId,displayName\nann,Ann\n${wrong}`]]);
    const { code, stdout, stderr } = await world.cli("users import users.csv", { files });
    const rows = stdout.trimEnd().split("\n");
    assert.deepEqual([code, rows.length], [1, 1_000]);
    assert.match(rows[0] ?? "", /^2\tfan-0\tfailed\t.*displayName/);
    assert.match(stderr, /1 changed, 0 unchanged, 1001 failed[\s\S]*1 more were not applied/);
  });

  it("refuses a missing file, and one whose columns are not those of exports", async t => {
    const world = await open(t);
    const missing = await world.cli("users import none.csv");
    assert.deepEqual([missing.code, missing.requests], [2, []]);
    assert.match(missing.stderr, /Cannot read none\.csv: there is no such file/);
    const files = new Map([["users.csv", "name\nAnn\n"]]);
    const wrong = await world.cli("users import users.csv", { files });
    assert.deepEqual([wrong.code, wrong.stdout], [8, ""]);
    assert.equal((await world.cli("users import users.csv --format xml", { files })).code, 2);
  });

  it("begins again after a lost connection, but not with stdin", async t => {
    const world = await open(t);
    const files = new Map([
      ["users.csv", "userId\nann\n"],
      ["-", '{"userId":"ann"}\n'],
    ]);
    const flaky = () => {
      let count = 0;
      return async (request: Request): Promise<Response> => {
        count += 1;
        if (count > 1) return await world.platform.fetch(request);
        await request.body?.cancel();
        throw new TypeError("reset");
      };
    };
    const again = await world.cli("users import users.csv", { files, fetch: flaky() });
    assert.deepEqual([again.code, again.requests.length], [0, 2], again.stderr);
    const once = await world.cli("users import -", { files, fetch: flaky() });
    assert.deepEqual([once.code, once.requests.length], [9, 1]);
  });

  it("reports an answer that breaks off, or is none of this route", async t => {
    const world = await open(t);
    const files = new Map([["users.csv", "userId\nann\n"]]);
    for (const [text, exit] of [
      ['{"row":1,"userId":"ann","status":"failed"}\n', 9],
      ["", 9],
      ["<html>\n", 1],
    ] as const) {
      const fetch = async () => new Response(text);
      const { code, stdout } = await world.cli("users import users.csv", { files, fetch });
      assert.deepEqual([code, stdout], [exit, ""], text);
    }
  });
});
