/** The settings of mailers. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseMailbox } from "../../../adapters/mail/deliveries.ts";
import { createSmtpMailer, parseSmtpUrl } from "../../../adapters/mail/smtp.ts";

describe("an SMTP URL", () => {
  it("names host, port, security and credentials", () => {
    const host = "mail.example.org";
    assert.deepEqual(parseSmtpUrl("smtp://mail.example.org"), {
      host,
      port: 587,
      security: "starttls",
      credentials: null,
    });
    assert.deepEqual(parseSmtpUrl("smtps://post%40example.org:p%40ss%3A%2F@mail.example.org/"), {
      host,
      port: 465,
      security: "tls",
      credentials: { user: "post@example.org", pass: "p@ss:/" },
    });
    assert.deepEqual(parseSmtpUrl("smtp://[::1]:1025?tls=off"), {
      host: "::1",
      port: 1025,
      security: "none",
      credentials: null,
    });
  });

  it("is rejected in any other form, without being repeated", () => {
    const wrong: [string, RegExp][] = [
      ["", /expected smtp:\/\//],
      ["mail.example.org:587", /expected smtp:\/\//],
      ["http://mail.example.org", /expected smtp:\/\//],
      ["smtp:mail.example.org", /expected smtp:\/\//],
      ["smtp://", /expected smtp:\/\//],
      ["smtp://mail.example.org:99999", /expected smtp:\/\//],
      ["smtp://mail.example.org/path", /nothing after host and port/],
      ["smtp://mail.example.org#x", /nothing after host and port/],
      ["smtp://mail.example.org?tls=none", /only parameter is tls=off/],
      ["smtp://mail.example.org?TLS=off", /only parameter is tls=off/],
      ["smtp://mail.example.org?tls=off&x=1", /only parameter is tls=off/],
      ["smtps://mail.example.org?tls=off", /only parameter is tls=off/],
      ["smtp://user:hunter2@mail.example.org?tls=off", /not sent without TLS/],
      ["smtp://user@mail.example.org", /both user and password/],
      ["smtp://:hunter2@mail.example.org", /both user and password/],
      ["smtp://user:hunter2%@mail.example.org", /percent-encoded/],
    ];
    for (const [url, message] of wrong) {
      assert.throws(
        () => createSmtpMailer({ url, from: "no-reply@example.org" }),
        (error: unknown) => {
          assert.ok(error instanceof TypeError, url);
          assert.match(error.message, message, url);
          assert.doesNotMatch(error.message, /hunter2/);
          return true;
        },
      );
    }
  });
});

describe("a sender", () => {
  it("is an address, with a name or without", () => {
    const address = "no-reply@example.org";
    assert.deepEqual(parseMailbox(` ${address} `), { name: "", address });
    assert.deepEqual(parseMailbox(`<${address}>`), { name: "", address });
    assert.deepEqual(parseMailbox(`Club Grünwald <${address}>`), { name: "Club Grünwald", address });
    assert.deepEqual(parseMailbox(`"Club, the" <${address}>`), { name: "Club, the", address });
  });

  it("is rejected unless it is exactly one", () => {
    const wrong = [
      "",
      "Club",
      "a@example.org, b@example.org",
      "Club <a@example.org> <b@example.org>",
      "Club <a@example.org",
      "Club\r\nBcc: all@example.org <a@example.org>",
      "a b@example.org",
      `${"a".repeat(254 - "@example.org".length + 1)}@example.org`,
      `${"n".repeat(200 + 1)} <a@example.org>`,
    ];
    for (const text of wrong) assert.throws(() => parseMailbox(text), TypeError, text);
    const longest = `${"a".repeat(254 - "@example.org".length)}@example.org`;
    assert.equal(parseMailbox(longest).address, longest);
    const name = "n".repeat(200);
    assert.equal(parseMailbox(`${name} <a@example.org>`).name, name);
  });
});
