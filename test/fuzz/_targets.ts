/** Every parser of text from outside, with valid texts, texts that once failed, and errors that it may throw. */

import { inspect } from "node:util";
import { decodeLine, encodeLine } from "../../adapters/file/journal/log_file.ts";
import { parseMailbox } from "../../adapters/mail/deliveries.ts";
import { parseSmtpUrl } from "../../adapters/mail/smtp.ts";
import { parseWebhookSecret, parseWebhookUrl } from "../../adapters/mail/webhook.ts";
import { retryAfterMsOf } from "../../adapters/outbound/retry_after.ts";
import { elementOf, parseS3Url } from "../../adapters/s3/requests.ts";
import {
  createClientAddress,
  formatAddress,
  parseAddress,
  parseNetwork,
} from "../../lib/auth/client_address.ts";
import { base64url, fromBase64url } from "../../lib/auth/crypto/mod.ts";
import { Cursors } from "../../lib/auth/cursors.ts";
import { parsePhc } from "../../lib/auth/passwords/mod.ts";
import { decodeClaims, decodeHeader } from "../../lib/auth/tokens/mod.ts";
import { ByteFlow, type Walk } from "../../lib/authoring/control/assets/byte_flow.ts";
import { walkDrawing } from "../../lib/authoring/control/assets/drawings.ts";
import { photos } from "../../lib/authoring/control/assets/photos.ts";
import { kindOfFile } from "../../lib/authoring/control/assets/sniff.ts";
import { isTimeZone, parseIsoDateOrTime } from "../../lib/base/calendar/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { compileCondition, compileNumber } from "../../lib/base/expressions/mod.ts";
import { parseDocumentText } from "../../lib/base/text/document.ts";
import { JsonMembers, parseCsvRow, RecordSplitter } from "../../lib/base/text/mod.ts";
import { parseCommandLine } from "../../lib/cli/frame/parse.ts";
import { CliError, groups } from "../../lib/cli/mod.ts";
import { parseUserIds } from "../../lib/fans/audience/http/batch_users.ts";
import { parsePosition, printPosition } from "../../lib/fans/audience/search/search_cursor.ts";
import { checkSeed } from "../../lib/fans/directory/seed.ts";
import { fileHeader, parseHeader } from "../../lib/fans/exports/file/header.ts";
import { formatCursor, parseCursor } from "../../lib/fans/identity/audit/audit.ts";
import { compileConfig } from "../../lib/fans/loyalty/mod.ts";
import { silentLogger } from "../../lib/http/mod.ts";
import { parseRateLimits } from "../../lib/http/rate_limit/policies.ts";
import { matchesTag } from "../../lib/http/replies/byte_reply.ts";
import { canonicalJson, parseJson } from "../../lib/http/requests/body.ts";
import { decodeSegment, parseQuery } from "../../lib/http/routing/route_index.ts";
import { spanMs } from "../../lib/testing/time.ts";
import { decodeFile, encodeFile, fileBytes } from "../../lib/workflow/dialogue/files.ts";
import { parseMarkup, parseRecording, replayRecording } from "../../lib/workflow/dialogue/mod.ts";
import { parseRequest } from "../../lib/workflow/dialogue/protocol.ts";
import { readResponse } from "../../lib/workflow/dialogue/view.ts";
import { readQuestions } from "../../lib/workflow/examples/questions.ts";
import { readConfig, variables } from "../../runtime/config.ts";
import { isHost } from "../../runtime/server/gate.ts";
import { environment } from "../lib/base/expressions/_environment.ts";
import { exif, heifWith, photosWith } from "../support/photos.ts";
import { loyalty, seed } from "../support/platform.ts";

/** A parser under test. */
export interface Target {
  readonly name: string;
  /** Valid texts. */
  readonly seeds: readonly string[];
  /** Texts that once were taken wrongly; each runs in every test. */
  readonly kept?: readonly string[];
  readonly parse: (text: string) => unknown;
  /** Tests if an error is one that the parser documents. @default AppError of the codes for input */
  readonly isExpected?: (error: unknown) => boolean;
  /** Prints a parsed value; what it prints must be parsed to an equal one. @default there is no printer */
  readonly print?: (value: never) => string;
}

const inputCodes = ["bad_json", "validation_failed", "invalid_token", "token_expired"];
/** Tests if an error is one of those for input. */
export const isInputError = (error: unknown): boolean =>
  error instanceof AppError && inputCodes.includes(error.code) && error.message.isWellFormed();
const isA =
  (...types: readonly (new (...parameters: never[]) => Error)[]) =>
  (error: unknown): boolean =>
    error instanceof Error && types.some(type => error.constructor === type);
const latin = (text: string): Uint8Array => Uint8Array.from(text, unit => unit.charCodeAt(0) & 0xff);
const json = (value: unknown): string => JSON.stringify(value);

const cursors = new Cursors([new Uint8Array(32)], () => 1_000);
const scope = { organisationId: "o", spaceId: "s", userId: "u", resource: "history", filters: { a: 1 } };
const clientAddress = createClientAddress({ trustedProxies: ["10.0.0.0/8"] }, silentLogger);
const addressFrom = (field: string, text: string) => {
  const headers = new Headers({ [field]: text.replace(/[^\t\x20-\x7e]/g, "") });
  return clientAddress(new Request("http://localhost/", { headers }), { address: "10.0.0.1" });
};
const conditionSeeds = [
  { and: [{ gte: [{ var: "points" }, 3] }, { not: { eq: [{ var: "data.outcome" }, "exact"] } }] },
  { or: [{ in: [{ var: "name" }, ["a", "b"]] }, { contains: [{ var: "badges" }, "oracle"] }] },
  { lt: [{ add: [{ var: "points" }, 1, { mul: [2, { var: "data.n" }] }] }, 7] },
].map(json);

/** Parsers of requests. */
const requestTargets: readonly Target[] = [
  {
    name: "JSON bodies",
    seeds: [json(loyalty), '{"a":[1,-0.5,1e3,null,true,"\\u00e9"]}', "[]", '"x"', "1"],
    // Bodies are decoded before, so that no half of a surrogate pair is in them.
    parse(text) {
      const canonical = canonicalJson(parseJson(text.toWellFormed()));
      if (canonicalJson(parseJson(canonical)) !== canonical)
        throw new Error("The canonical form is another one");
    },
  },
  { name: "queries", seeds: ["limit=10&include=a%2Cb&q=x+y", "a", "a=&b=%F0%9F%98%80"], parse: parseQuery },
  {
    name: "path segments",
    seeds: ["overall", "a%2Fb", "%F0%9F%98%80"],
    parse: text => decodeSegment(text, "id"),
  },
  {
    name: "entity tags",
    seeds: ['"v1"', 'W/"v1", "v2"', "*"],
    parse: text => matchesTag(text, '"v1"', { weak: true }),
  },
  {
    name: "X-Forwarded-For",
    seeds: ["192.0.2.1, 10.0.0.1", "[2001:db8::1]:443,10.1.2.3:80", "::ffff:10.0.0.1"],
    parse: text => addressFrom("x-forwarded-for", text),
  },
  {
    name: "Forwarded",
    seeds: ["for=192.0.2.1;proto=https, for=10.0.0.1", 'For="[2001:db8::1]:443",for="10.1.2.3:80"'],
    parse: text => addressFrom("forwarded", text),
  },
  {
    name: "addresses",
    seeds: ["192.0.2.1", "2001:db8::1", "::", "::ffff:192.0.2.1", "1:2:3:4:5:6:7:8"],
    parse: parseAddress,
    print: formatAddress,
  },
  { name: "networks", seeds: ["10.0.0.0/8", "2001:db8::/32"], parse: parseNetwork },
  { name: "Host", seeds: ["club.example:8080", "[::1]:80"], parse: isHost },
  {
    name: "tokens",
    seeds: [
      `${base64url(latin('{"alg":"EdDSA","kid":"k","typ":"at+jwt"}'))}.${base64url(latin('{"iss":"i","aud":"a","sub":"s","exp":9e9,"iat":1,"jti":"j"}'))}.c2ln`,
    ],
    parse: text => decodeHeader(text) && decodeClaims(text),
  },
  {
    name: "hashes of passwords",
    seeds: ["$scrypt$ln=14,r=8,p=5$c2FsdHNhbHRzYWx0c2FsdA$a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2U"],
    parse: parsePhc,
  },
  { name: "Base64url", seeds: ["AQID", "-_-_", "AA"], parse: fromBase64url, print: base64url },
  {
    name: "cursors",
    seeds: [cursors.seal(scope, "12-3") ?? "", "a.b"],
    // Half of a surrogate pair reached the digest, which takes none.
    kept: ["a\ud800.b"],
    parse: text => cursors.open(scope, text),
  },
  { name: "cursors of the trail", seeds: ["1750000000000-3.1"], parse: parseCursor, print: formatCursor },
  {
    name: "positions of searches",
    seeds: ['["all",3,1.5,7,"u"]', '["range","c",1,"u"]', '["named","u"]', '["order",1]', '["rest",1,2]'],
    // A number beyond the range of doubles was printed as null.
    kept: ['["range","c",1e9991,"u"]'],
    parse: parsePosition,
    print: printPosition,
  },
  { name: "lists of users", seeds: ["a,b,c", " a , a "], parse: parseUserIds },
  {
    name: "ISO times",
    seeds: ["2026-05-31T10:20:30.123Z", "2024-02-29", "2026-05-31T10:20+02:00"],
    parse: parseIsoDateOrTime,
  },
  { name: "time zones", seeds: ["Europe/Madrid", "UTC", "Etc/GMT+5"], parse: isTimeZone },
];

/** Parsers of what authors, producers and back ends write. */
const documentTargets: readonly Target[] = [
  {
    name: "conditions",
    seeds: conditionSeeds,
    parse: text => {
      const source = JSON.parse(text);
      const before = inspect(source, { depth: null });
      const condition = compileCondition(source, environment);
      condition({ points: 4, name: "a", badges: ["oracle"], outcome: "exact", n: 2 });
      if (inspect(source, { depth: null }) !== before) throw new Error("The source has changed");
      return undefined;
    },
    isExpected: error => isInputError(error) || isA(SyntaxError)(error),
  },
  {
    name: "amounts",
    seeds: [json({ add: [{ var: "points" }, { mul: [2, 3] }] }), "3", json({ min: [1, { var: "data.n" }] })],
    parse: text => compileNumber(JSON.parse(text), environment)({ points: 4, n: 1e300 }) >= 0,
    isExpected: error => isInputError(error) || isA(SyntaxError)(error),
  },
  {
    name: "loyalty configurations",
    seeds: [json(loyalty)],
    parse: text => void compileConfig(JSON.parse(text)),
    isExpected: error => isInputError(error) || isA(SyntaxError)(error),
  },
  {
    name: "seeds",
    seeds: [json(seed)],
    parse: text => void checkSeed(JSON.parse(text)),
    isExpected: error => isInputError(error) || isA(SyntaxError)(error),
  },
  {
    name: "CSV",
    seeds: ['a,"b ""c""",\r\n1,,"x\ny"\n', "a\n"],
    parse: text => {
      const splitter = new RecordSplitter(true);
      return [...splitter.push(text), ...splitter.end()].map(parseCsvRow);
    },
    isExpected: isA(RangeError, AppError, Error),
  },
  {
    name: "CSV of questions",
    seeds: ["question,option 1,option 2,correct\nWho?,Home,Away,1\n"],
    parse: text => void readQuestions(new TextEncoder().encode(text)),
  },
  {
    name: "YAML",
    seeds: ["a: 1\nb: [x, {y: z}]\nc: |\n  text\nd: &x 1\ne: *x\n", '{"a":{"b":[1]}}', "name: {{name}}\n"],
    // An alias without its anchor was reported without the file.
    kept: ["a: *x\n"],
    parse: text => void parseDocumentText(text, "file.yaml").locate("/a/b/0"),
    isExpected: error => error instanceof Error && error.message.startsWith("Cannot read file.yaml"),
  },
  {
    name: "S3 answers",
    seeds: ["<Error><Code>NoSuchKey</Code><Message>a &amp; b</Message></Error>"],
    parse: text => elementOf(text, "Code"),
  },
  {
    name: "Retry-After",
    seeds: ["120", "Wed, 21 Oct 2026 07:28:00 GMT"],
    parse: text => retryAfterMsOf(text, 1_000),
  },
];

/** Parsers of dialogues. */
const dialogueTargets: readonly Target[] = [
  {
    name: "answers of workflows",
    seeds: [
      json({
        blocks: [
          { type: "text", label: "L", text: "<strong>Hi</strong>" },
          {
            type: "input",
            input_type: "select",
            name: "n",
            label: "N",
            options: [{ label: "A", value: "a" }],
          },
          { type: "alert", severity: "info", title: "T", text: "x" },
        ],
        actions: [{ label: "Go", action_id: "go", style: "primary" }],
        payload: { _s: "v1" },
        task: { id: "t", state: "running", progress: 10, poll: 1_000 },
      }),
    ],
    parse: text => void readResponse(text),
  },
  {
    name: "requests to workflows",
    seeds: [
      json({ context: { projectId: "p", eventId: "e" }, action: "go", inputs: { n: "a" }, payload: {} }),
    ],
    parse: text => void parseRequest(JSON.parse(text)),
    isExpected: error => isInputError(error) || isA(SyntaxError)(error),
  },
  {
    name: "recordings",
    seeds: [
      json({
        version: 1,
        events: [
          { type: "open", at: 1, key: "k", context: { projectId: "p" } },
          { type: "answered", at: 2, status: 200, text: '{"blocks":[]}', retryAfter: null },
          { type: "press", at: 3, action: "go", key: "k" },
        ],
      }),
    ],
    parse: text => void replayRecording(parseRecording(text)),
    isExpected: isA(SyntaxError),
  },
  {
    name: "markup",
    seeds: ["<strong>a <em>b</em></strong><br>&lt;c&gt;", "</em>&amp;#39;"],
    parse: text => {
      for (const token of parseMarkup(text)) {
        if (token.type === "text" && /[\p{Cc}\u202e]/u.test(token.text)) throw new Error("It has controls");
      }
    },
  },
  {
    name: "files",
    seeds: ["aGVsbG8=", "data:text/csv;charset=utf-8;base64,aGVsbG8", "-_-_"],
    // Ends of padding that are none took a time that grew with the square of their length.
    kept: [`${"=".repeat(200)}a`, "data:;base64,="],
    parse: text => {
      const bytes = decodeFile(text);
      if (bytes.length !== fileBytes(text)) throw new Error("The number of bytes is another one");
      return bytes;
    },
    print: encodeFile,
    isExpected: isA(SyntaxError, RangeError),
  },
];

/** Parsers of what operators write, and of files. */
const operatorTargets: readonly Target[] = [
  {
    name: "rate limits",
    seeds: ["off", "public-burst,private=off,public=200/60"],
    parse: text => void parseRateLimits(text),
    isExpected: isA(RangeError),
  },
  {
    name: "settings",
    seeds: variables
      .map(({ name }) => `${name}=1`)
      .concat("GRANDSTAND_REDIS=redis://a,redis://b", "GRANDSTAND_TRUSTED_PROXIES=10.0.0.0/8"),
    parse: text => {
      const at = text.indexOf("=");
      const environment = { [text.slice(0, at)]: text.slice(at + 1), GRANDSTAND_SECRET: "x".repeat(40) };
      void readConfig({ environment, flags: {}, demo: false });
    },
  },
  {
    name: "mail addresses",
    seeds: ["Club <no-reply@club.example>", "a@b.c", '"A" <a@b>'],
    parse: text => void parseMailbox(text),
    isExpected: isA(TypeError),
  },
  {
    name: "SMTP addresses",
    seeds: ["smtp://user:pass@mail.example:587", "smtps://h", "smtp://h?tls=off"],
    parse: text => void parseSmtpUrl(text),
    isExpected: isA(TypeError),
  },
  {
    name: "S3 addresses",
    seeds: ["https://key:secret@s3.example/bucket/folder?region=eu-1&style=virtual"],
    parse: text => void parseS3Url(text),
    isExpected: isA(TypeError),
  },
  {
    name: "addresses of webhooks",
    seeds: ["https://crm.example/hook?x=1"],
    parse: text => void parseWebhookUrl(text),
    isExpected: isA(TypeError),
  },
  {
    name: "secrets of webhooks",
    seeds: [`whsec_${btoa("x".repeat(32))}`],
    parse: text => void parseWebhookSecret(text),
    isExpected: isA(TypeError),
  },
  {
    name: "command lines",
    seeds: ["loyalty push loyalty.yaml --json", "events list --limit=3", "--profile x version", "help"],
    parse: text => parseCommandLine(text.split(" "), groups).then(() => undefined),
    isExpected: error => error instanceof CliError,
  },
  {
    name: "spans of time",
    seeds: ["1 day", "90 minutes", "2.5 hours"],
    parse: text => spanMs(text as "1 day"),
    isExpected: isA(TypeError),
  },
  {
    name: "headers of exports",
    seeds: [`${btoa("s".repeat(16))}:${btoa("i".repeat(12))}:${btoa("t".repeat(16))}:`],
    parse: text => parseHeader(latin(text)),
    print: (header: Parameters<typeof fileHeader>[0]) => new TextDecoder("latin1").decode(fileHeader(header)),
  },
  {
    name: "lines of journals",
    seeds: [encodeLine("commit 1", 0), "00000000 a\n"],
    parse: text => decodeLine(Buffer.from(text, "latin1"), 0),
  },
  {
    name: "members of JSON",
    seeds: ['{"a":{"b":"\\"}"},"c":[1,"]"],"d":1}'],
    parse: text => {
      const members = new JsonMembers(text);
      for (const name of ["d", "a", "c"]) members.value(name);
    },
    isExpected: isA(SyntaxError, TypeError),
  },
];

/** Passes a file on as it is stored. It arrives in chunks of all lengths. */
async function cleaned(file: Uint8Array, walk: Walk): Promise<Uint8Array> {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= file.length) return controller.close();
      const end = at + 1 + (at % 500);
      controller.enqueue(file.subarray(at, end));
      at = end;
    },
  });
  const parts: Uint8Array[] = [];
  for await (const chunk of walk(new ByteFlow(body))) parts.push(chunk.slice());
  return Buffer.concat(parts);
}

/** Files of assets. A stored file stays as it is where it is uploaded again. */
function assetTarget(mime: string, walk: Walk, ...seeds: readonly Buffer[]): Target {
  return {
    name: `assets of the type ${mime}`,
    seeds: seeds.map(seed => seed.toString("latin1")),
    async parse(text) {
      const file = latin(text);
      void kindOfFile(file, "asset", true);
      const once = await cleaned(file, walk);
      if (mime in photos && once.length !== file.length) throw new Error("The length is another one");
      const twice = await cleaned(once, walk);
      if (!Buffer.from(once).equals(twice)) throw new Error("Stored again, it is another file");
    },
  };
}

const drawing = `<?xml version="1.0" encoding="ISO-8859-1"?><!doctype svg [<!ENTITY a ">">]><svg viewBox="0 0 4 3"><!-- \xe9 --></svg>`;
const assetTargets: readonly Target[] = [
  ...Object.entries(photosWith(exif())).map(([mime, file]) =>
    assetTarget(
      mime,
      photos[mime] ?? walkDrawing,
      file,
      ...(mime === "image/heic" ? [heifWith(exif(), { isReversed: true })] : []),
    ),
  ),
  assetTarget(
    "image/svg+xml",
    walkDrawing,
    Buffer.from(drawing, "latin1"),
    Buffer.from(drawing, "utf16le"),
    Buffer.from(drawing.replace(" encoding", "\u0120encoding"), "utf16le"),
    Buffer.from(drawing.replace("<svg ", '<!doctype svg [<!ENTITY b ">">]><svg '), "latin1"),
    Buffer.from(drawing.replace("?>", ' encoding="ISO-8859-1"?>'), "latin1"),
    Buffer.from(drawing.replace("<!doctype", "<!-- <!doctype --><!doctype"), "latin1"),
  ),
];

/** All parsers. */
export const targets: readonly Target[] = [
  ...assetTargets,
  ...requestTargets,
  ...documentTargets,
  ...dialogueTargets,
  ...operatorTargets,
];
