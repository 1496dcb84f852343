import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type User, Users } from "../../../../lib/fans/identity/mod.ts";
import { withLogin } from "../../../../lib/fans/identity/users.ts";
import { createTestClock } from "../../../support/clock.ts";
import { externalIds, ids, testSecret } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";

const devicesMax = 20;
const loginHistoryMax = 50;

const externalId = "a".repeat(32);
const user: User = {
  ...externalIds.seal("0f000000-0000-4000-8000-00000000000a", externalId),
  provider: "anonymous",
  username: "Sam",
  signUp: 100,
  loginHistory: [100],
  devices: [{ deviceId: "d0", signUp: 100, lastLogin: 100 }],
  appProfile: {},
};

describe("a login", () => {
  it("is added to the history, which keeps the newest", () => {
    let found = user;
    for (let now = 101; now <= 100 + loginHistoryMax; now++) found = withLogin(found, "d0", now);
    assert.equal(found.loginHistory.length, loginHistoryMax);
    assert.deepEqual([found.loginHistory[0], found.loginHistory.at(-1)], [101, 100 + loginHistoryMax]);
  });

  it("adds its device once, and drops the one unused for longest when there are too many", () => {
    let found = user;
    for (let number = 1; number < devicesMax; number++) found = withLogin(found, `d${number}`, 100 + number);
    assert.equal(found.devices.length, devicesMax);
    found = withLogin(found, "d0", 200);
    found = withLogin(found, "new", 201);
    const deviceIds = found.devices.map(({ deviceId }) => deviceId);
    assert.equal(deviceIds.length, devicesMax);
    assert.ok(deviceIds.includes("d0") && deviceIds.includes("new") && !deviceIds.includes("d1"));
    assert.deepEqual(
      found.devices.find(({ deviceId }) => deviceId === "d0"),
      { deviceId: "d0", signUp: 100, lastLogin: 200 },
    );
  });
});

describeOnStores("the users of a project", open => {
  it("are found by id and external id in their own project alone", async t => {
    const store = await open(createTestClock().now);
    t.after(() => store[Symbol.asyncDispose]());
    const users = new Users(store, testSecret);
    assert.equal(await users.findByKey(ids.project, { kind: "external", externalId }), null);
    assert.deepEqual(await users.create(ids.project, user), user);
    assert.deepEqual(await users.findById(ids.project, user.userId), user);
    assert.deepEqual(await users.findByKey(ids.project, { kind: "external", externalId }), user);
    assert.equal(await users.findById(ids.otherProject, user.userId), null);
    assert.equal(await users.findByKey(ids.otherProject, { kind: "external", externalId }), null);
  });

  it("stay as they are when they are created again, and lose no change of many at once", async t => {
    const store = await open(createTestClock().now);
    t.after(() => store[Symbol.asyncDispose]());
    const users = new Users(store, testSecret);
    await users.create(ids.project, user);
    assert.deepEqual(await users.create(ids.project, { ...user, username: "Other" }), user);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        users.update(ids.project, user.userId, old => ({
          ...old,
          loginHistory: [...old.loginHistory, index],
        })),
      ),
    );
    assert.equal((await users.findById(ids.project, user.userId))?.loginHistory.length, 21);
    assert.equal(await users.update(ids.project, "nobody", old => old), null);
  });
});
