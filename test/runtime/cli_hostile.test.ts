/** The command line against servers, files and disks that are not as they should be. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runHere } from "./command_line.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const built = runtimes.find(({ skip }) => skip === false);
const folder = mkdtempSync(join(tmpdir(), "grandstand-hostile-"));

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

async function serve(answer: Answer): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => answer(response, request));
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { server, url: `http://127.0.0.1:${address.port}` };
}

/** Runs a command as a program, which reads standard input and profiles. */
async function run(args: readonly string[], more: Record<string, string> = {}, input = "") {
  assert.ok(built !== undefined);
  const program = start([...cliCommand(built), ...args], {
    GRANDSTAND_CONFIG: join(folder, "none.json"),
    ...more,
  });
  program.stdin.end(input);
  return { code: await program.ended, stdout: program.stdout(), stderr: program.stderr() };
}

after(() => rmSync(folder, { recursive: true }));

describe("a command whose server", () => {
  let url = "";
  let elsewhere = "";
  let heard = 0;
  const servers: Server[] = [];
  const cases = new Map<string, Answer>();

  before(async () => {
    const own = await serve((response, request) => {
      // The name of the case is the organisation of `spaces list`.
      const [, name = ""] = /organisations\/([^/]+)/.exec(request.url ?? "") ?? [];
      response.setHeader("content-type", "application/vnd.api+json");
      cases.get(name)?.(response, request);
    });
    const other = await serve(response => {
      heard += 1;
      response.end('{"data": []}');
    });
    servers.push(own.server, other.server);
    [url, elsewhere] = [own.url, other.url];
  });
  after(() => {
    for (const server of servers) server.close();
  });

  const space = (name: unknown) => ({ type: "spaces", id: "s1", attributes: { name } });
  const page = (data: unknown, next: unknown = null): string => JSON.stringify({ data, links: { next } });
  const listed = (name: string, one: Answer, ...more: readonly string[]) => {
    cases.set(name, one);
    const environment = { GRANDSTAND_CONTROL_URL: url, GRANDSTAND_TOKEN: "gst_1_secret" };
    return runHere(["spaces", "list", "--org", name, ...more], environment);
  };

  it("answers something else is reported, without the inside of the program", async () => {
    const texts = {
      html: "<!doctype html><title>Welcome</title>",
      array: "[]",
      nothing: "{}",
      text: '"data"',
      nulls: page([null]),
      object: page({ type: "spaces", id: "s1", attributes: {} }),
      numbers: page([1]),
      included: '{"data": [], "included": {}}',
    };
    for (const [name, text] of Object.entries(texts)) {
      const { code, stdout, stderr } = await listed(name, response => response.end(text));
      assert.deepEqual([code, stdout], [1, ""], `${name}: ${stderr}`);
      assert.match(stderr, /^Cannot read the answer of the server/, name);
    }
  });

  it("breaks off is tried again, then reported as out of reach", async () => {
    let requests = 0;
    const { code, stdout, stderr } = await listed("half", response => {
      requests += 1;
      response.setHeader("content-length", "1000");
      response.write('{"data": [');
      setTimeout(() => response.destroy(), 10);
    });
    assert.deepEqual([code, stdout, requests], [9, "", 4], stderr);
  });

  it("never ends a list is left", async () => {
    const again = await listed("loop", (response, request) =>
      response.end(page([space("a")], `${url}${request.url}`)),
    );
    assert.equal(again.code, 1, again.stderr);
    let count = 0;
    const hundred = Array.from({ length: 100 }, () => space("a"));
    const endless = await listed("endless", response => {
      count += 1;
      response.end(page(hundred, `/api/v2/organisations/endless/spaces?page=${count}`));
    });
    assert.deepEqual([endless.code, count], [0, 100], endless.stderr);
    assert.match(endless.stderr, /Only the first 10000 are shown/);
  });

  it("sends the reader elsewhere learns nothing there", async () => {
    const redirected = await listed("redirect", response => {
      response.writeHead(302, { location: `${elsewhere}/` }).end();
    });
    assert.equal(redirected.code, 1);
    assert.match(redirected.stderr, /Credentials do not follow redirects/);
    const links = [
      `${elsewhere}/api/v2/spaces`,
      `${url}.example/api/v2/x`,
      "//127.0.0.1:1/api/v2/x",
      "http://",
      "/v1/user",
    ];
    for (const [index, link] of links.entries()) {
      const { code } = await listed(`link${index}`, response => response.end(page([space("a")], link)));
      assert.equal(code, 1, link);
    }
    assert.equal(heard, 0);
  });

  it("answers names that would control the terminal prints none of them", async () => {
    const name = "a\u001b[31m\u009b2J\u0007\u202eb\nc";
    const text = await listed("escapes", response => response.end(page([space(name)])));
    assert.equal(text.code, 0, text.stderr);
    assert.doesNotMatch(text.stdout.replace(/[\t\n]/g, ""), /[\p{Cc}\p{Cf}]/u);
    const json = await listed("escapes2", response => response.end(page([space(name)])), "--json");
    assert.doesNotMatch(json.stdout.trimEnd(), /[\p{Cc}\p{Cf}]/u);
    assert.equal(JSON.parse(json.stdout).data[0].name, name);
    const errors = [{ code: "no", detail: name }];
    const refused = await listed("escapes3", response => {
      response.statusCode = 403;
      response.end(JSON.stringify({ errors }));
    });
    assert.doesNotMatch(refused.stderr.replace(/\n/g, ""), /[\p{Cc}\p{Cf}]/u);
  });
});

describe("a command whose file", { concurrency: true }, () => {
  const path = (name: string): string => join(folder, name);

  it("is none that it can read says why", async () => {
    mkdirSync(path("folder.yaml"));
    const bomb = Array.from({ length: 16 }, (_, index) =>
      index === 0 ? "a0: &a0 [x]" : `a${index}: &a${index} [*a${index - 1}, *a${index - 1}]`,
    ).join("\n");
    const files: readonly (readonly [string, string | Buffer | null, number, RegExp])[] = [
      ["missing.yaml", null, 1, /there is no such file/],
      ["folder.yaml", null, 2, /is no file/],
      ["large.yaml", "a: b\n".repeat(700_000), 8, /must not exceed 2097152 bytes/],
      ["binary.yaml", Buffer.from([0x89, 0x50, 0xff, 0xfe, 0x00]), 8, /UTF-8/],
      ["utf16.yaml", Buffer.from("\ufeffmetrics: []", "utf16le"), 8, /UTF-8/],
      ["bomb.yaml", bomb, 8, /alias/i],
      ["twice.yaml", "a: 1\na: 2\n", 8, /twice\.yaml:2:1/],
    ];
    for (const [name, content, expected, reason] of files) {
      if (content !== null) writeFileSync(path(name), content);
      const { code, stdout, stderr } = await runHere(["loyalty", "validate", path(name)]);
      assert.deepEqual([code, stdout], [expected, ""], `${name}: ${stderr}`);
      assert.match(stderr, reason, name);
    }
  });

  it("is stdin twice is refused", async () => {
    const { code, stderr } = await run(["loyalty", "test", "-", "--file", "-"], {}, "metrics: []\n");
    assert.equal(code, 2);
    assert.match(stderr, /stdin \(-\) can be read only once/);
  });

  it("holds profiles that are none is left alone", async () => {
    for (const text of [
      "{",
      "[]",
      '{"version": 2, "profiles": {}}',
      '{"version": 1, "profiles": {"a": 1}}',
    ]) {
      const file = path(`config-${text.length}.json`);
      writeFileSync(file, text, { mode: 0o600 });
      const { code, stderr } = await run(["config", "set", "org", "o1"], { GRANDSTAND_CONFIG: file });
      assert.equal(code, 2, stderr);
      assert.match(stderr, /is no configuration/);
    }
  });

  it("does not fit the disk leaves nothing behind, and what was there stays", async () => {
    assert.ok(built !== undefined);
    const attributes = { metrics: [{ id: "points", title: "x".repeat(100_000) }] };
    const meta = { version: 1, digest: `sha256:${"0".repeat(64)}` };
    const document = { data: { type: "loyalty_configurations", id: "s1", attributes, meta } };
    const { server, url } = await serve(response => {
      response.setHeader("etag", '"v1"').end(JSON.stringify(document));
    });
    const target = path("full");
    mkdirSync(target);
    const limited = ["bash", "-c", 'ulimit -f 8; exec "$@"', "-", ...cliCommand(built)] as const;
    const program = start([...limited, "loyalty", "pull", join(target, "loyalty.yaml")], {
      GRANDSTAND_CONTROL_URL: url,
      GRANDSTAND_CONFIG: path("none.json"),
      GRANDSTAND_TOKEN: "gst_1_secret",
      GRANDSTAND_SPACE: "s1",
    });
    assert.equal(await program.ended, 1, program.stderr());
    server.close();
    assert.match(program.stderr(), /EFBIG/);
    assert.deepEqual(readdirSync(target), []);
  });

  it("has the place of a folder leaves nothing behind", async () => {
    const { server, url } = await serve(response => {
      response.end(JSON.stringify({ data: { type: "users", id: "u1", attributes: {} } }));
    });
    mkdirSync(path("profiles/tokens/default"), { recursive: true });
    const { code, stderr } = await run(
      ["login", "--token-stdin"],
      { GRANDSTAND_CONTROL_URL: url, GRANDSTAND_CONFIG: path("profiles/config.json") },
      "gst_1_secret\n",
    );
    server.close();
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^Cannot write .*default: EISDIR\n$/);
    assert.deepEqual(readdirSync(path("profiles/tokens")), ["default"]);
  });

  it("is an output that takes nothing fails", { skip: process.platform !== "linux" }, async () => {
    assert.ok(built !== undefined);
    const full = [
      "bash",
      "-c",
      'exec "$@" > /dev/full',
      "-",
      ...cliCommand(built),
      "config",
      "list",
    ] as const;
    const program = start(full, { GRANDSTAND_CONFIG: path("none.json") });
    assert.equal(await program.ended, 1, program.stderr());
    assert.match(program.stderr(), /Cannot write the output: ENOSPC/);
  });
});
