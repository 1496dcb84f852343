/** The bundled command on every runtime: requests, files and exit codes. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { start } from "./processes.ts";
import { builtPackage, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-cli-runtimes-"));
const organisation = { type: "organisations", id: "o1", attributes: { name: "Club" } };
const server = createServer((request, response) => {
  const isKnown = request.headers.authorization === "Bearer gst_1_secret";
  response.statusCode = isKnown ? 200 : 401;
  response.setHeader("content-type", "application/vnd.api+json");
  if (isKnown && request.method === "POST") {
    let rows = -1;
    request.on("data", (chunk: Buffer) => {
      rows += chunk.toString().split("\n").length - 1;
    });
    request.on("end", () => {
      const summary = { total: rows, changed: rows, unchanged: 0, failed: 0, unknown: 0 };
      response.end(`${JSON.stringify({ summary })}\n`);
    });
    return;
  }
  const errors = [{ status: "401", code: "unauthenticated", detail: "No" }];
  response.end(JSON.stringify(isKnown ? { data: [organisation], links: { next: null } } : { errors }));
});
let environment: Record<string, string> = {};

before(async () => {
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  environment = {
    GRANDSTAND_CONTROL_URL: `http://127.0.0.1:${address.port}`,
    GRANDSTAND_CONFIG: join(folder, "config.json"),
    GRANDSTAND_TOKEN: "gst_1_secret",
  };
  writeFileSync(join(folder, "wrong.yaml"), "metrics:\n  - { id: points }\n");
});
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

for (const { name, command, skip } of runtimes) {
  describe(`the bundled command on ${name}`, { skip, concurrency: true }, () => {
    async function run(args: readonly string[], more: Record<string, string> = {}, input = "") {
      const file = `${builtPackage()}/runtime/cli.js`;
      const program = start([...command, file, ...args], { ...environment, ...more });
      program.stdin.end(input);
      const code = await program.ended;
      return { code, stdout: program.stdout(), stderr: program.stderr() };
    }

    it("lists organisations as JSON", async () => {
      const { code, stdout, stderr } = await run(["orgs", "list", "--json"]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout).data, [
        { id: "o1", name: "Club", role: "none", is_default: false },
      ]);
      assert.equal(stderr, "");
    });

    it("reads YAML from files and stdin, and names the place of a fault", async () => {
      const wrong = await run(["loyalty", "validate", join(folder, "wrong.yaml")]);
      assert.equal(wrong.code, 8);
      assert.match(wrong.stderr, /wrong\.yaml:2:\d+ \/metrics\/0/);
      const piped = await run(["loyalty", "validate", "-"], {}, "metrics: []\n");
      assert.equal(piped.code, 0, piped.stderr);
    });

    it("sends a file and reads lines", async () => {
      const file = join(folder, "users.csv");
      writeFileSync(file, `userId\n${"fan\n".repeat(50_001)}`);
      for (const [path, input] of [
        [file, ""],
        ["-", "userId\nfan\n"],
      ] as const) {
        const args = ["users", "import", path, "--org", "o1", "--format", "csv", "--json"];
        const { code, stdout, stderr } = await run(args, {}, input);
        assert.equal(code, 0, stderr);
        assert.equal(JSON.parse(stdout).meta.summary.total, path === "-" ? 1 : 50_001);
      }
    });

    it("ends with a code for each kind of failure", async () => {
      const cases: [readonly string[], Record<string, string>, number][] = [
        [["orgs", "list"], { GRANDSTAND_TOKEN: "gst_1_wrong" }, 4],
        [["loyalty", "validate", join(folder, "none.yaml")], {}, 1],
        [["orgs", "list"], { GRANDSTAND_CONTROL_URL: "http://127.0.0.1:9" }, 9],
      ];
      for (const [args, more, expected] of cases) {
        const { code, stdout, stderr } = await run(args, more);
        assert.deepEqual([code, stdout], [expected, ""], `${args.join(" ")}: ${stderr}`);
        assert.doesNotMatch(stderr, /gst_1|\.js:\d/);
      }
    });

    it("keeps settings in the profile", async () => {
      const config = join(folder, `${name.replace(/\W/g, "")}.json`);
      const { code, stderr } = await run(["config", "set", "org", "o1"], { GRANDSTAND_CONFIG: config });
      assert.equal(code, 0, stderr);
      const listed = await run(["config", "list", "--json"], { GRANDSTAND_CONFIG: config });
      assert.equal(listed.code, 0, listed.stderr);
      assert.match(listed.stdout, /"o1"/);
      assert.equal(listed.stderr, "");
    });
  });
}
