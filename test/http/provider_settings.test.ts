import assert from "node:assert/strict";
import { it } from "node:test";
import type { Project, Space } from "../../lib/fans/directory/mod.ts";
import { forge } from "../support/issuer.ts";
import { ids, openPlatform, seed } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";

const audienceCharactersMax = 512;
const memberPathCharactersMax = 128;

const remoteUrlCharactersMax = 512;

const login = { issuer: "https://login.example", audience: "app-1" };
const opaque = {
  style: "userinfo+tokenDebug",
  issuer: "network",
  appId: "our-app",
  tokenDebug: { url: "https://login.example/debug" },
  userinfo: { url: "https://login.example/me" },
};
const [project, ...projects] = seed.projects as readonly [Project, ...Project[]];
const [space, ...spaces] = seed.spaces as readonly [Space, ...Space[]];

describeOnStores("settings that name other providers", open => {
  /** Returns status and code of a check under these settings. */
  async function checked(provider: string, section: unknown): Promise<[number, string]> {
    const settings = { identity: { [provider]: section } };
    const world = await openPlatform(open, {
      seed: { ...seed, projects: [{ ...project, settings }, ...projects] },
    });
    const path = provider === "hostedIdp" ? "/v1/user/check" : "/v1/user/check/nonstandard";
    const query = new URLSearchParams({
      projectId: ids.project,
      strategy: "email",
      provider,
      deviceId: "0123abcd-0000-4000-8000-00000000000d",
      userId: "alice",
    });
    const answer = await world.call(`${path}?${query}`, { token: "opaque" });
    const outcome: [number, string] = [answer.status, errorCode(answer, "identity")];
    await world.dispose();
    return outcome;
  }
  const unusable: [number, string] = [503, "provider_unavailable"];

  it("are used when they are complete, up to their bounds", async () => {
    const longest = {
      issuer: `https://login.example/${"a".repeat(remoteUrlCharactersMax - 22)}`,
      audience: "a".repeat(audienceCharactersMax),
      algorithms: ["PS512", "EdDSA"],
    };
    // The test's provider is another issuer, which is what cannot be used then.
    assert.deepEqual(await checked("hostedIdp", longest), [502, "provider_error"]);
    const debug = { ...opaque.tokenDebug, validMember: "a".repeat(memberPathCharactersMax) };
    assert.deepEqual(await checked("socialOne", { ...opaque, tokenDebug: debug }), [502, "provider_error"]);
  });
  it("of a hosted provider are refused as a whole if a part is wrong", async () => {
    for (const wrong of [
      {},
      { ...login, issuer: "http://login.example" },
      { ...login, issuer: `https://login.example/${"a".repeat(remoteUrlCharactersMax - 21)}` },
      { ...login, issuer: "https://user@login.example" },
      { ...login, audience: "" },
      { ...login, audience: "a".repeat(audienceCharactersMax + 1) },
      { ...login, algorithms: [] },
      { ...login, algorithms: ["HS256"] },
      { ...login, algorithms: ["none"] },
      null,
      "https://login.example",
    ]) {
      assert.deepEqual(await checked("hostedIdp", wrong), unusable, JSON.stringify(wrong));
    }
  });
  it("of a social provider are refused as a whole if a part is wrong", async () => {
    const longPath = "a".repeat(memberPathCharactersMax + 1);
    for (const wrong of [
      {},
      { ...opaque, style: "trust" },
      { ...opaque, appId: "" },
      { ...opaque, tokenDebug: { url: "http://login.example/debug" } },
      { ...opaque, userinfo: { url: "/me" } },
      { ...opaque, tokenDebug: { ...opaque.tokenDebug, validMember: longPath } },
      { style: "idToken", issuer: login.issuer },
    ]) {
      assert.deepEqual(await checked("socialOne", wrong), unusable, JSON.stringify(wrong));
    }
  });
  it("of a space must name a project of it", async () => {
    for (const [settings, expected] of [
      [{ issuer: login }, [401, "invalid_credentials"]],
      [{ defaultProjectId: ids.project }, [401, "invalid_credentials"]],
      [{ issuer: login, defaultProjectId: ids.otherProject }, unusable],
      [{ issuer: login, defaultProjectId: "x" }, unusable],
      [{ issuer: login, defaultProjectId: ids.project }, [200, undefined]],
    ] as const) {
      const world = await openPlatform(open, {
        seed: { ...seed, spaces: [{ ...space, settings }, ...spaces] },
      });
      const token = forge(world.login.key, world.login.claims(world.clock.now()));
      const answer = await world.call("/api/auth/token", { body: { type: "idToken", token } });
      const code = answer.status === 200 ? undefined : errorCode(answer, "problem");
      assert.deepEqual([answer.status, code], expected, JSON.stringify(settings));
      await world.dispose();
    }
  });
  it("that are stored and not valid refuse what needs them, log the reason, and switch nothing else off", async () => {
    for (const [identity, path, expected] of [
      [{ registration: "maybe" }, "registration", { register: 503, login: 401, noLogin: 200 }],
      [{ providers: "managedPool" }, "providers", { register: 503, login: 503, noLogin: 503 }],
      [{ providers: ["managedPool", "bogus", 5] }, null, { register: 201, login: 401, noLogin: 400 }],
      [[], "identity", { register: 503, login: 503, noLogin: 503 }],
      ["open", "identity", { register: 503, login: 503, noLogin: 503 }],
    ] as const) {
      const lines: string[] = [];
      const world = await openPlatform(open, {
        seed: { ...seed, projects: [{ ...project, settings: { identity } }, ...projects] },
        logger: {
          enabled: () => true,
          log: (_, event, fields) => void lines.push(JSON.stringify({ event, ...fields })),
        },
      });
      const selector = { projectId: ids.project, strategy: "email", provider: "managedPool" };
      const data = { email: "fan@example.com", password: "correct horse battery" };
      const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
      const unknown = { ...selector, data: { ...data, email: "nobody@example.com" } };
      const answers = {
        register: await world.call("/v1/user", { body: { ...selector, data } }),
        login: await world.call("/v1/user/login", { method: "PUT", body: unknown }),
        noLogin: await world.call("/v1/user", { body: { ...noLogin, data: { username: "Sam" } } }),
      };
      const statuses = Object.entries(answers).map(([name, { status }]) => [name, status]);
      assert.deepEqual(Object.fromEntries(statuses), expected, JSON.stringify(identity));
      if (path !== null) {
        const { message, data: about } = answers.register.json;
        assert.deepEqual(
          [about.code, answers.register.headers.get("retry-after")],
          ["provider_unavailable", "60"],
        );
        assert.match(message, /is not valid: an operator has to correct it/);
        assert.ok(
          lines.some(line => line.includes("request_failed") || line.includes(path)),
          lines.join("\n"),
        );
      }
      await world.dispose();
    }
  });
});
