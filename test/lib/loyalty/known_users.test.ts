import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KnownUsers, knownUsersMax } from "../../../lib/loyalty/user/known_users.ts";

const address = { organisationId: "org", spaceId: "space", userId: "ann" };

describe("what a process knows of users", () => {
  it("is found again, and of each user of a space apart", () => {
    const users = new KnownUsers();
    const ann = users.of(address);
    assert.equal(users.of({ ...address }), ann);
    assert.equal(ann.partition, "o:org:member:ann");
    const others = ["organisationId", "spaceId", "userId"].map(name =>
      users.of({ ...address, [name]: "other" }),
    );
    assert.equal(new Set([ann, ...others]).size, 4);
  });

  it("tells which scores have not arrived, whatever the order in which they do", () => {
    const ann = new KnownUsers().of(address);
    const updates = [3, 1, 2].map(asOf => ({ target: `t${asOf}`, score: 1, at: 1, asOf }));
    assert.equal(ann.undelivered(updates), updates);
    ann.noteArrived(updates.slice(2));
    ann.noteArrived(updates.slice(1, 2));
    assert.deepEqual(ann.undelivered(updates), updates.slice(0, 1));
    ann.noteArrived(updates);
    assert.deepEqual(ann.undelivered(updates), []);
  });

  it("is bounded", () => {
    const users = new KnownUsers();
    const ann = users.of(address);
    ann.registeredUntil = 1;
    for (let n = 0; n <= knownUsersMax; n++) users.of({ ...address, userId: `${n}` });
    assert.equal(users.of(address).registeredUntil, 0);
  });
});
