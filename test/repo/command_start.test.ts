/** Commands start fast: what runs before a command's own work is the frame and its group, and nothing that they share with servers. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ["runtime/cli.ts"],
  outdir: "out",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  packages: "external",
  metafile: true,
  write: false,
});

interface Loaded {
  readonly sources: readonly string[];
  readonly packages: readonly string[];
}

/** What the bundle of a source file loads before it runs. */
function loadedBy(source: string, { outputs }: Metafile): Loaded {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const load = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const { path, kind, external } of outputs[name]?.imports ?? []) {
      if (kind !== "import-statement") continue;
      if (external === true) packages.add(path);
      else load(path);
    }
  };
  load(Object.keys(outputs).find(name => outputs[name]?.entryPoint === source) ?? assert.fail(source));
  const sources = [...seen].flatMap(name => Object.entries(outputs[name]?.inputs ?? {}));
  return {
    sources: sources.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    packages: [...packages].filter(name => !name.startsWith("node:")),
  };
}

describe("the start of a command", () => {
  const groups = metafile.inputs["lib/cli/groups.ts"]?.imports.map(({ path }) => path) ?? [];
  /** Small modules that the frame and groups may share with the rest. */
  const shared =
    /^lib\/(base\/(errors|json)\/mod|platform\/version|authoring\/table\/(copies|references|element_(batches|content))|base\/text\/(suggest|present))\.ts$/;

  for (const source of ["runtime/cli.ts", ...new Set(groups)]) {
    it(`loads no package and nothing of servers: ${source}`, () => {
      const { sources, packages } = loadedBy(source, metafile);
      const foreign = sources.filter(
        path => !/^(lib\/cli\/|runtime\/(cli|commands\/))/.test(path) && !shared.test(path),
      );
      assert.deepEqual([foreign, packages], [[], []]);
    });
  }

  it("parses less than 64 KB before the command is known", () => {
    const { sources } = loadedBy("runtime/cli.ts", metafile);
    assert.ok(sources.length > 10);
    const bytes = Object.values(metafile.outputs).reduce(
      (sum, { inputs }) => sum + sources.reduce((own, path) => own + (inputs[path]?.bytesInOutput ?? 0), 0),
      0,
    );
    assert.ok(bytes < 64_000, String(bytes));
  });
});
