/** The options of a platform, their defaults and their checks. */

import { createMemoryLimiter } from "../../adapters/memory/limiter.ts";
import { areNetworks, createClientAddress } from "../auth/client_address.ts";
import { systemClock, systemRandom } from "../auth/crypto/mod.ts";
import {
  type Clock,
  MasterSecret,
  type RandomBytes,
  type SignatureAlgorithm,
  type TrustedProxies,
} from "../auth/mod.ts";
import type { PasswordKernels } from "../auth/passwords/mod.ts";
import type { createControl } from "../authoring/control/mod.ts";
import type { Mailer, Outbound, WebhookSender } from "../base/outbound/outbound.ts";
import type { Tracer } from "../base/tracing/mod.ts";
import type { ExportOptions } from "../fans/exports/mod.ts";
import type { IdentityOptions } from "../fans/identity/mod.ts";
import type { GeoReader } from "../fans/location/location.ts";
import { isBasePath } from "../http/handler.ts";
import { consoleLogger } from "../http/logger.ts";
import type { Area, ClientAddress, HandlerOptions, Logger, Timer } from "../http/mod.ts";
import type { RateLimits } from "../http/rate_limit/policies.ts";
import type { CreateDocs } from "../pages/docs/mod.ts";
import type { CreateShow } from "../pages/show/mod.ts";
import type { CreateStudio } from "../pages/studio/mod.ts";
import { systemTimer } from "../storage/background/mod.ts";
import type { Blobs, Limiter, Queue, Store } from "../storage/mod.ts";
import type { PlatformMetrics } from "./metrics/mod.ts";

/** Default address of the platform. */
export const publicUrlDefault = "http://127.0.0.1:8787";

/** Options of a platform. Only `store` and `secret` have no default. */
export interface PlatformOptions {
  // Required.

  /** Keeps all data: `createMemoryStore()` of `grandstand/memory`, `createRedisStore()` of `grandstand/redis`. */
  readonly store: Store;
  /** Signs, seals and hashes; the same for every process of a deployment: `new MasterSecret("…")`. */
  readonly secret: MasterSecret;

  // Addresses.

  /**
   * Address under which clients reach the platform, without a slash at its end. The first start makes it the issuer of tokens.
   *
   * @default `localUrl`; the issuer is a urn of its own then
   */
  readonly publicUrl?: string | undefined;
  /** Address in links where there is no `publicUrl`: the one that the server listens on. @default "http://127.0.0.1:8787" */
  readonly localUrl?: string | undefined;
  /** Prefix of every path, `/api/grandstand` for example. @default "" */
  readonly basePath?: string | undefined;
  /**
   * How the address of a client is found, by which limits and locations go: the proxies in front of you, or a function of request and
   * `info`.
   *
   * @default `info.address`, the peer
   */
  readonly clientAddress?: TrustedProxies | ClientAddress | undefined;
  /** The space of requests whose Host belongs to no space. @default such requests find no space */
  readonly defaultSpaceId?: string | undefined;

  // Limits.

  /** Counts requests and attempts; one for all processes, or `off`. @default a memory limiter */
  readonly limiter?: Limiter | "off" | undefined;
  /** Counts in this process while `limiter` fails or is slow. @default requests wait for the limiter */
  readonly localLimiter?: Limiter | undefined;
  /** Policies of requests by name; `off` for none. @default the policies of `ratePolicies` that are on */
  readonly rateLimits?: RateLimits | undefined;

  // Areas.

  /** Serves authors: `createControl` of `grandstand/control`. @default fans and back ends alone are served */
  readonly control?: typeof createControl | undefined;
  /** The page for producers, who need `control`: `createStudio()` of `grandstand/studio`. @default there is none */
  readonly studio?: CreateStudio | undefined;
  /** The page for fans at `/show`: `createShow()` of `grandstand/show`. @default there is none */
  readonly show?: CreateShow | undefined;
  /** The documentation at `/docs`: `createDocs()` of `grandstand/docs`. @default there is none */
  readonly docs?: CreateDocs | undefined;
  /** Sign-up, login and passwords. @default {} */
  readonly identity?: IdentityOptions | undefined;
  /** Schedule and lifetime of exports. @default {} */
  readonly exports?: ExportOptions | undefined;
  /** Further areas that `fetch` serves. @default [] */
  readonly areas?: readonly Area[] | undefined;
  /** CORS, metrics and other behaviour of the handlers. @default {} */
  readonly http?: PlatformHttpOptions | undefined;

  // Services.

  /** Receives log lines. @default warnings and errors to `console` */
  readonly logger?: Logger | undefined;
  /** Measures the process: `createMetrics()` of `grandstand/metrics`. @default nothing is measured */
  readonly metrics?: PlatformMetrics | undefined;
  /** Records spans and passes traces on: `await openTracer()` of `grandstand/tracing`. @default nothing is traced */
  readonly tracer?: Tracer | undefined;
  /** Holds actions that back ends report until a worker applies them. @default they are applied before the answer */
  readonly queue?: Queue | undefined;
  /** Keeps exported files and assets; the same place for every process of a deployment. @default exports and uploads are refused */
  readonly blobs?: Blobs | undefined;
  /** Sends mail to users. @default mail is dropped with a warning */
  readonly mailer?: Mailer | undefined;
  /** Sends the webhooks of loyalty configurations: `createWebhookSender()` of `grandstand/webhook`. @default none */
  readonly webhooks?: WebhookSender | undefined;
  /**
   * Calls addresses that authors and operators name, such as specifications of apps and backends of workflows: `createOutbound()` of
   * `grandstand/outbound`.
   *
   * @default they are refused
   */
  readonly outbound?: Outbound | undefined;
  /** Finds the countries of clients. @default every location is unknown */
  readonly geo?: GeoReader | undefined;
  /** Hashes passwords natively: `nativeKernels()` of `grandstand/native`. @default slower portable code */
  readonly passwordKernels?: PasswordKernels | undefined;
  /** Signs new tokens. @default "EdDSA" */
  readonly signatureAlgorithm?: SignatureAlgorithm | undefined;

  // Time and randomness, for tests.

  /** Unix ms. @default Date.now */
  readonly clock?: Clock | undefined;
  /** @default crypto.getRandomValues */
  readonly random?: RandomBytes | undefined;
  /** @default setTimeout */
  readonly timer?: Timer | undefined;
}

/** Behaviour of a platform's handlers. */
export type PlatformHttpOptions = Pick<
  HandlerOptions,
  "bodyMsMax" | "clock" | "cors" | "inspect" | "requestId" | "servesMetrics" | "title"
>;

export interface ResolvedOptions extends PlatformOptions {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly timer: Timer;
  readonly logger: Logger;
  readonly publicUrl: string;
  readonly givenUrl: string | undefined;
  readonly basePath: string;
  readonly limiter: Limiter | "off";
  readonly clientAddress: ClientAddress;
}

/**
 * Checks options and fills in their defaults.
 *
 * @throws {TypeError} An option is missing, unknown or of another type.
 */
export function resolveOptions(options: PlatformOptions): ResolvedOptions {
  checkOptions(options);
  const { clock = systemClock, publicUrl: givenUrl, localUrl = publicUrlDefault, basePath = "" } = options;
  const { logger = consoleLogger, clientAddress = { trustedProxies: [] } } = options;
  const withBasePath = (url: string): string =>
    new URL(url).pathname.endsWith(basePath) ? url : url + basePath;
  return {
    ...options,
    clock,
    random: options.random ?? systemRandom,
    timer: options.timer ?? systemTimer,
    logger,
    clientAddress:
      typeof clientAddress === "function" ? clientAddress : createClientAddress(clientAddress, logger),
    limiter: options.limiter ?? createMemoryLimiter(options.clock === undefined ? {} : { clock }),
    basePath,
    publicUrl: withBasePath(givenUrl ?? localUrl),
    givenUrl: givenUrl === undefined ? undefined : withBasePath(givenUrl),
  };
}

interface Expectation {
  readonly text: string;
  readonly isMet: (value: unknown) => boolean;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
const anObject: Expectation = { text: "an object", isMet: value => isObject(value) && !Array.isArray(value) };
/** Names are checked as well, as a misspelt one would leave a limit or policy at its default. */
function anObjectOf<O>(...names: readonly (keyof O & string)[]): Expectation {
  return {
    text: `an object with no other names than ${names.join(", ")}`,
    isMet: value =>
      anObject.isMet(value) && Object.keys(value as O & object).every(name => names.includes(name as never)),
  };
}
const aFunction: Expectation = { text: "a function", isMet: value => typeof value === "function" };
const aText: Expectation = { text: "a string", isMet: value => typeof value === "string" };

function withMethods<O>(text: string, ...methods: readonly (keyof O & string)[]): Expectation {
  return {
    text,
    isMet: value => isObject(value) && methods.every(method => typeof value[method] === "function"),
  };
}

export const publicUrlForm = "an http or https URL without query, fragment and slash at its end";

export function isPublicUrl(text: string): boolean {
  return /^https?:\/\/[^?#]*[^?#/]$/.test(text) && URL.canParse(text);
}

const aUrl: Expectation = {
  text: publicUrlForm,
  isMet: value => typeof value === "string" && isPublicUrl(value),
};
function isArrayOfNetworks(value: unknown): boolean {
  return Array.isArray(value) && value.every(text => typeof text === "string") && areNetworks(value);
}

const trustedProxies = anObjectOf<TrustedProxies>("trustedProxies");
const aLimiter = withMethods<Limiter>(
  'a limiter, such as createMemoryLimiter() of "grandstand/memory"',
  "take",
);

const expectations: Readonly<Record<keyof PlatformOptions, Expectation>> = {
  store: withMethods<Store>('a store, such as createMemoryStore() of "grandstand/memory"', "read", "commit"),
  secret: {
    text: 'a MasterSecret: new MasterSecret("a long text that only this deployment knows")',
    isMet: value => value instanceof MasterSecret,
  },
  publicUrl: aUrl,
  localUrl: aUrl,
  basePath: {
    text: "a path like /api/grandstand",
    isMet: value => typeof value === "string" && isBasePath(value),
  },
  clientAddress: {
    text: 'a function, or an object like { trustedProxies: ["10.0.0.0/8", "::1"] }',
    isMet: value =>
      aFunction.isMet(value) ||
      (trustedProxies.isMet(value) && isArrayOfNetworks((value as TrustedProxies).trustedProxies)),
  },
  defaultSpaceId: aText,
  limiter: { text: `${aLimiter.text}, or "off"`, isMet: value => value === "off" || aLimiter.isMet(value) },
  localLimiter: aLimiter,
  rateLimits: { text: 'an object or "off"', isMet: value => value === "off" || anObject.isMet(value) },
  control: { text: 'createControl of "grandstand/control"', isMet: aFunction.isMet },
  studio: { text: 'createStudio() of "grandstand/studio"', isMet: aFunction.isMet },
  show: { text: 'createShow() of "grandstand/show"', isMet: aFunction.isMet },
  docs: { text: 'createDocs() of "grandstand/docs"', isMet: aFunction.isMet },
  identity: anObjectOf<IdentityOptions>(
    ...([
      "accountIssuer",
      "clientSecret",
      "passwordHash",
      "passwordPolicy",
      "limits",
      "remote",
      "onMerge",
    ] as const),
  ),
  exports: anObjectOf<ExportOptions>("intervalMs", "ttlMs", "usersMax", "workers", "openMax", "kernels"),
  areas: { text: "an array of areas", isMet: Array.isArray },
  http: anObjectOf<PlatformHttpOptions>(
    ...(["bodyMsMax", "clock", "cors", "inspect", "requestId", "servesMetrics", "title"] as const),
  ),
  logger: withMethods<Logger>("a logger with enabled() and log()", "enabled", "log"),
  metrics: withMethods<PlatformMetrics>(
    'metrics, such as createMetrics() of "grandstand/metrics"',
    "ports",
    "boardDelay",
  ),
  tracer: withMethods<Tracer>(
    'a tracer, such as await openTracer() of "grandstand/tracing"',
    "serve",
    "call",
    "traceId",
  ),
  queue: withMethods<Queue>('a queue, such as createMemoryQueue() of "grandstand/memory"', "push"),
  blobs: withMethods<Blobs>('blobs, such as createMemoryBlobs() of "grandstand/memory"', "put", "get"),
  mailer: withMethods<Mailer>("a mailer with send()", "send"),
  webhooks: withMethods<WebhookSender>("a sender with send()", "send"),
  outbound: withMethods<Outbound>(
    'a reader of addresses, such as createOutbound() of "grandstand/outbound"',
    "get",
    "post",
  ),
  geo: withMethods<GeoReader>("a reader of countries with lookup()", "lookup"),
  passwordKernels: anObject,
  signatureAlgorithm: aText,
  clock: aFunction,
  random: aFunction,
  timer: aFunction,
};

function checkOptions(options: unknown): void {
  if (!isObject(options)) throw new TypeError("Cannot create a platform: createPlatform({ store, secret })");
  const names = Object.keys(expectations);
  const unknown = Object.keys(options).find(name => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot create a platform: there is no option ${unknown}; there are ${names.join(", ")}`,
    );
  }
  for (const [name, { text, isMet }] of Object.entries(expectations)) {
    const value = options[name];
    const isRequired = name === "store" || name === "secret";
    if ((value === undefined && !isRequired) || isMet(value)) continue;
    throw new TypeError(`Cannot create a platform: ${name} must be ${text}`);
  }
}
