/** The TypeScript shown in the guides beside the code is type-checked and run as it stands. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { files, textOf } from "../repo/files.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}node_modules/.cache/grandstand-guides-${process.pid}/`;

interface Example {
  /** The guide and the number of the block in it. */
  readonly title: string;
  readonly name: string;
  readonly code: string;
}

const guides = files.filter(file => /^(lib|adapters|runtime)\/.*README\.md$/.test(file));
const examples: readonly Example[] = guides.flatMap(guide =>
  [...textOf(guide).matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = ""], index) => ({
    title: `${guide}, block ${index + 1}`,
    name: `${guide.replace("/README.md", "").replaceAll("/", "_")}_${index + 1}`,
    code,
  })),
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

  it("show TypeScript that compiles", async () => {
    mkdirSync(folder, { recursive: true });
    for (const { name, code } of examples) writeFileSync(`${folder}${name}.ts`, code);
    const settings = { extends: `${root}tsconfig.json`, include: ["*.ts"], exclude: [] };
    writeFileSync(`${folder}tsconfig.json`, JSON.stringify(settings));
    const compiler = `${root}node_modules/typescript/bin/tsc`;
    const { stdout } = await run(process.execPath, [compiler, "-p", folder]).catch(
      (error: { stdout: string }) => error,
    );
    assert.equal(stdout, "");
  });

  it("show TypeScript that can be bundled", async () => {
    await build({
      absWorkingDir: root,
      entryPoints: examples.map(({ name }) => `${folder}${name}.ts`),
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

  for (const { title, name } of examples) {
    it(`show what runs: ${title}`, async () => {
      await run(process.execPath, [`${folder}${name}.mjs`], { cwd: root, timeout: 30_000 });
    });
  }
});
