/** The test kit: a platform in memory whose time, chance, mail and webhooks are in the hands of a test. */

import { createMemoryBlobs } from "../../adapters/memory/mod.ts";
import { permissions as everyPermission, type Permission, type RandomBytes } from "../auth/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import type { LeaderboardEntry } from "../fans/leaderboards/mod.ts";
import type { PlatformOptions } from "../platform/options.ts";
import type { Platform } from "../platform/platform.ts";
import { type Call, createCall } from "./call.ts";
import { seededRandom } from "./chance.ts";
import { createTestFan, type TestFan, type TestFanOptions } from "./fan.ts";
import { Mailbox } from "./mailbox.ts";
import { cheapKernels } from "./password_kernels.ts";
import { createTestTime, type Span, spanMs, startAtDefault, type TestTime } from "./time.ts";
import { WebhookInbox } from "./webhooks.ts";
import { levels, openWorld, type TenantContents, type TenantIds, type World } from "./world.ts";

/** Options of the platform that the kit provides itself. */
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
    ...{ url: "https://platform.test", name: "Test", clock: time.clock, random },
    platform: {
      ...{ random, timer: time.timer, mailer: services.mailbox, webhooks: services.webhooks },
      ...{ passwordKernels: cheapKernels, blobs: createMemoryBlobs() },
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
