import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOutboxMailer, type Mail, outboxMailsMaxDefault } from "../../../adapters/mail/mod.ts";
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

  it("keeps so many and no more", async () => {
    for (const [options, kept] of [
      [{}, outboxMailsMaxDefault],
      [{ mailsMax: 2 }, 2],
    ] as const) {
      const outbox = createOutboxMailer(options);
      for (let count = 0; count <= kept; count++) await outbox.send(mailTo(`${count}@example.org`));
      assert.equal(outbox.list().length, kept);
      assert.equal(outbox.list()[0]?.to, `${kept}@example.org`);
      assert.equal(outbox.list().at(-1)?.to, "1@example.org");
    }
  });

  it("tells of a mail, but not to whom and what", async () => {
    const told: object[] = [];
    const outbox = createOutboxMailer({ clock: () => 1_000, onMail: mail => told.push(mail) });
    await outbox.send(mailTo("a@example.org"));
    assert.deepEqual(told, [{ at: 1, kind: "passwordCode" }]);
  });

  it("hands out lists of their own", async () => {
    const outbox = createOutboxMailer();
    const before = outbox.list();
    await outbox.send(mailTo("a@example.org"));
    assert.deepEqual(before, []);
  });
});
