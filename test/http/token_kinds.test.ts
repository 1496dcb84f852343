/** A token of one kind is good for nothing that asks for another kind, whoever signed it and for whom. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { forge } from "../support/issuer.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { operatorToken } from "./_control_examples.ts";
import { errorCode } from "./_families.ts";
import {
  type Example,
  examplesFor,
  newKey,
  type Operation,
  operationsOf,
  send,
  validExamples,
} from "./_operations.ts";

const selector = { strategy: "email", provider: "managedPool" };
const password = "correct horse battery";

/** Tokens of every kind that the platform or its providers give out, all of them valid where they belong. */
async function everyKind(world: TestPlatform): Promise<Readonly<Record<string, string>>> {
  const session = async (projectId: string): Promise<Readonly<Record<string, string>>> => {
    const data = { email: "kim@example.com", password, deviceId: crypto.randomUUID() };
    await world.call("/v1/user", { body: { ...selector, projectId, data: { email: data.email, password } } });
    const login = { method: "PUT", body: { ...selector, projectId, data } };
    return (await world.call("/v1/user/login", login)).json.data;
  };
  const {
    accessToken = "",
    refreshToken = "",
    profileToken = "",
    signature = "",
  } = await session(ids.project);
  const spaceToken = async (body: Readonly<Record<string, string>>): Promise<string> =>
    (await world.call("/api/auth/token", { body })).json.data.accessToken;
  const claims = (more: object): string =>
    forge(world.login.key, world.login.claims(world.clock.now(), more));
  const key = await newKey(world);
  return {
    access: accessToken,
    refresh: refreshToken,
    profile: profileToken,
    signature,
    client: await world.platform.clientTokens.issue(ids.project),
    elsewhere: (await session(ids.otherProject)).accessToken ?? "",
    spaceUser: await spaceToken({ type: "accessToken", token: accessToken }),
    spaceService: await spaceToken({ type: "service", key: key.key, secret: key.secret }),
    idToken: claims({}),
    socialToken: claims({ aud: "social-1", sub: "social-alice" }),
    apiSecret: key.secret,
    author: await operatorToken(world),
  };
}

/** The kinds of tokens that an operation accepts. The refusal of another kind gives no further reason. */
function kindsOf({ id, scheme, adminRole }: Operation): readonly string[] {
  if (scheme === "spaceToken") {
    return ["spaceUser", "spaceService", ...(adminRole === null ? [] : ["author"])];
  }
  if (/^(forgotPassword|confirmPassword|verifyEmail|confirmEmail|mailLoginCode|confirmLogin)$/.test(id))
    return ["access", "client"];
  if (id === "checkSocialUser") return ["access", "socialToken"];
  return ["access"];
}

/** True if a request acts for a user of the managed pool, or of a space, and has no credentials of its own. */
function isPlain({ query, body, headers }: Example): boolean {
  const { provider = selector.provider } = { ...query, ...(body as Readonly<Record<string, string>>) };
  return headers?.authorization === undefined && provider === selector.provider;
}

describe("a token of one kind", () => {
  it("is no token of another one, for every operation that takes one", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const examples = await validExamples(world);
    const tokens = await everyKind(world);
    let refused = 0;
    for (const operation of await operationsOf(world)) {
      if (operation.scheme !== "userToken" && operation.scheme !== "spaceToken") continue;
      const taken = kindsOf(operation);
      const family = operation.family;
      for (const example of examplesFor(operation, examples).filter(isPlain)) {
        for (const [kind, token] of Object.entries(tokens)) {
          if (taken.includes(kind)) continue;
          const headers = { authorization: `Bearer ${token}` };
          const answer = await send(world, operation, { example, headers });
          const where = `${operation.id} with ${kind}: ${answer.status} ${answer.text.slice(0, 200)}`;
          assert.deepEqual([answer.status, errorCode(answer, family)], [401, "invalid_token"], where);
          refused++;
        }
      }
    }
    assert.ok(refused > 180, String(refused));
  });
});
