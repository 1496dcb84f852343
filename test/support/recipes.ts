/** The documents of the recipes in the guide of loyalty. */

import { textOf } from "../repo/files.ts";

/** Returns the document of a recipe by its title. */
export function recipeOf(title: string): Readonly<Record<string, unknown>> {
  const [, section = ""] = textOf("lib/fans/loyalty/README.md").split(`\n### ${title}\n`);
  const [, text = ""] = /^```json\n([\s\S]*?)^```/m.exec(section) ?? [];
  return JSON.parse(text);
}
