/**
 * Settings from the environment and command-line flags. One table of variables validates them, names the flags and prints
 * the help.
 */

import * as v from "valibot";
import { parseMailbox } from "../adapters/mail/deliveries.ts";
import { parseSmtpUrl } from "../adapters/mail/smtp.ts";
import { parseWebhookSecret, parseWebhookUrl } from "../adapters/mail/webhook.ts";
import { checkServer, serverForm } from "../adapters/postgres/options.ts";
import { parseS3Url } from "../adapters/s3/requests.ts";
import { areNetworks } from "../lib/auth/client_address.ts";
import { MasterSecret } from "../lib/auth/mod.ts";
import { passwordAlgorithms } from "../lib/auth/passwords/mod.ts";
import { signatureAlgorithms } from "../lib/auth/tokens/jose.ts";
import { suggestion } from "../lib/base/text/suggest.ts";
import { isBasePath } from "../lib/http/handler.ts";
import { logLevels } from "../lib/http/logger.ts";
import { parseRateLimits, ratePolicyNames } from "../lib/http/rate_limit/policies.ts";
import { isPublicUrl, publicUrlForm } from "../lib/platform/options.ts";
import { hostDefault, portDefault } from "./server/gate.ts";

/** Time for which a stopping server goes on answering, in seconds. */
export const drainSecondsDefault = 5;

interface Variable<S extends v.GenericSchema<string, unknown>> {
  readonly name: `GRANDSTAND_${string}`;
  /** Name as a flag, without dashes. Secrets have none, because command lines are visible to others. */
  readonly flag?: string;
  readonly value: string;
  readonly description: string;
  readonly otherwise: string;
  readonly schema: S;
}

function variable<S extends v.GenericSchema<string, unknown>>(definition: Variable<S>): Variable<S> {
  return definition;
}

function wholeSeconds(min: number, max: number): v.GenericSchema<string, number> {
  const expected = `a whole number of seconds from ${min} to ${max}`;
  return v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, expected),
    v.transform(Number),
    v.check(seconds => seconds >= min && seconds <= max, expected),
  );
}

const commaList = v.pipe(
  v.string(),
  v.transform(text => text.split(",").map(item => item.trim())),
);
const openIdSecrets = v.pipe(
  commaList,
  v.transform(items => items.map(item => item.split(/\s+/))),
  v.check(
    items => items.every(parts => parts.length === 3),
    "<issuer> <client id> <secret>, separated by commas",
  ),
);
const redisUrls = v.pipe(
  commaList,
  v.array(v.pipe(v.string(), v.regex(/^(rediss?|unix):\/\/./, "redis://, rediss:// or unix:// URLs"))),
  v.transform(urls => urls.join(",")),
);
const networks = v.pipe(
  commaList,
  v.check(texts => areNetworks(texts), "addresses or networks such as 10.0.0.0/8"),
);
const portNumber = v.pipe(
  v.string(),
  v.regex(/^\d{1,5}$/, "a port from 0 to 65535"),
  v.transform(Number),
  v.check(port => port <= 65_535, "a port from 0 to 65535"),
);
const path = v.pipe(v.string(), v.nonEmpty("a path"));
const secretSeparator = /\s*,\s*/;
const secretHint = "at least 32 bytes, for example the output of `openssl rand -base64 48`";
const basePathForm = "a path such as /api/grandstand, without a slash at its end";
const smtpForm =
  "smtp://user:password@host, smtps://… or smtp://host?tls=off, with percent-encoded credentials";
const webhookSecretForm = "whsec_ and 24 to 64 random bytes in Base64";
const limiterForm = "memory, or redis://, rediss:// or unix:// URLs";
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
    schema: v.pipe(v.string(), v.regex(/^[A-Za-z0-9.:_-]+$/, "a host name or address")),
  }),
  port: variable({
    name: "GRANDSTAND_PORT",
    flag: "port",
    value: "number",
    description: "Port to listen on; 0 takes a free one",
    otherwise: String(portDefault),
    schema: portNumber,
  }),
  publicUrl: variable({
    name: "GRANDSTAND_PUBLIC_URL",
    flag: "public-url",
    value: "url",
    description:
      "Address under which clients reach the platform; the first start makes it the issuer of tokens",
    otherwise: "the address listened on; the issuer is a urn of its own",
    schema: v.pipe(v.string(), v.check(isPublicUrl, publicUrlForm)),
  }),
  basePath: variable({
    name: "GRANDSTAND_BASE_PATH",
    flag: "base-path",
    value: "path",
    description: "Prefix of every path, for a server behind a proxy that keeps it (/api/grandstand)",
    otherwise: "none",
    schema: v.pipe(v.string(), v.nonEmpty(basePathForm), v.check(isBasePath, basePathForm)),
  }),
  redis: variable({
    name: "GRANDSTAND_REDIS",
    flag: "redis",
    value: "urls",
    description: "Keep state in Redis: one URL, or several separated by commas for a Cluster",
    otherwise: "in memory",
    schema: redisUrls,
  }),
  postgres: variable({
    name: "GRANDSTAND_POSTGRES",
    flag: "postgres",
    value: "url",
    description:
      "Keep state in PostgreSQL: postgres://user:password@host/database. Needs the package pg; PGPASSWORD may have the password",
    otherwise: "in memory",
    schema: v.pipe(v.string(), v.check(accepts(checkServer), serverForm)),
  }),
  store: variable({
    name: "GRANDSTAND_STORE",
    flag: "store",
    value: "module",
    description: "Keep state in a store of your own: a JavaScript module whose default export makes it",
    otherwise: "in memory",
    schema: path,
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
      "When the file of GRANDSTAND_DATA is synced to the disk: before each answer, each second, or never",
    otherwise: "always",
    schema: v.picklist(["always", "interval", "never"], "one of always, interval, never"),
  }),
  limiter: variable({
    name: "GRANDSTAND_LIMITER",
    value: "memory|urls",
    description:
      "Where rate limits are counted: `memory`, in which each process counts alone, or Redis as in GRANDSTAND_REDIS",
    otherwise: "beside the state",
    schema: v.union([v.literal("memory"), redisUrls], limiterForm),
  }),
  blobs: variable({
    name: "GRANDSTAND_BLOBS",
    value: "folder|url",
    description:
      "Storage of exported files: a folder, or a bucket as https://<key id>:<secret>@<host>/<bucket>?region=<region>",
    otherwise: "beside the state: in Redis, in PostgreSQL, in the folder of GRANDSTAND_DATA, or in memory",
    schema: v.pipe(v.string(), v.check(isBlobStorage, blobsForm)),
  }),
  secret: variable({
    name: "GRANDSTAND_SECRET",
    value: "text",
    description:
      "Master secret that signs, seals and hashes, the same for every process; at least 32 bytes. While you change it, the new and the old one with a comma between: all open, the first signs",
    otherwise: "none; a demo generates one and stores it with its data",
    schema: v.pipe(
      v.string(),
      v.check(
        accepts(text => new MasterSecret(text.split(secretSeparator))),
        `hard to guess, without a comma, which stands between two secrets: ${secretHint}`,
      ),
      v.transform((text): readonly string[] => text.split(secretSeparator)),
    ),
  }),
  defaultSpaceId: variable({
    name: "GRANDSTAND_DEFAULT_SPACE",
    flag: "default-space",
    value: "id",
    description: "Space of requests whose Host belongs to no space",
    otherwise: "none; in a demo its space",
    schema: v.pipe(v.string(), v.nonEmpty("the id of a space")),
  }),
  signatureAlgorithm: variable({
    name: "GRANDSTAND_SIGNATURE_ALGORITHM",
    flag: "signature-algorithm",
    value: signatureAlgorithms.join("|"),
    description: "Algorithm that signs new tokens",
    otherwise: "EdDSA",
    schema: v.picklist(signatureAlgorithms, `one of ${signatureAlgorithms.join(", ")}`),
  }),
  passwordHash: variable({
    name: "GRANDSTAND_PASSWORD_HASH",
    flag: "password-hash",
    value: passwordAlgorithms.join("|"),
    description:
      "Algorithm that hashes new passwords; argon2id needs Node 24.7 or Bun. Existing passwords stay valid",
    otherwise: "scrypt",
    schema: v.picklist(passwordAlgorithms, `one of ${passwordAlgorithms.join(", ")}`),
  }),
  trustedProxies: variable({
    name: "GRANDSTAND_TRUSTED_PROXIES",
    flag: "trusted-proxies",
    value: "networks",
    description:
      "Trusted proxies, whose X-Forwarded-For or Forwarded counts, separated by commas (10.0.0.0/8,::1)",
    otherwise: "none",
    schema: networks,
  }),
  webhookNetworks: variable({
    name: "GRANDSTAND_WEBHOOK_NETWORKS",
    flag: "webhook-networks",
    value: "networks",
    description: "Private networks in which webhooks may be, separated by commas (10.1.0.0/16)",
    otherwise: "none; in a demo this machine",
    schema: networks,
  }),
  outboundNetworks: variable({
    name: "GRANDSTAND_OUTBOUND_NETWORKS",
    flag: "outbound-networks",
    value: "networks",
    description:
      "Private networks in which addresses of apps, files and backends of workflows may be, separated by commas (10.1.0.0/16)",
    otherwise: "none; in a demo this machine",
    schema: networks,
  }),
  corsOrigins: variable({
    name: "GRANDSTAND_CORS_ORIGINS",
    flag: "cors-origins",
    value: "origins",
    description: "Origins that browsers may call from, separated by commas; * for all, none for none",
    otherwise: "*",
    schema: v.pipe(
      commaList,
      v.check(origins => origins.every(isOrigin), originForm),
      v.transform(origins => (origins.includes("*") ? "*" : origins.filter(one => one !== "none"))),
    ),
  }),
  corsHeaders: variable({
    name: "GRANDSTAND_CORS_HEADERS",
    flag: "cors-headers",
    value: "names",
    description: "Request header fields that browsers may send beside the usual ones, separated by commas",
    otherwise: "none",
    schema: v.pipe(
      commaList,
      v.check(names => names.every(name => /^[\w!#$%&'*+.^`|~-]+$/.test(name)), "names of header fields"),
      v.transform(names => names.map(name => name.toLowerCase())),
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
    description: "Limits attempts to register, log in and guess codes; off is for load tests",
    otherwise: "on",
    schema: v.picklist(["on", "off"], "on or off"),
  }),
  accountIssuer: variable({
    name: "GRANDSTAND_ACCOUNT_ISSUER",
    flag: "account-issuer",
    value: "issuer",
    description: "Issuer of your own accounts, for projects whose settings name none",
    otherwise: "none",
    schema: v.pipe(v.string(), v.regex(/^\S{1,512}$/, "1 to 512 characters without spaces")),
  }),
  openIdSecrets: variable({
    name: "GRANDSTAND_OPENID_SECRETS",
    value: "secrets",
    description:
      "Secrets of your apps at OpenID providers whose redirect flow projects offer, separated by commas: <issuer> <client id> <secret>",
    otherwise: "none: the apps are public clients",
    schema: openIdSecrets,
  }),
  rateLimits: variable({
    name: "GRANDSTAND_RATE_LIMITS",
    flag: "rate-limits",
    value: "policies",
    description: `Rate policies, separated by commas: <name> for on, <name>=off, <name>=<requests>/<seconds>, or off for none at all. Names: ${ratePolicyNames.join(", ")}`,
    otherwise: "all but those of hours and bursts",
    schema: v.pipe(
      v.string(),
      v.check(accepts(parseRateLimits), `off, or items of ${rateLimitsForm}`),
      v.transform(parseRateLimits),
    ),
  }),
  smtp: variable({
    name: "GRANDSTAND_SMTP",
    value: "url",
    description:
      "Mail server: smtp://user:password@host (requires STARTTLS), smtps://… or smtp://host?tls=off. Needs the package nodemailer",
    otherwise: "none: no mail is sent, and a demo keeps it for developers to read",
    schema: v.pipe(v.string(), v.check(accepts(parseSmtpUrl), smtpForm)),
  }),
  mailFrom: variable({
    name: "GRANDSTAND_MAIL_FROM",
    flag: "mail-from",
    value: "sender",
    description: "Sender of mail over GRANDSTAND_SMTP: an address, or Name <address>",
    otherwise: "none",
    schema: v.pipe(v.string(), v.check(accepts(parseMailbox), "an address, or Name <address>")),
  }),
  mailWebhook: variable({
    name: "GRANDSTAND_MAIL_WEBHOOK",
    flag: "mail-webhook",
    value: "url",
    description:
      "Service that sends mail in place of a mail server: each mail is posted there with a signature",
    otherwise: "none",
    schema: v.pipe(v.string(), v.check(accepts(parseWebhookUrl), "an http or https URL without credentials")),
  }),
  mailWebhookSecret: variable({
    name: "GRANDSTAND_MAIL_WEBHOOK_SECRET",
    value: "text",
    description: "Secret that signs posts to GRANDSTAND_MAIL_WEBHOOK, in the format of Standard Webhooks",
    otherwise: "none",
    schema: v.pipe(v.string(), v.check(accepts(parseWebhookSecret), webhookSecretForm)),
  }),
  log: variable({
    name: "GRANDSTAND_LOG",
    flag: "log",
    value: "level",
    description: `Least severity of log lines on stderr: ${logLevels.join(", ")} or silent`,
    otherwise: "info",
    schema: v.picklist([...logLevels, "silent"], `one of ${logLevels.join(", ")}, silent`),
  }),
  metrics: variable({
    name: "GRANDSTAND_METRICS",
    flag: "metrics",
    value: "on|off",
    description: "Serves the metrics of the process at GET /metrics, beside the API",
    otherwise: "off",
    schema: v.pipe(
      v.picklist(["on", "off"], "on or off"),
      v.transform(text => text === "on"),
    ),
  }),
  metricsPort: variable({
    name: "GRANDSTAND_METRICS_PORT",
    flag: "metrics-port",
    value: "number",
    description:
      "Port of this server or worker for /metrics, /healthz and /readyz, which clients need not reach",
    otherwise: "none",
    schema: portNumber,
  }),
  workers: variable({
    name: "GRANDSTAND_WORKERS",
    flag: "workers",
    value: "inline|off",
    description: "Applies queued actions in this server, or leaves them to `grandstand worker`",
    otherwise: "inline",
    schema: v.picklist(["inline", "off"], "inline or off"),
  }),
  exports: variable({
    name: "GRANDSTAND_EXPORTS",
    flag: "exports",
    value: "inline|off",
    description: "Builds files of exports in this server, or leaves them to `grandstand worker`",
    otherwise: "inline",
    schema: v.picklist(["inline", "off"], "inline or off"),
  }),
  drain: variable({
    name: "GRANDSTAND_DRAIN",
    flag: "drain",
    value: "seconds",
    description:
      "Time for which a stopping server fails /readyz and goes on answering, so that load balancers take note",
    otherwise: `${drainSecondsDefault}; in a demo 0`,
    schema: wholeSeconds(0, 300),
  }),
  exportInterval: variable({
    name: "GRANDSTAND_EXPORT_INTERVAL",
    flag: "export-interval",
    value: "seconds",
    description: "Interval at whose multiples exports start, in seconds; 0: at once",
    otherwise: "300",
    schema: wholeSeconds(0, 86_400),
  }),
  exportTtl: variable({
    name: "GRANDSTAND_EXPORT_TTL",
    flag: "export-ttl",
    value: "seconds",
    description: "Lifetime of the link and the password of an export after its request, in seconds",
    otherwise: "86400",
    schema: wholeSeconds(60, 2_592_000),
  }),
  seed: variable({
    name: "GRANDSTAND_SEED",
    flag: "seed",
    value: "path",
    description:
      "JSON file of organisations, spaces, projects, events and loyalty, created or replaced at the start",
    otherwise: "nothing is created",
    schema: path,
  }),
  loyalty: variable({
    name: "GRANDSTAND_LOYALTY",
    flag: "loyalty",
    value: "path",
    description:
      "JSON or YAML file that becomes the loyalty configuration of the default space at the start, if it differs",
    otherwise: "none: the stored configuration stays",
    schema: path,
  }),
  demoFile: variable({
    name: "GRANDSTAND_DEMO_FILE",
    flag: "demo-file",
    value: "path",
    description: "File to which a demo writes its ids and credentials as JSON",
    otherwise: "nowhere",
    schema: path,
  }),
};

type Settings = {
  -readonly [K in keyof typeof definitions]?: v.InferOutput<(typeof definitions)[K]["schema"]>;
};

/** The settings of a process. Times are seconds. */
export type Config = Readonly<Settings & Required<Pick<Settings, "host" | "port" | "log">>>;

export const variables: readonly Variable<v.GenericSchema<string, unknown>>[] = Object.values(definitions);

type Environment = Readonly<Record<string, string | undefined>>;

interface ConfigSources {
  readonly environment: Environment;
  readonly flags: Environment;
  /** True for a demo, which needs no secret. */
  readonly demo: boolean;
}

/** The settings, or a message for each fault. Messages do not repeat values, because some are secret. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads all settings and reports all faults together. An empty variable counts as unset. */
export function readConfig({ environment, flags, demo }: ConfigSources): ConfigResult {
  const problems = [...unknownVariables(environment)];
  const settings: { [key: string]: unknown } & Settings = {};
  for (const [key, { name, flag, schema }] of Object.entries(definitions)) {
    const flagged = flag === undefined ? undefined : flags[flag];
    const given = flagged ?? (environment[name] || undefined);
    if (given === undefined) continue;
    const result = v.safeParse(schema, given);
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
  problems.push(...impossibleCombinations(config, demo));
  problems.push(...mailProblems(environment, flags));
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}

export function baseUrlOf({ publicUrl, basePath = "" }: Config, address: string): string {
  const url = publicUrl ?? address;
  return url.endsWith(basePath) ? url : url + basePath;
}

/** Checks that mail settings which belong together are set together. */
function mailProblems(environment: Environment, flags: Environment): readonly string[] {
  const isSet = ({ name, flag }: Variable<v.GenericSchema<string, unknown>>): boolean =>
    Boolean((flag === undefined ? undefined : flags[flag]) ?? environment[name]);
  const { smtp, mailFrom, mailWebhook, mailWebhookSecret } = definitions;
  const problems: string[] = [];
  if (isSet(smtp) && isSet(mailWebhook)) {
    problems.push(`${smtp.name} and ${mailWebhook.name} must not both be set: mail has one transport`);
  }
  if (isSet(smtp) && !isSet(mailFrom)) problems.push(`${mailFrom.name} must be set with ${smtp.name}`);
  if (isSet(mailWebhook) && !isSet(mailWebhookSecret)) {
    problems.push(`${mailWebhookSecret.name} must be set with ${mailWebhook.name}`);
  }
  return problems;
}

function isBlobStorage(text: string): boolean {
  return !text.includes("://") || accepts(parseS3Url)(text);
}

function accepts(parse: (text: string) => unknown): (text: string) => boolean {
  return text => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
}

function isOrigin(text: string): boolean {
  return text === "*" || text === "none" || (URL.canParse(text) && new URL(text).origin === text);
}

const commandVariables: readonly string[] = [
  "GRANDSTAND_CONFIG",
  "GRANDSTAND_CONTROL_URL",
  "GRANDSTAND_NO_INPUT",
  "GRANDSTAND_PROFILE",
  "GRANDSTAND_TOKEN",
  "GRANDSTAND_URL",
  "GRANDSTAND_API_KEY",
  "GRANDSTAND_API_SECRET",
  "GRANDSTAND_OTHER_TOKEN",
  "GRANDSTAND_ORG",
  "GRANDSTAND_SPACE",
  "GRANDSTAND_EXPORT_PASSWORD",
];

/** Reports variables of the environment that have our prefix and mean nothing. */
function unknownVariables(environment: Environment): readonly string[] {
  const known = [...variables.map(({ name }) => name), ...commandVariables];
  return Object.keys(environment)
    .filter(name => name.startsWith("GRANDSTAND_") && !known.includes(name))
    .map(name => `There is no ${name}.${suggestion(name, known)}`);
}

function impossibleCombinations(settings: Settings, demo: boolean): readonly string[] {
  const { redis, postgres, store, data, workers, exports, loyalty, defaultSpaceId } = settings;
  const problems: string[] = [];
  const stores = {
    GRANDSTAND_REDIS: redis,
    GRANDSTAND_POSTGRES: postgres,
    GRANDSTAND_STORE: store,
    GRANDSTAND_DATA: data,
  };
  const named = Object.entries(stores).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (named.length > 1) {
    problems.push(
      `${named.join(" and ")} must not ${named.length === 2 ? "both" : "all"} be set: state is in one place`,
    );
  }
  for (const [name, value] of Object.entries({ GRANDSTAND_WORKERS: workers, GRANDSTAND_EXPORTS: exports })) {
    if (value !== "off" || (redis ?? postgres ?? store) !== undefined) continue;
    problems.push(
      `${name} must not be off without GRANDSTAND_REDIS, GRANDSTAND_POSTGRES or GRANDSTAND_STORE: no worker can share another store`,
    );
  }
  if (loyalty !== undefined && defaultSpaceId === undefined && !demo) {
    problems.push(
      "GRANDSTAND_DEFAULT_SPACE must be set with GRANDSTAND_LOYALTY: it names the space to configure",
    );
  }
  return problems;
}
