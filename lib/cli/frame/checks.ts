/** Returns what is wrong with a value, such as "must be a number from 0 to 9"; null: nothing. */
export type Check = (value: string) => string | null;

export function whole(min: number, max: number): Check {
  return text =>
    /^-?\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? null
      : `must be a whole number from ${min} to ${max}`;
}

export function oneOf(...words: readonly string[]): Check {
  return text => (words.includes(text) ? null : `must be one of ${words.join(", ")}`);
}

export function someOf(...words: readonly string[]): Check {
  return text =>
    text.split(",").every(word => words.includes(word))
      ? null
      : `must be some of ${words.join(", ")}, separated by commas`;
}

export const instant: Check = text =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i.test(text) &&
  Number.isFinite(Date.parse(text))
    ? null
    : "must be an ISO 8601 time with an offset, such as 2026-11-22T20:00:00+01:00 or …Z";

export const id: Check = text =>
  /^[0-9A-Za-z_-]{1,64}$/.test(text) ? null : "must be an id: letters, digits, - and _";

export function isThisMachine({ hostname }: URL): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

export const address: Check = text => {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isThisMachine(url)))
    ? null
    : "must be an https address, or an http one of this machine";
};

/** Returns the path behind an `@`, or the text that a value stands for: `@@` begins a text with `@`. */
export function pathOrText(value: string): { readonly path: string } | { readonly text: string } {
  if (!value.startsWith("@")) return { text: value };
  return value.startsWith("@@") ? { text: value.slice(1) } : { path: value.slice(1) };
}
