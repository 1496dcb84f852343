/** The table of commands against the interface, and the reference against the table. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandsOf } from "../../lib/cli/frame/help.ts";
import { toolMarkdown } from "../../lib/cli/help_command.ts";
import { groups } from "../../lib/cli/mod.ts";
import { serverGroups } from "../../runtime/commands/groups.ts";
import { textOf } from "../repo/files.ts";

/** Commands of the interface in its order. */
const named =
  `orgs list, spaces list, apps catalogue, apps create, apps list, apps validate-spec-url, projects create,
projects diff, projects inspect, projects list, projects reload, projects settings diff, projects settings pull,
projects settings push, events clone, events create, events from-template, events list, events prune, events schedule,
events start, events stop, events templates, elements apply, elements clone-from, elements clone-group, elements create,
elements export, elements list, elements publish, elements schema, elements template, elements templates, url consumer,
url feeds, url livestats, url studio, smoke clean, smoke run, plan, apply, export, annotations delete, annotations get,
annotations set, context, assets delete, assets list, assets media-types, assets tag, assets untag, assets update,
assets upload, assets uploaders, scope check, scope show, forms demo`
    .split(/,\s+/)
    .map(name => name.trim());

const all = [...groups, ...serverGroups];

describe("the commands", () => {
  it("are the 57 of the interface in its order, and ours apart", async () => {
    const names = (await commandsOf(all, false)).map(({ words }) => words.join(" "));
    assert.equal(named.length, 57);
    assert.deepEqual(names, named);
    const ours = new Set((await commandsOf(all, true)).map(({ words }) => words.join(" ")));
    for (const name of named) assert.ok(!ours.has(name), name);
  });

  it("are described by the reference as they are; `npm run reference` writes it anew", async () => {
    assert.equal(textOf("lib/cli/REFERENCE.md"), await toolMarkdown(all));
  });

  it("each say what they are for, with an example, and what they change", async () => {
    for (const isOurs of [false, true]) {
      for (const { words, summary, examples, flags = {}, args = [] } of await commandsOf(all, isOurs)) {
        const name = words.join(" ");
        assert.ok(examples.length > 0, `${name} has no example`);
        assert.match(summary, /^[A-Z].*[^.]$/, `${name}: a summary is a sentence without a full stop`);
        for (const example of examples) assert.ok(example.startsWith(name), `${name}: ${example}`);
        for (const { description } of [...Object.values(flags), ...args]) assert.ok(description !== "", name);
      }
    }
  });
});
