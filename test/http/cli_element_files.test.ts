/** Elements that are exported and applied again are equal, for seeded elements. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { createRandom } from "../../adapters/conformance/random.ts";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { sampleSize } from "../support/full.ts";
import { ids } from "../support/platform.ts";
import { openShow, type Show } from "./_cli_show.ts";
import { to } from "./_control_examples.ts";

const texts = [
  ...[
    "Home",
    "yes",
    "null",
    "~",
    "0x1f",
    "1e3",
    "2026-01-01",
    "- a",
    "# b",
    "key: value",
    "*a",
    "&a",
    "{",
    "]",
  ],
  ...[
    "'",
    '"',
    "a\nb\n",
    " lead",
    "trail ",
    "\ttab",
    "é ☃ 🏟️",
    "{{half",
    "say {{x}} twice",
    "{{x}}",
    "\\{{x}}",
    "{{a}} and {{b}}",
    "a\u0085b",
    "",
    "%",
    "!tag",
    "|",
    ">-",
  ],
  "long ".repeat(40),
];
const keys = ["text", "url", "alt", "1", "correctAnswer", "a/b~c", "question", "all", "es", "__proto__x"];

type Create = (attributes: object, parent?: string) => Promise<string>;

/** Creates random elements, of which some name earlier ones. */
async function fill(create: Create, seed: number): Promise<void> {
  const random = createRandom(seed);
  const known: string[] = [];
  const value = (depth = 0): unknown => {
    const kind = random.integer(depth > 1 ? 4 : 7);
    if (kind === 0) return random.integer(1_000) - 500.5;
    if (kind === 1) return random.pick([true, false, null]);
    if (kind === 2 && known.length > 0)
      return random.chance(0.5) ? random.pick(known) : `${random.pick(texts)}${random.pick(known)}{{x}}`;
    if (kind <= 4) return random.pick(texts);
    if (kind === 5) return Array.from({ length: random.integer(3) }, () => value(depth + 1));
    return Object.fromEntries(
      Array.from({ length: random.integer(3) }, () => [random.pick(keys), value(depth + 1)]),
    );
  };
  const field = (key: string) => ({
    key,
    values: random.chance(0.7) ? { all: value() } : { es: value(), "pt-BR": random.pick(texts) },
  });
  const fields = () =>
    [...new Set(Array.from({ length: random.integer(4) }, () => random.pick(keys)))].map(field);
  const wrappers: string[] = [];
  for (let count = 1 + random.integer(8); count > 0; count--) {
    const isWrapper = random.chance(0.2);
    const attributes = {
      content_type: isWrapper ? "group" : random.pick(["poll", "quiz", "own type"]),
      name: random.chance(0.2)
        ? ""
        : random.pick(texts.filter(text => text.trim() === text && !/\p{Cc}/u.test(text))).slice(0, 200),
      ...(random.chance(0.5) ? { duration: random.integer(100) } : {}),
      ...(random.chance(0.2) ? { start_mode: "timecode", start_offset: random.integer(900) } : {}),
      ...(random.chance(0.3) ? { annotations: { context: random.pick(texts), "manifest/key": "x" } } : {}),
      ...(random.chance(0.3) ? { correct_option: random.integer(3) } : {}),
      ...(random.chance(0.3) ? { reveal_results_mode: "close", certification: true } : {}),
      ...(random.chance(0.7)
        ? {
            question: {
              fields: fields(),
              options: Array.from({ length: random.integer(4) }, () => ({ fields: fields() })),
            },
          }
        : {}),
      custom_fields: fields(),
    };
    const parent =
      !isWrapper && wrappers.length > 0 && random.chance(0.5) ? random.pick(wrappers) : undefined;
    const id = await create(attributes, parent);
    known.push(id);
    if (isWrapper) wrappers.push(id);
  }
}

const timely = /^(created|updated|state|actions|published|revoked|results|answer|annotations|name)/;

/** Returns what is to be equal: everything written, with positions in place of ids. */
async function picture(show: Show, event: string): Promise<unknown> {
  const { json } = await show.call(`/events/${event}/elements?page[count]=100&sort=position`);
  const elements = json.data as {
    id: string;
    attributes: object;
    relationships: { parent: { data: unknown } };
  }[];
  const shown = elements.map(({ attributes, relationships }) => [
    Object.fromEntries(Object.entries(attributes).filter(([name]) => !timely.test(name))),
    relationships.parent.data,
  ]);
  const places = new Map(elements.map(({ id }, place) => [id, `#${place}`]));
  return JSON.parse(
    JSON.stringify(shown).replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, id => places.get(id) ?? id),
  );
}

describe("files of elements", () => {
  it("quote what YAML 1.1 takes for other values", async t => {
    const show = await openShow(t, async clock => createMemoryStore({ clock }));
    const event = await show.create("events", { name: "Show" }, { project: to("projects", ids.project) });
    const words = ["yes", "No", "on", "OFF", "y", "2026-01-01", "1:30", "0o7", "1_000", "~"];
    const custom_fields = words.map((all, nth) => ({ key: `k${nth}`, values: { all } }));
    await show.create(
      "elements",
      { content_type: "own", name: "on", custom_fields },
      { event: to("events", event) },
    );
    const { stdout } = await show.run(`elements export --event ${event}`);
    assert.match(stdout, /name: "on"/);
    const [item] = parse(stdout, { version: "1.1" });
    assert.deepEqual(Object.values(item.fields), words, stdout);
    assert.deepEqual(Object.values(parse(stdout)[0].fields), words);
  });

  it("are exported and applied to an equal event, and exist when they are applied again", async t => {
    const show = await openShow(t, async clock => createMemoryStore({ clock }));
    for (let seed = 0; seed < sampleSize(100, 10); seed++) {
      const [source, copy] = await Promise.all(
        ["Source", "Copy"].map(name =>
          show.create("events", { name }, { project: to("projects", ids.project) }),
        ),
      );
      const values = { SOURCE: source ?? "", COPY: copy ?? "" };
      await fill(
        (attributes, parent) =>
          show.create("elements", attributes, {
            event: to("events", values.SOURCE),
            ...(parent === undefined ? {} : { parent: to("elements", parent) }),
          }),
        seed,
      );
      const exported = await show.run("elements export --event $SOURCE --out show.yaml --force", values);
      assert.equal(exported.code, 0, exported.stderr);
      const applied = await show.run("elements apply --event $COPY --file show.yaml --json", values);
      assert.equal(applied.code, 0, `seed ${seed}\n${applied.stderr}\n${show.files.get("show.yaml")}`);
      assert.deepEqual(await picture(show, values.COPY), await picture(show, values.SOURCE), `seed ${seed}`);
      const again = await show.data("elements apply --event $COPY --file show.yaml", values);
      assert.ok(
        again.every(({ action }: { action: string }) => action === "exists"),
        `seed ${seed}: ${JSON.stringify(again)}`,
      );
      const text = show.files.get("show.yaml");
      assert.equal((await show.run("elements export --event $COPY", values)).stdout, text, `seed ${seed}`);
    }
  });
});
