/** Commands about elements. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ids } from "../support/platform.ts";
import { describeOnStores, openShow, type Show } from "./_cli_show.ts";
import { to } from "./_control_examples.ts";

const file = `
# References need no quotes.
- type: cheer
  name: cheer
  options: [Home]
- type: group
  name: rail
  fields: { title: Today }
  children: [{{q1}}, "{{hello}}"]
- type: quiz
  name: q1
  duration: 30
  question: { question: { all: Who scored?, es: ¿Quién? } }
  options: [Home, { text: Away }]
  fields:
    correctAnswer: 1
- type: message
  name: hello
  fields: { title: Hi, body: <em>Hello</em> }
`;
const line = "elements apply --event $EVENT --file show.yaml";

async function withFile(show: Show, text: string = file) {
  show.files.set("show.yaml", text);
  const id = await show.event();
  return { EVENT: id };
}

type Row = Readonly<Record<string, unknown>>;
const column = (rows: readonly Row[], name: string): readonly unknown[] => rows.map(row => row[name]);

describeOnStores("commands about elements", open => {
  it("apply a file in one atomic request, and say what exists when it is applied again", async t => {
    const show = await openShow(t, open);
    const values = await withFile(show);
    const unwritten = await show.audited();
    const dry = await show.data(`${line} --dry-run`, values);
    assert.deepEqual(column(dry, "action"), Array(4).fill("would be created"));
    assert.deepEqual(column(dry, "id"), [null, null, null, null]);
    assert.equal(await show.audited(), unwritten);
    const first = await show.run(`${line} --json`, values);
    assert.equal(first.code, 0, first.stderr);
    assert.equal(first.requests.length, 2);
    assert.deepEqual(column(first.json.data, "action"), ["created", "created", "created", "created"]);
    const elements = await show.data("elements list --event $EVENT", values);
    assert.deepEqual(column(elements, "name"), ["cheer", "rail", "q1", "hello"], "the order of the file");
    const rail = elements[1].id;
    assert.deepEqual(column(elements, "parent"), [null, null, rail, rail]);
    const { json } = await show.call(`/elements/${elements[2].id}`);
    assert.deepEqual(json.data.attributes.question, {
      fields: [{ key: "question", values: { all: "Who scored?", es: "¿Quién?" } }],
      options: ["Home", "Away"].map(text => ({ fields: [{ key: "text", values: { all: text } }] })),
    });
    assert.equal(json.data.attributes.correct_option, 1);

    const before = await show.audited();
    const again = await show.run(`${line} --json`, values);
    assert.deepEqual(column(again.json.data, "action"), ["exists", "exists", "exists", "exists"]);
    assert.equal(again.requests.length, 1);
    assert.equal(await show.audited(), before);
    show.files.set("show.yaml", "- { type: group, name: more, children: [hello] }");
    assert.match(
      (await show.run(line, values)).stderr,
      /:1:41: hello is in the event alone: add it to the file/,
    );
    show.files.set("show.yaml", "- { type: message, name: late, fields: { body: x }, parent: rail }");
    assert.equal((await show.run(line, values)).code, 0);
    assert.equal((await show.data("elements list --event $EVENT", values)).at(-1).parent, rail);
    show.files.set("show.yaml", file.replace("duration: 30", "duration: 60"));
    const differing = await show.run(`${line} --json`, values);
    assert.deepEqual(
      [differing.code, differing.error.details],
      [7, ["show.yaml:10:3: q1 differs in duration"]],
    );
    const updated = await show.data(`${line} --update`, values);
    assert.deepEqual(column(updated, "action"), ["exists", "exists", "updated", "exists"]);
    assert.equal((await show.call(`/elements/${elements[2].id}`)).json.data.attributes.duration, 60);
  });

  it("publish with the file, children before wrappers, or refuse before anything is written", async t => {
    const show = await openShow(t, open);
    const values = await withFile(show);
    const before = await show.audited();
    const early = await show.run(`${line} --publish --json`, values);
    assert.deepEqual([early.code, early.error.next], [7, `grandstand events start ${values.EVENT}`]);
    assert.equal(await show.audited(), before);
    await show.data("events start $EVENT", values);
    const done = await show.run(`${line} --publish --json`, values);
    assert.equal(done.code, 0, done.stderr);
    assert.equal(done.requests.length, 3);
    assert.deepEqual(column(done.json.data, "is_published"), [true, true, true, true]);
    assert.deepEqual(column(await show.data("elements list --event $EVENT", values), "state"), [
      ...["current", "current", "current", "current"],
    ]);
    assert.deepEqual(column(await show.data(`${line} --publish`, values), "action"), [
      ...["exists", "exists", "exists", "exists"],
    ]);
    // What was applied as a draft is published by a second run.
    const later = await withFile(show);
    await show.data(line, later);
    await show.data("events start $EVENT", later);
    await show.data(`${line} --publish`, later);
    assert.ok(
      (await show.data("elements list --event $EVENT", later)).every((one: Row) => one.state === "current"),
    );
  });

  it("apply more than 500 elements in parts, of which a run after an interruption does the rest", async t => {
    const show = await openShow(t, open);
    const items = Array.from(
      { length: 598 },
      (_, n) => `- { type: message, name: m${n}, fields: { body: "${n}" } }`,
    );
    const text = [
      "- { type: message, name: child, fields: { body: x }, parent: rail }",
      ...items,
      "- { type: group, name: rail, children: [m1, m590] }",
    ].join("\n");
    const values = await withFile(show, text);
    const stop = new AbortController();
    const fetch = async (request: Request): Promise<Response> => {
      request.signal.throwIfAborted();
      const answer = await show.world.platform.fetch(request);
      if (request.method === "POST") stop.abort();
      return answer;
    };
    const broken = await show.run(`${line} --json`, values, { fetch, interruption: stop.signal });
    assert.equal(broken.code, 130);
    assert.deepEqual(broken.error.details, ["done already: 500 of 603 operations"]);
    assert.equal((await show.data("elements list --event $EVENT", values)).length, 500);
    const rest = await show.run(`${line} --update --json`, values);
    assert.equal(rest.code, 0, rest.stderr);
    const elements = await show.data("elements list --event $EVENT", values);
    assert.equal(elements.length, 600);
    const rail = elements.at(-1).id;
    assert.deepEqual(
      elements.filter((one: Row) => one.parent !== null).map((one: Row) => [one.name, one.parent]),
      ["child", "m1", "m590"].map(name => [name, rail]),
    );
  });

  it("take references inside longer texts, and braces behind a backslash", async t => {
    const show = await openShow(t, open);
    const values = await withFile(
      show,
      `- { type: message, name: a, fields: { body: "Hi {{b}}, say {{nothing}}" } }
- { type: message, name: b, fields: { body: 'Write \\{{name}} or \\\\\\{{x}}' } }
`,
    );
    const before = await show.audited();
    const refused = await show.run(`${line} --json`, values);
    assert.equal(refused.code, 8, refused.stderr);
    assert.deepEqual(refused.error.details, [
      "show.yaml:1:45: No element is named nothing. Write \\{{ for braces",
    ]);
    assert.equal(await show.audited(), before);
    show.files.set(
      "show.yaml",
      String(show.files.get("show.yaml")).replace("{{nothing}}", "{{ event }} {{a}}"),
    );
    const [a, b] = await show.data(line, values);
    const body = async (id: string) =>
      (await show.call(`/elements/${id}`)).json.data.attributes.custom_fields[0].values.all;
    assert.equal(await body(a.id), `Hi ${b.id}, say ${values.EVENT} ${a.id}`);
    assert.deepEqual(column(await show.data(line, values), "action"), ["exists", "exists"]);
    assert.equal(await body(b.id), "Write {{name}} or \\{{x}}");
    const create = "elements create --event $EVENT --type message --var";
    const [open1, escaped] = ["fields.body={{name}}", "fields.body=\\{{name}}"];
    assert.equal((await show.run(`${create} $BODY`, { ...values, BODY: open1 ?? "" })).code, 8);
    const made = await show.data(`${create} $BODY`, { ...values, BODY: escaped ?? "" });
    assert.equal(await body(made.id), "{{name}}");
  });

  it("take a map for languages only where all of its names are languages", async t => {
    const show = await openShow(t, open);
    const project = to("projects", ids.project);
    const values = { EVENT: await show.create("events", { name: "Plain" }, { project }) };
    const fieldsOf = async (id: string) =>
      Object.fromEntries(
        (await show.call(`/elements/${id}`)).json.data.attributes.custom_fields.map(
          (field: { key: string; values: unknown }) => [field.key, field.values],
        ),
      );
    show.files.set(
      "show.yaml",
      `- type: own
  name: a
  fields:
    range: { min: 1, max: 5 }
    least: { min: 1 }
    image: { url: "https://a.example/", alt: A picture }
    title: { en: Hello, es-MX: Hola, all: Hi }
    odd: { en-1a: x }
    pair: { all: { id: 5, to: 7 } }
`,
    );
    const [{ id }] = await show.data(line, values);
    const written = {
      range: { all: { min: 1, max: 5 } },
      least: { all: { min: 1 } },
      image: { all: { url: "https://a.example/", alt: "A picture" } },
      title: { en: "Hello", "es-MX": "Hola", all: "Hi" },
      odd: { all: { "en-1a": "x" } },
      pair: { all: { id: 5, to: 7 } },
    };
    assert.deepEqual(await fieldsOf(id), written);
    await show.patch("projects", ids.project, { locales: ["min", "max"] });
    const spoken = `elements create --event $EVENT --type own --var fields.range={"min":1,"max":5}`;
    const made = await show.data(spoken, values);
    assert.deepEqual(await fieldsOf(made.id), { range: { min: 1, max: 5 } });
    await show.run("elements export --event $EVENT --out copy.yaml", values);
    const copy = await show.create("events", { name: "Copy" }, { project });
    await show.patch("projects", ids.project, { locales: [] });
    const copies = await show.data("elements apply --event $EVENT --file copy.yaml", { EVENT: copy });
    assert.deepEqual(await fieldsOf(copies[0].id), written);
    assert.deepEqual(await fieldsOf(copies[1].id), { range: { min: 1, max: 5 } });
  });

  it("name every error of a file with line and column, and write nothing", async t => {
    const show = await openShow(t, open);
    const values = await withFile(
      show,
      `- type: poll
  name: a
  qestion: Who?
- { type: leaderboard, name: b, fields: { leaderboard_id: {{nobody}} } }
- { type: message, name: a, duration: -1 }
- { type: message, fields: { body: x }, options: no }
- just text
- { type: message, name: c, fields: { body: x } }
- { type: message, name: d, fields: { body: x }, parent: e }
- { type: group, name: g, children: [c, {{zz}}] }
- { type: poll, name: s, question: Who?, fields: { colour: red } }
- { type: nothing, name: t, fields: { body: "{{c}}" } }
`,
    );
    const before = await show.audited();
    const { code, error } = await show.run(`${line} --json`, values);
    assert.equal(code, 8);
    assert.equal(error.details.length, 11, error.details.join("\n"));
    const all = error.details.join("\n");
    for (const text of [
      /:3:12: There is no member qestion. Did you mean question\?/,
      /:10:41: No element is named zz/,
      /:4:\d+: No element is named nobody/,
      /:5:\d+: Expected another name: a is taken/,
      /:5:\d+: .*(0|greater|least)/i,
      /:6:\d+: Expected a name/,
      /:6:\d+: Expected a list/,
      /:7:3: Expected an element, as a map/,
      /:9:\d+: No element is named e/,
      // The server is asked about what has no error of its own.
      /:11:60: Expected no field "\w+": the content type has none here/,
      /:12:11: Expected a content type that the project uses/,
    ]) {
      assert.match(all, text);
    }
    // What the server finds is located as well.
    for (const [text, position] of [
      ["- { type: poll, name: a, question: Who?, fields: {\n  colour: red } }", "show.yaml:2:11"],
      ["- type: nothing\n  name: a", "show.yaml:1:9"],
      ["- { type: quiz, name: a, options: [x, {\n text: 1}] }", "show.yaml:2:8"],
    ] as const) {
      show.files.set("show.yaml", text);
      const refused = await show.run(`${line} --json`, values);
      assert.equal(refused.code, 8, refused.stderr);
      assert.ok(refused.error.details[0].startsWith(`${position}: `), refused.error.details.join());
    }
    assert.equal(await show.audited(), before);
    for (const text of ["{}", "a: [", "&x [*x]", "? {a: 1}\n: 2", "- {{a}}: 1"]) {
      show.files.set("show.yaml", text);
      assert.equal((await show.run(line, values)).code, 8, text);
    }
    assert.equal((await show.run("elements apply --event $EVENT --file none.yaml", values)).code, 2);
    assert.equal((await show.run("elements apply --event $EVENT", values)).code, 2);
  });

  it("create from templates, files and values", async t => {
    const show = await openShow(t, open);
    const values = { EVENT: await show.event() };
    const create = "elements create --event $EVENT";
    const hello = await show.run(`${create} --type message --var fields.body=Hello --json`, values);
    assert.deepEqual([hello.code, hello.requests], [0, ["POST /api/v2/elements"]]);
    const poll = await show.data(`${create} --type poll --template --var question=Tea?`, values);
    const read = async (id: string) => (await show.call(`/elements/${id}`)).json.data.attributes;
    const { question } = await read(poll.id);
    assert.equal(question.fields[0].values.all, "Tea?");
    assert.equal(question.options.length, 2);

    const open1 = await show.run(`${create} --type countdown --template --json`, values);
    assert.deepEqual([open1.code, open1.error.message], [8, "Nothing is set for target"]);
    const target = "2099-01-01T00:00:00Z";
    const set = await show.data(`${create} --type countdown --template --var target=${target}`, values);
    assert.equal((await read(set.id)).custom_fields[0].values.all, target);

    const mention = await show.data(`${create} --type message --var fields.body=@@home`, values);
    assert.equal((await read(mention.id)).custom_fields[0].values.all, "@home");
    show.files.set("text", "line 1\nline 2");
    show.files.set("-", "{type: cta, name: Shop, fields: {label: Shop}, duration: 5}");
    const cta = await show.data(
      `${create} --file - --var fields.label=@text --var fields.url=https://a.example/`,
      values,
    );
    const attributes = await read(cta.id);
    assert.deepEqual(
      [attributes.duration, attributes.custom_fields.map((field: { values: unknown }) => field.values)],
      [5, [{ all: "line 1\nline 2" }, { all: "https://a.example/" }]],
    );
    for (const [flags, code] of [
      ["", 2],
      ["--type nothing", 8],
      ["--type message --var fields.nothing=1", 8],
      ["--type message --var body", 2],
      ["--type message --var fields.body=@missing", 2],
      ["--type message --var nothing=1", 8],
    ] as const) {
      assert.equal((await show.run(`${create} ${flags}`, values)).code, code, flags);
    }
  });

  it("publish one element or all drafts", async t => {
    const show = await openShow(t, open);
    const values = await withFile(show);
    await show.data(line, values);
    const elements = await show.data("elements list --event $EVENT", values);
    assert.equal((await show.run("elements publish", values)).code, 2);
    assert.equal((await show.run(`elements publish ${elements[0].id} --event $EVENT`, values)).code, 2);
    assert.equal((await show.run("elements publish --event $EVENT", values)).code, 7);
    assert.equal((await show.run(`elements publish ${elements[0].id}`, values)).code, 7);
    await show.data("events start $EVENT", values);
    const before = await show.audited();
    const dry = await show.data("elements publish --event $EVENT --dry-run", values);
    assert.deepEqual(column(dry, "result"), Array(4).fill("would be published"));
    assert.equal((await show.run(`elements publish ${elements[1].id}`, values)).code, 7, "children first");
    assert.equal(await show.audited(), before);
    const one = `elements publish ${elements[0].id}`;
    assert.deepEqual(column(await show.data(one), "result"), ["published"]);
    assert.deepEqual(column(await show.data(one), "result"), ["already current"]);
    const all = await show.run("elements publish --event $EVENT --json", values);
    assert.deepEqual(column(all.json.data, "id"), [elements[2].id, elements[3].id, elements[1].id]);
    assert.equal(all.requests.length, 3);
    assert.deepEqual(await show.data("elements publish --event $EVENT", values), []);
    const draft = "elements create --event $EVENT --type poll --var name=Unfinished";
    const { id } = await show.data(draft, values);
    const refused = await show.run("elements publish --event $EVENT --json", values);
    assert.equal(refused.code, 8);
    assert.ok(refused.error.details[0].startsWith(`Unfinished (${id})/question`), refused.stderr);
  });

  it("clone elements and groups between events", async t => {
    const show = await openShow(t, open);
    const values = { ...(await withFile(show)), OTHER: await show.event({ name: "Other" }) };
    await show.data(line, values);
    const [, rail, , hello] = await show.data("elements list --event $EVENT", values);
    const clone = "elements clone-from --src-event $EVENT --dst-event $OTHER";
    assert.equal((await show.run(`${clone} --include nothing`, values)).code, 8);
    assert.equal((await show.run(`${clone} --publish`, values)).code, 7);
    const done = await show.run(`${clone} --exclude quiz --json`, values);
    assert.equal(done.code, 0, done.stderr);
    assert.equal(done.requests.length, 3);
    const copies = await show.data("elements list --event $OTHER", values);
    assert.deepEqual(column(copies, "name"), ["cheer", "rail", "hello"]);
    assert.equal(copies[2].parent, copies[1].id);
    const noted = await show.run(`${clone} --include message`, values);
    assert.match(noted.stderr, new RegExp(`${hello.id} is in no wrapper, as ${rail.id} was left out`));

    const group = "elements clone-group --to-event $OTHER --wrapper";
    assert.equal((await show.data(`${group} ${rail.id}`, values)).length, 3);
    assert.equal((await show.run(`${group} ${hello.id}`, values)).code, 8);
    await show.data("events start $OTHER", values);
    const published = await show.data(
      `elements clone-group --wrapper ${rail.id} --to-event $OTHER --publish`,
      values,
    );
    const states = (await show.data("elements list --event $OTHER", values)).filter((one: Row) =>
      column(published, "id").includes(one.id),
    );
    assert.deepEqual(column(states, "state"), ["current", "current", "current"]);
    await show.patch("projects", show.project, { hidden_elements: ["quiz"] });
    const hidden = await show.run(`${clone} --json`, values);
    assert.deepEqual([hidden.code, hidden.error.message], [8, "The project of the event does not use quiz"]);
  });

  it("show types and templates, from the catalogue without a request", async t => {
    const show = await openShow(t, open);
    const schema = await show.data("elements schema $PROJECT poll");
    assert.deepEqual(column(schema, "field"), [
      "question.question",
      "options",
      "options[].text",
      "options[].image",
    ]);
    const unknown = await show.run("elements schema $PROJECT pol --json");
    assert.equal(unknown.code, 8);
    assert.match(unknown.error.hint, /poll/);
    const offline = { variables: { GRANDSTAND_TOKEN: "" } };
    const template = await show.run("elements template poll", {}, offline);
    assert.deepEqual([template.code, template.requests], [0, []]);
    assert.equal(
      template.stdout,
      "type: poll\nname: Who wins?\nquestion: Who wins?\noptions:\n  - Home\n  - Away\n",
    );
    const all = await show.run("elements templates --json", {}, offline);
    assert.equal(all.json.data.length, 13);
    assert.deepEqual(await show.data("elements templates --type quiz --project $PROJECT"), [
      { type: "quiz", name: "default", title: "Who scored first?", source: "app" },
    ]);
    assert.equal((await show.run("elements template nothing", {}, offline)).code, 8);
    // Each template can be created once its variables are set.
    const event = await show.event();
    const samples: Record<string, string> = {
      target: "2099-01-01T00:00:00Z",
      asset: "https://a.example/a.png",
    };
    for (const type of column(all.json.data, "type")) {
      const body = await show.run(`elements template ${type} --json`, {}, offline);
      show.files.set("-", JSON.stringify(body.json.data));
      const names = body.json.meta.variables as string[];
      const flags = names
        .map(name => `--var ${name}=${samples[name] ?? (name === "amount" ? 1 : "x")}`)
        .join(" ");
      await show.data(`elements create --event ${event} --file - ${flags}`);
    }
  });
});

describeOnStores("smoke commands", open => {
  it("try every type, report failures, and remove what they made", async t => {
    const show = await openShow(t, open);
    const { code, json, stderr } = await show.run("smoke run --project $PROJECT --json");
    assert.equal(code, 0, JSON.stringify(json?.data ?? stderr));
    assert.equal(json.data.length, 13);
    assert.ok(json.data.every((one: Row) => one.publish === "ok"));
    const few = await show.run("smoke run --project $PROJECT --types poll,message --no-publish");
    assert.equal(few.requests.length, 5);
    assert.match(few.stdout, /^poll\tok\tskipped\t\nmessage\tok\tskipped\t\nhttps?:\S+event=\S+\n$/);
    assert.equal((await show.run("smoke run --project $PROJECT --types nothing")).code, 8);
    const before = await show.data(`events list --project ${ids.project}`);
    const bare = await show.run(`smoke run --project ${ids.project} --json`);
    assert.deepEqual(
      [bare.code, bare.error.message],
      [8, "The project has no content types to try"],
      bare.stderr,
    );
    assert.deepEqual(await show.data(`events list --project ${ids.project}`), before);

    const fetch = async (request: Request): Promise<Response> => {
      const text = await request.clone().text();
      return text.includes('"content_type":"quiz"')
        ? new Response('{"errors":[{"detail":"No"}]}', { status: 422 })
        : await show.world.platform.fetch(request);
    };
    const broken = await show.run("smoke run --project $PROJECT --types quiz,poll --json", {}, { fetch });
    assert.equal(broken.code, 1);
    assert.deepEqual(column(broken.json.data, "create"), ["failed", "ok"]);

    const lookalike = await show.event({ name: "smoke-signals" });
    const tagged = await show.event({ name: "Ours", annotations: { "smoke/run": "x" } });
    assert.equal((await show.run("smoke clean --project $PROJECT")).code, 2);
    const asked = await show.run("smoke clean --project $PROJECT", {}, { answers: ["n"] });
    assert.equal(asked.code, 10);
    assert.ok(asked.stderr.includes(`Stop and delete 3 events: `), asked.stderr);
    assert.ok(asked.stderr.includes(json.meta.event) && !asked.stderr.includes(lookalike), asked.stderr);
    assert.equal((await show.data("smoke clean --project $PROJECT --yes")).length, 3);
    const left = await show.data("events list --project $PROJECT");
    assert.deepEqual(column(left, "id").toSorted(), [lookalike, tagged].toSorted());
    assert.deepEqual(await show.data("smoke clean --project $PROJECT"), []);
  });
});
