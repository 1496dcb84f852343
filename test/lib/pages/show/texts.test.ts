/** The texts of the fans' page: words beside a number have its form in every language. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formOf } from "../../../../lib/pages/show/page/texts.ts";
import { texts as english, type Texts } from "../../../../lib/pages/show/page/texts_en.ts";

const files = {
  ar: ["+{count} نقطة", "+{count} نقطة", "+{count} نقاط"],
  de: ["+{count} Punkt", "+{count} Punkte", "+{count} Punkte"],
  en: ["+{count} point", "+{count} points", "+{count} points"],
  es: ["+{count} punto", "+{count} puntos", "+{count} puntos"],
  fr: ["+{count} point", "+{count} points", "+{count} points"],
  pt: ["+{count} ponto", "+{count} pontos", "+{count} pontos"],
};

describe("the texts of the show", () => {
  for (const [language, expected] of Object.entries(files)) {
    it(`have the forms of numbers in ${language}`, async () => {
      const { texts } = (await import(`../../../../lib/pages/show/page/texts_${language}.ts`)) as {
        readonly texts: Texts;
      };
      // The build leaves the keys away, so their order says which text is which.
      assert.deepEqual(Object.keys(texts), Object.keys(english));
      const won = [1, 2, 5].map(count => formOf(texts.won, language, { count }));
      assert.deepEqual(won, expected);
      // A number that stands alone, or after the word and a colon, needs no form.
      const worth = [1, 5].map(count => formOf(texts.worth, language, { count }));
      assert.notEqual(worth[0], worth[1]);
      assert.equal(formOf(texts.votes, language, { count: 1 }), formOf(texts.votes, language, { count: 5 }));
    });
  }
});
