/** What backends and frontends make of records of the protocol, also of wrong and hostile ones. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import {
  type DialogueView,
  decodeFile,
  encodeFile,
  escapeMarkup,
  fileBytes,
  imageType,
  isColour,
  isImageUrl,
  type MarkupToken,
  parseMarkup,
  parseRequest,
  plainText,
  readResponse,
  responseFaults,
} from "../../../../lib/workflow/dialogue/mod.ts";
import { sampleSize } from "../../../support/full.ts";

const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
const context = { baseURL: "https://grandstand.example", projectId: "p1" };
const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);

function viewOf(answer: unknown): { readonly view: DialogueView; readonly reports: readonly string[] } {
  const result = readResponse(JSON.stringify(answer));
  assert.ok("view" in result, JSON.stringify(result));
  return result;
}

/** Returns the blocks of an answer as they are shown, and how many reports there are. */
function shown(...blocks: readonly unknown[]) {
  const { view, reports } = viewOf({ blocks });
  return { blocks: view.blocks.map(({ key, ...block }) => block), reports: reports.length };
}

describe("a request", () => {
  it("is read with its known members alone", () => {
    const request = { context, action: "go", taskId: "t", inputs: { name: "" }, payload: { n: [1, null] } };
    assert.deepEqual(parseRequest(request), request);
    assert.deepEqual(parseRequest({ context: { ...context, more: 1 }, other: true }), { context });
  });

  it("is refused with a pointer to every fault", () => {
    const faults = (value: unknown): readonly string[] => {
      try {
        parseRequest(value);
      } catch (error) {
        assert.ok(error instanceof AppError && error.code === "validation_failed");
        return (error.fields ?? []).map(({ pointer }) => pointer);
      }
      return assert.fail("it was taken");
    };
    for (const value of [null, [], "text", 1, true]) assert.deepEqual(faults(value), [""]);
    assert.deepEqual(faults({}), ["/context"]);
    assert.deepEqual(faults({ context: [], action: 1, inputs: [], payload: "x", taskId: "" }), [
      "/context",
      "/action",
      "/taskId",
      "/inputs",
      "/payload",
    ]);
    assert.deepEqual(faults({ context: { projectId: "" }, inputs: { a: 1, b: null } }), [
      "/context/projectId",
      "/inputs/a",
      "/inputs/b",
    ]);
    assert.deepEqual(faults({ context, payload: deep(40) }), ["/payload"]);
    assert.deepEqual(faults({ context, action: "x".repeat(201) }), ["/action"]);
  });

  it("takes names that are members of every object for nothing but names", () => {
    const { inputs } = parseRequest(JSON.parse('{"context":{},"inputs":{"constructor":"a","toString":"b"}}'));
    assert.deepEqual(Object.entries(inputs ?? {}), [
      ["constructor", "a"],
      ["toString", "b"],
    ]);
    const odd = parseRequest(
      JSON.parse(
        '{"context":{},"payload":{"__proto__":{"isAdmin":true}},"inputs":{"__proto__":"x","a":"b"}}',
      ),
    );
    assert.deepEqual(odd.inputs, { a: "b" });
    assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined);
  });
});

describe("an answer that a backend is about to give", () => {
  it("is checked member by member", () => {
    const faults = (answer: unknown): readonly string[] =>
      responseFaults(answer).map(({ pointer }) => pointer);
    const text = { type: "text", text: "a" };
    const input = { type: "input", input_type: "text", label: "L", name: "n" };
    const go = { type: "button", label: "Go", action_id: "go" };
    assert.deepEqual(faults({ blocks: [] }), []);
    assert.deepEqual(
      faults({
        blocks: [text, input],
        actions: [go],
        autoAction: { action_id: "a" },
        payload: {},
        task: { id: "t", state: "running", progress: 0, pollIntervalMs: 100 },
      }),
      [],
    );
    assert.deepEqual(faults({}), ["/blocks"]);
    assert.deepEqual(faults({ blocks: [{ type: "other" }, { type: "text" }] }), [
      "/blocks/0/type",
      "/blocks/1/text",
    ]);
    assert.deepEqual(faults({ blocks: [input, input] }), ["/blocks/1"]);
    assert.deepEqual(
      faults({
        blocks: [
          { ...input, input_type: "date" },
          { ...input, name: "" },
          { ...input, name: "__proto__" },
        ],
      }),
      ["/blocks/0/input_type", "/blocks/1/name", "/blocks/2/name"],
    );
    assert.deepEqual(
      faults({
        blocks: [
          { type: "image", url: "javascript:alert(1)" },
          { type: "colour", value: "red" },
        ],
      }),
      ["/blocks/0/url", "/blocks/1/value"],
    );
    assert.deepEqual(
      faults({
        blocks: [
          { type: "loader", progress: 101 },
          { type: "alert", text: "a", severity: "fatal" },
        ],
      }),
      ["/blocks/0/progress", "/blocks/1/severity"],
    );
    assert.deepEqual(
      faults({ blocks: [], actions: [go, go, { ...go, type: "link", action_id: "x" }] }).slice(-1),
      ["/actions/2/type"],
    );
    assert.deepEqual(faults({ blocks: [], actions: [go, go] }), ["/actions/1"]);
    assert.deepEqual(
      faults({
        blocks: [],
        autoAction: "go",
        payload: [],
        task: { id: "t", state: "cancelled", progress: 140 },
      }),
      ["/autoAction", "/payload", "/task/state", "/task/progress"],
    );
    assert.deepEqual(faults({ blocks: [], task: { id: "t", state: "running", error: "odd" } }), [
      "/task/error",
    ]);
  });
});

describe("an answer that a frontend reads", () => {
  it("is no view where it cannot be shown at all", () => {
    for (const [text, pointer] of [
      ["", ""],
      ["<html>", ""],
      ["[]", ""],
      ['"text"', ""],
      ["{}", "/blocks"],
      ['{"blocks":{}}', "/blocks"],
      ['{"blocks":[],"payload":"x"}', "/payload"],
      [`{"blocks":[],"payload":${JSON.stringify(deep(40))}}`, "/payload"],
      [`{"blocks":[],"payload":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`, "/payload"],
      [JSON.stringify({ blocks: [{ type: "text", text: "x".repeat(2_100_000) }] }), ""],
    ] as const) {
      const result = readResponse(text);
      assert.ok("fault" in result, text.slice(0, 80));
      assert.equal(result.fault.pointer, pointer);
    }
  });

  it("shows every block that has what it needs", () => {
    const blocks = [
      { type: "text", text: "a", label: "L" },
      { type: "image", url: "https://cdn.example/a.png", label: "L", alt_text: "A" },
      { type: "loader", text: "a", progress: 5 },
      { type: "colour", value: "#aabbcc", label: "L" },
      { type: "alert", text: "a", title: "T", severity: "success" },
      { type: "input", input_type: "file", label: "L", name: "n" },
    ];
    assert.deepEqual(shown(...blocks), { blocks, reports: 0 });
  });

  it("shows a placeholder for a block that is unknown, or lacks what it needs, and reports it", () => {
    for (const [block, name] of [
      [null, ""],
      ["text", ""],
      [{}, ""],
      [{ type: 1 }, ""],
      [{ type: "constructor" }, "constructor"],
      [{ type: "map", text: "a" }, "map"],
      [{ type: "text" }, "text"],
      [{ type: "text", text: 5 }, "text"],
      [{ type: "image" }, "image"],
      [{ type: "image", url: "javascript:alert(1)" }, "image"],
      [{ type: "image", url: "data:text/html;base64,PHA+" }, "image"],
      [{ type: "image", url: "http://cdn.example/a.png" }, "image"],
      [{ type: "colour", value: "red; background: url(https://evil.example)" }, "colour"],
      [{ type: "alert", title: "T" }, "alert"],
      [{ type: "input", input_type: "date", label: "L", name: "n" }, "input"],
      [{ type: "input", input_type: "text", label: "L" }, "input"],
      [{ type: "input", input_type: "text", label: "L", name: "" }, "input"],
      [{ type: "input", input_type: "text", label: "L", name: "__proto__" }, "input"],
    ] as const)
      assert.deepEqual(
        shown(block),
        { blocks: [{ type: "unknown", name }], reports: 1 },
        JSON.stringify(block),
      );
  });

  it("ignores members of the wrong type, and reports them", () => {
    assert.deepEqual(shown({ type: "text", text: "a", label: {} }), {
      blocks: [{ type: "text", text: "a" }],
      reports: 1,
    });
    assert.deepEqual(shown({ type: "alert", text: "a", severity: "fatal" }), {
      blocks: [{ type: "alert", text: "a", severity: "info" }],
      reports: 1,
    });
    assert.deepEqual(shown({ type: "alert", text: "a" }), {
      blocks: [{ type: "alert", text: "a", severity: "info" }],
      reports: 0,
    });
    assert.deepEqual(shown({ type: "loader", progress: "x" }), { blocks: [{ type: "loader" }], reports: 1 });
    assert.deepEqual(shown({ type: "loader", progress: 140 }), {
      blocks: [{ type: "loader", progress: 100 }],
      reports: 1,
    });
    assert.deepEqual(shown({ type: "input", input_type: "text", name: "n" }).blocks, [
      { type: "input", input_type: "text", name: "n", label: "n" },
    ]);
  });

  it("shows the last of inputs with one name, and the first of actions with one id", () => {
    const input = (label: string) => ({ type: "input", input_type: "text", label, name: "n" });
    assert.deepEqual(shown(input("first"), { type: "text", text: "a" }, input("last")), {
      blocks: [{ type: "text", text: "a" }, input("last")],
      reports: 1,
    });
    const button = (label: string, action_id: unknown = "go") => ({ type: "button", label, action_id });
    const { view, reports } = viewOf({
      blocks: [],
      actions: [
        button("first"),
        button("second"),
        button(""),
        button("x", 5),
        { ...button("y", "y"), type: "link" },
        null,
      ],
    });
    assert.deepEqual(view.actions, [button("first")]);
    assert.equal(reports.length, 5);
  });

  it("has no task or auto action that is none", () => {
    for (const odd of [[], "t", {}, { id: 5, state: "running" }, { id: "t", state: "cancelled" }]) {
      const { view, reports } = viewOf({ blocks: [], task: odd, autoAction: odd, actions: "x" });
      assert.deepEqual([view.task, view.autoAction, view.actions, reports.length], [null, null, [], 3]);
    }
    const { view, reports } = viewOf({
      blocks: [],
      task: { id: "t", state: "running", progress: -3, pollIntervalMs: [], error: "e" },
    });
    assert.deepEqual(view.task, { id: "t", state: "running", progress: 0, pollIntervalMs: 2_000 });
    assert.equal(reports.length, 3);
    assert.deepEqual(
      viewOf({ blocks: [], task: null, autoAction: null, actions: null, payload: null }).reports,
      [],
    );
  });

  it("shows 500 blocks and 100 actions at most, and reports 50 faults", () => {
    const { view, reports } = viewOf({
      blocks: Array(600).fill({}),
      actions: Array.from({ length: 150 }, (_, id) => ({ type: "button", label: "a", action_id: `a${id}` })),
    });
    assert.deepEqual([view.blocks.length, view.actions.length, reports.length], [500, 100, 50]);
  });

  it("is read without a failure, whatever it has", () => {
    const random = createRandom(7);
    const { integer, pick } = random;
    const words = [
      "type",
      "text",
      "input",
      "image",
      "blocks",
      "task",
      "id",
      "state",
      "running",
      "progress",
      "__proto__",
      "constructor",
      "\u202e",
      "<b>",
      "",
    ];
    const any = (levels: number): unknown =>
      levels === 0 || integer(3) === 0
        ? pick<unknown>([null, true, 0, -1, 1e300, "", ...words])
        : integer(2) === 0
          ? Array.from({ length: integer(4) }, () => any(levels - 1))
          : Object.fromEntries(Array.from({ length: integer(6) }, () => [pick(words), any(levels - 1)]));
    for (let round = 0; round < sampleSize(5_000, 500); round++) {
      const answer = JSON.stringify({
        blocks: any(4),
        actions: any(3),
        task: any(2),
        payload: any(3),
        autoAction: any(2),
      });
      const result = readResponse(answer);
      assert.ok("view" in result || result.fault.detail !== "", answer);
    }
  });
});

describe("limited markup", () => {
  const plain = (text: string, style: { strong?: boolean; em?: boolean } = {}): MarkupToken => ({
    type: "text",
    text,
    strong: false,
    em: false,
    ...style,
  });

  it("knows strong, em and br in any case, and nothing else", () => {
    assert.deepEqual(parseMarkup("a <STRONG>b<em>c</em></strong>d<br>e<br/>f<BR />g"), [
      plain("a "),
      plain("b", { strong: true }),
      plain("c", { strong: true, em: true }),
      plain("d"),
      { type: "break" },
      plain("e"),
      { type: "break" },
      plain("f"),
      { type: "break" },
      plain("g"),
    ]);
    for (const literal of [
      '<img src=x onerror="a()">',
      "<strong class=a>",
      "<script>a</script>",
      "<br//>",
      "< strong>",
      "<strong",
      "</ em>",
    ])
      assert.deepEqual(parseMarkup(literal), [plain(literal)]);
  });

  it("drops closing tags without an opening one, and closes what is open", () => {
    assert.deepEqual(parseMarkup("</em>a</strong><em>b"), [plain("a"), plain("b", { em: true })]);
    assert.deepEqual(parseMarkup("<em>a<strong>b</em>c</strong>d"), [
      plain("a", { em: true }),
      plain("b", { strong: true, em: true }),
      plain("c", { strong: true }),
      plain("d"),
    ]);
  });

  it("decodes five entities once, and leaves others", () => {
    assert.deepEqual(parseMarkup("&lt;em&gt; &amp;lt; &quot;&#39; &nbsp; &#60;"), [
      plain("<em> &lt; \"' &nbsp; &#60;"),
    ]);
    const hostile = `<strong>"Tom" & 'Jerry'</strong><br>`;
    assert.deepEqual(parseMarkup(escapeMarkup(hostile)), [plain(hostile)]);
  });

  it("has no control characters, no changes of direction and no halves of characters, and an end", () => {
    assert.equal(plainText("a\u0000\u001b[31m\u202eb\u2066\ud800\r\n\tc"), "a[31mb\ufffd c");
    assert.equal(plainText("x".repeat(30_000)).length, 20_000);
    const tokens = parseMarkup("<em>".repeat(5_000));
    assert.deepEqual(tokens, []);
  });
});

describe("files", () => {
  it("are Base64 in both alphabets, with or without padding and prefix", () => {
    for (let length = 0; length < 70; length++) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 37 + length) % 256);
      const text = encodeFile(bytes);
      const url = text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
      for (const each of [text, url, `data:text/csv;charset=utf-8;base64,${text}`, `data:;base64,${url}`]) {
        assert.deepEqual(decodeFile(each), bytes);
        assert.equal(fileBytes(each), length);
      }
    }
    assert.equal(decodeFile(encodeFile(new Uint8Array(1_000_000))).length, 1_000_000);
  });

  it("that are none, or too long, are refused before they are decoded", () => {
    for (const text of ["a", "abc$", "a b=", "=abc", "ab=c", "abc==", "data:text/csv,abcd", "a+_-"])
      assert.throws(() => decodeFile(text), SyntaxError, text);
    assert.throws(() => decodeFile("A".repeat(200), 100), RangeError);
  });

  it("are images by their first bytes, and SVG is none", () => {
    const of = (latin: string) => imageType(Uint8Array.from(latin, each => each.charCodeAt(0)));
    assert.deepEqual(
      [
        imageType(png),
        of("\xff\xd8\xff"),
        of("GIF89a"),
        of("RIFFxxxxWEBP"),
        of("<svg>"),
        of("RIFFxxxxWAVE"),
        of(""),
      ],
      ["image/png", "image/jpeg", "image/gif", "image/webp", null, null, null],
    );
  });

  it("and colours are shown only in their forms", () => {
    const inline = `data:image/png;base64,${encodeFile(png)}`;
    for (const url of ["https://cdn.example/a.png", "http://localhost:1/a", "http://127.0.0.1/a", inline])
      assert.ok(isImageUrl(url), url);
    for (const url of [
      "http://cdn.example/a",
      "javascript:a",
      "data:text/html;base64,PHA+",
      "data:image/svg+xml;base64,PHA+",
      inline.replace("png", "gif"),
      "https://a:b@cdn.example/",
      "//cdn.example/a",
      "",
      `https://a.example/${"x".repeat(2_100)}`,
    ])
      assert.equal(isImageUrl(url), false, url);
    assert.deepEqual(["#abc", "#AABBCC", "#aabbccdd", "#abcd", "abc", "red", "#ggg"].map(isColour), [
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
