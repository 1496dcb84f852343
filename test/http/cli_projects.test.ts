/** Commands about apps and projects. */

import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { readApp } from "../../lib/authoring/control/apps/read_app.ts";
import { ids } from "../support/platform.ts";
import { AppServer, catalogueUrl, openAuthor, poll, spec } from "./_apps.ts";
import { type Cli, dataOf, openCli } from "./_cli.ts";

describe("apps and projects on the command line", () => {
  const server = new AppServer();
  const outbound = createOutbound({ networks: ["127.0.0.1"] });
  before(() => server.start());
  after(() => server.stop());

  async function opened(t: TestContext, files = new Map<string, string | Uint8Array>()) {
    const author = await openAuthor(t, async clock => createMemoryStore({ clock }), outbound);
    return { ...author, files, cli: await openCli(author.world, files) };
  }

  async function createApp(cli: Cli, specUrl = catalogueUrl): Promise<string> {
    return (await dataOf(cli, `apps create --spec-url ${specUrl}`)).id;
  }

  async function createProject(cli: Cli, app: string, name = "Show"): Promise<string> {
    return (await dataOf(cli, `projects create --name ${name} --app ${app}`)).id;
  }

  it("lists known apps without a server", async t => {
    const { cli, files } = await opened(t);
    const [own] = await dataOf(cli, "apps catalogue");
    assert.deepEqual([own.name, own.spec_url], ["Catalogue", catalogueUrl]);
    assert.ok(own.types.includes("poll"));
    files.set(
      "catalogue.json",
      JSON.stringify([{ name: "Match", version: "1", spec_url: "https://a.example/spec.json" }]),
    );
    const known = await dataOf(cli, "apps catalogue");
    assert.deepEqual(known[1], {
      name: "Match",
      version: "1",
      spec_url: "https://a.example/spec.json",
      types: [],
    });
    files.set("catalogue.json", "{}");
    const wrong = await cli("apps catalogue");
    assert.equal(wrong.code, 8);
    assert.match(wrong.stderr, /catalogue\.json must be a list/);
    assert.deepEqual(wrong.requests, []);
  });

  it("registers a version of an app once, and lists versions newest first", async t => {
    const { cli } = await opened(t);
    const url = server.publish("shows");
    const id = await createApp(cli, url);
    const twice = await cli(`apps create --spec-url ${url} --json`);
    assert.equal(twice.code, 7);
    assert.match(twice.error.message, new RegExp(id));
    assert.match(twice.error.next, new RegExp(`projects reload <project> --app ${id}`));
    server.publish("shows", { ...spec, version: "1.1.0" });
    await createApp(cli, url);
    const listed = await dataOf(cli, "apps list");
    assert.deepEqual(
      listed.map((app: { version: string; project_count: number }) => [app.version, app.project_count]),
      [
        ["1.1.0", 0],
        ["1.0.0", 0],
      ],
    );
    const wrong = await cli(`apps create --spec-url ${server.publish("wrong", { name: 1 })}`);
    assert.equal(wrong.code, 8);
    assert.match(wrong.stderr, /spec_url: spec\.json at \/name/);
  });

  it("checks an address step by step, also from this machine", async t => {
    const { cli } = await opened(t);
    const url = server.publish("checked");
    const rows = await dataOf(cli, ["apps", "validate-spec-url", url, "--ua", "Studio/1"]);
    assert.ok(rows.every((row: { result: string }) => row.result === "pass"));
    assert.deepEqual(server.agents.slice(-2), ["Studio/1", "Studio/1"]);
    const missing = await cli(`apps validate-spec-url ${server.base}/none/spec.json --json`);
    assert.equal(missing.code, 8);
    assert.ok(
      missing.json.data.some(
        (row: { check: string; result: string }) => row.check === "status" && row.result === "fail",
      ),
    );
    const local = await cli(`apps validate-spec-url ${url}`, {
      variables: { GRANDSTAND_TOKEN: "" },
      host: {
        specChecks: async (address, userAgent = "Local/1") =>
          (await readApp({ publicUrl: "", outbound, userAgent }, address)).checks,
      },
    });
    assert.equal(local.code, 0, local.stderr);
    assert.match(local.stderr, /the server was not asked/);
    assert.deepEqual(local.requests, []);
    assert.equal(server.agents.at(-1), "Local/1");
  });

  it("creates, lists and shows projects", async t => {
    const { cli, patch } = await opened(t);
    const app = await createApp(cli);
    const project = await createProject(cli, app);
    await patch("projects", project, { hidden_elements: ["quiz"] });
    const listed = await dataOf(cli, "projects list");
    const own = listed.find((one: { id: string }) => one.id === project);
    assert.deepEqual(
      { ...own, updated_at: "" },
      { id: project, name: "Show", app: "Catalogue 1.0.0", app_id: app, state: "staging", updated_at: "" },
    );
    assert.match(own.updated_at, /^\d{4}-.*Z$/);
    const shown = await cli(`projects inspect ${project} --json`);
    assert.equal(shown.requests.length, 2);
    const { data } = shown.json;
    assert.deepEqual([data.space_id, data.app_id, data.spec_url], [ids.space, app, catalogueUrl]);
    assert.equal(data.settings_bytes, 2);
    assert.deepEqual(data.types.find((one: { type: string }) => one.type === "quiz").enabled, false);
    assert.match((await cli(`projects inspect ${project}`)).stdout, /^type quiz\tQuiz \(hidden\)$/m);
    const foreign = await cli(["projects", "create", "--name", "X", "--app", crypto.randomUUID()]);
    assert.equal(foreign.code, 6, foreign.stderr);
  });

  it("compares projects by settings, app and content types", async t => {
    const { cli, patch } = await opened(t);
    const app = await createApp(cli);
    const a = await createProject(cli, app, "A");
    const b = await createProject(cli, await createApp(cli, server.publish("compared")), "B");
    await patch("projects", a, { settings: [{ key: "skin", values: { all: { dark: true, "a/b": [1] } } }] });
    await patch("projects", b, { settings: [{ key: "skin", values: { all: { dark: false } } }] });
    const settings = await dataOf(cli, `projects diff ${a} ${b} --only settings`);
    assert.deepEqual(settings, [
      { section: "settings", key: "skin/values/all/dark", a: true, b: false },
      { section: "settings", key: "skin/values/all/a~1b", a: [1], b: null },
    ]);
    const all = await cli(`projects diff ${a} ${b} --exit-code --json`);
    assert.equal(all.code, 3);
    assert.equal(all.requests.length, 2);
    const keys = all.json.data.map(
      ({ section, key }: { section: string; key: string }) => `${section} ${key}`,
    );
    assert.ok(
      keys.includes("app version") === false &&
        keys.includes("app digest") &&
        keys.includes("enabled fan_cam"),
    );
    const same = await cli(`projects diff ${a} ${a} --exit-code`);
    assert.deepEqual([same.code, same.stdout, same.stderr], [0, "", "No difference\n"]);
    assert.equal((await cli(`projects diff ${a} ${b} --only skins`)).code, 2);
  });

  it("moves a project to what the address of its app has now, unless elements would lose their type", async t => {
    const { cli, call, create } = await opened(t);
    const url = server.publish("moved");
    const project = await createProject(cli, await createApp(cli, url));
    const same = await dataOf(cli, `projects reload ${project}`);
    assert.deepEqual([same.changed, same.before], [false, "Match 1.0.0"]);
    server.publish("moved", { ...spec, version: "2.0.0" }, [poll]);
    const tried = await dataOf(cli, `projects reload ${project} --dry-run`);
    assert.deepEqual([tried.before, tried.after, tried.app_id], ["Match 1.0.0", "Match 2.0.0", null]);
    assert.equal((await dataOf(cli, "apps list")).length, 1);

    const event = await create(
      "events",
      { name: "Final" },
      { project: { data: { type: "projects", id: project } } },
    );
    await create(
      "elements",
      { content_type: "fan_cam", name: "Cam" },
      { event: { data: { type: "events", id: event } } },
    );
    const warned = await cli(`projects reload ${project} --dry-run --json`);
    assert.equal(warned.code, 7);
    assert.match(warned.error.message, /fan_cam/);
    assert.equal(warned.error.next, `grandstand projects reload ${project} --force`);
    const forced = await dataOf(cli, `projects reload ${project} --force --dry-run`);
    assert.deepEqual([forced.app_id, forced.removed_types], [null, ["fan_cam"]]);
    assert.equal((await dataOf(cli, "apps list")).length, 1);
    const refused = await cli(`projects reload ${project} --json`);
    assert.equal(refused.code, 7);
    assert.equal(refused.error.message, warned.error.message);
    assert.match(refused.error.message, /fan_cam/);
    const app = (await dataOf(cli, "apps list"))[0].id;
    assert.deepEqual(refused.error.details, [`done already: registered app ${app}`]);
    assert.equal(refused.error.next, `grandstand projects reload ${project} --app ${app} --force`);
    const dry = await dataOf(cli, `projects reload ${project} --app ${app} --force --dry-run`);
    assert.deepEqual([dry.added_types, dry.removed_types], [[], ["fan_cam"]]);
    const before = await call(`/projects/${project}?include=app`);
    assert.equal(before.json.included[0].attributes.version, "1.0.0");

    const moved = await cli(refused.error.next.replace("grandstand ", ""));
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /Match 1\.0\.0\tMatch 2\.0\.0/);
    assert.equal(moved.requests.length, 4);
    assert.equal(
      (await call(`/projects/${project}?include=app`)).json.included[0].attributes.version,
      "2.0.0",
    );
    server.publish("moved", { ...spec, version: "2.0.0" });
    const changed = await cli(`projects reload ${project}`);
    assert.equal(changed.code, 7);
    assert.match(changed.stderr, /publish it under another version/);
  });

  it("asks the profile's allow-list before it sends anything that changes", async t => {
    const { cli, files } = await opened(t);
    files.set(
      "config.json",
      JSON.stringify({ version: 1, current: "show", profiles: { show: { allow: [] } } }),
    );
    const before = await cli("apps create --spec-url https://a.example/spec.json --json");
    assert.deepEqual([before.code, before.error.code, before.requests], [5, "not_in_allow_list", []]);
    assert.equal((await cli(`apps validate-spec-url ${server.publish("listed")}`)).code, 0);
  });
});
