/** Login of authoring users by mailed code. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import type { PlatformOptions } from "../../lib/mod.ts";
import { type Answer, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { resource } from "./_control_examples.ts";

type Mail = Parameters<NonNullable<PlatformOptions["mailer"]>["send"]>[0];

const minuteMs = 60_000;

describeOnStores("login of authors", open => {
  async function opened(t: TestContext, options: Partial<PlatformOptions> = {}) {
    const mails: Mail[] = [];
    const mailer = { send: async (mail: Mail) => void mails.push(mail) };
    const world = await openPlatform(open, { mailer, ...options });
    t.after(() => world.dispose());
    await world.platform.authors.findOrCreate("sam@example.com");
    async function begin(email: string, address = "192.0.2.1"): Promise<Answer> {
      const answer = await world.call("/api/v2/sessions", { body: resource("sessions", { email }), address });
      await world.platform.idle();
      return answer;
    }
    const verify = ({ json }: Answer, code: string): Promise<Answer> =>
      world.call(`/api/v2/sessions/${json.data.id}/verify`, { body: resource("sessions", { code }) });
    return { world, mails, begin, verify };
  }

  it("takes the mailed code once, for a token of 30 days", async t => {
    const { world, mails, begin, verify } = await opened(t);
    const session = await begin("SAM@example.com");
    assert.equal(session.status, 201, session.text);
    const [mail] = mails;
    assert.deepEqual([mail?.kind, mail?.to, mails.length], ["authorCode", "sam@example.com", 1]);
    const code = mail?.code ?? "";
    const racing = await Promise.all([1, 2, 3].map(() => verify(session, code)));
    assert.deepEqual(racing.map(({ status }) => status).sort(), [201, 400, 400]);
    const { token, expires_at } = racing.find(({ status }) => status === 201)?.json.data.attributes ?? {};
    assert.equal(expires_at, Math.floor(world.clock.now() / 1_000) + 2_592_000);
    const me = await world.call("/api/v2/me", { token });
    assert.equal(me.json.data.attributes.email, "sam@example.com");
    assert.equal((await verify(session, code)).json.errors[0].code, "invalid_code");
  });

  it("answers unknown addresses like known ones, and mails nobody", async t => {
    const { mails, begin, verify } = await opened(t);
    const [known, unknown] = [await begin("sam@example.com"), await begin("eve@example.com")];
    const shape = ({ status, json }: Answer) => [status, Object.keys(json.data.attributes)];
    assert.deepEqual(shape(known), shape(unknown));
    assert.deepEqual(
      mails.map(({ to }) => to),
      ["sam@example.com"],
    );
    const wrong = (await verify(known, "00000000")).json.errors[0];
    assert.deepEqual({ ...(await verify(unknown, "00000000")).json.errors[0], id: wrong.id }, wrong);
  });

  it("accepts five tries of a code, for ten minutes", async t => {
    const { world, mails, begin, verify } = await opened(t);
    const session = await begin("sam@example.com");
    const code = mails[0]?.code ?? "";
    const wrong = code === "00000000" ? "11111111" : "00000000";
    for (let tries = 0; tries < 5; tries++) assert.equal((await verify(session, wrong)).status, 400);
    assert.equal((await verify(session, code)).status, 400);
    const later = await begin("sam@example.com");
    world.clock.advance(10 * minuteMs);
    assert.equal((await verify(later, mails[1]?.code ?? "")).status, 400);
  });

  it("mails one code a minute to an address, and bounds what a network asks for", async t => {
    const limiter = createMemoryLimiter({ clock: () => 0 });
    const { mails, begin } = await opened(t, { limiter });
    const answers = [await begin("sam@example.com"), await begin("sam@example.com", "192.0.2.2")];
    assert.deepEqual([answers.map(({ status }) => status), mails.length], [[201, 201], 1]);
    const statuses: number[] = [];
    for (let n = 0; n < 20; n++) statuses.push((await begin(`u${n}@example.com`)).status);
    assert.equal(statuses.filter(status => status === 201).length, 19);
    assert.equal(statuses.at(-1), 429);
  });

  it("lets nobody spend the tries of another login, or keep its code from coming", async t => {
    let now = (): number => 0;
    const { world, mails, begin, verify } = await opened(t, {
      limiter: createMemoryLimiter({ clock: () => now() }),
    });
    now = world.clock.now;
    const wrong = "00000000";
    for (let round = 0; round < 6; round++) {
      const stranger = await begin("sam@example.com");
      for (let tries = 0; tries < 5; tries++) assert.equal((await verify(stranger, wrong)).status, 400);
      world.clock.advance(2 * minuteMs);
    }
    assert.equal(mails.length, 5, "the stranger's network has asked often enough");
    const own = await begin("sam@example.com", "198.51.100.7");
    assert.equal(mails.length, 6);
    const stranger = await begin("sam@example.com", "192.0.2.3");
    for (let tries = 0; tries < 6; tries++) assert.equal((await verify(stranger, wrong)).status, 400);
    assert.equal((await verify(own, mails[5]?.code ?? "")).status, 201);
  });

  it("knows a person by every spelling of the address", async t => {
    const { world, mails, begin, verify } = await opened(t);
    await world.platform.authors.findOrCreate(" ann@b\u00fccher.example ");
    const session = await begin("ANN@xn--bcher-kva.example\n");
    assert.equal(session.status, 201, session.text);
    assert.deepEqual(
      mails.map(({ to }) => to),
      ["ann@xn--bcher-kva.example"],
    );
    assert.equal((await verify(session, mails[0]?.code ?? "")).status, 201);
    assert.equal((await begin("ann@b\u00fccher.example")).status, 201);
    assert.equal(mails.length, 2);
  });

  it("takes a code as it was pasted", async t => {
    const { mails, begin, verify } = await opened(t);
    const session = await begin("sam@example.com");
    const [code = ""] = mails.map(mail => mail.code);
    assert.equal((await verify(session, ` ${code.slice(0, 4)} ${code.slice(4)}\n`)).status, 201);
  });

  it("lets a person in after a stranger on the same network asked for 20 invented addresses", async t => {
    let now = (): number => 0;
    const { world, begin } = await opened(t, { limiter: createMemoryLimiter({ clock: () => now() }) });
    now = world.clock.now;
    for (let n = 0; n < 20; n++) await begin(`u${n}@example.com`);
    const refused = await begin("sam@example.com");
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get("retry-after")) <= 11);
    world.clock.advance(11_000);
    assert.equal((await begin("sam@example.com")).status, 201);
  });

  it("ends the oldest login where a user has too many tokens", async t => {
    const { world, mails, begin, verify } = await opened(t);
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("sam@example.com");
    const login = async (): Promise<string> => {
      const session = await begin("sam@example.com");
      return (await verify(session, mails.at(-1)?.code ?? "")).json.data.attributes.token;
    };
    const first = await login();
    for (let count = 1; count < 100; count++) await authors.createToken({ userId, name: "Pipeline" });
    const second = await login();
    assert.equal((await world.call("/api/v2/me", { token: second })).status, 200);
    assert.equal((await world.call("/api/v2/me", { token: first })).status, 401);
  });
});
