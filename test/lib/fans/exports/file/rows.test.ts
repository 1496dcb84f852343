/** Rows as CSV and JSON, read back by parsers of others. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import { rowEncoder } from "../../../../../lib/fans/exports/file/rows.ts";

type Row = readonly unknown[];

const fields = (count: number): { name: string }[] =>
  Array.from({ length: count }, (_, index) => ({ name: `f${index}` }));

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

function textOf(
  format: "csv" | "json",
  rows: readonly Row[],
  columns = fields(rows[0]?.length ?? 1),
): string {
  const encoder = rowEncoder(format, columns);
  const body = rows.map((row, index) => encoder.row(row.map(jsonOf), index === 0));
  return [encoder.head(), ...body, encoder.tail()].join("");
}

function cell(value: unknown): string {
  return textOf("csv", [[value]]).slice("f0\r\n".length, -"\r\n".length);
}

/** Returns the cells as a reader of the file has them: null for empty ones, texts without the apostrophe of the guard. */
function readCsv(text: string): (string | null)[][] {
  const cells = parse(text, {
    cast: (value, { quoting }) => (value === "" && !quoting ? null : value),
    record_delimiter: "\r\n",
    relax_column_count: false,
    skip_empty_lines: false,
  }) as unknown as (string | null)[][];
  return cells.map(row => row.map(value => value?.replace(/^'('*[=+\-@\t\r\n＝＋－＠])/, "$1") ?? null));
}

const awkward = [
  "",
  " ",
  "plain",
  "a,b",
  'say "hi"',
  '"',
  '""',
  "a\nb",
  "a\r\nb",
  "\r",
  "\n",
  "a\rb",
  " lead",
  "trail ",
  "\t",
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "＝1",
  "＋1",
  "－1",
  "＠x",
  "\t=1",
  "'=1",
  "''+1",
  "'t Hooft",
  "'",
  "-",
  "=",
  "München",
  "日本語",
  "👩‍👩‍👧‍👦",
  "é",
  "\u2028\u2029",
  "\u00a0",
  "\ufeffbom",
  "null",
  "true",
  "0",
  "\u0000",
  "\\",
  "\\n",
  ";",
  "<script>",
  "#REF!",
  "a'b",
  "a=b",
  "1e5",
  "007",
];
const pieces = [...awkward, "x", "long text ".repeat(50), ",", "\r\n", '","', '"\r\n"', "😀"];

function random<T>(from: readonly T[]): T {
  const found = from[Math.floor(Math.random() * from.length)];
  assert.ok(found !== undefined);
  return found;
}

function randomText(): string {
  return Array.from({ length: Math.floor(Math.random() * 4) }, () => random(pieces)).join("");
}

describe("CSV", () => {
  it("begins with the names of the fields and ends every row with CRLF", () => {
    const columns = [{ name: "userId" }, { name: "a,b" }, { name: "=x" }];
    assert.equal(textOf("csv", [], columns), 'userId,"a,b","\'=x"\r\n');
    assert.equal(textOf("csv", [["u", 1, null]], columns), 'userId,"a,b","\'=x"\r\nu,1,\r\n');
  });

  it("distinguishes null from the empty text", () => {
    assert.equal(cell(null), "");
    assert.equal(cell(undefined), "");
    assert.equal(cell(""), '""');
    assert.equal(textOf("csv", [[null, "", null]]), 'f0,f1,f2\r\n,"",\r\n');
  });

  it("writes numbers and booleans bare, and what is no number as nothing", () => {
    const values = [
      0,
      -1,
      1.5,
      -0,
      1e21,
      1_700_000_000_000,
      true,
      false,
      Number.NaN,
      Number.POSITIVE_INFINITY,
    ];
    assert.deepEqual(values.map(cell), [
      "0",
      "-1",
      "1.5",
      "0",
      "1e+21",
      "1700000000000",
      "true",
      "false",
      "",
      "",
    ]);
  });

  it("quotes what has to be, and nothing that is plain", () => {
    assert.deepEqual(["plain", "a b", "a.b@c.de", "x=1", "d41d8cd9"].map(cell), [
      "plain",
      "a b",
      "a.b@c.de",
      "x=1",
      "d41d8cd9",
    ]);
    assert.deepEqual(["a,b", 'a"b', "a\nb", "a\rb", " a", "a "].map(cell), [
      '"a,b"',
      '"a""b"',
      '"a\nb"',
      '"a\rb"',
      '" a"',
      '"a "',
    ]);
    assert.equal(cell({ a: [1, "x"] }), '"{""a"":[1,""x""]}"');
  });

  it("puts an apostrophe before whatever a spreadsheet takes for a formula, full-width forms included", () => {
    for (const start of ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]) {
      for (const text of [start, `${start}1+1`, `'${start}1`, `''${start}`]) {
        assert.equal(cell(text), `"'${text}"`, JSON.stringify(text));
      }
    }
    assert.deepEqual(["'", "'t Hooft", "a=1"].map(cell), [`"'"`, `"'t Hooft"`, "a=1"]);
  });

  it("is read back as it was by another parser, whatever the texts", () => {
    for (let round = 0; round < 300; round++) {
      const width = 1 + Math.floor(Math.random() * 5);
      const rows = Array.from({ length: 1 + Math.floor(Math.random() * 5) }, () =>
        Array.from({ length: width }, () => (Math.random() < 0.2 ? null : randomText())),
      );
      // A row of one null is an empty line, which parsers tell from a row only where they are told to.
      const read = readCsv(textOf("csv", rows));
      assert.deepEqual(read.slice(1), rows, JSON.stringify(rows));
    }
  });

  it("keeps well-formed texts in UTF-8, and a lone surrogate becomes U+FFFD", () => {
    const texts = ["\ud800", "a\udc00b", "\ud83d\ude00"];
    const bytes = new TextEncoder().encode(textOf("csv", [texts]));
    assert.deepEqual(readCsv(new TextDecoder().decode(bytes))[1], ["\ufffd", "a\ufffdb", "😀"]);
  });
});

describe("JSON", () => {
  const values = (): unknown =>
    random<() => unknown>([
      () => null,
      () => Math.random() < 0.5,
      () => Math.floor(Math.random() * 1e9),
      () => Math.random(),
      randomText,
      () => ({ a: randomText(), b: [1, null, { c: randomText() }] }),
      () => [],
    ])();

  it("is one array, whatever the number of rows", () => {
    const columns = [{ name: "a" }, { name: '"b"' }];
    assert.deepEqual(JSON.parse(textOf("json", [], columns)), []);
    assert.deepEqual(JSON.parse(textOf("json", [[1, "x"]], columns)), [{ a: 1, '"b"': "x" }]);
    assert.deepEqual(
      JSON.parse(
        textOf(
          "json",
          [
            [1, "x"],
            [null, ""],
          ],
          columns,
        ),
      ),
      [
        { a: 1, '"b"': "x" },
        { a: null, '"b"': "" },
      ],
    );
    assert.equal(
      textOf("json", [
        [1, 2],
        [3, 4],
      ]),
      '[\n{"f0":1,"f1":2},\n{"f0":3,"f1":4}\n]\n',
    );
  });

  it("is read back as it was, lone surrogates included", () => {
    for (let round = 0; round < 300; round++) {
      const width = 1 + Math.floor(Math.random() * 6);
      const rows = Array.from({ length: 1 + Math.floor(Math.random() * 5) }, () =>
        Array.from({ length: width }, values),
      );
      const bytes = new TextEncoder().encode(textOf("json", rows));
      const read = JSON.parse(new TextDecoder().decode(bytes)) as Readonly<Record<string, unknown>>[];
      assert.deepEqual(
        read.map(row => Object.values(row)),
        rows,
      );
    }
    const lone = ["\ud800", "\udc00", "a\ud83d", "\u0000", "\u001f", "\u007f", "\\", '"'];
    assert.deepEqual(Object.values(JSON.parse(textOf("json", [lone]))[0]), lone);
  });

  it("has null where a row ends early", () => {
    assert.deepEqual(JSON.parse(textOf("json", [["x"]], fields(3))), [{ f0: "x", f1: null, f2: null }]);
  });
});
