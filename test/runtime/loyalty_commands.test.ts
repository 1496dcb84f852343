/** The commands of `grandstand loyalty` against a server that is a program. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { type Outcome, runHere } from "./command_line.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-commands-"));
const built = runtimes.find(({ skip }) => skip === false);
let server: Program;
let demo: Demo;
let environment: Record<string, string>;

before(async () => {
  assert.ok(built !== undefined);
  const file = join(folder, "demo.json");
  const args = ["serve", "--demo", "--port", "0", "--demo-file", file, "--log", "error"];
  server = start([...cliCommand(built), ...args]);
  await server.match(/listens on/);
  demo = JSON.parse(readFileSync(file, "utf8"));
  environment = {
    GRANDSTAND_URL: demo.baseUrl,
    GRANDSTAND_SPACE: demo.spaceId,
    GRANDSTAND_API_KEY: demo.apiKey?.key ?? "",
    GRANDSTAND_API_SECRET: demo.apiKey?.secret ?? "",
  };
});
after(async () => {
  server.signal("SIGTERM");
  await server.ended;
  rmSync(folder, { recursive: true });
});

function run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return runHere(["loyalty", ...args], { ...environment, ...more });
}

/** Runs a command as a program, which reads standard input. */
async function runWith(input: string, args: readonly string[], cwd: string): Promise<Outcome> {
  assert.ok(built !== undefined);
  const program = start([...cliCommand(built), "loyalty", ...args], environment, { cwd });
  program.stdin.end(input);
  const code = await program.ended;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

const at = (name: string): string => join(folder, name);
function write(name: string, document: unknown): string {
  writeFileSync(at(name), typeof document === "string" ? document : JSON.stringify(document));
  return at(name);
}
const gems = { metrics: [{ id: "gems", title: "Gems" }] };

async function shownMetrics(): Promise<string[]> {
  const { data } = (await (await fetch(`${demo.baseUrl}/api/loyalty/config`)).json()) as {
    data: { metrics: readonly { id: string }[] };
  };
  return data.metrics.map(({ id }) => id);
}

describe("grandstand loyalty validate", () => {
  it("passes a valid file without a server", async () => {
    const path = write("valid.yaml", "metrics: # what fans collect\n  - {id: gems, title: Gems}\n");
    const none = { GRANDSTAND_URL: "", GRANDSTAND_API_SECRET: "" };
    assert.deepEqual(await run(["validate", path], none), {
      code: 0,
      stdout: `${path} is valid\n`,
      stderr: "",
    });
    const { code, stdout } = await run(["validate", path, "--json"], none);
    assert.equal(code, 0);
    assert.match(JSON.parse(stdout).data.digest, /^sha256:[0-9a-f]{64}$/);
  });

  it("names every fault of an invalid one with its place", async () => {
    const path = write("invalid.yaml", "metrics:\n  - id: not an id\n    title: 5\nrules: {}\n");
    const { code, stdout, stderr } = await run(["validate", path]);
    assert.deepEqual([code, stdout], [8, ""]);
    const lines = stderr.trimEnd().split("\n");
    assert.equal(lines[0], `The loyalty configuration in ${path} is not valid`);
    for (const place of [":2:9 /metrics/0/id: ", ":3:12 /metrics/0/title: ", ":4:8 /rules: "]) {
      assert.ok(
        lines.slice(1).some(line => line.startsWith(`  ${path}${place}`)),
        `${place} in ${stderr}`,
      );
    }
    const asJson = await run(["validate", path, "--json"]);
    assert.deepEqual([asJson.code, asJson.stdout], [8, ""]);
    const { error } = JSON.parse(asJson.stderr);
    assert.equal(error.code, "validation_failed");
    assert.equal(error.details.length, lines.length - 1);
  });

  it("fails if the file is missing, or is neither JSON nor YAML", async () => {
    const missing = await run(["validate", at("missing.json")]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /there is no such file/);
    const { code, stderr } = await run(["validate", write("broken.json", '{"a": [}')]);
    assert.equal(code, 8);
    assert.match(stderr, /broken\.json:1:\d/);
  });
});

describe("a command line of grandstand loyalty", () => {
  it("that is wrong is refused before any request", async () => {
    const cases: [string[], Record<string, string>, RegExp][] = [
      [["pul", "x"], {}, /no command "loyalty pul". Did you mean loyalty pull\?/],
      [["pull"], {}, /loyalty pull needs <file>/],
      [["pull", "a", "b"], {}, /takes no argument "b"/],
      [["pull", "a", "--frce"], {}, /There is no --frce. Did you mean --force\?/],
      [["pull", "a", "--control-url"], {}, /--control-url needs a value/],
      [["pull", "a", "--control-url=", "b"], {}, /--control-url needs a value/],
      [["pull", "a", "--force=yes"], {}, /--force takes no value/],
      [["pull", "a", "--key", "b", "--key", "c"], {}, /--key is given more than once/],
      [["pull", "a"], { GRANDSTAND_SPACE: "" }, /needs --space or GRANDSTAND_SPACE/],
      [["pull", "a", "--control-url", "http://example.org"], {}, /--control-url must be an https address/],
      [["rollback", "x"], {}, /needs the number of a version/],
    ];
    for (const [args, more, message] of cases) {
      const { code, stdout, stderr } = await run(args, more);
      assert.deepEqual([code, stdout], [2, ""], args.join(" "));
      assert.match(stderr, message);
    }
  });

  it("that asks for help gets it, with every flag and its variable", async () => {
    const { code, stdout } = await run(["push", "--help"]);
    assert.equal(code, 0);
    for (const text of [
      "--force",
      "--control-url <url>",
      "GRANDSTAND_SPACE",
      "GRANDSTAND_API_SECRET",
      "<file>",
    ]) {
      assert.ok(stdout.includes(text), text);
    }
    assert.match((await run([])).stdout, /loyalty pull <file>[\s\S]*loyalty rollback <version>/);
  });

  it("ends with a code of its own for each kind of failure", async () => {
    const cases: [Record<string, string>, number, RegExp][] = [
      [{ GRANDSTAND_API_SECRET: "" }, 4, /GRANDSTAND_API_SECRET must be set/],
      [{ GRANDSTAND_API_SECRET: "gss_wrong" }, 4, /Request id: /],
      [{ GRANDSTAND_SPACE: "0b000000-0000-4000-8000-00000000ffff" }, 6, /no such space/],
      [{ GRANDSTAND_SPACE: "not a space" }, 2, /--space must be an id/],
      [{ GRANDSTAND_URL: "http://127.0.0.1:9" }, 9, /Cannot reach http:\/\/127\.0\.0\.1:9/],
    ];
    for (const [more, expected, message] of cases) {
      const { code, stdout, stderr } = await run(["versions"], more);
      assert.deepEqual([code, stdout], [expected, ""], stderr);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /gss_/);
    }
    const { stderr } = await run(["versions", "--json"], { GRANDSTAND_API_SECRET: "gss_wrong" });
    const { error } = JSON.parse(stderr);
    assert.deepEqual([error.code, error.status], ["invalid_api_key", 401]);
    assert.match(error.request_id, /./);
  });

  it("sends credentials nowhere else", async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = await listening((request, end) => {
      seen.push(String(request.headers["x-api-secret"]));
      end(200, {});
    });
    const redirecting = await listening((_, end) => end(307, { location: `${elsewhere.url}/` }));
    const { code } = await run(["versions"], { GRANDSTAND_URL: redirecting.url });
    assert.equal(code, 1);
    assert.deepEqual(seen, []);
    for (const { server: one } of [elsewhere, redirecting]) one.close();
  });
});

describe("grandstand loyalty pull, push, versions and rollback", () => {
  it("print the configuration for -", async () => {
    const { code, stdout, stderr } = await run(["pull", "-"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(JSON.parse(stdout).metrics[0].id, "points");
    const { data } = JSON.parse((await run(["pull", "-", "--json"])).stdout);
    assert.deepEqual([data.version, data.etag, data.document], [1, '"v1"', JSON.parse(stdout)]);
  });

  it("take a configuration to a file and back", async () => {
    const path = at("loyalty.json");
    const { code, stdout, stderr } = await run(["pull", path]);
    assert.deepEqual([code, stderr], [0, `Version 1 is in ${path}\n`]);
    assert.match(stdout, new RegExp(`^1\\tsha256:\\w+\\t${path}\n$`));
    const document = JSON.parse(readFileSync(path, "utf8"));
    const unchanged = await run(["push", path]);
    assert.deepEqual([unchanged.code, unchanged.stderr], [0, "No change: version 1 is equal\n"]);
    write("loyalty.json", { ...document, metrics: [...document.metrics, ...gems.metrics] });
    const pushed = await run(["push", path, "--json"]);
    assert.equal(pushed.code, 0, pushed.stderr);
    assert.deepEqual(
      [JSON.parse(pushed.stdout).data.version, JSON.parse(pushed.stdout).data.changed],
      [2, true],
    );
    assert.ok((await polled(shownMetrics, ids => ids.includes("gems"))).includes("points"));
  });

  it("refuse to overwrite another push until it is pulled, or with --force", async () => {
    const mine = at("mine.json");
    const yours = at("yours.json");
    await run(["pull", mine]);
    await run(["pull", yours]);
    write("yours.json", gems);
    assert.equal((await run(["push", yours])).code, 0);
    write("mine.json", { metrics: [...gems.metrics, { id: "coins", title: "Coins" }] });
    const refused = await run(["push", mine]);
    assert.deepEqual([refused.code, refused.stdout], [7, ""]);
    assert.match(refused.stderr, /was never pulled[\s\S]*Hint: .*--force/);
    const overwriting = await run(["pull", mine]);
    assert.deepEqual([overwriting.code, overwriting.stdout], [7, ""]);
    assert.match(overwriting.stderr, /holds changes that were never pushed/);
    const forced = await run(["push", mine, "--force"]);
    assert.deepEqual([forced.code, forced.stderr], [0, "Version 4 is now in force\n"]);
    const pulled = await run(["pull", yours]);
    assert.equal(pulled.code, 0, pulled.stderr);
    assert.equal(JSON.parse(readFileSync(yours, "utf8")).metrics.length, 2);
    write("yours.json", gems);
    assert.equal((await run(["pull", yours, "--force"])).code, 0);
    assert.equal(JSON.parse(readFileSync(yours, "utf8")).metrics.length, 2);
  });

  it("refuse a file that was never pulled while the server has a configuration", async () => {
    const path = write("stranger.json", gems);
    const { code, stderr } = await run(["push", path]);
    assert.equal(code, 7);
    assert.match(stderr, /never pulled/);
    assert.equal(existsSync(`${path}.base.json`), false);
  });

  it("take a configuration from standard input, with --force, and leave no file", async () => {
    const cwd = mkdtempSync(join(folder, "piped-"));
    const input = (await run(["pull", "-"])).stdout;
    assert.equal((await runWith(input, ["push", "-"], cwd)).code, 7);
    assert.equal((await runWith(input, ["push", "-", "--force"], cwd)).code, 0);
    assert.deepEqual(readdirSync(cwd), []);
    assert.equal((await runWith(input, ["push", "-"], cwd)).code, 7);
  });

  it("keep the comments of a YAML file that is equal to what the server has", async () => {
    const path = at("commented.yaml");
    await run(["pull", path]);
    const text = readFileSync(path, "utf8");
    assert.match(text, /^metrics:\n {2}- id: gems\n/);
    writeFileSync(path, `# ours\n${text}`);
    assert.equal((await run(["pull", path])).code, 0);
    assert.match(readFileSync(path, "utf8"), /^# ours\n/);
  });

  it("show the positions of the server's faults in the file", async () => {
    const path = write("refused.yaml", "metrics:\n  - {id: gems, title: Gems}\n");
    const source = { pointer: "/metrics/0/title" };
    const errors = [
      { code: "validation_failed", detail: "Is too shrill", source },
      { code: "validation_failed", detail: "Is taken", source: { pointer: "/metrics/0/id" } },
    ];
    const strict = await listening((_, end) => end(400, {}, { errors }));
    const { code, stderr } = await run(["push", path], { GRANDSTAND_URL: strict.url });
    strict.server.close();
    assert.equal(code, 8);
    assert.match(stderr, /refused\.yaml:2:23 \/metrics\/0\/title: Is too shrill\n/);
    assert.match(stderr, /refused\.yaml:2:10 \/metrics\/0\/id: Is taken\n/);
  });

  it("list the versions, and bring one back", async () => {
    const { code, stdout, stderr } = await run(["versions"]);
    assert.deepEqual([code, stderr], [0, ""]);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map(line => line.split("\t"));
    assert.deepEqual(
      rows.map(([version]) => version),
      ["4", "3", "2", "1"],
    );
    assert.deepEqual(
      rows.map(([, , by]) => by),
      [...Array(3).fill(`apiKey:${demo.apiKey?.key}`), "seed"],
    );
    const back = await run(["rollback", "2", "--json"]);
    assert.deepEqual([back.code, JSON.parse(back.stdout).data.version], [0, 5]);
    assert.deepEqual((await polled(shownMetrics, ids => ids.includes("points"))).sort(), ["gems", "points"]);
    const [newest] = JSON.parse((await run(["versions", "--json"])).stdout).data;
    assert.deepEqual([newest.version, newest.rollback_of], [5, 2]);
    assert.equal((await run(["rollback", "99"])).code, 6);
  });
});

describe("grandstand loyalty replay and dry-run", () => {
  const game = {
    metrics: [{ id: "points", title: "Points" }],
    actions: [{ name: "prediction", clientReportable: true }],
    rules: [
      {
        id: "exact",
        trigger: { action: "prediction" },
        when: { eq: [{ var: "data.outcome" }, "exact"] },
        effects: [{ type: "metric", metricId: "points", metricQuantity: 3 }],
      },
    ],
  };
  let fan: { readonly userId: string; readonly token: string };

  before(async () => {
    const path = write("game.json", game);
    assert.equal((await run(["push", path, "--force"])).code, 0);
    await polled(shownMetrics, ids => ids.join() === "points");
    fan = await signedIn();
    for (const outcome of ["exact", "wrong", "exact"]) await act(fan.token, { outcome });
  });

  it("find no difference where nothing changed", async () => {
    const { code, stdout, stderr } = await run(["replay", "--user", fan.userId, "--exit-code"]);
    assert.deepEqual([code, stdout], [0, ""], stderr);
    assert.match(stderr, /^3 records replayed against the current configuration: 0 differences\n/);
  });

  it("fail where nothing is on record of the user", async () => {
    const { code, stdout, stderr } = await run(["replay", "--user", "nobody"]);
    assert.deepEqual([code, stdout], [6, ""]);
    assert.match(stderr, /nothing is on record of the user/);
  });

  it("show the result under another configuration", async () => {
    const [rule] = game.rules;
    const effects = [{ type: "metric", metricId: "points", metricQuantity: 5 }];
    const candidate = write("candidate.json", { ...game, rules: [{ ...rule, effects }] });
    const asked = ["replay", "--user", fan.userId, "--file", candidate];
    const { code, stdout } = await run(asked);
    assert.equal(code, 0);
    assert.ok(stdout.split("\n").includes("/metrics/points\t6\t10"), stdout);
    assert.equal((await run([...asked, "--exit-code"])).code, 3);
    const { data } = JSON.parse((await run([...asked, "--json"])).stdout);
    assert.deepEqual(
      data.differences.find(({ pointer }: { pointer: string }) => pointer === "/metrics/points"),
      { pointer: "/metrics/points", a: 6, b: 10 },
    );
    const invalid = await run(["replay", "--user", fan.userId, "--file", write("no.json", { metrics: 5 })]);
    assert.equal(invalid.code, 8);
  });

  it("show the effects of an action, and the comparison that fails", async () => {
    const asked = ["dry-run", "--user", fan.userId, "--action", "prediction"];
    const right = await run([...asked, "--data", "outcome=exact"]);
    assert.equal(right.code, 0, right.stderr);
    assert.match(right.stdout, /^effect\t/m);
    assert.match(right.stdout, /^rule\texact\tyes\t$/m);
    const wrong = await run([...asked, "--data", "outcome=wrong", "--data", "minute=90"]);
    assert.match(wrong.stdout, /^rule\texact\tno\t\/rules\/0\/when.*"wrong"$/m);
    const malformed = await run([...asked, "--data", "outcome"]);
    assert.deepEqual([malformed.code, malformed.stdout], [2, ""]);
    assert.match(malformed.stderr, /--data needs name=value/);
    const after = await run(["replay", "--user", fan.userId, "--exit-code"]);
    assert.equal(after.code, 0);
  });
});

async function signedIn(): Promise<{ readonly userId: string; readonly token: string }> {
  const { projectId } = demo;
  const selector = { projectId, strategy: "simplified", provider: "noLogin", data: { username: "Sam" } };
  const { data } = await posted("/v1/user", selector);
  const record = data as { readonly userId: string };
  const exchanged = await posted("/api/auth/token", { type: "sessionRecord", projectId, record });
  return { userId: record.userId, token: (exchanged.data as { accessToken: string }).accessToken };
}

async function act(token: string, data: unknown): Promise<void> {
  await posted("/api/loyalty/action", { action: "prediction", data }, { authorization: `Bearer ${token}` });
}

async function posted(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly data?: unknown }> {
  const response = await fetch(demo.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, text);
  return text === "" ? {} : JSON.parse(text);
}

/** Asks until the answer is as wanted: configurations are seen within a second. */
async function polled<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  const until = Date.now() + 10_000;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer) || Date.now() > until) return answer;
  }
}

type End = (status: number, headers: Record<string, string>, body?: unknown) => void;

async function listening(
  answer: (request: { headers: NodeJS.Dict<string | string[]> }, end: End) => void,
): Promise<{ readonly url: string; readonly server: Server }> {
  const stub = createServer((request, response) => {
    answer(request, (status, headers, body) => {
      response.writeHead(status, headers).end(body === undefined ? "" : JSON.stringify(body));
    });
  });
  await new Promise<void>(resolve => stub.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}`, server: stub };
}
