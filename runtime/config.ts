/**
 * From environment and command-line flags to typed settings. The table of variables is data: it validates, it names
 * the flags and it prints the help.
 *
 * @module
 */

import {
  array,
  check,
  type GenericSchema,
  type InferOutput,
  nonEmpty,
  picklist,
  pipe,
  regex,
  safeParse,
  string,
  transform,
  url,
} from "valibot";
import { parseMailbox } from "../adapters/mail/mailbox.ts";
import { parseSmtpUrl } from "../adapters/mail/smtp.ts";
import { parseWebhookSecret, parseWebhookUrl } from "../adapters/mail/webhook.ts";
import { parseS3Url } from "../adapters/s3/bucket.ts";
import {
  createClientAddress,
  MasterSecret,
  type SignatureAlgorithm,
  signatureAlgorithms,
} from "../lib/auth/mod.ts";
import { type PasswordAlgorithm, passwordAlgorithms } from "../lib/auth/passwords/mod.ts";
import { exportIntervalMsDefault, exportTtlMsDefault } from "../lib/exports/mod.ts";
import { type LogLevel, logLevels } from "../lib/http/mod.ts";
import {
  parseRateLimits,
  type RateLimits,
  ratePolicies,
  ratePolicyNames,
} from "../lib/http/rate_limit/policies.ts";
import { hostDefault, portDefault } from "./_gate.ts";

/** One variable that a deployment may set. */
export interface Variable<S extends GenericSchema<string, unknown>> {
  /** Name in the environment. */
  readonly name: `GRANDSTAND_${string}`;
  /** The same as a flag, without its dashes; secrets have none, because command lines are visible to others. */
  readonly flag?: string;
  /** What the value looks like, for the help. */
  readonly value: string;
  readonly description: string;
  /** Default in words, for the help. */
  readonly otherwise: string;
  readonly schema: S;
}

function variable<S extends GenericSchema<string, unknown>>(definition: Variable<S>): Variable<S> {
  return definition;
}

function wholeSeconds(min: number, max: number): GenericSchema<string, number> {
  const expected = `a whole number of seconds from ${min} to ${max}`;
  return pipe(
    string(),
    regex(/^\d{1,9}$/, expected),
    transform(Number),
    check(seconds => seconds >= min && seconds <= max, expected),
  );
}

const commaList = pipe(
  string(),
  transform(text => text.split(",").map(item => item.trim())),
);
const path = pipe(string(), nonEmpty("a path"));
const secretHint = "at least 32 bytes, for example the output of `openssl rand -base64 48`";
const publicUrlForm = "an http or https URL without query, fragment and slash at its end";
const smtpForm =
  "smtp://user:password@host, smtps://… or smtp://host?tls=off, with percent-encoded credentials";
const webhookSecretForm = "whsec_ and 24 to 64 random bytes in Base64";
const blobsForm = "a folder, or https://<key id>:<secret>@<host>/<bucket>, percent-encoded";
const rateLimitsForm = "<name>, <name>=off and <name>=<requests>/<seconds>, separated by commas";
const originForm = "*, none, or origins such as https://example.org";

const definitions = {
  host: variable({
    name: "GRANDSTAND_HOST",
    flag: "host",
    value: "address",
    description: "Address to listen on",
    otherwise: hostDefault,
    schema: pipe(string(), regex(/^[A-Za-z0-9.:_-]+$/, "a host name or address")),
  }),
  port: variable({
    name: "GRANDSTAND_PORT",
    flag: "port",
    value: "number",
    description: "Port to listen on; 0 takes a free one",
    otherwise: String(portDefault),
    schema: pipe(
      string(),
      regex(/^\d{1,5}$/, "a port from 0 to 65535"),
      transform(Number),
      check(port => port <= 65_535, "a port from 0 to 65535"),
    ),
  }),
  publicUrl: variable({
    name: "GRANDSTAND_PUBLIC_URL",
    flag: "public-url",
    value: "url",
    description: "Address under which clients reach the platform",
    otherwise: "the address listened on",
    schema: pipe(string(), url(publicUrlForm), regex(/^https?:\/\/[^?#]*[^?#/]$/, publicUrlForm)),
  }),
  redis: variable({
    name: "GRANDSTAND_REDIS",
    flag: "redis",
    value: "urls",
    description: "Keep state in Redis: one URL, or several separated by commas for a Cluster",
    otherwise: "in memory",
    schema: pipe(
      commaList,
      array(pipe(string(), regex(/^(rediss?|unix):\/\/./, "redis://, rediss:// or unix:// URLs"))),
      transform(urls => urls.join(",")),
    ),
  }),
  data: variable({
    name: "GRANDSTAND_DATA",
    flag: "data",
    value: "folder",
    description: "Keep state in a file of this folder, so that a restart loses nothing",
    otherwise: "in memory",
    schema: path,
  }),
  fsync: variable({
    name: "GRANDSTAND_FSYNC",
    flag: "fsync",
    value: "always|interval|never",
    description:
      "When the file of GRANDSTAND_DATA is forced to the disk: before each answer, each second, or never",
    otherwise: "always",
    schema: picklist(["always", "interval", "never"], "one of always, interval, never"),
  }),
  blobs: variable({
    name: "GRANDSTAND_BLOBS",
    value: "folder|url",
    description:
      "Where exported files are kept: a folder, or a bucket as https://<key id>:<secret>@<host>/<bucket>?region=<region>",
    otherwise: "beside the state: in Redis, in the folder of GRANDSTAND_DATA, or in memory",
    schema: pipe(string(), check(isBlobPlace, blobsForm)),
  }),
  secret: variable({
    name: "GRANDSTAND_SECRET",
    value: "text",
    description: "What signs, seals and hashes; the same for every process. At least 32 bytes",
    otherwise: "none; a demo makes one and keeps it with its data",
    schema: pipe(string(), check(isSecret, `hard to guess: ${secretHint}`)),
  }),
  defaultSpaceId: variable({
    name: "GRANDSTAND_DEFAULT_SPACE",
    flag: "default-space",
    value: "id",
    description: "Space of requests whose Host no space claims",
    otherwise: "none, in a demo its space",
    schema: pipe(string(), nonEmpty("the id of a space")),
  }),
  signatureAlgorithm: variable({
    name: "GRANDSTAND_SIGNATURE_ALGORITHM",
    flag: "signature-algorithm",
    value: signatureAlgorithms.join("|"),
    description: "Signs new tokens",
    otherwise: "EdDSA",
    schema: picklist(signatureAlgorithms, `one of ${signatureAlgorithms.join(", ")}`),
  }),
  passwordHash: variable({
    name: "GRANDSTAND_PASSWORD_HASH",
    flag: "password-hash",
    value: passwordAlgorithms.join("|"),
    description:
      "Hashes new passwords; argon2id needs Node 24.7 or Bun. Passwords hashed by either stay valid",
    otherwise: "scrypt",
    schema: picklist(passwordAlgorithms, `one of ${passwordAlgorithms.join(", ")}`),
  }),
  trustedProxies: variable({
    name: "GRANDSTAND_TRUSTED_PROXIES",
    flag: "trusted-proxies",
    value: "networks",
    description: "Proxies whose X-Forwarded-For is believed, separated by commas (10.0.0.0/8,::1)",
    otherwise: "none",
    schema: pipe(commaList, check(areNetworks, "addresses or networks such as 10.0.0.0/8")),
  }),
  webhookNetworks: variable({
    name: "GRANDSTAND_WEBHOOK_NETWORKS",
    flag: "webhook-networks",
    value: "networks",
    description: "Networks beside the public one in which webhooks may be, separated by commas (10.1.0.0/16)",
    otherwise: "none, in a demo this machine",
    schema: pipe(commaList, check(areNetworks, "addresses or networks such as 10.0.0.0/8")),
  }),
  corsOrigins: variable({
    name: "GRANDSTAND_CORS_ORIGINS",
    flag: "cors-origins",
    value: "origins",
    description: "Origins that browsers may call from, separated by commas; * for all, none for none",
    otherwise: "*",
    schema: pipe(
      commaList,
      check(origins => origins.every(isOrigin), originForm),
      transform(origins => (origins.includes("*") ? "*" : origins.filter(one => one !== "none"))),
    ),
  }),
  geoip: variable({
    name: "GRANDSTAND_GEOIP",
    flag: "geoip",
    value: "path",
    description:
      "Country database in MaxMind's format (.mmdb) for location checks; a new version needs no restart",
    otherwise: "none: every location is unknown",
    schema: path,
  }),
  identityLimits: variable({
    name: "GRANDSTAND_IDENTITY_LIMITS",
    flag: "identity-limits",
    value: "on|off",
    description: "Whether attempts to register, to log in and to guess are limited; off is for load tests",
    otherwise: "on",
    schema: picklist(["on", "off"], "on or off"),
  }),
  rateLimits: variable({
    name: "GRANDSTAND_RATE_LIMITS",
    flag: "rate-limits",
    value: "policies",
    description: `Rate policies, separated by commas: <name> for on, <name>=off, <name>=<requests>/<seconds>, or off for none at all. Names: ${ratePolicyNames.join(", ")}`,
    otherwise: ratePolicyNames.filter(name => ratePolicies[name].isOn).join(","),
    schema: pipe(
      string(),
      check(accepts(parseRateLimits), `off, or items of ${rateLimitsForm}`),
      transform(parseRateLimits),
    ),
  }),
  smtp: variable({
    name: "GRANDSTAND_SMTP",
    value: "url",
    description:
      "Mail server: smtp://user:password@host (STARTTLS is demanded), smtps://…, or smtp://host?tls=off",
    otherwise: "none: mail is dropped, and in a demo kept where developers can read it",
    schema: pipe(string(), check(accepts(parseSmtpUrl), smtpForm)),
  }),
  mailFrom: variable({
    name: "GRANDSTAND_MAIL_FROM",
    flag: "mail-from",
    value: "sender",
    description: "Sender of the mail that goes to GRANDSTAND_SMTP: an address, or Name <address>",
    otherwise: "none",
    schema: pipe(string(), check(accepts(parseMailbox), "an address, or Name <address>")),
  }),
  mailWebhook: variable({
    name: "GRANDSTAND_MAIL_WEBHOOK",
    flag: "mail-webhook",
    value: "url",
    description: "Service that sends the mail, in place of a mail server: each mail is posted there, signed",
    otherwise: "none",
    schema: pipe(string(), check(accepts(parseWebhookUrl), "an http or https URL without credentials")),
  }),
  mailWebhookSecret: variable({
    name: "GRANDSTAND_MAIL_WEBHOOK_SECRET",
    value: "text",
    description: "Signs what is posted to GRANDSTAND_MAIL_WEBHOOK, as Standard Webhooks has it",
    otherwise: "none",
    schema: pipe(string(), check(accepts(parseWebhookSecret), webhookSecretForm)),
  }),
  log: variable({
    name: "GRANDSTAND_LOG",
    flag: "log",
    value: "level",
    description: `Least severity that is logged to stderr: ${logLevels.join(", ")} or silent`,
    otherwise: "info",
    schema: picklist([...logLevels, "silent"], `one of ${logLevels.join(", ")}, silent`),
  }),
  metrics: variable({
    name: "GRANDSTAND_METRICS",
    flag: "metrics",
    value: "on|off",
    description: "Whether GET /metrics tells request counts and durations",
    otherwise: "off",
    schema: pipe(
      picklist(["on", "off"], "on or off"),
      transform(text => text === "on"),
    ),
  }),
  workers: variable({
    name: "GRANDSTAND_WORKERS",
    flag: "workers",
    value: "inline|off",
    description:
      "Whether this server applies queued actions too, or leaves them to processes of `grandstand worker`",
    otherwise: "inline",
    schema: picklist(["inline", "off"], "inline or off"),
  }),
  exportInterval: variable({
    name: "GRANDSTAND_EXPORT_INTERVAL",
    flag: "export-interval",
    value: "seconds",
    description: "Exports are begun at the multiples of so many seconds; 0: at once",
    otherwise: String(exportIntervalMsDefault / 1_000),
    schema: wholeSeconds(0, 86_400),
  }),
  exportTtl: variable({
    name: "GRANDSTAND_EXPORT_TTL",
    flag: "export-ttl",
    value: "seconds",
    description: "How long after its request an export has a link and a password",
    otherwise: String(exportTtlMsDefault / 1_000),
    schema: wholeSeconds(60, 2_592_000),
  }),
  seed: variable({
    name: "GRANDSTAND_SEED",
    flag: "seed",
    value: "path",
    description:
      "JSON file of organisations, spaces, projects, events and loyalty to create or replace at the start",
    otherwise: "nothing is created",
    schema: path,
  }),
  loyalty: variable({
    name: "GRANDSTAND_LOYALTY",
    flag: "loyalty",
    value: "path",
    description:
      "JSON or YAML file that becomes the default space's loyalty configuration at the start, where it differs",
    otherwise: "none: the stored configuration stays",
    schema: path,
  }),
  demoFile: variable({
    name: "GRANDSTAND_DEMO_FILE",
    flag: "demo-file",
    value: "path",
    description: "Where a demo writes its ids and credentials as JSON",
    otherwise: "nowhere",
    schema: path,
  }),
};

type Settings = {
  -readonly [K in keyof typeof definitions]?: InferOutput<(typeof definitions)[K]["schema"]>;
};

/** Settings of a server. What is absent was not set. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly publicUrl?: string;
  readonly redis?: string;
  readonly data?: string;
  readonly fsync?: "always" | "interval" | "never";
  readonly blobs?: string;
  readonly secret?: string;
  readonly defaultSpaceId?: string;
  readonly signatureAlgorithm?: SignatureAlgorithm;
  readonly passwordHash?: PasswordAlgorithm;
  readonly trustedProxies?: readonly string[];
  readonly webhookNetworks?: readonly string[];
  readonly corsOrigins?: "*" | readonly string[];
  readonly geoip?: string;
  readonly identityLimits?: "on" | "off";
  readonly rateLimits?: RateLimits;
  readonly smtp?: string;
  readonly mailFrom?: string;
  readonly mailWebhook?: string;
  readonly mailWebhookSecret?: string;
  readonly log: LogLevel | "silent";
  readonly metrics?: boolean;
  readonly workers?: "inline" | "off";
  /** Seconds. */
  readonly exportInterval?: number;
  /** Seconds. */
  readonly exportTtl?: number;
  readonly seed?: string;
  readonly loyalty?: string;
  readonly demoFile?: string;
}

/** The variables as `--help` tells them. */
export const variables: readonly Variable<GenericSchema<string, unknown>>[] = Object.values(definitions);

/** Where settings come from. A flag wins over its variable. */
export interface ConfigSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Values by flag. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Whether a demo is to run, which needs no secret. */
  readonly demo: boolean;
}

/** The settings, or one message for everything that is wrong with them. Values are not repeated: some are secret. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads all settings and reports everything that is wrong with them together. An empty variable counts as unset. */
export function readConfig({ environment, flags, demo }: ConfigSources): ConfigResult {
  const problems: string[] = [];
  const settings: { [key: string]: unknown } & Settings = {};
  for (const [key, { name, flag, schema }] of Object.entries(definitions)) {
    const flagged = flag === undefined ? undefined : flags[flag];
    const given = flagged ?? (environment[name] || undefined);
    if (given === undefined) continue;
    const result = safeParse(schema, given);
    if (result.success) settings[key] = result.output;
    else problems.push(`${flagged === undefined ? name : `--${flag}`} must be ${result.issues[0].message}`);
  }
  const config: Config = {
    host: hostDefault,
    port: portDefault,
    log: "info",
    ...settings,
  };
  const secretSet = Boolean(environment.GRANDSTAND_SECRET);
  if (!secretSet && !demo) problems.push(`GRANDSTAND_SECRET must be set: ${secretHint}`);
  if (config.redis !== undefined && config.data !== undefined) {
    problems.push("GRANDSTAND_REDIS and GRANDSTAND_DATA must not both be set: state lives in one place");
  }
  problems.push(...mailProblems(environment, flags));
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}

/** What belongs together, set or not; whether each value can be used is told apart. */
function mailProblems(
  environment: ConfigSources["environment"],
  flags: ConfigSources["flags"],
): readonly string[] {
  const isSet = ({ name, flag }: Variable<GenericSchema<string, unknown>>): boolean =>
    Boolean((flag === undefined ? undefined : flags[flag]) ?? environment[name]);
  const { smtp, mailFrom, mailWebhook, mailWebhookSecret } = definitions;
  const problems: string[] = [];
  if (isSet(smtp) && isSet(mailWebhook)) {
    problems.push(`${smtp.name} and ${mailWebhook.name} must not both be set: mail goes one way`);
  }
  if (isSet(smtp) && !isSet(mailFrom)) problems.push(`${mailFrom.name} must be set where ${smtp.name} is`);
  if (isSet(mailWebhook) && !isSet(mailWebhookSecret)) {
    problems.push(`${mailWebhookSecret.name} must be set where ${mailWebhook.name} is`);
  }
  return problems;
}

function isBlobPlace(text: string): boolean {
  return !text.includes("://") || succeeds(() => parseS3Url(text));
}

function isSecret(text: string): boolean {
  return succeeds(() => new MasterSecret(text));
}

function areNetworks(texts: string[]): boolean {
  return succeeds(() => createClientAddress({ trustedProxies: texts }));
}

/** Turns a parser that throws into a check. */
function accepts(parse: (text: string) => unknown): (text: string) => boolean {
  return text => succeeds(() => parse(text));
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

function isOrigin(text: string): boolean {
  return text === "*" || text === "none" || (URL.canParse(text) && new URL(text).origin === text);
}
