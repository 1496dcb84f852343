/** Elements that a producer pastes. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { catalogueApp } from "../../../../lib/authoring/table/mod.ts";
import { additionsOf } from "../../../../lib/pages/studio/page/plan/copies.ts";
import { type PasteTarget, readPasted } from "../../../../lib/pages/studio/page/plan/paste.ts";
import { secondsOf } from "../../../../lib/pages/studio/page/plan/times.ts";

const target: PasteTarget = {
  eventId: "10000000-0000-4000-8000-000000000000",
  known: new Map([["intro", "20000000-0000-4000-8000-000000000000"]]),
  types: catalogueApp("").elements,
  locales: ["en", "de"],
};
const header =
  "type,name,question,question (de),option 1,option 2,correct,at,open for,inside,notes,fields.points";

/** Returns the faults of a text: those of the whole, and those of its rows with their places. */
async function faultsOf(text: string): Promise<readonly string[]> {
  const { faults, rows, elements } = await readPasted(text, target);
  const found = [...faults, ...rows.flatMap(row => row.faults.map(fault => `${row.place}: ${fault}`))];
  assert.ok(found.length === 0 || elements.length === 0, "nothing is made beside a fault");
  return found;
}

describe("pasted elements", () => {
  it("are the same from a CSV, cells of a spreadsheet and a YAML", async () => {
    const csv = `${header}
group,rail,,,,,,,,,,
quiz,year,"In which, year?",Wann?,1999,2004,2,1:30,45,rail,"smile",20
`;
    const yaml = `- { type: group, name: rail }
- type: quiz
  name: year
  question: { question: { all: "In which, year?", de: Wann? } }
  options: ["1999", "2004"]
  correct_option: 2
  start_mode: timecode
  start_offset: 90
  duration: 45
  parent: rail
  annotations: { notes: smile }
  fields: { points: 20 }
`;
    const cells = csv.replaceAll(",", "\t").replace("In which\t", "In which,").replaceAll('"', "");
    const [one, two, three] = await Promise.all([csv, yaml, cells].map(text => readPasted(text, target)));
    assert.deepEqual(
      one?.rows.flatMap(({ faults }) => faults),
      [],
    );
    const made = async (elements: Awaited<ReturnType<typeof readPasted>> | undefined) =>
      (await additionsOf(target.eventId, elements?.elements ?? [])).operations;
    assert.deepEqual(await made(two), await made(one));
    assert.deepEqual(await made(three), await made(one));
    const [, quiz] = (await made(one)) as unknown as readonly {
      readonly data: { readonly attributes: Readonly<Record<string, unknown>> };
    }[];
    assert.equal(quiz?.data.attributes.start_offset, 90);
    assert.deepEqual(quiz?.data.attributes.custom_fields, [{ key: "points", values: { all: 20 } }]);
    assert.deepEqual([one?.rows[1]?.place, two?.rows[1]?.place], ["Row 3", "Line 2"]);
  });

  it("are refused by row, in words", async () => {
    assert.deepEqual(
      await faultsOf(`type,name,question,option 1,option 2,at,inside
poll,=HYPERLINK("x"),Who?,A,B,,
polls,two,Who?,A,B,,
poll,three,Who?,A,B,soon,nobody
poll,intro,Who?,A,B,,
poll,five,Who?
poll,six,,A,,1:30,
poll,'=seven,@anna or -1?,A,B,,
`),
      [
        "Row 2: name: Expected a text, not a formula. Paste its value",
        "Row 3: The project has no content type polls. Did you mean poll?",
        "Row 4: at: Expected seconds or m:ss, such as 1:30",
        "Row 4: parent: No element is named nobody",
        "Row 5: The event has an element of the name intro already",
        "Row 6: Expected 7 cells, as the header has, not 3",
        "Row 7: Expected the field question",
        "Row 7: Expected 2 to 8 options",
      ],
    );
    assert.deepEqual(await faultsOf('type,name,fields.body\nmessage,m,"<script>alert(1)</script>"\n'), [
      "Row 2: body: Expected no tags but strong, em and br",
    ]);
  });

  it("are bounded, and strange texts end in words", async () => {
    const many = `type,name\n${Array.from({ length: 10_000 }, (_, index) => `poll,p${index}\n`).join("")}`;
    assert.deepEqual(await faultsOf(many), ["Paste at most 500 elements at once: these are 10,000."]);
    assert.deepEqual(await faultsOf("x".repeat(1_000_001)), ["Paste at most 1,000,000 characters."]);
    assert.match(
      (await faultsOf("type,name,colour\npoll,a,red\n"))[0] ?? "",
      /no column “colour”\. Columns are type/,
    );
    assert.deepEqual(await faultsOf("name\na\n"), ["The header has no column type."]);
    assert.deepEqual(await faultsOf("type,name\n"), ["There are no elements below the header."]);
    assert.match((await faultsOf("- {a: [\n")).join(), /Line:2:/);
    assert.deepEqual(await faultsOf("# nothing\nname: a\n"), ["Expected a list of elements"]);
    const bomb = `- &a [x]\n${"- *a\n".repeat(200)}`;
    assert.match((await faultsOf(bomb)).join(), /alias/i);
  });
});

describe("lengths of time", () => {
  it("are seconds, minutes and seconds, or hours too", () => {
    assert.deepEqual(
      ["90", "1:30", "+1:02:03", "-0:45", " 0 ", "1:60", "1:60:00", "", "1.5", "x", "1:2:3:4"].map(secondsOf),
      [90, 90, 3_723, -45, 0, null, null, null, null, null, null],
    );
  });
});
