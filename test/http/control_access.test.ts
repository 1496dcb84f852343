/** Who may see and change what through the control API, over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

type Call = (path: string, options?: Parameters<TestPlatform["call"]>[1]) => Promise<Answer>;
type Token = Parameters<TestPlatform["platform"]["authors"]["createToken"]>[0];

const organisation = `/organisations/${ids.organisation}`;
const space = `/spaces/${ids.space}`;
const project = `/projects/${ids.project}`;

/** Opens a platform, with calls of an operator and of persons whom the operator grants roles. */
async function opened(t: TestContext, open: Parameters<typeof openPlatform>[0]) {
  const world = await openPlatform(open);
  t.after(() => world.dispose());
  const callWith =
    (headers: Readonly<Record<string, string>>): Call =>
    (path, options = {}) =>
      world.call(`/api/v2${path}`, { ...options, headers: { ...headers, ...options.headers } });
  const operator = callWith(await operatorHeaders(world));
  async function person(email: string, token: Partial<Token> = {}): Promise<Call> {
    const user = await world.platform.authors.findOrCreate(email);
    const issued = await world.platform.authors.createToken({ userId: user.id, name: "Test", ...token });
    return callWith({ authorization: `Bearer ${issued.token}` });
  }
  async function grant(path: string, email: string, role: string, by: Call = operator): Promise<string> {
    const answer = await by(`${path}/roles`, { body: resource("scope_roles", { email, role }) });
    assert.equal(answer.status, 201, answer.text);
    return answer.json.data.id;
  }
  return { world, operator, person, grant };
}

const patch = (type: string, id: string, attributes: object) => ({
  method: "PATCH",
  body: resource(type, attributes, { id }),
});
const idsOf = ({ json }: Answer): readonly string[] => json.data.map(({ id }: { id: string }) => id);

describeOnStores("access to the control API", open => {
  it("lists the organisations of the caller, and all for operators", async t => {
    const { operator, person, grant } = await opened(t, open);
    const made = await operator("/organisations", { body: resource("organisations", { name: "Aaa" }) });
    const all = await operator("/organisations");
    assert.ok(idsOf(all).includes(made.json.data.id), all.text);
    const sorted = await operator("/organisations?sort=name&page[count]=1");
    assert.deepEqual(idsOf(sorted), [made.json.data.id]);
    assert.ok(sorted.json.links.next);
    const sam = await person("sam@example.com");
    assert.deepEqual(idsOf(await sam("/organisations")), []);
    await grant(organisation, "sam@example.com", "viewer");
    const own = await sam("/organisations?include=my_role");
    assert.deepEqual(idsOf(own), [ids.organisation]);
    const [{ relationships }] = own.json.data;
    assert.deepEqual(relationships.my_role.data, { type: "scope_roles", id: ids.organisation });
    assert.deepEqual(own.json.included, [
      {
        type: "scope_roles",
        id: ids.organisation,
        attributes: { role: "viewer" },
        meta: { inherited_from: null, parents: [], admins: [] },
      },
    ]);
  });

  it("includes the caller's role with where it comes from", async t => {
    const { person, grant } = await opened(t, open);
    await grant(space, "sam@example.com", "creator");
    const sam = await person("sam@example.com");
    const read = await sam(`${project}?include=my_role`);
    const [role] = read.json.included;
    assert.deepEqual(role.attributes, { role: "creator" });
    assert.deepEqual(role.meta.inherited_from, { type: "spaces", id: ids.space });
    const events = await sam(`${project}/events?include=my_role`);
    assert.deepEqual(
      events.json.included.map(({ id }: { id: string }) => id),
      [ids.event],
    );
  });

  it("names what is above to those with a role, and to nobody else", async t => {
    const { person, grant } = await opened(t, open);
    await grant(project, "pat@example.com", "viewer");
    const [pat, sam] = [await person("pat@example.com"), await person("sam@example.com")];
    const above = [
      { type: "spaces", id: ids.space },
      { type: "organisations", id: ids.organisation },
    ];
    const own = { inherited_from: null, parents: above, admins: [] };
    assert.deepEqual((await pat(`${project}/my_role`)).json.meta, own);
    const event = await pat(`/events/${ids.event}?include=my_role`);
    const inherited_from = { type: "projects", id: ids.project };
    const [shown] = event.json.included;
    assert.deepEqual(shown.meta, { inherited_from, parents: [inherited_from, ...above], admins: [] });
    const none = { inherited_from: null, parents: [], admins: [] };
    assert.deepEqual((await pat(`${space}/my_role`)).json.meta, none);
    assert.deepEqual((await sam(`${project}/my_role`)).json.meta, none);
  });

  it("names the admins to those with a role, the nearest first, and not to backends of workflows", async t => {
    const { person, grant } = await opened(t, open);
    await grant(organisation, "ann@example.com", "admin");
    await grant(project, "ben@example.com", "admin");
    await grant(project, "pat@example.com", "viewer");
    const adminsFor = async (call: Call, place: string): Promise<unknown> =>
      (await call(`${place}/my_role`)).json.meta.admins;
    const pat = await person("pat@example.com");
    assert.deepEqual(await adminsFor(pat, project), ["ben@example.com", "ann@example.com"]);
    assert.deepEqual(await adminsFor(pat, `/events/${ids.event}`), ["ben@example.com", "ann@example.com"]);
    assert.deepEqual(await adminsFor(pat, space), []);
    assert.deepEqual(await adminsFor(await person("sam@example.com"), project), []);
    const attributes = { name: "Run", kind: "dialogue", scopes: [{ type: "projects", id: ids.project }] };
    const made = await pat("/access_tokens", { body: resource("access_tokens", attributes) });
    const authorization = `Bearer ${made.json.data.attributes.token}`;
    const shown = await pat(`${project}/my_role`, { headers: { authorization } });
    assert.deepEqual(shown.json.data.attributes, { role: "viewer" });
    assert.deepEqual(shown.json.meta.admins, []);
  });

  it("lets admins of a project manage its roles and no others", async t => {
    const { operator, person, grant } = await opened(t, open);
    await grant(project, "pat@example.com", "admin");
    const above = await grant(space, "sue@example.com", "viewer");
    const pat = await person("pat@example.com");
    const id = await grant(project, "sam@example.com", "viewer", pat);
    const raised = await pat(`/scope_roles/${id}`, patch("scope_roles", id, { role: "creator" }));
    assert.equal(raised.status, 204, raised.text);
    assert.deepEqual((await pat(`${project}/roles`)).json.data.length, 2);
    assert.equal((await pat(`${space}/roles`)).status, 404);
    const foreign = await pat(`/scope_roles/${above}`, patch("scope_roles", above, { role: "admin" }));
    assert.equal(foreign.status, 404, foreign.text);
    assert.equal((await pat(`/scope_roles/${above}`, { method: "DELETE" })).status, 404);
    const upward = await pat(`${space}/roles`, {
      body: resource("scope_roles", { email: "pat@example.com", role: "admin" }),
    });
    assert.equal(upward.status, 404, upward.text);
    assert.equal((await pat(`/scope_roles/${id}`, { method: "DELETE" })).status, 204);
    const left = await operator(`${project}/roles`);
    assert.equal(left.json.data.length, 1);
  });

  it("keeps one admin of an organisation however many leave at once", async t => {
    const { operator, grant } = await opened(t, open);
    const emails = ["a", "b", "c", "d"].map(name => `${name}@example.com`);
    const granted: string[] = [];
    for (const email of emails) granted.push(await grant(organisation, email, "admin"));
    const answers = await Promise.all(
      granted.map((id, index) =>
        operator(
          `/scope_roles/${id}`,
          index % 2 === 0 ? { method: "DELETE" } : patch("scope_roles", id, { role: "viewer" }),
        ),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 204, 204, 409]);
    const left = (await operator(`${organisation}/roles`)).json.data;
    assert.equal(left.filter(({ attributes }: Answer["json"]) => attributes.role === "admin").length, 1);
  });

  it("lists changes newest first with who made them", async t => {
    const { operator, person, grant } = await opened(t, open);
    await grant(project, "pat@example.com", "creator");
    const pat = await person("pat@example.com");
    const body = resource(
      "events",
      { name: "Show" },
      { relationships: { project: to("projects", ids.project) } },
    );
    const { id } = (await pat("/events", { body })).json.data;
    const started = await pat(`/events/${id}`, patch("events", id, { action: "start" }));
    const etag = started.headers.get("etag");
    assert.equal((await pat(`${project}/audit`)).status, 403);
    const first = await operator(`${project}/audit?page[count]=1`);
    assert.equal(first.status, 200, first.text);
    const [entry] = first.json.data;
    const change = { op: "update", type: "events", id, etag, title: "Show", action: "start" };
    assert.deepEqual(entry.attributes.changes, [change]);
    const { pathname, search } = new URL(first.json.links.next);
    const second = await operator(`${pathname.slice("/api/v2".length)}${search}`);
    assert.equal(second.json.data[0].attributes.changes[0].op, "add");
    assert.equal(second.json.data[0].attributes.user_id, entry.attributes.user_id);
    assert.equal(entry.attributes.user_email, "pat@example.com");
    const other = await operator(
      `${space}/audit?page[cursor]=${new URL(first.json.links.next).searchParams.get("page[cursor]")}`,
    );
    assert.equal(other.status, 400, other.text);
  });

  it("lets operators alone write workflows, which everybody reads", async t => {
    const { operator, person } = await opened(t, open);
    const sam = await person("sam@example.com");
    const made = {
      name: "Line-up",
      endpoint_url: "https://workflows.example/",
      availability: ["event", "project"],
    };
    assert.equal((await sam("/workflows", { body: resource("workflows", made) })).status, 403);
    const created = await operator("/workflows", { body: resource("workflows", made) });
    assert.equal(created.status, 201, created.text);
    const { id } = created.json.data;
    assert.deepEqual(idsOf(await sam("/workflows?filter[scope]=project")), [id]);
    assert.deepEqual(idsOf(await sam("/workflows?filter[scope]=space")), []);
    assert.equal((await sam(`/workflows/${id}`)).json.data.attributes.name, "Line-up");
    assert.equal((await sam(`/workflows/${id}`, patch("workflows", id, { name: "X" }))).status, 403);
    assert.equal(
      (await operator(`/workflows/${id}`, patch("workflows", id, { enabled: false }))).status,
      204,
    );
    assert.equal((await operator(`/workflows/${id}`, { method: "DELETE" })).status, 204);
    assert.equal((await sam(`/workflows/${id}`)).status, 404);
  });
});
