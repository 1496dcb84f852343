/** Requests that nobody means well with: every part of a valid one, replaced by each of many things that break programs. */

import { type Example, type Operation, targetOf } from "./_operations.ts";

/** One hostile request, relative to a valid one. */
export interface HostileRequest {
  /** The fault. */
  readonly what: string;
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  /** True if the path is still one of the operation's. */
  readonly isOnPath: boolean;
}

/** JSON texts in place of a value. */
const hostileJson: readonly string[] = [
  "null",
  "true",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\r\\nSet-Cookie: a=b"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"../../etc/passwd"',
  '"{}:*%/~"',
  `"${"a".repeat(10_000)}"`,
  "-0",
  "-1",
  "1e-7",
  "1e308",
  "-1e308",
  "1e400",
  "-1e400",
  "9007199254740993",
  "0.1",
  "[]",
  "[[]]",
  `[${Array(300).fill("0").join()}]`,
  "{}",
  '{"constructor":1,"toString":null,"valueOf":[],"hasOwnProperty":0}',
  '{"length":-1}',
  '{"then":1}',
  '{"a":1e400}',
  '{"a":{"toString":null,"valueOf":[]}}',
  `${"[".repeat(60)}${"]".repeat(60)}`,
  `${"[".repeat(200)}${"]".repeat(200)}`,
  `${'{"a":'.repeat(60)}1${"}".repeat(60)}`,
];

/** Members that no object has, as JSON. */
const hostileMembers: readonly string[] = [
  '"__proto__":{"isAdmin":true}',
  '"constructor":{"prototype":{"isAdmin":true}}',
  '"constructor":1',
  '"toString":1',
  '"":1',
  '"\\u0000":1',
  '"\\ud800":1',
  `"${"k".repeat(10_000)}":1`,
];

/** Segments of a path, percent-encoded already. */
const hostileSegments: readonly string[] = [
  "%2F",
  "..%2F..",
  "%2e%2e%2f",
  "%5C..%5C",
  "%00",
  "a%00b",
  "%0D%0ASet-Cookie:a=b",
  "%ED%A0%80",
  "%ff",
  "%",
  "%zz",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "%7B%7D:*",
  "%25",
  "%F0%9F%98%80",
  "%E2%80%A8",
  "%EF%BB%BF",
  "-0",
  "1e400",
  "9007199254740993",
  "99999999999999999999",
  "-1",
  "%20",
  "+",
  "x".repeat(1_000),
  "x".repeat(10_000),
  "%E2%82%AC".repeat(200),
];

const hostileBodies: readonly (readonly [what: string, body: string | Uint8Array<ArrayBuffer>])[] = [
  ["an empty body", ""],
  ["a byte order mark", new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])],
  ["UTF-16", new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0])],
  ["overlong UTF-8", new Uint8Array([0x22, 0xc0, 0xaf, 0x22])],
  ["a surrogate in UTF-8", new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ["deep arrays", `${"[".repeat(30_000)}${"]".repeat(30_000)}`],
  ["a long number", "9".repeat(60_000)],
  ["a repeated member", '{"data":{},"data":[]}'],
  ["gzip", new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])],
];

/** All of an operation's hostile requests near one of its valid ones. */
export function* hostileRequests(operation: Operation, example: Example): Generator<HostileRequest> {
  const plain = {
    method: operation.method,
    target: targetOf(operation, example),
    headers: {},
    body: example.body === undefined ? null : JSON.stringify(example.body),
    isOnPath: true,
  };
  for (const [what, body] of bodies(example.body)) yield { ...plain, what, body };
  for (const [what, target] of targets(operation, example)) yield { ...plain, what, target };
  for (const [what, target] of otherPaths(plain.target)) yield { ...plain, what, target, isOnPath: false };
  const isRead = operation.method === "GET";
  for (const method of ["HEAD", "OPTIONS", "PATCH", "DELETE", "PUT", "POST", "PROPFIND"]) {
    if (method === operation.method || (isRead && method === "HEAD")) continue;
    yield { ...plain, what: `the method ${method}`, method, body: method === "HEAD" ? null : plain.body };
  }
  for (const [name, value] of hostileFields)
    yield { ...plain, what: `${name}: ${value.slice(0, 40)}`, headers: { [name]: value } };
}

const hostileFields: readonly (readonly [string, string])[] = [
  ["content-type", "multipart/form-data; boundary=a"],
  ["content-encoding", "gzip"],
  ["if-match", `"${"v".repeat(5_000)}"`],
  ["if-match", "W/".repeat(4_000)],
  ["if-match", '"'.repeat(8_001)],
  ["if-none-match", `${'"a",'.repeat(2_000)}`],
  ["idempotency-key", `"${"k".repeat(5_000)}"`],
  ["idempotency-key", '"\\'],
  ["idempotency-key", "__proto__"],
  ["range", "bytes=0-,".repeat(900)],
  ["range", "bytes=99999999999999999999-"],
  ["x-platform-org-id", "__proto__"],
  ["host", "__proto__"],
  ["host", "[::1"],
  ["x-forwarded-for", ",".repeat(8_000)],
  ["accept", "text/event-stream;".repeat(400)],
  ["last-event-id", "\u0080\u00ff"],
];

function* bodies(valid: unknown): Generator<readonly [string, string | Uint8Array<ArrayBuffer>]> {
  if (valid === undefined) return;
  yield* hostileBodies;
  yield* replaced(valid, "");
}

/** Every text of a value of which one place holds something else. */
function* replaced(value: unknown, at: string): Generator<readonly [string, string]> {
  for (const text of hostileJson) yield [`${text.slice(0, 60)} at ${at}`, text];
  if (typeof value !== "object" || value === null) return;
  const parts = Object.entries(value).map(([name, part]) => [name, JSON.stringify(part)] as const);
  const write = (members: readonly (readonly [string, string | undefined])[], more: string = ""): string => {
    const there = members.filter(([, text]) => text !== undefined);
    if (Array.isArray(value)) return `[${there.map(([, text]) => text).join()}]`;
    const texts = there.map(([name, text]) => `${JSON.stringify(name)}:${text}`);
    return `{${(more === "" ? texts : [...texts, more]).join()}}`;
  };
  for (const [name, part] of Object.entries(value)) {
    const withText = (text: string | undefined): string =>
      write(parts.map(([other, old]) => [other, other === name ? text : old]));
    yield [`nothing at ${at}/${name}`, withText(undefined)];
    for (const [what, text] of replaced(part, `${at}/${name}`)) yield [what, withText(text)];
  }
  if (Array.isArray(value)) return;
  for (const member of hostileMembers) yield [`${member.slice(0, 60)} in ${at}`, write(parts, member)];
}

function* targets(operation: Operation, example: Example): Generator<readonly [string, string]> {
  const slot = "SLOT";
  for (const name of Object.keys(example.params)) {
    const target = targetOf(operation, { ...example, params: { ...example.params, [name]: slot } });
    for (const segment of hostileSegments)
      yield [`${name}=${segment.slice(0, 40)}`, target.replace(slot, () => segment)];
  }
  const plain = targetOf(operation, example);
  const and = plain.includes("?") ? "&" : "?";
  for (const name of new Set([
    ...Object.keys(example.query),
    ...operation.queryNames,
    "__proto__",
    "user_ids",
  ])) {
    const { [name]: _, ...others } = example.query;
    const rest = targetOf(operation, { ...example, query: others });
    const join = rest.includes("?") ? "&" : "?";
    for (const value of hostileSegments)
      yield [`?${name}=${value.slice(0, 40)}`, `${rest}${join}${name}=${value}`];
    yield [`?${name} twice`, `${rest}${join}${name}=a&${name}=b`];
    yield [`?${name}[]`, `${rest}${join}${name}[]=a`];
  }
  yield ["an odd query", `${plain}${and}&&=&%=%&`];
  yield ["a fragment", `${plain}#x`];
}

/** Paths that are nearly the operation's, and nobody's. */
function* otherPaths(target: string): Generator<readonly [string, string]> {
  yield ["a slash at the end", target.replace(/(\?|$)/, "/$1")];
  yield ["a slash twice", `/${target}`];
  yield ["dots in the path", target.replace(/\/([^/?]*)(\?|$)/, "/%2e/$1$2")];
  yield [
    "encoded slashes",
    target.replace(/^\/([^?]*)/, (_, path: string) => `/${path.replaceAll("/", "%2F")}`),
  ];
  yield ["capital letters", target.replace(/^[^?]*/, path => path.toUpperCase())];
}
