import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOutboxMailer } from "../../../adapters/mail/mod.ts";
import type { Mail } from "../../../lib/base/outbound/outbound.ts";
import { createTestClock } from "../../support/clock.ts";

function mailTo(to: string): Mail {
  return { to, kind: "passwordCode", subject: "Your code", text: "12345678" };
}

describe("an outbox", () => {
  it("keeps mails with their time, the newest first", async () => {
    const clock = createTestClock();
    const outbox = createOutboxMailer({ clock: clock.now });
    await outbox.send(mailTo("a@example.org"));
    clock.advance(2_500);
    await outbox.send(mailTo("b@example.org"));
    assert.deepEqual(outbox.list(), [
      { at: 1_750_000_002, ...mailTo("b@example.org") },
      { at: 1_750_000_000, ...mailTo("a@example.org") },
    ]);
  });

  it("keeps 100 mails", async () => {
    const outbox = createOutboxMailer();
    for (let count = 0; count <= 100; count++) await outbox.send(mailTo(`${count}@example.org`));
    assert.equal(outbox.list().length, 100);
    assert.equal(outbox.list()[0]?.to, "100@example.org");
    assert.equal(outbox.list().at(-1)?.to, "1@example.org");
  });

  it("reports a mail without recipient and content", async () => {
    const reported: object[] = [];
    const outbox = createOutboxMailer({ clock: () => 1_000, onMail: mail => reported.push(mail) });
    await outbox.send(mailTo("a@example.org"));
    assert.deepEqual(reported, [{ at: 1, kind: "passwordCode" }]);
  });

  it("returns independent lists", async () => {
    const outbox = createOutboxMailer();
    const before = outbox.list();
    await outbox.send(mailTo("a@example.org"));
    assert.deepEqual(before, []);
  });
});
