/** The package's map of entries, and what its documents say of it. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { globalFlags } from "../../lib/cli/frame/parse.ts";
import { type FlagSpec, groups } from "../../lib/cli/mod.ts";
import { version } from "../../lib/mod.ts";
import { variables } from "../../runtime/config.ts";
import { files, sources, textOf, withoutComments } from "./files.ts";

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(textOf("package.json")) as Manifest;
const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
  typeof entry === "string" ? [] : [{ name: name.replace(/^\./, "grandstand"), ...entry }],
);
const sourceOf = (built: string): string => built.replace("./dist/", "").replace(/(\.d)?(\.js|\.ts)$/, ".ts");
const documents = files.filter(file => file.endsWith(".md"));

interface Block {
  readonly file: string;
  readonly language: string;
  readonly code: string;
}

const blocks: readonly Block[] = documents.flatMap(file =>
  [...textOf(file).matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(([, language = "", code = ""]) => ({
    file,
    language,
    code,
  })),
);

describe("the package", () => {
  it("has a source file behind every entry and its command", () => {
    const built = [...entries.flatMap(entry => [entry.types, entry.default]), ...Object.values(manifest.bin)];
    assert.deepEqual(
      built.map(sourceOf).filter(source => !files.includes(source)),
      [],
    );
  });

  it("resolves its own name to the same sources for the compiler", () => {
    const { compilerOptions } = JSON.parse(textOf("tsconfig.json")) as {
      compilerOptions: { paths: Record<string, string[]> };
    };
    const expected = Object.fromEntries(entries.map(entry => [entry.name, [`./${sourceOf(entry.default)}`]]));
    assert.deepEqual(compilerOptions.paths, expected);
  });

  it("exports its version", () => {
    assert.equal(version, manifest.version);
  });

  it("pins every dependency exactly, and leaves optional packages to those who use them", () => {
    const pinned = { ...manifest.dependencies, ...manifest.devDependencies };
    assert.deepEqual(
      Object.entries(pinned).filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range)),
      [],
    );
    assert.deepEqual(Object.keys(manifest.peerDependencies), [
      "@opentelemetry/api",
      "ioredis",
      "mmdb-lib",
      "nodemailer",
      "pg",
      "react",
    ]);
  });
});

describe("the documents", () => {
  it("name only entries that exist", () => {
    const expectedNames = new Set(entries.map(entry => entry.name));
    const named = blocks.flatMap(({ file, code }) =>
      [...code.matchAll(/from\s+["'](grandstand[^"']*)["']/g)].map(([, name = ""]) => ({ file, name })),
    );
    assert.deepEqual(
      named.filter(({ name }) => !expectedNames.has(name)),
      [],
    );
  });

  it("name every entry in the README", () => {
    const named = new Set(textOf("README.md").match(/`grandstand(\/[\w-]+)*`/g) ?? []);
    assert.deepEqual(
      entries.filter(({ name }) => !named.has(`\`${name}\``)),
      [],
    );
  });

  it("show code that is run: every TypeScript block is an example file of the tests", () => {
    const examples = files.filter(file => file.startsWith("test/runtime/examples/")).map(textOf);
    const shown = blocks.filter(({ file, language }) => file === "README.md" && language === "ts");
    assert.deepEqual(
      shown.filter(({ code }) => !examples.includes(code)),
      [],
    );
  });

  it("name only scripts and variables that exist", async () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
    const run = documents.flatMap(file =>
      [...textOf(file).matchAll(/npm run ([\w:-]+)/g)].map(([, name = ""]) => name),
    );
    assert.deepEqual(
      run.filter(name => !(name in scripts)),
      [],
    );
    const commands = (await Promise.all(groups.map(({ load }) => load()))).flat();
    const flags = [globalFlags, ...commands.map(({ flags }) => flags ?? {})];
    const expectedNames = [
      ...variables.map(({ name }) => name),
      ...flags.flatMap(Object.values<FlagSpec>).map(({ variable = "" }) => variable),
      "GRANDSTAND_TOKEN",
      "GRANDSTAND_OTHER_TOKEN",
      "GRANDSTAND_URL",
      "GRANDSTAND_CONFIG",
      "GRANDSTAND_API_SECRET",
      "GRANDSTAND_EXPORT_PASSWORD",
      "GRANDSTAND_REQUIRE_REDIS",
      "GRANDSTAND_REQUIRE_S3",
      "GRANDSTAND_REQUIRE_POSTGRES",
      "GRANDSTAND_REQUIRE_RUNTIMES",
      "GRANDSTAND_REQUIRE_BROWSER",
    ];
    const named = documents.flatMap(file => textOf(file).match(/GRANDSTAND_[A-Z0-9_]+/g) ?? []);
    assert.deepEqual(
      named.filter(name => !expectedNames.some(one => one === name)),
      [],
    );
  });

  it("list every kind of partition", () => {
    const architecture = textOf(".github/ARCHITECTURE.md");
    const kinds = sources
      .filter(file => file.startsWith("lib/"))
      .flatMap(file => [
        ...withoutComments(textOf(file)).matchAll(
          /(?:platformPartition\(|tenantPartition\((?:tenant|\{[^}]*\}),)\s*"(\w+)"/g,
        ),
      ])
      .map(([, kind = ""]) => kind);
    assert.ok(kinds.length > 25);
    assert.deepEqual(
      kinds.filter(
        kind => !architecture.includes(`/ \`${kind}\``) && !architecture.includes(`, \`${kind}\``),
      ),
      [],
    );
  });

  it("name only files of the product that exist", () => {
    const named = documents.flatMap(file =>
      [...textOf(file).matchAll(/`((?:\.\/)?[\w/]*\w\.(?:ts|lua))`/g)].map(([, name = ""]) => name),
    );
    assert.ok(named.length > 10);
    assert.deepEqual(
      named.filter(name => !files.some(file => file === name || file.endsWith(`/${name}`))),
      [],
    );
  });

  it("link only to sections that exist, and stay short enough to be read", () => {
    for (const [file, linesMax] of [
      ["README.md", 130],
      [".github/ARCHITECTURE.md", 250],
    ] as const) {
      const text = textOf(file);
      const anchors = [...text.matchAll(/^#{2,3} (.+)$/gm)].map(([, title = ""]) => anchorOf(title));
      assert.deepEqual(
        anchorsIn(text).filter(anchor => !anchors.includes(anchor)),
        [],
        file,
      );
      assert.ok(text.split("\n").length <= linesMax, `${file} has more than ${linesMax} lines`);
    }
  });

  it("link only to files that exist", () => {
    const broken = documents.flatMap(file => {
      const folder = file.includes("/") ? `${file.slice(0, file.lastIndexOf("/"))}/` : "";
      const links = [...textOf(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(
        ([, link = ""]) => link,
      );
      const resolve = (link: string): string => new URL(link, `file:///${folder}`).pathname.slice(1);
      return links.filter(
        link => !files.some(one => one === resolve(link) || one.startsWith(`${resolve(link)}/`)),
      );
    });
    assert.deepEqual(broken, []);
  });
});

/** Returns the anchor of a heading. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");
}

function anchorsIn(text: string): readonly string[] {
  return [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = ""]) => anchor);
}
