/** The house style, as far as a test can see it. Formatting and most lint rules are biome's. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mutants } from "../mutants/faults.ts";
import { plantedFaults } from "../simulation/planted_faults.ts";
import { mutated } from "../support/mutation.ts";
import { entryExports, files, modules, sources, textOf, withoutComments } from "./files.ts";

/** Most lines of a file. */
const linesMax = 600;
/** Most lines of a function. */
const functionLinesMax = 70;

const lineCount = (file: string): number => textOf(file).split("\n").length - 1;

describe("the files", () => {
  it(`have at most ${linesMax} lines`, () => {
    const long = modules.filter(file => lineCount(file) > linesMax);
    assert.deepEqual(long, []);
  });

  it("have snake_case names", () => {
    const wrong = modules.filter(
      file => !/^_?[a-z0-9]+(_[a-z0-9]+)*(\.test|\.d)?\.tsx?$/.test(file.split("/").at(-1) ?? ""),
    );
    assert.deepEqual(wrong, []);
    const folders = new Set(modules.flatMap(file => file.split("/").slice(0, -1)));
    assert.deepEqual(
      [...folders].filter(folder => !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(folder)),
      [],
    );
  });

  it("stay in the folders that the project has", () => {
    const top = new Set(files.filter(file => file.includes("/")).map(file => file.split("/")[0]));
    assert.deepEqual([...top].sort(), [".ci", ".github", "adapters", "lib", "runtime", "test"]);
  });

  it("name no machine and no registry", () => {
    const suspects = [/\/(?:home|Users)\/[a-z]/, /\/(?:work|root)\/[a-z]/, /registry\.[a-z]+\.(?:org|com)/];
    const wrong = files.filter(
      file => file !== "test/repo/style.test.ts" && suspects.some(one => one.test(textOf(file))),
    );
    assert.deepEqual(wrong, []);
  });
});

describe("the product's code", () => {
  const finds = (pattern: RegExp, among: readonly string[] = sources): string[] =>
    among.filter(file => pattern.test(withoutComments(textOf(file))));

  it("runs no text as code", () => {
    assert.deepEqual(finds(/\beval\(|\bnew Function\(|\bfrom "node:vm"/), []);
  });

  it("compares tags, digests and secrets of callers in constant time", () => {
    const areas =
      /^lib\/(auth|fans\/(identity|exports\/(jobs|file)|space_tokens)|authoring\/control\/access|workflow)\//;
    const name = "(?:tag|digest|signature|secret|hash)\\)?";
    const other = "\\s*(?!\\s|undefined|null|true|false|-?\\d|[\"'`])[\\w.?]*";
    const compared = new RegExp(`\\b${name}\\s*[!=]==${other}|[!=]==${other}\\b${name}\\b`, "i");
    // Both sides of these come from the store: has the record changed since it was read?
    const stored = /passwordHash|CodeRecord\)\.hash/;
    const wrong = sources
      .filter(file => areas.test(file))
      .flatMap(file =>
        withoutComments(textOf(file))
          .split("\n")
          .map(line => `${file}: ${line.trim()}`),
      )
      .filter(line => compared.test(line) && !stored.test(line));
    assert.deepEqual(wrong, []);
  });

  it("has no any and no silenced compiler", () => {
    assert.deepEqual(finds(/[:<|,(]\s*any\b(?!["'\w])|\bas any\b/), []);
    const silenced = modules.filter(file => /@ts-(ignore|expect-error|nocheck)/.test(textOf(file)));
    assert.deepEqual(
      silenced.filter(file => file !== "test/repo/style.test.ts"),
      [],
    );
  });

  it(`has no function of more than ${functionLinesMax} lines`, () => {
    assert.deepEqual(sources.flatMap(longFunctions), []);
  });

  it("has no enums, namespaces or default exports", () => {
    assert.deepEqual(
      finds(/^\s*(export\s+)?(const\s+)?enum\s|^\s*(export\s+)?namespace\s|^export default\b/m),
      [],
    );
  });

  it("has no private members of the TypeScript kind", () => {
    assert.deepEqual(finds(/^\s+(private|protected)\s+(?!constructor\b)/m), []);
  });

  it("has no left-over work", () => {
    assert.deepEqual(
      files.filter(file => /\b(TODO|FIXME|XXX)\b/.test(textOf(file)) && file !== "test/repo/style.test.ts"),
      [],
    );
  });

  it("documents every symbol that an entry of the package exports", () => {
    assert.ok(entryExports.size > 100);
    assert.deepEqual(
      declarations
        .filter(({ id, above }) => entryExports.has(id) && !above.endsWith("*/"))
        .map(({ id }) => id),
      [],
    );
  });

  it("has no comment that only repeats the name below it", () => {
    assert.deepEqual(sources.flatMap(repetitions), []);
  });
});

describe("the mistakes of test/mutants and the faults of test/simulation", () => {
  it("have their place in the source", () => {
    assert.ok(mutants.length > 50);
    for (const mistake of [...mutants, ...plantedFaults])
      assert.doesNotThrow(() => mutated(mistake), mistake.name);
  });
});

/** Exported declarations, with the line above each; an overload counts with the first. */
const declarations = sources.flatMap(file => {
  const lines = textOf(file).split("\n");
  return lines.flatMap((line, index) => {
    const name = /^export (?:abstract )?(?:async )?(?:function\*?|class|interface|type|const) (\w+)/.exec(
      line,
    )?.[1];
    const above = lines[index - 1]?.trim() ?? "";
    const isOverload = above.startsWith(`export function ${name}`);
    return name === undefined || isOverload ? [] : [{ id: `${file}#${name}`, above }];
  });
});

/** Words that say nothing about a name. */
const fillers = new Set(
  "a an the of in on to by for and or as at is are its with from that this each every all one returns value options".split(
    " ",
  ),
);

/** One-line doc comments of internal code whose words all stand in the line below. */
function repetitions(file: string): string[] {
  const lines = textOf(file).split("\n");
  return lines.flatMap((line, index) => {
    const comment = /^\s*\/\*\* (.*) \*\/$/.exec(line)?.[1];
    if (comment === undefined || comment.includes("@")) return [];
    const declared = lines[index + 1] ?? "";
    const name = /(\w+)[(<:? =]/.exec(
      declared.replace(/^\s*(?:export|async|function\*?|class|interface|type|const|readonly| )*/, ""),
    )?.[1];
    if (entryExports.has(`${file}#${name}`)) return [];
    const known = new Set(wordsOf(declared));
    const isRepeated = wordsOf(comment).every(word => fillers.has(word) || known.has(word));
    return isRepeated ? [`${file}:${index + 1} ${comment}`] : [];
  });
}

/** Words of a text in lower case and in the singular; names are split where their case changes. */
function wordsOf(text: string): string[] {
  const words =
    text
      .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  return words.map(word => word.replace(/s$/, ""));
}

/** Functions at the top of a file, and methods of its classes and tables, that are too long. */
function longFunctions(file: string): string[] {
  const lines = textOf(file).split("\n");
  return lines.flatMap((line, index) => {
    const begin = /^( {2}|export )?(?:static )?(?:async )?(?:function\*? )?\*?(#?\w+)(?:<.*>)?\(/.exec(line);
    if (begin === null) return [];
    const length = lines.slice(index).findIndex(closing(begin[1] === "  " ? 2 : 0)) + 1;
    return length > functionLinesMax ? [`${file}:${index + 1} ${begin[2]}: ${length}`] : [];
  });
}

/** Formatted code ends a function where it began; parameters on lines of their own end there too, and go on with the body. */
function closing(indent: number): (line: string, offset: number) => boolean {
  return (line, offset) => offset > 0 && line.search(/\S/) === indent && !/^ *\).*\{$/.test(line);
}
