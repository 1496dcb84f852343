/** Cursors are good for the user, list and filters that they were made for, and for a day. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type CursorScope, Cursors } from "../../../lib/auth/cursors.ts";
import { AppError } from "../../../lib/mod.ts";
import { createTestClock } from "../../support/clock.ts";

const scope: CursorScope = {
  organisationId: "o",
  spaceId: "s",
  userId: "u",
  resource: "transactions",
  filters: { type: "credit", currency: undefined },
};
const clock = createTestClock();
const cursors = new Cursors([new Uint8Array(32).fill(7)], clock.now);

function sealed(position = "1750000000000-3 2", of: CursorScope = scope): string {
  const cursor = cursors.seal(of, position);
  assert.ok(cursor !== null);
  return cursor;
}

function refused(of: CursorScope, cursor: string): void {
  assert.throws(
    () => cursors.open(of, cursor),
    (error: unknown) =>
      error instanceof AppError &&
      error.code === "validation_failed" &&
      error.fields?.[0]?.pointer === "lastEvaluatedKey",
  );
}

describe("a cursor", () => {
  it("returns its position, whatever that contains", () => {
    for (const position of ["1750000000000-3 2", "", " ", "é€😀 .", "x".repeat(500)]) {
      assert.equal(cursors.open(scope, sealed(position)), position);
    }
    assert.equal(cursors.open(scope, undefined), undefined);
    assert.equal(cursors.seal(scope, null), null);
  });

  it("can be opened with the key that sealed it, and with no other", () => {
    const [same, other] = [7, 8].map(byte => new Cursors([new Uint8Array(32).fill(byte)], clock.now));
    assert.equal(same?.open(scope, sealed("x")), "x");
    assert.throws(() => other?.open(scope, sealed("x")), AppError);
  });

  it("is refused if a single character was changed", () => {
    const cursor = sealed();
    for (let at = 0; at < cursor.length; at++) {
      const forged = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
      refused(scope, forged);
    }
    for (const forged of ["", ".", "a", "a.b", `${cursor}.`, `${cursor}.a`, `.${cursor}`, "é.é"]) {
      refused(scope, forged);
    }
    refused(scope, "a".repeat(1_025));
  });

  it("is refused for another organisation, space, user, list or filter", () => {
    const cursor = sealed();
    const others: readonly Partial<CursorScope>[] = [
      { organisationId: "p" },
      { spaceId: "t" },
      { userId: "v" },
      { userId: "" },
      { resource: "notifications" },
      { filters: {} },
      { filters: { type: "debit" } },
      { filters: { type: "credit", currency: "" } },
      { filters: { currency: "credit" } },
    ];
    for (const other of others) refused({ ...scope, ...other }, cursor);
    assert.equal(cursors.open({ ...scope, filters: { type: "credit" } }, cursor), "1750000000000-3 2");
  });

  it("cannot be moved between scopes whose parts concatenate alike", () => {
    const cursor = sealed("x", { ...scope, organisationId: "ab", spaceId: "c" });
    refused({ ...scope, organisationId: "a", spaceId: "bc" }, cursor);
  });

  it("expires after a day", () => {
    const cursor = sealed("x");
    clock.advance(86_400_000 - 1);
    assert.equal(cursors.open(scope, cursor), "x");
    clock.advance(1);
    refused(scope, cursor);
  });
});
