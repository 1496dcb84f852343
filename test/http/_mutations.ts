/** Requests near valid ones, made from a seed. */

import type { Random } from "../../adapters/conformance/random.ts";
import { ids } from "../support/platform.ts";
import { type Example, type Operation, targetOf } from "./_operations.ts";

/** A request as it is sent. */
export interface FuzzRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  /** True if method and path still belong to the operation. */
  readonly isOnPath: boolean;
}

const strangeTexts: readonly string[] = [
  "",
  " ",
  "0",
  "-1",
  "1.5",
  "1e400",
  "null",
  "true",
  "a",
  "\u0000",
  "\n",
  "\u2028",
  "😀",
  "～",
  "\u{10ffff}",
  "{}:*",
  "%",
  "%2F",
  "../..",
  "a/b",
  "?",
  "#",
  "&=",
  ",",
  ",,",
  "'",
  '"',
  "\\",
  "<script>",
  "$where",
  "*",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "current",
  "latest",
  "overall",
  "round_0",
  "round_1",
  "round_10000",
  "speed",
  "prediction",
  "adjust",
  "simplified",
  "noLogin",
  "anonymous",
  "sessionRecord",
  "service",
  "set",
  "sum",
  "1970-01-01T00:00:00Z",
  "9999-99-99T99:99:99Z",
  "a".repeat(64),
  "a".repeat(65),
  "～".repeat(128),
  "a".repeat(129),
  "a".repeat(1_024),
  "a".repeat(1_025),
  "a".repeat(3_000),
  ids.organisation,
  ids.space,
  ids.project,
  ids.event,
  ids.otherProject,
  ids.project.toUpperCase(),
  "00000000-0000-0000-0000-000000000000",
];
const strangeValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1,
  1.5,
  1e-300,
  1e308,
  -1e308,
  2 ** 53,
  -(2 ** 53),
  1_750_000_000,
  [],
  [[]],
  {},
  [null],
  [1, "a"],
  { a: { b: [{}] } },
  { constructor: { x: 1 } },
  { length: -1 },
  { toString: 1 },
  { toJSON: "x" },
  Array(200).fill(0),
];
const strangeHeaders: readonly (readonly [name: string, values: readonly string[]])[] = [
  [
    "content-type",
    [
      "",
      "text/plain",
      "application/json; charset=utf-16",
      "application/json;;;",
      "application/JSON",
      "*/*",
      ";",
    ],
  ],
  ["content-length", ["", "-1", "0", "1", "99999999999999999999", "1e3", "abc"]],
  ["x-request-id", ["", "a", "abcdefgh", "x".repeat(65), "a b c d e f g h", "../../../etc"]],
  [
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer a.b.c", "Basic YTpi", "bearer null", `Bearer ${"a".repeat(9_000)}`],
  ],
  ["x-api-key", ["", "gsk_", `gsk_${"a".repeat(26)}`, "__proto__", "a".repeat(5_000)]],
  ["x-api-secret", ["", "gss_", "__proto__"]],
  ["origin", ["", "null", "https://a.example", "x".repeat(2_000)]],
  ["host", ["other.example", "", "a:b:c", "x".repeat(600), "%"]],
  ["expect", ["100-continue"]],
  ["x-http-method-override", ["DELETE"]],
  ["accept", ["text/html", "*/*;q=0"]],
];
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const hosts = [
  "club.example",
  "club.example",
  "club.example",
  "other.example",
  "unknown.example",
  "127.0.0.1:8787",
];

/** Makes one request near the example. */
export function mutated(
  random: Random,
  operation: Operation,
  valid: { readonly example: Example; readonly headers: Readonly<Record<string, string>> },
): FuzzRequest {
  const { example } = valid;
  const params = mapped(example.params, value => (random.chance(0.15) ? text(random) : value));
  const query = mapped(example.query, value => (random.chance(0.25) ? text(random) : value));
  if (random.chance(0.1))
    query[random.pick([...operation.queryNames, "user_id", "limit", "include"])] = text(random);
  let target = targetOf(operation, { params, query });
  let isOnPath = Object.values(params).every(value => !["", ".", ".."].includes(value));
  if (random.chance(0.05)) {
    target = `/${scrambled(random, target.slice(1))}`;
    isOnPath = false;
  }
  const isOtherMethod = random.chance(0.04);
  const method = isOtherMethod ? random.pick(methods) : operation.method;
  const headers: Record<string, string> = random.chance(0.5)
    ? { ...valid.headers }
    : credentials(random, valid.headers);
  let body: FuzzRequest["body"] = null;
  if (example.body !== undefined && method !== "GET" && method !== "HEAD") {
    headers["content-type"] = "application/json";
    body = bodyText(random, example.body);
  }
  if (random.chance(0.15)) {
    const [name, values] = random.pick(strangeHeaders);
    headers[name] = random.pick(values);
  }
  return {
    method,
    url: `http://${random.pick(hosts)}${target}`,
    headers,
    body,
    isOnPath: isOnPath && !isOtherMethod,
  };
}

function mapped(
  of: Readonly<Record<string, string>>,
  change: (value: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));
}

function text(random: Random): string {
  if (random.integer(10) < 7) return random.pick(strangeTexts).toWellFormed();
  const units = Array.from({ length: random.integer(41) }, () => random.integer(0x10000));
  return String.fromCharCode(...units).toWellFormed();
}

function credentials(random: Random, valid: Readonly<Record<string, string>>): Record<string, string> {
  if (random.integer(2) === 0) return {};
  return mapped(valid, value => (random.integer(2) === 0 ? printable(scrambled(random, value)) : value));
}

/** Characters that a header may hold. */
function printable(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, "~").trim();
}

/** Text of which a few characters were changed, removed or repeated. */
function scrambled(random: Random, source: string): string {
  let result = source;
  for (let edits = 1 + random.integer(4); edits > 0; edits--) {
    const at = random.integer(Math.max(1, result.length));
    const insert = random.pick([
      "",
      "",
      "/",
      "%",
      "%2e",
      "{",
      "}",
      '"',
      ",",
      ":",
      "\\",
      "0",
      "é",
      result.slice(at, at + 8),
    ]);
    result = result.slice(0, at) + insert + result.slice(at + random.integer(4));
  }
  return result.toWellFormed();
}

function bodyText(random: Random, valid: unknown): string | Uint8Array<ArrayBuffer> {
  const kind = random.integer(20);
  if (kind < 4) return JSON.stringify(valid);
  if (kind < 17) {
    let value = valid;
    for (let edits = 1 + random.integer(3); edits > 0; edits--) value = edited(random, value);
    return JSON.stringify(value) ?? "";
  }
  if (kind < 19) return scrambled(random, JSON.stringify(valid));
  return Uint8Array.from({ length: random.integer(201) }, () => random.integer(256));
}

/** A copy in which one part is another value, gone, or has one more member. */
function edited(random: Random, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return part(random);
  const names = Object.keys(value);
  if (names.length === 0 || random.integer(10) === 0) return { ...value, [text(random)]: part(random) };
  const name = random.pick(names);
  const old = (value as Record<string, unknown>)[name];
  const choice = random.integer(10);
  if (choice === 0) return { ...value, [name]: undefined };
  if (choice < 5 && typeof old === "object" && old !== null) return { ...value, [name]: edited(random, old) };
  return { ...value, [name]: part(random) };
}

function part(random: Random): unknown {
  return random.integer(2) === 0 ? text(random) : random.pick(strangeValues);
}
