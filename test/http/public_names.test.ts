/** Rules for visible names of users, wherever a name comes in. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { forge } from "../support/issuer.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const disguises = [
  "a\u0000b",
  "a\r\nb",
  "\u001b[2J",
  "\u202exe.toor",
  "a\u2066b",
  "a\u2028b",
  "\u200b",
  " \u2800 ",
];
const names = ["Sam", "さくら", "José 🏆", "عمر", "👩‍🚀", "O'Neil-Smith <3"];
const project = { projectId: ids.project };
const noLogin = { ...project, strategy: "simplified", provider: "noLogin" };
const pool = { ...project, strategy: "email", provider: "managedPool" };
const hosted = { ...project, strategy: "email", provider: "hostedIdp" };

describeOnStores("a public name", open => {
  it("is visible text that does not affect the text around it, on every route", async t => {
    const world = await openPlatform(open, {
      identity: { limits: { register: "off", noLoginCreate: "off" } },
    });
    t.after(() => world.dispose());
    const idToken = (claims: object): string =>
      forge(world.login.key, world.login.claims(world.clock.now(), { ...claims }));
    const check = (token: string) =>
      world.call(`/v1/user/check?${new URLSearchParams({ ...hosted, deviceId: crypto.randomUUID() })}`, {
        token,
      });
    const { accessToken } = (await check(idToken({ sub: "al" }))).json.data;
    let made = 0;
    const doors: ((name: string) => Promise<number>)[] = [
      async username => (await world.call("/v1/user", { body: { ...noLogin, data: { username } } })).status,
      async nickname => {
        const data = { email: `u${made++}@example.com`, password: "correct horse battery", nickname };
        return (await world.call("/v1/user", { body: { ...pool, data } })).status;
      },
      async username => {
        const body = { ...hosted, data: { username } };
        return (await world.call("/v1/user", { method: "PUT", token: accessToken, body })).status;
      },
    ];
    for (const [index, enter] of doors.entries()) {
      for (const name of disguises) assert.equal(await enter(name), 400, `${index} ${JSON.stringify(name)}`);
      for (const name of names) assert.ok((await enter(name)) < 300, `${index} ${name}`);
    }
  });

  it("is the first suitable one of those that another provider returns", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const query = new URLSearchParams({ ...hosted, deviceId: crypto.randomUUID() });
    const nameOf = async (sub: string, claims: object): Promise<string> => {
      const token = forge(world.login.key, world.login.claims(world.clock.now(), { sub, ...claims }));
      return (await world.call(`/v1/user/check?${query}`, { token })).json.data.username;
    };
    assert.equal(await nameOf("a", { preferred_username: "\u202exe.toor", nickname: "Al" }), "Al");
    assert.equal(await nameOf("b", { preferred_username: "a\u0000b" }), "");
  });
});
