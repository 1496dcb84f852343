/** The words of a project in its mails: what may be set, and what comes where a word is missing. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writePoolMail } from "../../../../lib/fans/identity/providers/managed_pool/mails.ts";
import { identityFaults } from "../../../../lib/fans/identity/settings.ts";

const words = { code: "Il codice è", life: "Vale poco.", link: "Apri" };
const own = { subject: "Ciao", lines: ["Una riga"] };
const languagesMax = 40;

function faults(mails: unknown): readonly string[] {
  return identityFaults({ identity: { mails } }, "").map(
    ({ pointer, detail }) => `${pointer.replace("/identity/mails", "")} ${detail}`,
  );
}

describe("the words of a project in its mails", () => {
  it("replace those that it has, and leave the others", () => {
    const name = "Project";
    const mails = {
      texts: { de: { loginCode: own }, it: { ...words, loginCode: own }, en: { emailCode: own } },
    };
    const mailOf = (locale: string, kind: "loginCode" | "emailCode") => {
      const { subject, text, html } = writePoolMail({ kind, name, own: mails, locale, code: "12345678" });
      return [subject, text.split("\n")[0], /lang="(\w+)"/.exec(html)?.[1]];
    };
    assert.deepEqual(mailOf("it", "loginCode"), ["Ciao", "Il codice è 12345678. Vale poco.", "it"]);
    const german = "Dein Code ist 12345678. Er gilt 10 Minuten und nur einmal.";
    assert.deepEqual(mailOf("de-AT", "loginCode"), ["Ciao", german, "de"]);
    const confirm = "Project: Dein Code zur Bestätigung deiner E-Mail-Adresse";
    assert.deepEqual(mailOf("de", "emailCode"), [confirm, german, "de"]);
    const english = "Your code is 12345678. It is valid for 10 minutes and can be used once.";
    // Italian lacks the kind, and no language is called like a method of objects.
    for (const locale of ["it", "constructor", ""]) {
      assert.deepEqual(mailOf(locale, "emailCode"), ["Ciao", english, "en"]);
    }
    assert.deepEqual(mailOf("", "loginCode"), ["Project: Your code to log in", english, "en"]);
  });

  it("are refused where they are too many, too long, or no text that can be shown", () => {
    assert.deepEqual(faults({}), []);
    assert.deepEqual(faults({ sender: "x".repeat(100), texts: { it: { ...words, loginCode: own } } }), []);
    const line = "x".repeat(1_000);
    const full = { subject: "x".repeat(200), lines: Array(20).fill(line) };
    assert.deepEqual(faults({ texts: { de: { passwordChanged: full } } }), []);
    for (const [mails, place] of [
      [{ from: "x" }, "/from "],
      [{ sender: "x".repeat(101) }, "/sender "],
      [{ sender: "FC\r\nBcc: all@example.org" }, "/sender "],
      [{ sender: "" }, "/sender "],
      [{ texts: { German: words } }, "/texts/German "],
      [{ texts: { it: { loginCode: own } } }, "/texts "],
      [{ texts: { de: { welcome: own } } }, "/texts/de/welcome "],
      [{ texts: { de: { code: "x".repeat(201) } } }, "/texts/de/code "],
      [{ texts: { de: { loginCode: { subject: "a" } } } }, "/texts/de/loginCode/lines "],
      [{ texts: { de: { loginCode: { ...own, subject: "a\nb" } } } }, "/texts/de/loginCode/subject "],
      [{ texts: { de: { loginCode: { ...own, lines: [`${line}x`] } } } }, "/texts/de/loginCode/lines/0 "],
      [
        { texts: { de: { loginCode: { ...own, lines: Array(21).fill("x") } } } },
        "/texts/de/loginCode/lines ",
      ],
    ] as const) {
      const found = faults(mails);
      assert.ok(found.length > 0 && found.every(fault => fault.startsWith(place)), `${place}: ${found}`);
    }
    const many = Array.from({ length: languagesMax + 1 }, (_, index) => [
      `q${String.fromCharCode(97 + Math.floor(index / 26), 97 + (index % 26))}`,
      words,
    ]);
    assert.deepEqual(faults({ texts: Object.fromEntries(many) }), ["/texts Expected at most 40 languages"]);
    assert.deepEqual(faults({ texts: Object.fromEntries(many.slice(1)) }), []);
  });
});
