/** The page of the show as it is served: its fields, its data, its files, and the settings behind it. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createShow } from "../../lib/pages/show/mod.ts";
import { buildShow } from "../../runtime/services/pages.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";

const kilobyte = 1_024;
const compressed = (text: string): number => gzipSync(text, { level: 9 }).length;

describe("the page of the show", () => {
  let world: TestPlatform;
  let files: Awaited<ReturnType<typeof buildShow>>;
  let token: string;
  before(async () => {
    files = await buildShow();
    world = await openPlatform(async clock => createMemoryStore({ clock }), {
      show: createShow({ files: async () => files }),
    });
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("sam@club.example", { name: "Sam", operator: true });
    ({ token } = await authors.createToken({ userId, name: "Tests" }));
  });
  after(() => world.dispose());

  const dataOf = (text: string) =>
    JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(text)?.[1] ?? "null");
  const set = (show: unknown) =>
    world.call(`/api/v2/projects/${ids.project}`, {
      method: "PATCH",
      token,
      headers: { "content-type": "application/vnd.api+json" },
      body: { data: { type: "projects", id: ids.project, attributes: { services: { show } } } },
    });

  it("has title, theme, events and the server's time as data, and runs no inline code", async () => {
    const { status, headers, text } = await world.call(`/show?event=${ids.event}`);
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(headers.get("cache-control"), "no-cache");
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(
      policy,
      /script-src 'self'; style-src 'self'; .*frame-ancestors 'self'; .*trusted-types 'none'/,
    );
    assert.doesNotMatch(text, /<style|\son\w+=/);
    assert.match(text, /<title>Match · Club app<\/title>/);
    const data = dataOf(text);
    assert.equal(data.event, ids.event);
    assert.equal(data.now, world.clock.now());
    assert.ok(data.events.some((event: { id: string }) => event.id === ids.event));
    assert.ok(data.boards.includes("overall"));
    assert.equal(data.limitsPlaces, true);
    const other = dataOf((await world.call(`/show?project=${ids.otherProject}`)).text);
    assert.equal(other.limitsPlaces, false, "nobody is asked where they are for a project without a policy");
    assert.ok(compressed(text) <= 4 * kilobyte);
    for (const [, address = ""] of text.matchAll(/(?:src|href)="(show\/[^"]+)"/g)) {
      const file = await world.call(`/${address}`);
      assert.equal(file.status, 200, address);
      assert.equal(file.headers.get("cache-control"), "public, max-age=31536000, immutable");
      assert.equal(file.headers.get("access-control-allow-origin"), "*");
    }
  });

  it("answers 304 while only the time has changed", async () => {
    const first = await world.call(`/show?project=${ids.project}`);
    const headers = { "if-none-match": first.headers.get("etag") ?? "" };
    assert.equal((await world.call(`/show?project=${ids.project}`, { headers })).status, 304);
    assert.equal((await world.call(`/show?event=${ids.event}`, { headers })).status, 200);
  });

  it("is a page that says so where there is no such show", async () => {
    for (const query of ["", "?event=1", `?event=${ids.space}`, "?project=%00"]) {
      const { status, text } = await world.call(`/show${query}`);
      assert.equal(status, 404, query);
      assert.equal(dataOf(text), null);
    }
    assert.equal((await world.call("/show/none.js")).status, 404);
  });

  it("is small: 36 KB of script, 6 KB of style, 9 KB of what loads later, 1.5 KB a language", () => {
    const sum = (pattern: RegExp): number =>
      files.filter(({ name }) => pattern.test(name)).reduce((bytes, { text }) => bytes + compressed(text), 0);
    assert.ok(sum(/^(main|chunk)-/) <= 36 * kilobyte);
    assert.ok(sum(/^style-/) <= 6 * kilobyte);
    assert.ok(sum(/^more-/) <= 9 * kilobyte);
    for (const language of ["ar", "de", "es", "fr", "pt"]) {
      const bytes = sum(new RegExp(`^texts_${language}-`));
      assert.ok(bytes > 0 && bytes <= 1.5 * kilobyte, `${language} has ${bytes} bytes`);
    }
  });

  it("has a script for other pages at an address that stays: tagged, cached for minutes, open to every origin", async () => {
    const { status, headers, text } = await world.call("/show/embed.js", {
      headers: { origin: "https://club.example" },
    });
    assert.equal(status, 200);
    assert.match(text, /grandstand-show/);
    assert.equal(headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.equal(headers.get("cache-control"), "public, max-age=300");
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(headers.get("cross-origin-resource-policy"), "cross-origin");
    const known = { "if-none-match": headers.get("etag") ?? "" };
    assert.equal((await world.call("/show/embed.js", { headers: known })).status, 304);
  });

  it("carries one client token for new passwords, and another once that was ended", async () => {
    const { clientTokens } = world.platform;
    const tokens = async () => (await clientTokens.list(ids.project)).filter(({ name }) => name === "/show");
    const read = (query = "") => world.call(`/show?project=${ids.project}${query}`);
    const { headers, text } = await read();
    const { clientToken } = dataOf(text);
    assert.deepEqual(
      (await tokens()).map(({ id }) => id),
      [clientToken.id],
    );
    const forget = (token: string) =>
      world.call("/v1/user/forgot-password", {
        method: "PUT",
        token,
        body: {
          projectId: ids.project,
          strategy: "email",
          provider: "managedPool",
          data: { email: "a@b.example" },
        },
      });
    assert.equal((await forget(clientToken.token)).status, 200);
    world.clock.advance(120_000);
    const later = await read();
    assert.equal(later.headers.get("etag"), headers.get("etag"), "another signature is no other page");
    assert.equal(dataOf((await read("&view=screen")).text).clientToken, null);
    await clientTokens.end(ids.project, clientToken.id);
    const next = await read();
    assert.notEqual(dataOf(next.text).clientToken.id, clientToken.id);
    assert.notEqual(next.headers.get("etag"), headers.get("etag"));
    assert.equal((await forget(clientToken.token)).status, 401);
    assert.equal((await tokens()).length, 2);
  });

  it("takes the settings of a project: colours that can be read, origins of frames, boards", async () => {
    const bad = await set({ colours: { ground: "#ffffff", ink: "#999999" } });
    assert.equal(bad.status, 422);
    const [fault] = bad.json.errors;
    assert.equal(fault.source.pointer, "/data/attributes/services/show/colours");
    assert.match(fault.detail, /contrast of 4\.5:1.* the nearest ink that passes is #[0-9a-f]{6}/);
    for (const show of [
      { colours: { ground: "#ffffff" } },
      { colours: { accent: "red" } },
      { logo: "javascript:alert(1)" },
      { embed: { origins: ["https://club.example/path"] } },
      { embed: { origins: ["https://club.example; script-src *"] } },
      { boards: Array.from({ length: 11 }, (_, index) => `b${index}`) },
      { css: "body{}" },
    ])
      assert.equal((await set(show)).status, 422, JSON.stringify(show));
    const good = await set({
      colours: { accent: "#b3123f" },
      boards: ["speed"],
      embed: { origins: ["https://club.example"] },
    });
    assert.ok(good.status < 300, good.text);
    world.clock.advance(2_000);
    const { text, headers } = await world.call(`/show?project=${ids.project}`);
    const data = dataOf(text);
    assert.deepEqual(data.boards, ["speed"]);
    assert.deepEqual(data.hosts, ["https://club.example"]);
    assert.deepEqual(data.settings.colours, { accent: "#b3123f" });
    assert.match(
      headers.get("content-security-policy") ?? "",
      /frame-ancestors 'self' https:\/\/club\.example;/,
    );
    await set(null);
  });

  it("is the address of fans where the app names none", async () => {
    const project = await world.call(`/api/v2/projects/${ids.project}`, { token });
    const { consumer } = project.json.data.attributes.urls;
    assert.equal(new URL(consumer).pathname, "/show");
    assert.equal(new URL(consumer).searchParams.get("project"), ids.project);
    const listing = await world.call(`/projects/${ids.project.slice(0, 2)}/${ids.project}/listings.json`);
    assert.match(listing.json.project.embed, new RegExp(`/show\\?project=${ids.project}$`));
  });
});
