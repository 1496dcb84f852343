/** Copies of everything that is kept about a person, and the records that a removal leaves. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { DescribedKind } from "../../lib/fans/exports/http/user_data_routes.ts";
import { createUserData } from "../../lib/platform/user_data.ts";
import type { Read, Store, Write } from "../../lib/storage/mod.ts";
import { partitionParts } from "../../lib/storage/names.ts";
import { type Answer, ids } from "../support/platform.ts";
import { describeReplies } from "./_answers.ts";
import { type BackEndCall, backEnd } from "./audience/_back_end.ts";
import { deviceId, Pool, password } from "./managed_pool/_pool.ts";

const email = "fan@example.com";

/** A key that was written, as kinds of records name it. */
interface Written {
  readonly partition: string;
  readonly write: Write;
  readonly name: string;
}

/** Notes every write that names one of the texts. */
function watch(store: Store, written: Written[], texts: readonly string[]): Store {
  const commit: Store["commit"] = async (partition, batch) => {
    for (const write of batch.writes) {
      const text = `${partition} ${JSON.stringify(write)}`;
      if (texts.some(one => text.includes(one))) {
        written.push({ partition, write, name: nameOf(partition, write) });
      }
    }
    return await store.commit(partition, batch);
  };
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name === "commit") return commit;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function nameOf(partition: string, { key }: Write): string {
  const parts = partitionParts(partition);
  const [tenant] = parts === null ? ["platform"] : Object.keys(parts.tenant);
  const kind = parts === null ? partition.split(":")[1] : parts.kind;
  return `${tenant}/${kind} ${key.split(":")[0]}`;
}

/** Tells what is left of a key: its text. */
async function remains(store: Store, { partition, write: { key, type } }: Written): Promise<string> {
  const reads: Record<string, Read> = {
    put: { type: "record", key },
    add: { type: "tally", key },
    score: { type: "board", key, limit: 1_000 },
    append: { type: "log", key, limit: 1_000 },
  };
  const read = reads[type];
  if (read === undefined) return "null";
  const [found] = await store.read(partition, [read]);
  if (read.type === "tally") return JSON.stringify([...(found as ReadonlyMap<string, number>)]);
  return JSON.stringify(found);
}

/** A person who was a guest first, has an account, and has done everything that leaves a trace. */
async function openPerson() {
  const written: Written[] = [];
  const texts = [email];
  const desk = await Pool.open(async clock => watch(createMemoryStore({ clock }), written, texts));
  const { world } = desk;
  const call = await backEnd(world, [
    "actions:write",
    "rewards:write",
    "users:read",
    "users:write",
    "users:export",
  ]);
  const guest = await desk.anonymous();
  texts.push(guest.userId);
  const { isNew: _, ...record } = guest;
  const proof = { type: "sessionRecord", projectId: ids.project, record };
  const body = { action: "prediction", data: { outcome: "exact", eventId: ids.event } };
  const { accessToken: guestToken } = (await world.call("/api/auth/token", { body: proof })).json.data;
  assert.equal((await world.call("/api/loyalty/action", { token: guestToken, body })).status, 200);
  await desk.register(email);
  const login = await desk.login(email, { externalId: guest.externalId, deviceId });
  const { userId, accessToken } = login.json.data;
  texts.push(userId);
  await desk.login(email, { externalId: guest.externalId, deviceId });
  const user = { type: "accessToken", token: accessToken };
  const { accessToken: token } = (await world.call("/api/auth/token", { body: user })).json.data;
  await world.call("/api/loyalty/action", { token, body: { ...body, actionId: "one" } });
  await act(call, userId);
  await world.platform.work();
  await world.platform.idle();
  return { desk, call, written, userId, guest, token };
}

async function act(call: BackEndCall, userId: string): Promise<void> {
  const base = "/v1/api/audience/internal";
  const update = { userId, displayName: "Ann", metrics: { points: { op: "incr", value: 9 } }, updateId: "u" };
  for (const [path, sent] of [
    ["profiles/update-batch", { updates: [update] }],
    [
      "rewards/bulk",
      {
        rewards: [
          { userId, type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle", rewardId: "r" },
        ],
      },
    ],
    ["actions", { userId, action: "prediction", data: { outcome: "exact" }, actionId: "b" }],
  ] as const) {
    const answer = await call(`${base}/${path}`, { body: sent });
    assert.ok(answer.status < 300, answer.text);
  }
  const hidden = await call(`/projects/${ids.project}/hidden-users/${userId}`, { method: "PUT" });
  assert.ok(hidden.status < 300, hidden.text);
}

const dataOf = (call: BackEndCall, userId: string): Promise<Answer> =>
  call(`/v1/api/audience/internal/users/${userId}/data`);

type Document = {
  readonly kinds: readonly DescribedKind[];
  readonly records: readonly { readonly kind: string; readonly userId: string; readonly data: unknown }[];
};

/** Lists the members of a value that no path describes. Below a path without others there are values of apps. */
function undescribed(value: unknown, paths: readonly string[], above = ""): readonly string[] {
  const inner = paths.filter(path => path.startsWith(above));
  if (typeof value !== "object" || value === null || (inner.length === 0 && above !== "")) return [];
  const isList = inner.some(path => path.startsWith(`${above}*`));
  return Object.entries(value).flatMap(([name, member]) => {
    const path = `${above}${isList ? "*" : name}`;
    const isKnown = isList || paths.includes(path);
    return isKnown ? undescribed(member, paths, `${path}.`) : [path];
  });
}

/** What is left of a key after the removal of its user: nothing, or something of others. */
const gone = /^(null|\[\]|\{"entries":\[\],"size":0\})$/;

describe("everything that is kept about a user", () => {
  let person: Awaited<ReturnType<typeof openPerson>>;
  before(async () => {
    person = await openPerson();
  });
  after(() => person.desk.dispose());

  it("is for keys of the organisation that may export users, and noted on the export trail", async () => {
    const { desk, call, userId } = person;
    const foreign = await backEnd(desk.world, ["users:export"], ids.otherOrganisation);
    assert.equal((await dataOf(foreign, userId)).status, 404);
    assert.equal((await dataOf(call, "nobody")).json.code, "not_found");
    assert.equal((await dataOf(call, "x".repeat(129))).status, 400);
    const reader = await backEnd(desk.world, ["users:read"]);
    assert.equal((await dataOf(reader, userId)).json.code, "insufficient_scope");
    assert.equal((await dataOf(call, userId)).status, 200);
    const trail = (await call("/v1/api/audience/internal/export-trail")).json.data;
    assert.deepEqual([trail.length, trail[0].event, trail[0].userId], [1, "user_data", userId]);
  });

  it("has a schema for each kind of record that a document can have", async () => {
    const { desk, call, userId } = person;
    const { kinds } = (await dataOf(call, userId)).json as Document;
    const { schemas } = (await desk.world.call("/openapi.json")).json.components;
    const described = schemas.UserData.properties.records.items.anyOf.map(
      ({ $ref }: { readonly $ref: string }) => {
        const { kind, data } = schemas[$ref.replace("#/components/schemas/", "")].properties;
        assert.notEqual(data.type, undefined, kind.const);
        return kind.const;
      },
    );
    const shown = kinds.filter(({ leftOut }) => leftOut === undefined).map(({ kind }) => kind);
    assert.deepEqual(described.toSorted(), shown.toSorted());
  });

  it("is in one document, of which a removal leaves what the document says", async () => {
    const { desk, call, written, userId, guest } = person;
    const { platform, store } = desk.world;
    const answer = await dataOf(call, userId);
    assert.ok((await describeReplies(desk.world)).fits("getUserData", answer.json), answer.text);
    const { kinds, records } = answer.json as Document;
    const { kinds: declared } = createUserData({
      ...platform,
      store,
      deadLetters: { list: () => assert.fail() },
    });
    const kindOf = (name: string) => declared.find(({ stored }) => stored.some(one => one === name));

    const names = [...new Set(written.map(({ name }) => name))];
    const undeclared = names.filter(name => kindOf(name) === undefined);
    assert.deepEqual(undeclared, [], "records that no kind declares");
    const shown = new Set(records.map(({ kind }) => kind));
    const missing = names
      .map(kindOf)
      .filter(kind => kind?.leftOut === undefined && !shown.has(kind?.name ?? ""));
    assert.deepEqual(missing, [], "kinds that the document lacks");
    assert.ok(records.some(record => record.userId === guest.userId && record.kind === "history"));
    for (const credential of [password, guest.externalId, "$scrypt", guest.signature]) {
      assert.ok(!answer.text.includes(credential), credential);
    }
    const numbers = answer.text.match(/"\w+":\[?17\d{8}(\d{3})?[,\]}]/g);
    assert.deepEqual(numbers, null, "times that are no texts");
    const unsaid = records.flatMap(({ kind, data }) => {
      const members = Object.keys(kinds.find(one => one.kind === kind)?.members ?? {});
      return undescribed(data, members).map(path => `${kind} ${path}`);
    });
    assert.deepEqual(unsaid, [], "members that no kind describes");
    for (const { kind, removal, reason } of kinds)
      assert.equal(reason !== undefined, removal !== "removed", kind);

    const path = `/internal/identity/projects/${ids.project}/users/${userId}`;
    assert.equal((await call(path, { method: "DELETE" })).status, 200);
    await platform.idle();
    desk.world.clock.advance(60_000);
    await platform.work();
    await platform.idle();
    const left: string[] = [];
    for (const one of written) {
      if (kindOf(one.name)?.removal !== "removed") continue;
      const text = await remains(store, one);
      const owner = [userId, guest.userId].find(id => one.partition.includes(id));
      const isLeft =
        owner === undefined ? text.includes(userId) || text.includes(guest.userId) : !gone.test(text);
      if (isLeft) left.push(one.name);
    }
    assert.deepEqual(left, [], "records that a removal leaves");
    const afterwards = (await dataOf(call, userId)).json as Document;
    const isRemoved = (name: string) =>
      kinds.some(({ kind, removal }) => kind === name && removal === "removed");
    assert.deepEqual(
      afterwards.records.filter(({ kind }) => isRemoved(kind)),
      [],
    );
  });
});
