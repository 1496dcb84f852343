/** The lines of the shell in the README and the guides are run: requests against a demo, commands by the command line. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { parseCommandLine } from "../../lib/cli/frame/parse.ts";
import { groups } from "../../lib/cli/mod.ts";
import { serverGroups } from "../../runtime/commands/groups.ts";
import { files, textOf } from "../repo/files.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const run = promisify(execFile);
const [runtime = assert.fail()] = runtimes.filter(({ skip }) => skip === false);
const guides = files.filter(file => /^(README|(lib|adapters|runtime)\/.*\bREADME)\.md$/.test(file));
const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);

const allGroups = [...groups, ...serverGroups];

/** The blocks of a page in one language. */
function blocksOf(page: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm");
  return [...textOf(page).matchAll(pattern)].map(([, code = ""]) => code);
}

/** A status of 400 or more ends the shell, and shows the answer. */
const strict = `set -eu
curl() { command curl --fail-with-body --show-error --max-time 20 "$@"; }`;
const credentials = `KEY="x-api-key: $GRANDSTAND_API_KEY" SECRET="x-api-secret: $GRANDSTAND_API_SECRET"
ORGANISATION="x-platform-org-id: $GRANDSTAND_ORG"`;
const isRequest = (code: string): boolean => /\bcurl\b/.test(code);
const isStream = (code: string): boolean => code.includes("text/event-stream");

describe("the guides", () => {
  for (const page of guides.filter(guide => blocksOf(guide, "sh").some(isRequest))) {
    it(`show requests that a demo answers: ${page}`, {
      skip: hasCurl ? false : "curl is not installed",
    }, async t => {
      const server = start([...cliCommand(runtime), "serve", "--demo", "--port", "0"]);
      t.after(async () => {
        server.signal("SIGTERM");
        await server.ended;
      });
      const [walk] = await server.match(/^# 0\.[\s\S]*^# 5\..*\n.*\n.*\n/m);
      const requests = blocksOf(page, "sh").filter(isRequest);
      const script = [strict, walk, credentials, ...requests.filter(code => !isStream(code))].join("\n");
      await run("sh", ["-c", script]);

      for (const code of requests.filter(isStream)) {
        const stream = start([
          "sh",
          "-c",
          `${walk.split("\n").find(line => line.startsWith("export "))}\nexec ${code}`,
        ]);
        await stream.match(/^data: \{.*"data":\[/m);
        stream.signal("SIGTERM");
        await stream.ended;
      }
    });
  }

  it("show commands that the command line takes", async () => {
    const lines = guides.flatMap(page =>
      blocksOf(page, "sh")
        .flatMap(code => code.split("\n"))
        .filter(line => line.startsWith("grandstand "))
        .map(line => ({ page, line })),
    );
    assert.ok(lines.length > 3, `only ${lines.length} commands`);
    const wrong: { readonly page: string; readonly line: string; readonly fault: string }[] = [];
    for (const { page, line } of lines) {
      // The name of a variable stands for its value.
      const text = line
        .replace(/\s(#.*|\|.*|>.*)$/, "")
        .replace(/"?\$(\w+)"?/g, "$1")
        .trim();
      const [, ...words] = text.split(/\s+/);
      try {
        await parseCommandLine(words, allGroups);
      } catch (error) {
        wrong.push({ page, line, fault: String(error) });
      }
    }
    assert.deepEqual(wrong, []);
  });

  it("show JSON and YAML that can be parsed", () => {
    for (const page of guides) {
      for (const code of blocksOf(page, "json"))
        assert.doesNotThrow(() => JSON.parse(code), `${page}\n${code}`);
      for (const code of blocksOf(page, "yaml")) assert.doesNotThrow(() => parse(code), `${page}\n${code}`);
    }
  });
});
