/** The TypeScript shown in the guides beside the code is type-checked and run as it stands. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { openTestWorld } from "../../lib/testing/workflow/test_dialogue.ts";
import { serve } from "../../runtime/node.ts";
import { files, textOf } from "../repo/files.ts";
import { skipUnlessFull } from "../support/full.ts";
import { declarationPaths } from "./packed.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}node_modules/.cache/grandstand-guides-${process.pid}/`;

interface Example {
  /** The guide and the number of the block in it. */
  readonly title: string;
  readonly name: string;
  readonly file: string;
  readonly code: string;
}

const guides = files.filter(file => /^(lib|adapters|runtime)\/.*README\.md$/.test(file));
const examples: readonly Example[] = guides.flatMap(guide =>
  [...textOf(guide).matchAll(/^```(tsx?)\n([\s\S]*?)^```/gm)].map(([, language = "", code = ""], index) => {
    const name = `${guide.replace("/README.md", "").replaceAll("/", "_")}_${index + 1}`;
    return {
      title: `${guide}, block ${index + 1}`,
      name,
      file: `${folder}${name}.${language}`,
      code: language === "tsx" ? `/** @jsxImportSource react */\n${code}` : code,
    };
  }),
);

/** Resolves the package's own name to its sources, as for the compiler. */
const ownName: Plugin = {
  name: "own-name",
  setup({ onResolve }) {
    const { compilerOptions } = JSON.parse(textOf("tsconfig.json")) as {
      compilerOptions: { paths: Record<string, string[]> };
    };
    onResolve({ filter: /^grandstand(\/|$)/ }, ({ path }) => ({
      path: root + compilerOptions.paths[path]?.[0]?.slice(2),
    }));
  },
};

describe("the guides", () => {
  after(() => rmSync(folder, { recursive: true, force: true }));

  before(() => {
    mkdirSync(folder, { recursive: true });
    for (const { file, code } of examples) writeFileSync(file, code);
  });

  it("show TypeScript that compiles", { skip: skipUnlessFull("the types of the package") }, async () => {
    const compilerOptions = { paths: await declarationPaths(), skipLibCheck: false };
    const settings = {
      extends: `${root}tsconfig.json`,
      compilerOptions,
      include: ["*.ts", "*.tsx"],
      exclude: [],
    };
    writeFileSync(`${folder}tsconfig.json`, JSON.stringify(settings));
    const compiler = `${root}node_modules/typescript/bin/tsc`;
    const { stdout } = await run(process.execPath, [compiler, "-p", folder, "--checkers", "1"]).catch(
      (error: { stdout: string }) => error,
    );
    assert.equal(stdout, "");
  });

  it("show TypeScript that can be bundled", async () => {
    await build({
      absWorkingDir: root,
      entryPoints: examples.map(({ file }) => file),
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      packages: "external",
      plugins: [ownName],
      logLevel: "silent",
    });
  });

  it("show what runs", async () => {
    // In one process, as starting it and loading the package takes longer than most of them do.
    const program = `for (const [name, title] of ${JSON.stringify(examples.map(({ name, title }) => [name, title]))}) {
      console.error(title);
      await import(${JSON.stringify(folder)} + name + ".mjs");
    }`;
    await run(process.execPath, ["--input-type=module", "-e", program], { cwd: root, timeout: 120_000 });
  });

  it("show a workflow backend of at most 25 lines that answers", async t => {
    const [, code = ""] = /^```js\n([\s\S]*?)^```/m.exec(textOf("lib/workflow/README.md")) ?? [];
    assert.ok(code.trimEnd().split("\n").length <= 25);
    const outfile = `${folder}backend.mjs`;
    const stdin = { contents: code, resolveDir: root };
    await build({
      stdin,
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      packages: "external",
      plugins: [ownName],
    });
    const world = await openTestWorld();
    const platform = await serve(world.platform.fetch, { port: 0 });
    const env = { ...process.env, PORT: "0", CONTROL: platform.url, ENDPOINT: world.environment.endpoint };
    const backend = spawn(process.execPath, [outfile], {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(async () => {
      backend.kill();
      await platform.stop();
      await world.platform.close();
    });
    const [line] = await once(backend.stdout, "data");
    const url = /http:\S+/.exec(String(line))?.[0] ?? "";
    const { eventId } = world.context;
    const headers = {
      authorization: `Bearer ${await world.tokenOf("ann")}`,
      "content-type": "application/json",
    };
    const ask = async (body: object) => {
      const init = { method: "POST", headers, body: JSON.stringify({ context: { eventId }, ...body }) };
      return (await (await fetch(url, init)).json()) as { blocks: { text: string }[]; payload: object };
    };
    const { blocks, payload } = await ask({});
    assert.equal(blocks[0]?.text, "The event is called <strong>Test</strong>");
    const renamed = await ask({ action: "rename", inputs: { name: "Final" }, payload });
    assert.equal(renamed.blocks[0]?.text, "The event is called Final now");
    const read = await world.api<{ data: { attributes: { name: string } } }>(`/events/${eventId}`);
    assert.equal(read.data.attributes.name, "Final");
  });
});
