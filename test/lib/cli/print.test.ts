import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CliError, exitOf, exits } from "../../../lib/cli/frame/errors.ts";
import { json, rows } from "../../../lib/cli/frame/output.ts";
import { type PrintOptions, printedError, printedResult } from "../../../lib/cli/frame/run.ts";

const now = Date.parse("2026-11-22T20:00:00Z");
const output = rows({
  id: ["ID", "text"],
  name: ["NAME", "text?"],
  tags: ["TAGS", "texts"],
  at: ["CREATED", "time"],
  version: [null, "whole"],
});
const data = [
  { id: "1", name: null, tags: [], at: "2026-11-22T18:00:00.000Z", version: 1 },
  { id: "200", name: "the\tsecond\u001b[31m", tags: ["a", "b"], at: "2026-11-25T20:00:00.000Z", version: 2 },
];

function printed(result: Parameters<typeof printedResult>[0], options: Partial<PrintOptions> = {}): string {
  const plain = { isJson: false, isTerminal: true, hasColors: false, width: 100, now };
  return printedResult(result, output, { ...plain, ...options });
}

describe("the result of a command", () => {
  it("is a table with a header and relative times for people", () => {
    assert.equal(
      printed({ data }),
      "ID   NAME             TAGS  CREATED\n1                           2 h ago\n200  the second [31m  a,b   in 3 d\n",
    );
    const heading = "ID   NAME             TAGS  CREATED";
    assert.ok(printed({ data }, { hasColors: true }).startsWith(`\u001b[1m${heading}\u001b[0m\n1 `));
  });

  it("fits the terminal by cutting the least important column first, and the first id never", () => {
    const wide = [{ ...data[0], id: "i".repeat(40), name: "漢字".repeat(20) }];
    const [header = "", row = ""] = printed({ data: wide }, { width: 80 }).split("\n");
    assert.ok(row.startsWith(`${"i".repeat(40)}  漢字`), row);
    assert.match(row, /字…|漢…/);
    assert.equal(header.length, 80);
    const digest = `sha256:${"0".repeat(64)}`;
    const shown = { columns: ["KEY", "VALUE"], rows: [["digest", digest]] };
    assert.ok(printed({ data, shown }, { width: 20 }).includes(digest));
  });

  it("has a line for each row at 80 columns, whatever the columns hold", () => {
    const id = "0d000000-0000-4000-8000-000000000001";
    const columns = ["#", "ID", "TYPE", "NAME", "STATE", "NOTE", "PARENT"];
    const row = ["1", id, "leaderboard", "Who scores the first goal?", "current", "n".repeat(60), id];
    const linesOf = (cells: readonly string[], width = 80) =>
      printed({ data, shown: { columns: columns.slice(0, cells.length), rows: [cells] } }, { width }).split(
        "\n",
      );
    const [, full = ""] = linesOf(row);
    assert.ok(full.includes(id) && [...full].length === 80, full);
    // The note is the last text: it gives way before the name does.
    const [, shorter = ""] = linesOf(row.slice(0, -1), 110);
    assert.match(shorter, /Who scores the first goal\? {2}current {2}n+…$/);
    assert.equal([...shorter].length, 110);
    const narrow = linesOf(row, 20);
    assert.equal(narrow.length, 3);
    assert.ok(narrow[1]?.includes(id));
  });

  it("is tab-separated values without a header and with whole times for scripts", () => {
    assert.equal(
      printed({ data }, { isTerminal: false }),
      "1\t\t\t2026-11-22T18:00:00.000Z\n200\tthe second [31m\ta,b\t2026-11-25T20:00:00.000Z\n",
    );
  });

  it("keeps the joiners of emoji and scripts, which fill two cells together", () => {
    const name = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467} mi\u200ckham";
    const joined = [{ ...data[0], name }];
    assert.ok(printed({ data: joined }, { isTerminal: false }).includes(`\t${name}\t`));
    const [header = "", row = ""] = printed({ data: joined }).split("\n");
    assert.match(header, /^ID {2}NAME {7}TAGS/);
    assert.ok(row.includes(name));
  });

  it("is what the command shows in place of its data", () => {
    const shown = { columns: ["A"], rows: [["x"]] };
    assert.equal(printed({ data, shown }), "A\nx\n");
    assert.equal(printed({ data, shown: "text\n" }), "text\n");
    assert.equal(
      printedResult({ data: { a: 1 } }, json, {
        isJson: false,
        isTerminal: false,
        hasColors: false,
        width: 9,
        now,
      }),
      '{\n  "a": 1\n}\n',
    );
  });

  it("is one JSON document with --json", () => {
    const result = { data: { a: 1 }, shown: "text", notes: ["Done"] };
    for (const isTerminal of [true, false]) {
      assert.equal(printed(result, { isJson: true, isTerminal }), '{"data":{"a":1},"meta":{}}\n');
    }
  });
});

describe("the error of a command", () => {
  const error = new CliError(exits.conflict, "It changed\u001b]0;title\u0007", {
    code: "precondition_failed",
    status: 412,
    hint: "Pull first",
    next: "grandstand loyalty pull x",
    details: ["/a: is wrong"],
    requestId: "r-1",
  });

  it("is text that cannot control a terminal", () => {
    assert.equal(
      printedError(error, false),
      "It changed ]0;title \n  /a: is wrong\nHint: Pull first.\nNext: grandstand loyalty pull x\nRequest id: r-1\n",
    );
  });

  it("says a single fault once, with its place", () => {
    const options = { code: "validation_failed", details: ["/a: Is wrong"] };
    assert.equal(printedError(new CliError(exits.invalid, "Is wrong", options), false), "/a: Is wrong\n");
  });

  it("is one line of JSON with --json", () => {
    const line = printedError(error, true);
    assert.deepEqual(JSON.parse(line), {
      error: {
        code: "precondition_failed",
        status: 412,
        message: error.message,
        hint: "Pull first",
        next: "grandstand loyalty pull x",
        retryable: false,
        details: ["/a: is wrong"],
        request_id: "r-1",
      },
    });
    assert.equal(line.indexOf("\n"), line.length - 1);
  });
});

describe("exit codes", () => {
  it("differ by kind of failure", () => {
    const expected: [status: number, exit: number][] = [
      [400, 8],
      [401, 4],
      [403, 5],
      [404, 6],
      [409, 7],
      [412, 7],
      [413, 8],
      [415, 8],
      [422, 8],
      [428, 7],
      [429, 9],
      [500, 1],
      [503, 9],
      [302, 1],
    ];
    assert.deepEqual(
      expected.map(([status]) => [status, exitOf(status)]),
      expected,
    );
  });
});
