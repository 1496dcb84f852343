import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CliError, exitOf, exits, printedError, printedResult } from "../../../lib/cli/mod.ts";

const shown = {
  columns: ["ID", "NAME"],
  rows: [
    ["1", "first"],
    ["200", "the\tsecond\u001b[31m"],
  ],
};

describe("the result of a command", () => {
  it("is a table with a header for people", () => {
    const { stdout, stderr } = printedResult({ data: [], shown }, { json: false, isTerminal: true });
    assert.equal(stdout, "ID   NAME\n1    first\n200  the second [31m\n");
    assert.equal(stderr, "");
  });

  it("is tab-separated values without a header for scripts", () => {
    const { stdout } = printedResult({ data: [], shown }, { json: false, isTerminal: false });
    assert.equal(stdout, "1\tfirst\n200\tthe second [31m\n");
  });

  it("is one JSON document without notes with --json", () => {
    const result = { data: { a: 1 }, shown, notes: ["Done"] };
    for (const isTerminal of [true, false]) {
      const { stdout, stderr } = printedResult(result, { json: true, isTerminal });
      assert.equal(stdout, '{"data":{"a":1},"meta":{}}\n');
      assert.equal(stderr, "");
    }
    assert.equal(printedResult(result, { json: false, isTerminal: true }).stderr, "Done\n");
  });
});

describe("the error of a command", () => {
  const error = new CliError(exits.conflict, "It changed\u001b]0;title\u0007", {
    code: "precondition_failed",
    status: 412,
    hint: "pull first",
    details: ["/a: is wrong"],
    requestId: "r-1",
  });

  it("is text that cannot steer a terminal", () => {
    assert.deepEqual(printedError(error, { json: false }), {
      stdout: "",
      stderr: "It changed ]0;title \n  /a: is wrong\nHint: pull first.\nRequest id: r-1\n",
    });
  });

  it("is one line of JSON with --json", () => {
    const { stdout, stderr } = printedError(error, { json: true });
    assert.equal(stdout, "");
    assert.deepEqual(JSON.parse(stderr), {
      error: {
        code: "precondition_failed",
        status: 412,
        message: error.message,
        hint: "pull first",
        details: ["/a: is wrong"],
        request_id: "r-1",
      },
    });
    assert.equal(stderr.indexOf("\n"), stderr.length - 1);
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
