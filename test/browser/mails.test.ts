/** The mails to fans as Chromium shows them on a phone, light and dark. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  mailLanguages,
  poolMailKinds,
  writePoolMail,
} from "../../lib/fans/identity/providers/managed_pool/mails.ts";
import { browserAvailable } from "../support/browser.ts";
import { openContext } from "./_studio.ts";

const link = `https://club.example/enter?lang=de#email=${"long".repeat(40)}%40example.org&code=12345678`;
const name = `FC <img src=x> "Süd" & 'Söhne'`;

describe("mails to fans", { skip: browserAvailable() }, () => {
  it("fit a phone in every language, dark too, and show names as they are", async () => {
    const context = await openContext({ viewport: { width: 360, height: 640 }, colorScheme: "dark" });
    const page = await context.newPage();
    const subjects = new Set<string>();
    for (const locale of mailLanguages) {
      for (const kind of poolMailKinds) {
        const { html, text, subject } = writePoolMail({ kind, name, locale, code: "12345678", link });
        subjects.add(subject);
        await page.setContent(html);
        const shown = await page.evaluate(() => ({
          width: document.documentElement.scrollWidth,
          text: document.body.textContent ?? "",
          images: document.images.length,
          link: document.querySelector("a")?.href,
          language: document.documentElement.lang,
          background: getComputedStyle(document.body).backgroundColor,
        }));
        const { text: words, ...rest } = shown;
        const background = "rgb(15, 17, 21)";
        assert.deepEqual(rest, { width: 360, images: 0, link, language: locale, background });
        for (const part of [name, "12345678"]) assert.ok(words.includes(part) && text.includes(part), words);
      }
    }
    assert.equal(subjects.size, mailLanguages.length * poolMailKinds.length, "none is left untranslated");
    await page.emulateMedia({ colorScheme: "light" });
    const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(light, "rgb(243, 244, 246)");
  });
});
