/** The test kit: a platform in memory whose time, chance, mail and webhooks are in the hands of a test. */

import { hmac } from "@noble/hashes/hmac.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { createMemoryBlobs } from "../../adapters/memory/mod.ts";
import { uuid } from "../auth/crypto/mod.ts";
import { permissions as everyPermission, type Permission, type RandomBytes } from "../auth/mod.ts";
import type { KdfInput } from "../auth/passwords/kernels.ts";
import type { PasswordKernels } from "../auth/passwords/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import type { Mail, Mailer } from "../base/outbound/outbound.ts";
import { WebhookError, type WebhookMessage, type WebhookSender } from "../base/outbound/outbound.ts";
import {
  audience,
  createFanClient,
  type FanClient,
  GrandstandError,
  identity,
  leaderboards,
  location,
  loyalty,
} from "../client/mod.ts";
import type { LeaderboardEntry } from "../fans/leaderboards/mod.ts";
import type { RewardsProfile } from "../fans/loyalty/views/loyalty_reader.ts";
import type { Handler } from "../http/mod.ts";
import type { PlatformOptions } from "../platform/options.ts";
import type { Platform } from "../platform/platform.ts";
import { createTestTime, type Span, spanMs, startAtDefault, type TestTime } from "./time.ts";
import {
  type Call,
  createCall,
  levels,
  openWorld,
  seededRandom,
  type TenantContents,
  type TenantIds,
  type World,
} from "./world.ts";

type ProvidedOption = "store" | "secret" | "clock" | "random" | "timer" | "mailer" | "webhooks" | "publicUrl";

/** Options of {@linkcode createTestKit}. */
export interface TestKitOptions extends Pick<TenantContents, "loyalty" | "settings"> {
  /** Decides all ids: the same seed and calls give the same ids. @default 1 */
  readonly seed?: number;
  /** Unix ms when the test begins. @default 2030-01-01T00:00:00Z */
  readonly startAt?: number;
  /** Other options of the platform. @default no limits, no log, blobs in memory */
  readonly platform?: Partial<Omit<PlatformOptions, ProvidedOption>>;
}

/** A back end of a test with its API key. */
export interface TestBackEnd {
  readonly key: string;
  readonly secret: string;
  /** Calls the platform with the key. */
  readonly call: Call;
}

/** Which leaderboard a test reads. */
export interface TestBoardOptions {
  /** True: the board of the event. @default false */
  readonly ofEvent?: boolean;
  /** Parameters of the list, such as `limit` and `season`. @default {} */
  readonly query?: Readonly<Record<string, string>>;
}

/** Longest step in ms between two runs of the background work, in spans that are short. */
const stepMsMax = 60_000;
/** Most steps of a longer span, apart from the first, which are shorter. */
const stepsMax = 200;
/** First step in ms: as often as a server runs background work. */
const firstStepMs = 5_000;

/**
 * Opens a platform in memory with one organisation, space, project and running event, for unit tests. It shares nothing with other
 * kits and never waits for real time.
 *
 * ```ts
 * const kit = await createTestKit({ loyalty });
 * const fan = await kit.fan();
 * await fan.act("goal");
 * console.log((await fan.profile()).metrics);
 * await kit.close();
 * ```
 *
 * @throws {AppError} `validation_failed`: the loyalty configuration or the settings have the faults that the message names.
 * @throws {TypeError} An option is unknown.
 */
export async function createTestKit(options: TestKitOptions = {}): Promise<TestKit> {
  checkNames("option", options, ["loyalty", "settings", "seed", "startAt", "platform"]);
  checkNames("level of settings", options.settings ?? {}, levels);
  const { seed = 1, startAt = startAtDefault, platform, ...contents } = options;
  if (!Number.isFinite(startAt))
    throw new TypeError("Cannot create a test kit: startAt must be a number of Unix ms");
  const random = seededRandom(seed);
  const time = createTestTime(startAt);
  const services = { mailbox: new Mailbox(), webhooks: new WebhookInbox() };
  const opened = openWorld({
    ...contents,
    url: "https://platform.test",
    name: "Test",
    clock: time.clock,
    random,
    platform: {
      random,
      timer: time.timer,
      mailer: services.mailbox,
      webhooks: services.webhooks,
      passwordKernels: cheapKernels,
      blobs: createMemoryBlobs(),
      ...platform,
    },
  });
  return new TestKit(await opened.catch(rethrowFaults), { time, random }, services);
}

/** Refuses misspelt names, which a test in JavaScript would take for an empty configuration. */
function checkNames(kind: string, given: object, names: readonly string[]): void {
  const unknown = Object.keys(given).find(name => !names.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(
    `Cannot create a test kit: there is no ${kind} ${unknown}; there are ${names.join(", ")}`,
  );
}

/** Lets an error say which parts of a configuration are wrong, as test runners print its message alone. */
function rethrowFaults(error: unknown): never {
  if (!(error instanceof AppError)) throw error;
  const { code, message, fields = [] } = error;
  const faults = fields.map(({ pointer, detail }) => `\n${withoutId(pointer)}: ${detail}`);
  throw new AppError(code, message + faults.join(""), { cause: error, fields });
}

/** Returns the pointer to a part of the loyalty configuration as the options have it, without the id of the space. */
function withoutId(pointer: string): string {
  return pointer.replace(/^\/loyalty\/[^/]+/, "/loyalty");
}

interface Owned {
  readonly time: TestTime;
  readonly random: RandomBytes;
}

/** A platform under test. */
export class TestKit {
  readonly platform: Platform;
  /** Address of the platform, for requests to `fetch`. */
  readonly url: string;
  readonly ids: TenantIds;
  /** Mail that the platform sends. */
  readonly mailbox: Mailbox;
  /** Webhooks that the platform delivers. */
  readonly webhooks: WebhookInbox;
  /** Calls the control API (`/organisations/…`) as an operator. */
  readonly operator: Call;
  /** Calls the platform without credentials. */
  readonly call: Call;
  /** Reaches the platform and nothing else; takes paths as well as addresses. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  readonly #time: TestTime;
  readonly #random: RandomBytes;
  #fans = 0;

  constructor(world: World, { time, random }: Owned, services: Pick<TestKit, "mailbox" | "webhooks">) {
    const [ids] = world.tenants;
    if (ids === undefined) throw new TypeError("Cannot create a test kit without a tenant");
    const { url, platform, operator } = world;
    this.ids = ids;
    this.url = url;
    this.platform = platform;
    this.operator = operator;
    this.mailbox = services.mailbox;
    this.webhooks = services.webhooks;
    this.#time = time;
    this.#random = random;
    this.call = createCall(platform.fetch, url, () => ({}));
    this.fetch = async (input, init) =>
      await platform.fetch(new Request(input instanceof Request ? input : new URL(input, url), init));
  }

  /** The time of the platform, Unix ms. */
  now(): number {
    return this.#time.clock();
  }

  /** Signs a fan up and in. */
  async fan({ username = `Fan ${this.#fans + 1}` }: TestFanOptions = {}): Promise<TestFan> {
    this.#fans += 1;
    const services = { handler: this.platform.fetch, url: this.url, time: this.#time, random: this.#random };
    return await createTestFan({ ...services, tenant: this.ids }, username);
  }

  /** Creates a back end with an API key of the organisation, which has every permission unless some are named. */
  async backEnd(permissions: readonly Permission[] = everyPermission): Promise<TestBackEnd> {
    const { organisationId } = this.ids;
    const { key, secret } = await this.platform.apiKeys.create({ organisationId, name: "Test", permissions });
    const headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": organisationId };
    return { key, secret, call: createCall(this.platform.fetch, this.url, () => headers) };
  }

  /** Returns the entries of a leaderboard, best first, with all that fans did so far. @throws {GrandstandError} There is no such board. */
  async board(
    id: string,
    { ofEvent = false, query = {} }: TestBoardOptions = {},
  ): Promise<readonly LeaderboardEntry[]> {
    await this.settle();
    const { projectId, eventId } = this.ids;
    const path = `/projects/${projectId}${ofEvent ? `/events/${eventId}` : ""}/leaderboards/${id}`;
    const parameters = new URLSearchParams(query);
    return (await this.call<{ readonly data: readonly LeaderboardEntry[] }>(`${path}?${parameters}`)).data;
  }

  /** Resolves when the background work of past calls is done: boards, webhooks, mail, audit. */
  async settle(): Promise<void> {
    await this.platform.idle();
  }

  /**
   * Moves the clock. Timers fire, and background work runs: expiries, ends of seasons and events, repeated deliveries, exports.
   * Short steps come first, so that what is due within seconds happens in order.
   *
   * @param span Milliseconds, or words: `"1 day"`, `"90 minutes"`.
   *
   * @throws {TypeError} It is no length of time.
   */
  async passTime(span: Span): Promise<void> {
    const ms = spanMs(span);
    const end = this.now() + ms;
    const longest = Math.max(stepMsMax, ms / stepsMax);
    await this.settle();
    for (let step = firstStepMs; this.now() < end; step = Math.min(step * 2, longest)) {
      this.#time.moveTo(Math.min(this.now() + step, end));
      await this.platform.work();
      await this.settle();
    }
  }

  /** Ends the background work. The kit cannot be used afterwards. */
  async close(): Promise<void> {
    await this.platform.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

async function derive({ password, salt, length }: KdfInput): Promise<Uint8Array> {
  return hmac(sha512, salt, password).subarray(0, length);
}

/** Kernels that cost nothing and protect nothing. */
const cheapKernels: PasswordKernels = { scrypt: derive, argon2id: derive };

/** A way for deliveries to fail. */
export interface WebhookFailure {
  /** Status that the receiver answers. @default it does not answer */
  readonly status?: number;
  /** Delay that the receiver asks for, in ms. @default none */
  readonly retryAfterMs?: number;
  /** Attempts that fail. @default all until `accept` is called */
  readonly times?: number;
}

/** Receives webhooks instead of sending them. */
export class WebhookInbox implements WebhookSender {
  #received: WebhookMessage[] = [];
  #attempts = 0;
  #failure: WebhookFailure = { times: 0 };
  #failed = 0;

  async send(message: WebhookMessage): Promise<void> {
    this.#attempts += 1;
    const { times = Number.POSITIVE_INFINITY, status } = this.#failure;
    if (this.#failed < times) {
      this.#failed += 1;
      const reason = status === undefined ? "the service does not answer" : `the service answers ${status}`;
      throw new WebhookError(reason, this.#failure);
    }
    this.#received.push(message);
  }

  /** Messages in the order in which they were accepted. */
  get received(): readonly WebhookMessage[] {
    return this.#received;
  }

  /** Number of attempts so far, those that failed included. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Lets deliveries fail from now on. The platform tries again as time passes. */
  fail(failure: WebhookFailure = {}): void {
    this.#failure = failure;
    this.#failed = 0;
  }

  /** Lets deliveries succeed from now on. */
  accept(): void {
    this.fail({ times: 0 });
  }

  /** Forgets what was received so far. */
  clear(): void {
    this.#received = [];
    this.#attempts = 0;
  }
}

/** Keeps mail instead of sending it. */
export class Mailbox implements Mailer {
  #mails: Mail[] = [];

  async send(mail: Mail): Promise<void> {
    this.#mails.push(mail);
  }

  /** Mail in the order in which it was sent. */
  get mails(): readonly Mail[] {
    return this.#mails;
  }

  /** Returns the newest mail, to an address where one is named. @throws {Error} There is none. */
  last(to?: string): Mail {
    const mail = this.#mails.findLast(each => to === undefined || each.to === to);
    if (mail !== undefined) return mail;
    const sent = this.#mails.map(each => `${each.kind} to ${each.to}`).join(", ");
    throw new Error(
      `There is no mail${to === undefined ? "" : ` to ${to}`}: ${sent === "" ? "none was sent" : `sent were ${sent}`}. Mail leaves in the background: await kit.settle() first`,
    );
  }

  /** Returns the one-time code of the newest mail that has one, to an address where one is named. @throws {Error} None has. */
  code(to?: string): string {
    const coded = this.#mails.findLast(mail => mail.code !== undefined && (to ?? mail.to) === mail.to);
    if (coded?.code !== undefined) return coded.code;
    throw new Error(`Expected a mail with a code; the newest is: ${this.last(to).subject}`);
  }

  /** Returns the addresses in the text of the newest mail. @throws {Error} There is no mail. */
  links(to?: string): readonly string[] {
    return this.last(to).text.match(/https?:\/\/[^\s<>"]+[^\s<>".,;:!?)]/g) ?? [];
  }

  /** Forgets all mail so far. */
  clear(): void {
    this.#mails = [];
  }
}

/** Options of a fan. */
export interface TestFanOptions {
  /** Shown on boards. @default "Fan 1", "Fan 2" and so on */
  readonly username?: string;
}

/** Options of an action. */
export interface TestActionOptions {
  /** @default {} */
  readonly data?: Readonly<Record<string, string | number | boolean>>;
  /** An action takes effect once under its id. @default a new id */
  readonly actionId?: string;
}

const areas = { identity, location, leaderboards, loyalty, audience };

/** A signed-in fan. The session goes on as time passes. */
export interface TestFan {
  readonly userId: string;
  readonly username: string;
  /** The only credential of the fan: an app keeps it. */
  readonly externalId: string;
  /** The typed client with the session of the fan. It sends each call once. */
  readonly client: FanClient<typeof areas>;
  /** Calls a path as the fan. */
  readonly call: Call;
  /** Returns a token of the space that is good now. */
  token(): Promise<string>;
  /** Reports an action. Boards and webhooks follow in the background. @throws {GrandstandError} The platform refuses it. */
  act(action: string, options?: TestActionOptions): Promise<void>;
  /** Returns metrics, inventory and challenges. */
  profile(): Promise<RewardsProfile>;
}

interface TestFanServices {
  readonly handler: Handler;
  readonly url: string;
  readonly time: TestTime;
  readonly random: RandomBytes;
  readonly tenant: TenantIds;
}

async function createTestFan(services: TestFanServices, username: string): Promise<TestFan> {
  const { handler, url, time, random, tenant } = services;
  const { organisationId, projectId } = tenant;
  const client = createFanClient({
    url,
    projectId,
    organisationId,
    areas,
    clock: time.clock,
    timer: time.timer,
    fetch: async (target, init) => await handler(new Request(target, init)),
    random: () => (random(1)[0] ?? 0) / 256,
    uniqueId: () => uuid(random),
    // Time stands still: nobody would end the pause before another attempt.
    attemptsMax: 1,
  });
  const user = await client.session.register({ provider: "noLogin", username });
  if (user === null) throw new TypeError("Cannot sign a fan up without a session");
  const headersOf = async () => ({
    ...(await client.session.headers("s")),
    "x-platform-org-id": organisationId,
  });
  return {
    userId: user.userId,
    username,
    externalId: user.externalId,
    client,
    call: createCall(handler, url, headersOf),
    token: async () => (await client.session.headers("s")).authorization?.replace(/^Bearer /, "") ?? "",
    async act(action, { data = {}, actionId } = {}) {
      const body = { action, data, ...(actionId === undefined ? {} : { actionId }) };
      await client.loyalty.reportAction({ body }).catch((error: unknown) => {
        if (error instanceof GrandstandError && error.code === "forbidden") error.message += hintOf(action);
        throw error;
      });
    },
    profile: async () => await client.loyalty.getRewardsProfile(),
  };
}

function hintOf(action: string): string {
  return `. To let fans report it, declare {"name":${JSON.stringify(action)},"clientReportable":true} in \`actions\` of the loyalty configuration`;
}
