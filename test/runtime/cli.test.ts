import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { groups } from "../../lib/cli/mod.ts";
import { version } from "../../lib/mod.ts";
import { variables } from "../../runtime/config.ts";
import { type Outcome, runHere } from "./command_line.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const folder = mkdtempSync(join(tmpdir(), "grandstand-cli-"));
after(() => rmSync(folder, { recursive: true }));

const built = runtimes.find(({ skip }) => skip === false);

async function run(args: readonly string[], environment: Record<string, string> = {}): Promise<Outcome> {
  assert.ok(built !== undefined);
  const program = start([...cliCommand(built), ...args], environment);
  const code = await program.ended;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

describe("the command", { concurrency: true }, () => {
  it("prints its version", async () => {
    for (const args of [["version"], ["--version"]]) {
      assert.deepEqual(await run(args), { code: 0, stdout: `${version}\n`, stderr: "" });
    }
  });

  it("prints help that names every command, setting and flag", async () => {
    const commands = (await Promise.all(groups.map(({ load }) => load()))).flat();
    for (const args of [[], ["help"], ["--help"]]) {
      const { code, stdout } = await runHere(args);
      assert.equal(code, 0);
      for (const { words, summary } of commands) {
        const at = stdout.indexOf(`\n  ${words.join(" ")} `);
        const found = at === -1 ? stdout.indexOf(`\n  ${words.join(" ")}\n`) : at;
        const unwrapped = stdout.slice(found).replace(/\s+/g, " ");
        assert.ok(found !== -1 && unwrapped.includes(summary), words.join(" "));
      }
    }
    const { code, stdout } = await runHere(["serve", "-h"]);
    assert.equal(code, 0);
    for (const { name, flag } of variables) {
      assert.ok(stdout.includes(name) && (flag === undefined || stdout.includes(`--${flag} <`)), name);
    }
  });

  it("reads documents from pipes: a process substitution, and /dev/stdin", async () => {
    assert.ok(built !== undefined);
    const valid = JSON.stringify({ metrics: [] });
    const command = [...cliCommand(built), "loyalty", "validate"].map(word => `'${word}'`).join(" ");
    for (const line of [`${command} <(echo '${valid}')`, `echo '${valid}' | ${command} /dev/stdin`]) {
      const program = start(["bash", "-c", line], {});
      assert.equal(await program.ended, 0, `${line}\n${program.stderr()}`);
    }
    const wrong = start(["bash", "-c", `${command} <(echo '{"metrics": 1}')`], {});
    assert.equal(await wrong.ended, 8, wrong.stderr());
  });

  it("refuses unknown words, and suggests the closest one", async () => {
    const cases: [string[], RegExp][] = [
      [["sevre"], /There is no command "sevre". Did you mean serve\?/],
      [["xyzzy"], /There is no command "xyzzy".\nNext: grandstand help/],
      [["serve", "--prot", "1"], /There is no --prot. Did you mean --port\?/],
      [["serve", "--port"], /--port needs a value/],
      [["serve", "--demo=yes"], /--demo takes no value/],
      [["serve", "twice"], /serve takes no argument "twice"/],
      [["--demo"], /There is no --demo/],
    ];
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await runHere(args);
      assert.equal(code, 2);
      assert.equal(stdout, "");
      assert.match(stderr, message);
    }
  });

  it("reports all wrong settings at once, without their values", async () => {
    const environment = { GRANDSTAND_PORT: "90000", GRANDSTAND_LOG: "loud", GRANDSTAND_SECRET: "hunter2" };
    const { code, stderr } = await runHere(["serve", "--metrics", "perhaps"], environment);
    assert.equal(code, 2);
    const [, ...lines] = stderr.trimEnd().split("\n");
    assert.deepEqual(
      lines.map(line => line.trim().split(" must be ")[0]),
      ["GRANDSTAND_PORT", "GRANDSTAND_SECRET", "GRANDSTAND_LOG", "--metrics"],
    );
    assert.doesNotMatch(stderr, /hunter2|90000/);
  });

  it("demands a secret outside a demo", async () => {
    const { code, stderr } = await run(["serve"]);
    assert.equal(code, 2);
    assert.match(stderr, /^GRANDSTAND_SECRET must be set/);
  });

  it("fails with a message where it cannot listen", async () => {
    const taken = createServer();
    await new Promise<void>(resolve => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    assert.ok(typeof address === "object" && address !== null);
    const { code, stderr } = await run(["serve", "--demo", "--port", String(address.port)]);
    taken.close();
    assert.equal(code, 1);
    assert.match(stderr, /Cannot serve: .*EADDRINUSE.* Choose another port with --port or GRANDSTAND_PORT/);
  });

  it("says that nothing will last where a server has neither Redis nor a folder", async () => {
    assert.ok(built !== undefined);
    const serve = [...cliCommand(built), "serve", "--port", "0"] as const;
    const loud = start([...serve, "--log", "warn"], { GRANDSTAND_SECRET: secret });
    await loud.match(
      /listens on .*\nNothing will outlast this process: set GRANDSTAND_REDIS, GRANDSTAND_POSTGRES or GRANDSTAND_DATA/,
    );
    const kept = start([...serve], { GRANDSTAND_SECRET: secret, GRANDSTAND_DATA: join(folder, "lasting") });
    await kept.match(/listens on/);
    for (const program of [loud, kept]) {
      program.signal("SIGTERM");
      assert.equal(await program.ended, 0);
    }
    assert.match(loud.stderr(), /"store_in_memory"/);
    assert.doesNotMatch(kept.stdout() + kept.stderr(), /outlast/);
  });

  it("reads variables from a file only with --env-file, and lets the environment win", async () => {
    assert.ok(built !== undefined);
    const envFile = join(folder, "settings");
    const settings = "GRANDSTAND_LOG=loud\nGRANDSTAND_PORT=0\nGRANDSTAND_SIGNATURE_ALGORITHM=ES256\n";
    writeFileSync(envFile, `GRANDSTAND_SECRET=${secret}\n${settings}`);
    const command = [...cliCommand(built), "serve", "--env-file", envFile] as const;
    const program = start([...command], { GRANDSTAND_LOG: "silent" });
    const [, url] = await program.match(/listens on (\S+)/);
    const { keys } = await (await fetch(`${url}/.well-known/jwks.json`)).json();
    assert.deepEqual(
      keys.map(({ alg }: { readonly alg: string }) => alg),
      ["ES256"],
    );
    program.signal("SIGTERM");
    assert.equal(await program.ended, 0);
    assert.equal(program.stderr(), "");
    writeFileSync(
      envFile,
      `GRANDSTAND_SECRET=${secret}\nGRANDSTAND_DATA=${join(folder, "kept")} # a comment\n`,
    );
    const first = ["operators", "bootstrap", "--env-file", envFile, "--email", "ann@club.example"];
    assert.match((await runHere(first)).stdout, /^GRANDSTAND_TOKEN=gst_/);
    const missing = await run(["serve", "--env-file", join(folder, "none")]);
    // Node 20 looks for this flag behind the program's name too, and complains first.
    assert.ok(missing.code === 2 || missing.code === 9);
    assert.match(missing.stderr, /Cannot read the file|not found/);
  });

  it("writes what a demo holds for scripts, readable by its owner only", async () => {
    assert.ok(built !== undefined);
    const file = join(folder, "demo.json");
    const args = ["serve", "--demo", "--port", "0", "--demo-file", file];
    const program = start([...cliCommand(built), ...args]);
    const [, url] = await program.match(/listens on (\S+)/);
    program.signal("SIGINT");
    assert.equal(await program.ended, 0);
    const demo = JSON.parse(readFileSync(file, "utf8"));
    assert.equal(demo.baseUrl, url);
    assert.match(demo.apiKey.key, /^gsk_/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("exits at once on a second signal", async () => {
    assert.ok(built !== undefined);
    const program = start([...cliCommand(built), "serve", "--demo", "--port", "0"]);
    const [, url = ""] = await program.match(/listens on (\S+)/);
    // A body that never ends keeps the first signal waiting.
    const body = new ReadableStream({
      start: controller => controller.enqueue(new TextEncoder().encode("{")),
    });
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", body, headers, duplex: "half" } as RequestInit;
    const cut = assert.rejects(fetch(`${url}/v1/user`, request));
    while ((await fetch(`${url}/healthz`)).status !== 200);
    program.signal("SIGTERM");
    await assert.doesNotReject(refused(url));
    program.signal("SIGINT");
    assert.equal(await program.ended, 130);
    await cut;
  });
});

/** Resolves once the server accepts no connection any more. */
async function refused(url: string): Promise<void> {
  for (;;) {
    try {
      await fetch(`${url}/healthz`, { headers: { connection: "close" } });
    } catch {
      return;
    }
  }
}
