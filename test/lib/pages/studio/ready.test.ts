/** What elements lack before they can go on air. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { catalogueApp } from "../../../../lib/authoring/table/mod.ts";
import { languagesOf } from "../../../../lib/pages/studio/page/editor/contents.ts";
import { lacksOf, type Planned, type PlannedShow } from "../../../../lib/pages/studio/page/plan/ready.ts";

const show: PlannedShow = { types: catalogueApp("").elements, locales: [], boards: null, duration: 0 };
const text = (key: string, values: object) => ({ key, values });
const options = (...texts: readonly string[]) => texts.map(all => ({ fields: [text("text", { all })] }));

function element(id: string, attributes: object, parent: string | null = null): Planned {
  return { id, parent, attributes: { name: id, state: "non_scheduled", ...attributes } };
}
const poll = (id: string, more: object = {}, parent: string | null = null): Planned =>
  element(
    id,
    {
      content_type: "poll",
      question: { fields: [text("question", { all: "Who?" })], options: options("Home", "Away") },
      ...more,
    },
    parent,
  );
const message = (id: string, more: object = {}, parent: string | null = null): Planned =>
  element(id, { content_type: "message", custom_fields: [text("body", { all: "Hello" })], ...more }, parent);
const timed = (start_offset: number, duration = 0): object => ({
  start_mode: "timecode",
  start_offset,
  duration,
});

/** Returns the lines of each element that has some, those that stop it with an exclamation mark. */
function lines(elements: readonly Planned[], more: Partial<PlannedShow> = {}) {
  const found = [...lacksOf(elements, { ...show, ...more })];
  return Object.fromEntries(
    found
      .filter(([, lacks]) => lacks.length > 0)
      .map(([id, lacks]) => [id, lacks.map(({ text, isRefused }) => (isRefused ? `! ${text}` : text))]),
  );
}

describe("readiness of elements", () => {
  it("names what publishing would refuse, by the checks of the platform", () => {
    const faulty = element("faulty", {
      content_type: "quiz",
      question: {
        fields: [],
        options: [{ fields: [] }, ...options("x".repeat(201))],
      },
      custom_fields: [text("explanation", { de: "<script>" })],
    });
    const found = lines([poll("fine"), faulty, element("odd", { content_type: "opera" })]);
    assert.deepEqual(found, {
      faulty: [
        "! Expected the field question",
        "! option 1: Expected the field text",
        "! option 2: Expected at most 200 characters",
        "! explanation (de): Expected no tags but strong, em and br",
      ],
      odd: ["! The project has no content type opera"],
    });
  });

  it("counts the texts that each language lacks, and takes texts for all languages for each", () => {
    const german = poll("german", {
      question: {
        fields: [text("question", { de: "Wer?", ar: "من" })],
        options: options("Home", "Away").map(({ fields }) => ({
          fields: fields.map(field => ({ ...field, values: { de: "Heim" } })),
        })),
      },
    });
    assert.deepEqual(lines([german, poll("fine")], { locales: ["de", "ar", "fr"] }), {
      german: ["2 texts are missing in ar", "3 texts are missing in fr"],
    });
    const base = poll("base", {
      question: {
        fields: [text("question", { all: "Who?", pt: "Quem?" })],
        options: options("Home", "Away"),
      },
    });
    assert.deepEqual(lines([base], { locales: ["en", "pt-BR"] }), {}, "texts for all are the English ones");
    assert.deepEqual(languagesOf(base.attributes), ["pt"]);
  });

  it("notes a board that the page for fans does not have", () => {
    const board = (id: string, leaderboard: string, round?: number) =>
      element(id, {
        content_type: "leaderboard",
        custom_fields: [
          text("leaderboard_id", { all: leaderboard }),
          ...(round === undefined ? [] : [text("round", { all: round })]),
        ],
      });
    const elements = [board("a", "nonsense"), board("b", "overall"), board("c", "nonsense", 2)];
    const boards = ["overall", "event:overall"];
    assert.deepEqual(lines(elements, { boards }), { a: ["The page for fans has no board nonsense"] });
    assert.deepEqual(lines(elements), {}, "nobody knows the boards");
  });

  it("notes a text that is still that of the template", () => {
    const sample = { fields: [text("question", { all: "Who wins?" })], options: options("Home", "Away") };
    assert.deepEqual(lines([poll("sample", { question: sample }), poll("own")]), {
      sample: ["Still the example text: question"],
    });
  });

  it("names timecodes that overlap, and those after the end, but not of what belongs together", () => {
    const elements = [
      poll("first", timed(0, 60)),
      poll("second", timed(59, 10)),
      poll("third", timed(60)),
      poll("open", timed(90)),
      poll("same", timed(90)),
      poll("late", timed(3_600)),
      element("rail", { content_type: "group", ...timed(200, 60) }),
      poll("inside", timed(190, 60), "rail"),
      poll("beside", timed(190, 60), "rail"),
    ];
    assert.deepEqual(lines(elements, { duration: 3_600 }), {
      first: ["Its time overlaps that of second"],
      second: ["Its time overlaps that of first, third"],
      third: ["Its time overlaps that of second"],
      open: ["Its time overlaps that of same"],
      same: ["Its time overlaps that of open"],
      late: ["! Its time is after the end of the show"],
    });
    const many = Array.from({ length: 6 }, (_, index) => poll(String(index), timed(5)));
    assert.deepEqual(lines(many)["0"], ["Its time overlaps that of 1, 2, 3 and 2 more"]);
  });

  it("names drafts inside a group, which the clock leaves out and a take publishes", () => {
    const group = (id: string, more: object = {}) => element(id, { content_type: "group", ...more });
    const elements = [
      group("by hand"),
      poll("a", {}, "by hand"),
      group("by clock", timed(60)),
      poll("b", {}, "by clock"),
      poll("c", timed(61), "by clock"),
      poll("d", timed(60), "by clock"),
      group("unready"),
      message("e", { custom_fields: [] }, "unready"),
      message("f", { state: "past" }, "unready"),
    ];
    assert.deepEqual(lines(elements), {
      "by hand": ["Drafts are inside, which are taken with it: a"],
      "by clock": ["! The clock shows it without what are drafts then: b, c"],
      unready: ["! Not ready inside: e", "Drafts are inside, which are taken with it: e"],
      e: ["! Expected the field body"],
    });
  });

  it("says nothing of what fans have seen, nor of contents where no app is known", () => {
    const seen = element("seen", { content_type: "poll", state: "past" });
    assert.deepEqual(lines([seen]), {});
    assert.deepEqual(lines([element("odd", { content_type: "opera" })], { types: null }), {});
  });
});
