import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UserCache } from "../../../../../lib/fans/loyalty/user/state.ts";

const address = { organisationId: "org", spaceId: "space", userId: "ann" };

describe("the user cache", () => {
  it("keeps each user of a space apart", () => {
    const users = new UserCache();
    const ann = users.get(address);
    assert.equal(users.get({ ...address }), ann);
    assert.equal(ann.partition, "o:org:loyalty:ann");
    const others = ["organisationId", "spaceId", "userId"].map(name =>
      users.get({ ...address, [name]: "other" }),
    );
    assert.equal(new Set([ann, ...others]).size, 4);
  });

  it("filters out delivered scores, in whatever order they were delivered", () => {
    const ann = new UserCache().get(address);
    const updates = [3, 1, 2].map(asOf => ({ target: `t${asOf}`, score: 1, at: 1, asOf }));
    assert.equal(ann.withoutDelivered(updates), updates);
    ann.markDelivered(updates.slice(2));
    ann.markDelivered(updates.slice(1, 2));
    assert.deepEqual(ann.withoutDelivered(updates), updates.slice(0, 1));
    ann.markDelivered(updates);
    assert.deepEqual(ann.withoutDelivered(updates), []);
  });

  it("is bounded", () => {
    const users = new UserCache(10);
    const ann = users.get(address);
    ann.registeredUntil = 1;
    for (let n = 0; n <= 10; n++) users.get({ ...address, userId: `${n}` });
    assert.equal(users.get(address).registeredUntil, 0);
  });
});
