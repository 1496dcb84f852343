/** Values of inputs on the command line of a workflow. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readInputs } from "../../../lib/cli/workflow/backend.ts";
import { testHost } from "../../support/terminal.ts";

describe("values of --input", () => {
  it("are texts, files behind @, and texts that begin with @ behind @@", async () => {
    const { files } = testHost({ files: new Map([["a.txt", "Hello"]]) });
    assert.deepEqual(await readInputs(["name=a=b", "file=@a.txt", "at=@@a.txt", "empty="], files), {
      ...{ name: "a=b", file: btoa("Hello"), at: "@a.txt", empty: "" },
    });
    await assert.rejects(readInputs(["file=@none"], files), /none/);
    await assert.rejects(readInputs(["=x"], files), /--input must be name=value/);
  });
});
