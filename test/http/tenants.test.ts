/**
 * Isolation of organisations. Every operation that takes credentials is asked for things
 * that somebody else has, and for things that nobody has, and gives the same answer to both, with whatever is found of the
 * caller's own.
 */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Seed } from "../../lib/fans/directory/mod.ts";
import { ids, loyalty, openPlatform, otherHost, seed, type TestPlatform } from "../support/platform.ts";
import { type WatchedStore, watching } from "../support/watched_store.ts";
import {
  type Example,
  examplesFor,
  newKey,
  type Operation,
  operationsOf,
  targetOf,
  validExamples,
} from "./_operations.ts";
import { personWith } from "./_people.ts";

/** Both organisations with the same settings and configuration, so that no name is known to one of them alone. */
const twins: Seed = {
  ...seed,
  spaces: seed.spaces.map(space => ({ ...space, settings: seed.spaces[0]?.settings ?? {} })),
  projects: seed.projects.map(project => ({ ...project, settings: seed.projects[0]?.settings ?? {} })),
  loyalty: { [ids.space]: loyalty, [ids.otherSpace]: loyalty },
};

type Fields = Readonly<Record<string, string>>;

/** Credentials of every kind that somebody of the other organisation has, by scheme. */
async function outsiders(world: TestPlatform): Promise<Readonly<Record<string, readonly Fields[]>>> {
  const { key, secret } = await newKey(world, ids.otherOrganisation);
  const selector = { projectId: ids.otherProject, strategy: "email", provider: "managedPool" };
  const [email, password, deviceId] = ["eve@example.com", "correct horse battery", crypto.randomUUID()];
  await world.call("/v1/user", { body: { ...selector, data: { email, password } } });
  const login = { method: "PUT", body: { ...selector, data: { email, password, deviceId } } };
  const { accessToken } = (await world.call("/v1/user/login", login)).json.data;
  const token = async (body: Fields): Promise<Fields> => {
    const { json } = await world.call("/api/auth/token", { host: otherHost, body });
    return { authorization: `Bearer ${json.data.accessToken}` };
  };
  const user = await token({ type: "accessToken", token: accessToken });
  const admin = await personWith(world, {
    level: "organisations",
    id: ids.otherOrganisation,
    role: "admin",
  });
  const author = { authorization: `Bearer ${admin}` };
  return {
    accessToken: [author],
    apiKey: [{ "x-api-key": key, "x-api-secret": secret }, author],
    spaceToken: [user, await token({ type: "service", key, secret })],
    userToken: [{ authorization: `Bearer ${accessToken}` }],
  };
}

const known =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?:bat|red)_[0-9a-f]{32}|gsk_[a-z2-7]{26}|\b\d{13}-\d+\b|\bsomebody\b|\bkept\b/g;
const outsidersOwn: readonly string[] = [ids.otherOrganisation, ids.otherSpace, ids.otherProject];

/** The text with every id replaced by one of the same form that nobody has. */
function unknownIds(text: string): string {
  return text.replace(known, id => {
    if (outsidersOwn.includes(id)) return id;
    const digit = id.search(/[0-9a-f](?=[0-9a-f-]{20})|[a-z2-7](?=[a-z2-7]{10}$)|\d(?=\d*-)/);
    if (digit === -1) return `${id}-x`;
    return `${id.slice(0, digit)}${id[digit] === "5" ? "6" : "5"}${id.slice(digit + 1)}`;
  });
}

/** An answer without what differs from one request to the next: ids, times and tokens. */
function normalised(status: number, headers: Headers, text: string): string {
  const fields = [...headers].filter(([name]) => !/^(x-request-id|etag|content-length)$/.test(name));
  return (
    `${status} ${JSON.stringify(fields)} ${text}`
      .replace(known, "<id>")
      .replace(/<id>-x\b/g, "<id>")
      .replace(/"(requestId|id)":"[0-9a-f]{16}-[0-9a-z]+"/g, "<request>")
      .replace(/"\w+At":("[^"]*"|\d+)/g, "<time>")
      .replace(/(act|rew|evt)_[0-9a-f-]+/g, "<id>")
      // Of coupons, which go one by one.
      .replace(/"code":"DRINK-\d+"/g, '"code":"<code>"')
  );
}

interface Visit {
  readonly operation: Operation;
  readonly example: Example;
  readonly credentials: Fields;
  readonly host: string;
  /** The organisation of the credentials. */
  readonly organisationId: string;
  /** Makes of target and body what is sent. */
  readonly change: (text: string) => string;
}

async function visit(world: TestPlatform, one: Visit): Promise<string> {
  const { operation, example, credentials, host, change } = one;
  const { "if-match": condition } = example.headers ?? {};
  const headers: Record<string, string> = { ...operation.headers, ...credentials };
  if (condition !== undefined) headers["if-match"] = condition;
  if ("x-platform-org-id" in headers) headers["x-platform-org-id"] = one.organisationId;
  if (example.body !== undefined) headers["content-type"] = "application/json";
  const request = new Request(`http://${host}${change(targetOf(operation, example))}`, {
    method: operation.method,
    headers,
    ...(example.body === undefined ? {} : { body: change(JSON.stringify(example.body)) }),
  });
  const response = await world.platform.fetch(request);
  const answer = normalised(response.status, response.headers, await response.text());
  await world.platform.idle();
  return answer;
}

/**
 * Projects are named in public by every app, so whether one exists is no secret; what is in it is asked for here. Workflows are the
 * deployment's.
 */
function isPublic({ family, path }: Operation, { query, body }: Example): boolean {
  if (path.startsWith("/api/v2/workflows")) return true;
  return family === "identity" && JSON.stringify([query, body]).includes("externalId");
}

/** Somebody who knows ids of others and asks for them. */
interface Stranger {
  readonly seed: Seed;
  /** Credentials of every kind that the stranger has, by scheme. */
  readonly credentials: (world: TestPlatform) => Promise<Readonly<Record<string, readonly Fields[]>>>;
  readonly hosts: (operation: Operation) => readonly string[];
  /** True for operations whose answers are a secret from the stranger, but for public ones. */
  readonly isAsked: (operation: Operation) => boolean;
  readonly organisationId: string;
  /** Ids whose partitions the stranger must not write to. */
  readonly others: readonly string[];
}

/** Lets a stranger ask for what others have, and for what nobody has: the answers must be equal. */
async function askForOthers(t: TestContext, { seed: document, credentials, ...stranger }: Stranger) {
  let store: WatchedStore | undefined;
  const opened = watching(
    async clock => createMemoryStore({ clock }),
    watched => {
      store = watched;
    },
  );
  const world = await openPlatform(opened, { seed: document });
  t.after(() => world.dispose());
  const owned = await credentials(world);
  const faults: string[] = [];
  let visits = 0;
  // Strangers change nothing of others, so the examples stay valid.
  const valid = await validExamples(world);
  await world.platform.idle();
  for (const operation of await operationsOf(world)) {
    if (operation.scheme === null || !stranger.isAsked(operation)) continue;
    const examples = examplesFor(operation, valid);
    const isIdentity = operation.family === "identity";
    const asked = (text: string): string => text;
    const unknown = (text: string): string => {
      const changed = unknownIds(text);
      return isIdentity ? changed.replaceAll(unknownIds(ids.project), ids.project) : changed;
    };
    for (const example of examples.filter(one => !isPublic(operation, one))) {
      for (const who of owned[operation.scheme] ?? []) {
        for (const host of stranger.hosts(operation)) {
          const changes = store?.changes.length ?? 0;
          const one = { operation, example, credentials: who, host, organisationId: stranger.organisationId };
          const theirs = await visit(world, { ...one, change: asked });
          const named = targetOf(operation, example) + JSON.stringify(example.body ?? null);
          // A request that names nothing of others is about the caller, and its repetition is another request.
          if (unknown(named) !== named) {
            const nobodys = await visit(world, { ...one, change: unknown });
            if (theirs !== nobodys) faults.push(`${operation.id} at ${host}: ${theirs}, not ${nobodys}`);
          }
          const written = store?.changes.slice(changes).map(({ partition }) => partition) ?? [];
          const trespasses = written.filter(
            name => new RegExp(`:(${stranger.others.join("|")}):`).test(name) && !name.includes(":audit:"),
          );
          if (trespasses.length > 0) faults.push(`${operation.id} writes to ${trespasses}`);
          visits++;
        }
      }
    }
    world.clock.advance(1_000);
  }
  assert.deepEqual(faults, []);
  t.diagnostic(`${visits} pairs of requests`);
}

describe("an organisation that knows the ids of another one", () => {
  it("is answered as if they did not exist, and writes nothing there", t =>
    askForOthers(t, {
      seed: twins,
      credentials: outsiders,
      hosts: ({ family }) => (family === "identity" ? [otherHost] : [otherHost, "club.example"]),
      isAsked: () => true,
      organisationId: ids.otherOrganisation,
      others: [ids.organisation, ids.space, ids.project],
    }));
});

/** Another space of the organisation, with a project. */
const neighbour = {
  space: "0b000000-0000-4000-8000-000000000003",
  project: "0c000000-0000-4000-8000-000000000003",
  host: "neighbour.example",
};
const withNeighbour: Seed = {
  ...seed,
  spaces: [
    ...seed.spaces,
    {
      id: neighbour.space,
      organisationId: ids.organisation,
      name: "Neighbour",
      domain: neighbour.host,
      settings: { defaultProjectId: neighbour.project },
    },
  ],
  projects: [
    ...seed.projects,
    {
      id: neighbour.project,
      spaceId: neighbour.space,
      organisationId: ids.organisation,
      name: "Neighbour",
      settings: seed.projects[0]?.settings ?? {},
    },
  ],
  loyalty: { [ids.space]: loyalty, [neighbour.space]: loyalty },
};

/** Operations whose records are a space's own, although an API key is the organisation's. */
const ofSpaces: ReadonlySet<string> = new Set(["getActionBatch", "getCoupon"]);

/** Operations that show the names of what is above the space, and workflows, which are the deployment's. */
const above: ReadonlySet<string> = new Set([
  "readOrganisation",
  "readOrganisationAnnotations",
  "listOrganisationSpaces",
  "dispatchWorkflow",
]);

describe("a space that knows the ids of another one of its organisation", () => {
  it("is answered as if they did not exist, and writes nothing there", t =>
    askForOthers(t, {
      seed: withNeighbour,
      async credentials(world) {
        const { key, secret } = await newKey(world);
        const admin = await personWith(world, { level: "spaces", id: neighbour.space, role: "admin" });
        return {
          accessToken: [{ authorization: `Bearer ${admin}` }],
          apiKey: [{ "x-api-key": key, "x-api-secret": secret }],
        };
      },
      hosts: () => [neighbour.host],
      isAsked: ({ id, scheme }) => (scheme === "accessToken" && !above.has(id)) || ofSpaces.has(id),
      organisationId: ids.organisation,
      others: [ids.space, ids.project],
    }));

  it("finds none of its codes in a pool of the same name", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }), { seed: withNeighbour });
    t.after(() => world.dispose());
    const { key, secret } = await newKey(world);
    const headers = { "x-api-key": key, "x-api-secret": secret };
    const path = "/internal/loyalty/pools/drinks";
    const body = { codes: ["DRINK-1"] };
    assert.equal((await world.call(`${path}/codes`, { headers, body })).status, 200);
    const fan = await world.fan("Sam");
    await fan.act("cheer");
    const redeem = (host: string) =>
      world.call(`${path}/redemptions`, { host, headers, body: { code: "DRINK-1" } });
    assert.equal((await redeem(neighbour.host)).status, 404);
    assert.equal((await redeem("club.example")).status, 200);
  });
});
