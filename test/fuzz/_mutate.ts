/** Texts near valid ones, made from a seed. */

import type { Random } from "../../adapters/conformance/random.ts";

/** Texts that parsers stumble over, of every syntax that the platform reads. */
const fragments: readonly string[] = [
  ..."\u0000\t\n\r \"'`\\/<>{}[]()=:;,.+-*&%#?@!|^~$_0aZé😀",
  "\r\n",
  "\u2028",
  "\u202e",
  "\ud800",
  "\ufeff",
  "＝",
  "%00",
  "%ff",
  "%e2%80",
  "../",
  "-0",
  "1e999",
  "9007199254740993",
  "0x10",
  "null",
  "true",
  "NaN",
  "__proto__",
  "constructor",
  "toString",
  '""',
  "<br>",
  "</strong>",
  "&#39;",
  "&amp",
  "2026-02-30",
  "T24:00:00Z",
  "+23:59",
  "::",
  "::ffff:",
  "999",
  "/33",
  "W/",
  "*",
  "bytes=",
  "Bearer ",
  "eyJhbGciOiJub25lIn0",
  "!!js/function ",
  "&a ",
  "*a",
  "<<: ",
  "---\n",
  "{{x}}",
  "--",
  "--json",
  "whsec_",
  "data:;base64,",
];

const values: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  -1,
  0.1,
  1e308,
  2 ** 53,
  "",
  " ",
  "a",
  "__proto__",
  "\u0000",
  "😀".repeat(20),
  "2026-01-01T00:00:00Z",
  [],
  {},
  [[]],
  { var: "points" },
  [null],
];

/** Returns a text near one of the seeds. JSON is changed as a tree as often as a text. */
export function mutate(random: Random, seeds: readonly string[]): string {
  let text = random.pick(seeds);
  for (let rounds = 1 + random.integer(4); rounds > 0; rounds--) {
    const tree = random.chance(0.5) ? jsonOf(text) : undefined;
    text = tree === undefined ? mutateText(random, text, seeds) : JSON.stringify(mutateValue(random, tree));
  }
  return text;
}

function mutateText(random: Random, text: string, seeds: readonly string[]): string {
  const at = random.integer(text.length + 1);
  const end = Math.min(text.length, at + random.integer(random.chance(0.2) ? text.length + 1 : 5));
  switch (random.integer(7)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, at) + random.pick(fragments) + text.slice(at);
    case 2:
      return text.slice(0, at) + random.pick(fragments) + text.slice(end);
    case 3:
      return text.slice(0, end) + text.slice(at, end).repeat(random.integer(6)) + text.slice(end);
    case 4: {
      const other = random.pick(seeds);
      return text.slice(0, at) + other.slice(random.integer(other.length + 1));
    }
    case 5:
      return text.slice(0, at) + random.pick(fragments).repeat(random.integer(70)) + text.slice(at);
    default:
      return text.slice(0, at) + String.fromCharCode(random.integer(0x2_80)) + text.slice(at + 1);
  }
}

function mutateValue(random: Random, value: unknown): unknown {
  const isBranch = typeof value === "object" && value !== null && Object.keys(value).length > 0;
  if (!isBranch || random.chance(0.25)) return random.chance(0.1) ? deep(random, value) : random.pick(values);
  const key = random.pick(Object.keys(value));
  const changed = mutateValue(random, Reflect.get(value, key));
  if (Array.isArray(value)) {
    const index = Number(key);
    return random.chance(0.2)
      ? value.toSpliced(index, 1)
      : value.toSpliced(index, random.integer(2), changed);
  }
  const entries = Object.entries(value).filter(([name]) => name !== key);
  if (random.chance(0.2)) return Object.fromEntries(entries);
  const name = random.chance(0.15) ? random.pick(fragments) : key;
  return Object.fromEntries([...entries, [name, changed]]);
}

function deep(random: Random, value: unknown): unknown {
  let nested = value;
  for (let levels = random.integer(80); levels > 0; levels--)
    nested = random.chance(0.5) ? [nested] : { and: [nested] };
  return nested;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Long texts around a seed: what parsers that try everything twice take far too long for. */
export function* longTexts(seeds: readonly string[]): Generator<(length: number) => string> {
  for (const seed of seeds) {
    const middle = Math.floor(seed.length / 2);
    for (const unit of fragments) {
      const repeated = (length: number): string => unit.repeat(Math.ceil(length / unit.length));
      yield length => seed.slice(0, middle) + repeated(length) + seed.slice(middle);
      yield length => `${seed}${repeated(length)}\u0001`;
    }
  }
}
