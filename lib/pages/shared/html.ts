/** HTML from templates whose values are escaped. */

/** Text that is HTML already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | string | number | null | readonly (Html | string)[];

/** Builds HTML. Values are escaped unless they are HTML; lists are joined, and null is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.reduce((text, part, index) => text + shown(values[index - 1] ?? null) + part));
}

function shown(value: Value): string {
  if (value === null) return "";
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(shown).join("");
  return String(value).replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}
