/** Logging in, profiles, allow-lists and what describes the tool. */

import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { groups } from "../../lib/cli/mod.ts";
import type { PlatformOptions } from "../../lib/mod.ts";
import { ids } from "../support/platform.ts";
import { type Outcome, runCli, type Surroundings } from "../support/terminal.ts";
import { type CliWorld, openCliWorld } from "./_cli_examples.ts";

type Mail = Parameters<NonNullable<PlatformOptions["mailer"]>["send"]>[0];

const opened: CliWorld[] = [];
afterEach(async () => {
  for (const world of opened.splice(0)) await world.dispose();
});

async function open(options: Partial<PlatformOptions> = {}): Promise<CliWorld> {
  const world = await openCliWorld(options);
  opened.push(world);
  return world;
}

/** Runs a command line without a token in the environment. */
async function run(world: CliWorld, line: string, around: Surroundings = {}): Promise<Outcome> {
  return await runCli(line, {
    fetch: request => world.platform.fetch(request),
    clock: world.clock.now,
    ...around,
  });
}

async function newToken(world: CliWorld, email = "op@example.com"): Promise<string> {
  const user = await world.platform.authors.findOrCreate(email);
  return (await world.platform.authors.createToken({ userId: user.id, name: "Test" })).token;
}

describe("grandstand login", () => {
  it("mails a code, keeps the token in the profile, and logs out", async () => {
    const mails: Mail[] = [];
    const world = await open({ mailer: { send: async mail => void mails.push(mail) } });
    await world.platform.authors.findOrCreate("sam@example.com");
    const files = new Map<string, string | Uint8Array>();
    const asked: string[] = [];
    const host = {
      terminal: {
        isTerminal: { stdin: true, stdout: true, stderr: true },
        width: 100,
        print: async () => {},
        warn: () => {},
        status: () => {},
        async ask(question: string) {
          asked.push(question);
          if (question.startsWith("E-mail")) return "sam@example.com";
          const mail = mails.at(-1);
          return mail !== undefined && "code" in mail ? String(mail.code) : null;
        },
      },
    };
    const line = "login --profile staging --control-url http://127.0.0.1";
    assert.equal((await run(world, line, { files, host })).code, 0);
    assert.deepEqual(asked, ["E-mail address: ", "Code that was mailed to sam@example.com: "]);
    assert.match(String(files.get("tokens/staging")), /^gst_/);
    const config = JSON.parse(String(files.get("config.json")));
    assert.deepEqual(config.profiles.staging, {
      control_url: "http://127.0.0.1",
      token: { file: "tokens/staging" },
    });
    const who = await run(world, "whoami --json", { files });
    assert.equal(who.json.data.email, "sam@example.com");
    assert.equal(who.json.data.profile, "staging");
    const token = String(files.get("tokens/staging"));
    const out = await run(world, "logout --json", { files });
    assert.deepEqual(out.json.data, { profile: "staging", was_logged_in: true });
    assert.equal(files.has("tokens/staging"), false);
    assert.equal((await run(world, "whoami", { files })).code, 4);
    assert.equal((await run(world, "whoami", { variables: { GRANDSTAND_TOKEN: token } })).code, 4);
    assert.equal((await run(world, "logout --json", { files })).json.data.was_logged_in, false);
    const again = await run(world, "logout", { files, isTerminal: true });
    assert.match(again.stdout, /PROFILE {2}WAS_LOGGED_IN.*\nstaging {2}false\n$/);
  });

  it("takes a token with a line break at its end from a variable", async () => {
    const world = await open();
    const variables = { GRANDSTAND_TOKEN: `\ufeff${await newToken(world)}\r\n` };
    const whoami = await run(world, "whoami --control-url http://127.0.0.1:8787", { variables });
    assert.equal(whoami.code, 0, whoami.stderr);
  });

  it("takes a token from stdin, and keeps none that does not work", async () => {
    const world = await open();
    const token = await newToken(world);
    const files = new Map<string, string | Uint8Array>([["-", `${token}\n`]]);
    const outcome = await run(world, "login --token-stdin --json", { files });
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.equal(files.get("tokens/default"), token);
    const wrong = new Map<string, string | Uint8Array>([["-", "gst_wrong"]]);
    const refused = await run(world, "login --token-stdin --json", { files: wrong });
    assert.deepEqual([refused.code, [...wrong.keys()]], [4, ["-"]]);
    assert.doesNotMatch(refused.stderr, /gst_wrong/);
    const empty = await run(world, "login --token-stdin", { files: new Map([["-", "\n"]]) });
    assert.equal(empty.code, 2);
  });

  it("refuses where nobody can be asked, before any request", async () => {
    const world = await open();
    const { code, error, requests } = await run(world, "login --json");
    assert.deepEqual([code, requests], [2, []]);
    assert.equal(error.next, "grandstand login --token-stdin");
  });

  it("says that a code is wrong", async () => {
    const world = await open({ mailer: { send: async () => {} } });
    const { code, stderr } = await run(world, "login --email sam@example.com", { answers: ["00000000"] });
    assert.equal(code, 4);
    assert.match(stderr, /code is wrong, spent or too old/);
  });
});

describe("profiles", () => {
  it("are changed by config set and listed without secrets", async () => {
    const world = await open();
    const files = new Map<string, string | Uint8Array>();
    for (const line of [
      "config set control_url http://127.0.0.1 --profile a",
      `config set org ${ids.organisation}`,
      `config set allow space:${ids.space},event:e1`,
      "config set demo_form_id form1",
    ]) {
      assert.equal((await run(world, line, { files })).code, 0, line);
    }
    const { json } = await run(world, "config list --json", { files });
    assert.deepEqual(json.data, [
      {
        name: "a",
        is_current: true,
        control_url: "http://127.0.0.1",
        org: ids.organisation,
        space: null,
        has_token: false,
        allow: `space:${ids.space},event:e1`,
      },
    ]);
    assert.equal((await run(world, "config get demo_form_id", { files })).stdout, "form1\n");
    await run(world, "config set allow read-only", { files });
    assert.equal((await run(world, "config get allow", { files })).stdout, "read-only\n");
    await run(world, "config set allow unrestricted", { files });
    assert.equal((await run(world, "config get allow", { files })).stdout, "unrestricted\n");
    await run(world, "config set org $ORG --profile b".replace("$ORG", ids.otherOrganisation), { files });
    assert.equal((await run(world, "config get current", { files })).stdout, "a\n");
    await run(world, "config set current b", { files });
    assert.equal((await run(world, "config get org", { files })).stdout, `${ids.otherOrganisation}\n`);
    assert.equal((await run(world, "config set current c", { files })).code, 2);
    await run(world, "config set org", { files });
    assert.equal((await run(world, "config get org", { files })).code, 6);
  });

  it("keep what this version does not know", async () => {
    const world = await open();
    const text = JSON.stringify({ version: 1, theme: "x", profiles: { a: { colour: "y" } }, current: "a" });
    const files = new Map<string, string | Uint8Array>([["config.json", text]]);
    await run(world, `config set org ${ids.organisation}`, { files });
    const config = JSON.parse(String(files.get("config.json")));
    assert.deepEqual([config.theme, config.profiles.a.colour], ["x", "y"]);
  });

  it("refuse wrong values and files, with the way out", async () => {
    const world = await open();
    const cases: [string, string | undefined, RegExp][] = [
      ["config set control_url http://example.com", undefined, /must be an https address/],
      ["config set colour red", undefined, /must be one of control_url/],
      ["config set allow everything", undefined, /must be read-only, unrestricted/],
      ["orgs list --profile none", undefined, /There is no profile "none"/],
      ["orgs list", "{", /is no configuration/],
      ["orgs list", "[]", /is no configuration/],
      ["orgs list", '{"version": 2, "profiles": {}}', /is no configuration/],
    ];
    for (const [line, config, message] of cases) {
      const files = new Map<string, string | Uint8Array>(
        config === undefined ? [] : [["config.json", config]],
      );
      const { code, stderr, requests } = await run(world, line, { files });
      assert.deepEqual([code, requests], [2, []], line);
      assert.match(stderr, message);
    }
  });

  it("are not read by commands that need none", async () => {
    const files = new Map([["config.json", "{"]]);
    for (const line of [
      "help",
      "completion bash",
      "doctor --data d",
      "backup b --data d",
      "restore b --data d",
      "seed apply s.yaml --data d",
      "users index --data d",
      "migrate --postgres postgres://d",
      "leaderboards rebuild b --project p --event e --data d",
      "operators bootstrap --email a@example.com --data d",
      "signing-keys list --data d",
      "signing-keys rotate --data d",
      "signing-keys revoke k --data d --yes",
    ]) {
      const { code, stderr } = await runCli(line, { files, variables: { GRANDSTAND_PROFILE: "none" } });
      // The host of this test has no store.
      assert.equal(stderr, code === 0 ? "" : "not here\n", line);
    }
  });

  it("give settings that variables and flags win over", async () => {
    const world = await open();
    const token = await newToken(world);
    const profile = { org: "from-profile", token: { env: "MY_TOKEN" } };
    const files = new Map<string, string | Uint8Array>([
      ["config.json", JSON.stringify({ version: 1, current: "a", profiles: { a: profile } })],
    ]);
    const asked = async (line: string, variables: Record<string, string>): Promise<string | undefined> =>
      (await run(world, line, { files, variables: { MY_TOKEN: token, ...variables } })).requests[0];
    assert.match((await asked("spaces list", {})) ?? "", /from-profile/);
    assert.match((await asked("spaces list", { GRANDSTAND_ORG: "from-variable" })) ?? "", /from-variable/);
    const flag = "spaces list --org from-flag";
    assert.match((await asked(flag, { GRANDSTAND_ORG: "from-variable" })) ?? "", /from-flag/);
    const { stderr } = await run(world, "spaces list --verbose", { files, variables: { MY_TOKEN: token } });
    assert.match(
      stderr,
      /^profile a \(config\.json\)\ncontrol_url http:\/\/127\.0\.0\.1 \(GRANDSTAND_CONTROL_URL\)\n/,
    );
    assert.match(stderr, /--org from-profile \(profile a\)\nGET \/api\/v2\/organisations\/from-profile/);
    assert.ok(!stderr.includes(token));
  });
});

describe("the allow-list of a profile", () => {
  const profiles = (allow: unknown): Map<string, string | Uint8Array> =>
    new Map([["config.json", JSON.stringify({ version: 1, current: "a", profiles: { a: { allow } } })]]);

  it("refuses changes elsewhere before any request that changes something, and says what is missing", async () => {
    const world = await open();
    for (const allow of [[], [{ kind: "space", id: ids.otherSpace }]]) {
      const { code, error, requests } = await world.cli("tags create Sponsors --json", {
        files: profiles(allow),
      });
      assert.equal(code, 5);
      assert.equal(error.code, "not_in_allow_list");
      assert.match(error.hint, new RegExp(`"kind": "space", "id": "${ids.space}"`));
      assert.deepEqual(
        requests.filter(one => !one.startsWith("GET ")),
        [],
      );
    }
  });

  it("counts for commands of back ends too, with a token and with a key", async () => {
    const world = await open();
    const other = [{ kind: "space", id: ids.otherSpace }];
    const key = { GRANDSTAND_API_KEY: "gsk_1", GRANDSTAND_API_SECRET: "gss_1" };
    const lines = [
      "loyalty rollback 1",
      "webhooks enable w1",
      "keys create --name x --permission users:read",
      `projects client-token ${ids.project}`,
    ];
    for (const [allow, variables] of [
      [[], {}],
      [other, {}],
      [other, key],
    ] as const) {
      for (const line of lines) {
        const { code, error, requests } = await world.cli(`${line} --json`, {
          files: profiles(allow),
          variables,
        });
        assert.deepEqual([code, error.code], [5, "not_in_allow_list"], line);
        assert.deepEqual(
          requests.filter(one => !one.startsWith("GET ")),
          [],
          line,
        );
      }
    }
    const trial = "loyalty dry-run --user u1 --action cheer --json";
    assert.notEqual((await world.cli(trial, { files: profiles([]) })).code, 5);
    const allow = [{ kind: "space", id: ids.space }];
    const sent = await world.cli("webhooks enable w1 --json", { files: profiles(allow) });
    assert.equal(sent.error.status, 404);
  });

  it("lets changes through below its entries, and names the entry", async () => {
    const world = await open();
    const allow = [{ kind: "org", id: ids.organisation, label: "Sandbox" }];
    const { code, stderr } = await world.cli("tags create Sponsors", { files: profiles(allow) });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /profile a · org Sandbox/);
  });

  it("is shown and checked without a change", async () => {
    const world = await open();
    const allow = [{ kind: "project", id: ids.project }];
    const shown = await world.cli("scope show --json", { files: profiles(allow) });
    assert.deepEqual(shown.json.data, [{ kind: "project", id: ids.project, label: null }]);
    const allowed = await world.cli(`scope check event ${ids.event} --json`, { files: profiles(allow) });
    assert.deepEqual(
      [allowed.code, allowed.json.data.verdict, allowed.json.data.role, allowed.json.data.matched_by],
      [0, "allowed", "admin", `project:${ids.project}`],
    );
    const denied = await world.cli(`scope check space ${ids.space} --json`, { files: profiles(allow) });
    assert.deepEqual([denied.code, denied.json.data.local, denied.json.data.matched_by], [5, "denied", null]);
    for (const [list, meaning] of [
      [undefined, "unrestricted"],
      [[], "read-only"],
    ] as const) {
      const { json } = await world.cli("scope show --json", { files: profiles(list) });
      assert.deepEqual(json.meta, { meaning });
    }
  });

  it("leaves the last word to the role", async () => {
    const world = await open();
    const token = await newToken(world, "nobody@example.com");
    const { code } = await run(world, `scope check event ${ids.event}`, {
      variables: { GRANDSTAND_TOKEN: token },
    });
    assert.equal(code, 6);
  });
});

describe("grandstand help", () => {
  it("describes every command and group, and suggests the closest", async () => {
    const world = await open();
    const all = await run(world, "help");
    const commands = (await Promise.all(groups.map(({ load }) => load()))).flat();
    const unwrapped = all.stdout.replace(/\s+/g, " ");
    for (const { words, summary, examples } of commands) {
      assert.ok(unwrapped.includes(summary), words.join(" "));
      assert.ok(all.stdout.includes(`  ${words.join(" ")}`), words.join(" "));
      const { code, stdout } = await run(world, `${words.join(" ")} --help`);
      assert.equal(code, 0);
      assert.ok(examples.every(example => stdout.includes(`grandstand ${example}`)));
      const long = [...stdout.split("\n"), ...all.stdout.split("\n")].filter(({ length }) => length > 80);
      assert.deepEqual(
        long.filter(text => !text.startsWith("  grandstand ")),
        [],
        "fits 80 columns",
      );
    }
    const wrong = await run(world, "help event");
    assert.equal(wrong.code, 2);
  });

  it("has the whole tool as data", async () => {
    const world = await open();
    const { json } = await run(world, "help --json");
    const names = json.data.commands.map((one: { name: string }) => one.name);
    assert.ok(names.includes("orgs list") && names.includes("login"));
    assert.equal(json.data.exit_codes.declined, 10);
    const one = await run(world, "help scope check --json");
    assert.deepEqual(
      one.json.data.commands.map((command: { name: string }) => command.name),
      ["scope check"],
    );
  });

  it("answers usage errors without a request", async () => {
    const world = await open();
    for (const [line, message] of [
      ["orgz list", /Did you mean orgs\?/],
      ["orgs lst", /Did you mean orgs list\?/],
      ["--org x orgs list", /There is no --org/],
      ["orgs list --json=no", /--json takes no value/],
      ["spaces list --org -5", /write --org=-5/],
    ] as const) {
      const { code, stderr, requests } = await run(world, line);
      assert.deepEqual([code, requests], [2, []], line);
      assert.match(stderr, message);
    }
  });

  it("takes global flags before and behind the words", async () => {
    const world = await open();
    for (const line of ["--json orgs list", "orgs --json list", "orgs list --json"]) {
      assert.equal((await world.cli(line)).json.data.length, 2, line);
    }
  });
});

describe("a removal", () => {
  it("whose answer was lost succeeds at the second attempt, and one of nothing fails", async () => {
    const world = await open();
    const id = await world.create("/access_tokens", "access_tokens", { name: "Old" });
    const loses = (isAfter: boolean) => {
      let count = 0;
      return async (request: Request): Promise<Response> => {
        const isFirst = request.method === "DELETE" && ++count === 1;
        if (isFirst && !isAfter) return new Response(null, { status: 429 });
        const response = await world.platform.fetch(request);
        if (isFirst) throw new Error("lost");
        return response;
      };
    };
    const removed = await world.cli(`tokens revoke ${id}`, { fetch: loses(true) });
    assert.deepEqual([removed.code, removed.requests.length], [0, 2], removed.stderr);
    assert.equal((await world.cli(`tokens revoke ${id}`, { fetch: loses(false) })).code, 6);
  });
});

describe("lists", () => {
  it("go on behind an empty page, and end where pages are empty without end", async () => {
    const world = await open();
    const page = (data: readonly unknown[], next: string | null): Response =>
      Response.json({ data, links: { next } }, { headers: { "content-type": "application/vnd.api+json" } });
    const space = { type: "spaces", id: "s1", attributes: { name: "One" } };
    const found = await world.cli("spaces list --json", {
      fetch: async ({ url }) =>
        url.includes("cursor") ? page([space], null) : page([], "/api/v2/more?cursor=1"),
    });
    assert.equal(found.code, 0, found.stderr);
    assert.deepEqual([found.code, found.json.data.length, found.json.meta.truncated], [0, 1, false]);
    const { code, requests } = await world.cli("spaces list --control-url http://localhost:8080", {
      fetch: async ({ url }) =>
        url.includes("cursor") ? page([space], null) : page([], "http://127.0.0.1:8080/api/v2/more?cursor=1"),
    });
    assert.deepEqual([code, requests.at(-1)], [0, "GET /api/v2/more?cursor=1"]);
    let count = 0;
    const endless = await world.cli("spaces list --json", {
      fetch: async () => page([], `/api/v2/more?cursor=${++count}`),
    });
    assert.deepEqual([endless.code, count, endless.json.meta.truncated], [0, 1_000, true]);
  });
});
