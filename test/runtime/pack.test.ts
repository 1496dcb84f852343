/** The package as users get it: packed, installed into an empty folder, imported, type checked and run. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { assertTableSays } from "../support/bench_table.ts";
import { skipUnlessFull } from "../support/full.ts";
import { packedPackage } from "./packed.ts";
import { start } from "./processes.ts";
import { runtimes } from "./runtimes.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "grandstand-pack-"));
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const entries = Object.keys(manifest.exports)
  .filter(entry => entry !== "./package.json")
  .map(entry => entry.replace(/^\./, "grandstand"));

function npm(
  args: readonly string[],
  cwd: string,
): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync("npm", [...args], { cwd, encoding: "utf8" });
  return { status, output: status === 0 ? stdout : `npm ${args.join(" ")}: ${stdout}${stderr}` };
}

/** Packs and installs; answers why the tests must be skipped, or false. */
async function install(): Promise<string | false> {
  const archive = await packedPackage();
  const versions = ["ioredis", "pg", "react", "@types/react", "@types/node"].map(
    name => `${name}@${manifest.devDependencies[name]}`,
  );
  writeFileSync(join(folder, "package.json"), '{"private": true, "type": "module"}');
  const flags = ["--prefer-offline", "--no-audit", "--no-fund"];
  const installed = npm(["install", ...flags, archive, ...versions], folder);
  const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(installed.output);
  const required = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
  if (installed.status !== 0 && offline && !required) return "the package registry cannot be reached";
  assert.equal(installed.status, 0, installed.output);
  return false;
}

/** The path of a module that `npm ci --prefix test/runtime` installs. */
function tool(module: string): string {
  return join(root, "test/runtime/node_modules", module);
}

function toolMissing(module: string): string | false {
  const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
  if (isRequired || existsSync(tool(module))) return false;
  return `${module} is not installed: npm ci --prefix test/runtime`;
}

function node(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

after(() => rmSync(folder, { recursive: true }));

describe("the packed package", {
  skip: skipUnlessFull("a packed and installed package") || (await install()),
}, () => {
  it("holds the build, the files of operators and nothing else", () => {
    assert.equal(manifest.scripts.prepack, "npm run build", "npm packs a fresh build");
    const installed = join(folder, "node_modules/grandstand");
    const files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter(each => each.isFile())
      .map(each => relative(installed, join(each.parentPath, each.name)));
    const others = files.filter(file => !/^dist\/|\.md$/.test(file));
    const operations = [
      "Dockerfile",
      "Dockerfile.dockerignore",
      "alerts.yaml",
      "compose.postgres.yaml",
      "compose.yaml",
      "grafana.json",
      "grandstand-worker.service",
      "grandstand.service",
      ...["kustomization", "servers", "worker"].map(name => `kubernetes/${name}.yaml`),
    ];
    assert.deepEqual(others.toSorted(), [
      "LICENSE",
      "lib/pages/studio/studio.png",
      "package.json",
      ...operations.map(name => `runtime/operations/${name}`),
    ]);
  });

  it("is at most 2.2 MB packed, and as large as the table of benchmarks says", async () => {
    const { size } = statSync(await packedPackage());
    assert.ok(size <= 2_200_000, `${size} bytes`);
    assertTableSays("the package, packed", [size / 1_000_000]);
  });

  it("has every document that another one links to", () => {
    const installed = join(folder, "node_modules/grandstand");
    const documents = readdirSync(installed, { recursive: true, encoding: "utf8" }).filter(file =>
      file.endsWith(".md"),
    );
    assert.ok(documents.includes("README.md"));
    const broken = documents.flatMap(file =>
      [...readFileSync(join(installed, file), "utf8").matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
        .map(([, link = ""]) => `${join(dirname(file), link)}`)
        .filter(target => !existsSync(join(installed, target))),
    );
    assert.deepEqual(broken, []);
  });

  it("offers every entry of its exports map", () => {
    const script = entries.map(entry => `await import("${entry}")`).join("\n");
    writeFileSync(join(folder, "imports.js"), script);
    node("imports.js");
  });

  for (const { name, command, skip } of runtimes.filter(({ name }) => /^(Node 24|Bun|Deno)/.test(name))) {
    it(`offers every entry on ${name.replace(/,.*/, "")}`, { skip }, () => {
      const [file, ...args] = command;
      const script = join(folder, "imports.js");
      const { status, stdout, stderr } = spawnSync(file, [...args, script], {
        cwd: folder,
        encoding: "utf8",
      });
      assert.equal(status, 0, stdout + stderr);
    });
  }

  it("is laid out as publint demands", { skip: toolMissing("publint/src/index-node.js") }, async () => {
    const { publint } = await import(tool("publint/src/index-node.js"));
    const pkgDir = join(folder, "node_modules/grandstand");
    const { messages } = await publint({ pkgDir, level: "suggestion", strict: true, pack: false });
    assert.deepEqual(messages, []);
  });

  const wrongTypes = "@arethetypeswrong/core/dist/index.js";
  it("has types that every resolution of modules finds", { skip: toolMissing(wrongTypes) }, async () => {
    const { checkPackage, createPackageFromTarballData } = await import(tool(wrongTypes));
    const archive = readFileSync(await packedPackage());
    // All entries have one form: three of them, one with a path of two parts, say what the others would.
    const files = Object.values(manifest.exports).filter(entry => typeof entry !== "string");
    for (const entry of files) assert.equal(entry.types, entry.default.replace(/\.js$/, ".d.ts"));
    const entrypoints = [".", "./http", "./workflow/conformance"];
    const { problems } = await checkPackage(createPackageFromTarballData(archive), { entrypoints });
    const kinds = problems.map(
      (each: { readonly kind: string; readonly resolutionKind?: string }) =>
        `${each.kind} ${each.resolutionKind}`,
    );
    // The package is for modules alone: Node before the map of exports finds nothing, and require() loads a module.
    assert.deepEqual([...new Set(kinds)].toSorted(), ["CJSResolvesToESM node16-cjs", "NoResolution node10"]);
  });

  it("keeps Node out of what its standards-only entries load", () => {
    const entriesOfLib = [
      "mod",
      "http/mod",
      "auth/mod",
      "storage/mod",
      "fans/leaderboards/mod",
      "fans/loyalty/mod",
      "fans/exports/file/mod",
    ];
    const dist = join(folder, "node_modules/grandstand/dist");
    const starts = [
      ...entriesOfLib.map(entry => `${dist}/lib/${entry}.js`),
      `${dist}/adapters/memory/mod.js`,
      `${dist}/adapters/s3/mod.js`,
    ];
    for (const file of reachable(starts)) {
      assert.doesNotMatch(readFileSync(file, "utf8"), /from "node:|import\("node:|require\(/, file);
    }
  });

  it("declares types that need neither the types of Node nor optional packages", () => {
    const compilerOptions = {
      ...{ noEmit: true, strict: true, exactOptionalPropertyTypes: true },
      ...{ module: "nodenext", target: "es2022", types: [] },
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["web.ts"] }));
    // Hooks have React's types: the examples of the guides are compiled with them.
    const others = entries.filter(entry => entry !== "grandstand/react");
    const imports = others.map(
      (entry, index) => `import * as m${index} from "${entry}";\nconsole.log(m${index});`,
    );
    writeFileSync(join(folder, "web.ts"), imports.join("\n"));
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const read = node(compiler, "-p", "tsconfig.json", "--checkers", "1", "--listFiles").split("\n");
    const optional = [...Object.keys(manifest.peerDependencies), "@types"];
    const found = read.filter(file => optional.some(name => file.includes(`/node_modules/${name}/`)));
    assert.deepEqual(found, []);
    assert.ok(read.some(file => file.endsWith("grandstand/dist/adapters/redis/mod.d.ts")));
  });

  it("runs its command", async () => {
    const bin = join(folder, "node_modules/.bin/grandstand");
    assert.equal(spawnSync(bin, ["--help"], { encoding: "utf8" }).status, 0);
    const program = start([bin, "serve", "--demo", "--port", "0"]);
    const [, url] = await program.match(/listens on (\S+)/);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    program.signal("SIGTERM");
    assert.equal(await program.ended, 0);
  });
});

/** The files and all that they import statically from the package. */
function reachable(starts: readonly string[]): Set<string> {
  const found = new Set<string>();
  const waiting = [...starts];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*"(\.[^"]+)"/g)) {
      waiting.push(join(file, "..", specifier));
    }
  }
  return found;
}
