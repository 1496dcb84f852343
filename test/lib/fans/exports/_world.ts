/** A store and blobs that outlive processes, users to export, and what was sent about it. */

import assert from "node:assert/strict";
import { createDecipheriv, pbkdf2Sync } from "node:crypto";
import { parse } from "csv-parse/sync";
import { createMemoryBlobs } from "../../../../adapters/memory/mod.ts";
import { nativeExportKernels } from "../../../../adapters/native/mod.ts";
import { systemRandom } from "../../../../lib/auth/crypto/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import type { Announcement, Mail, WebhookMessage } from "../../../../lib/base/outbound/outbound.ts";
import type { UserSearch } from "../../../../lib/fans/audience/mod.ts";
import { downloadRoutes } from "../../../../lib/fans/exports/http/download_routes.ts";
import { exportRoutes } from "../../../../lib/fans/exports/http/routes.ts";
import type { ExportCaller } from "../../../../lib/fans/exports/mod.ts";
import { type ExportOptions, Exports } from "../../../../lib/fans/exports/mod.ts";
import {
  createHandler,
  type Guard,
  type Handler,
  type Logger,
  silentLogger,
} from "../../../../lib/http/mod.ts";
import type { Blobs, Limiter, Store } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { WatchedBlobs } from "../../../support/dying_blobs.ts";
import { ids, testSecret } from "../../../support/platform.ts";
import type { OpenStore } from "../../../support/stores.ts";

/** A user to export. */
export interface TestUser {
  readonly userId: string;
  name: string | null;
  points: number;
}

/** A process and a way to call it. */
export interface TestProcess {
  readonly exports: Exports;
  readonly handler: Handler;
  call(path: string, options?: TestCall): Promise<Response>;
  /** Does what is due now. */
  work(): Promise<void>;
}

/** A request. */
export interface TestCall {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default that of {@linkcode ids} */
  readonly organisationId?: string;
}

/** Parts of a process that differ from the default. */
export interface ProcessOptions extends ExportOptions {
  readonly store?: Store;
  readonly blobs?: Blobs | undefined;
  readonly search?: UserSearch;
  readonly limiter?: Limiter;
  readonly logger?: Logger;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** The documented times of exports, in ms. */
export const intervalMs: number = 300_000;
export const lifetimeMs: number = 86_400_000;
export const fileMs: number = 2 * lifetimeMs;
export const linkMs: number = 900_000;
export const leaseMs: number = 60_000;
export const firstRetryMs: number = 30_000;
export const firstNotificationRetryMs: number = 60_000;
/** The documented numbers of attempts, and of unfinished exports. */
export const attemptsMax: number = 5;
export const notificationAttemptsMax: number = 8;
export const openExportsMax: number = 5;

/** The path of requests for exports. */
export const exportPath = "/v1/api/audience/internal/users/export";

/** The world. */
export class ExportWorld implements AsyncDisposable {
  readonly clock: ReturnType<typeof createTestClock> = createTestClock(1_750_000_000_000);
  readonly store: Store;
  readonly blobs: WatchedBlobs = new WatchedBlobs(createMemoryBlobs());
  readonly mails: Mail[] = [];
  /** Events for the service of the settings. */
  readonly events: WebhookMessage[] = [];
  readonly announced: Announcement[] = [];
  users: TestUser[];
  /** Called before each page is read. */
  onPage: (page: number) => void = () => {};
  /** Thrown in place of taking a mail. */
  mailFault: Error | null = null;
  #pages = 0;

  private constructor(open: (clock: () => number) => Store, users: TestUser[]) {
    this.store = open(this.clock.now);
    this.users = users;
  }

  static async open(open: OpenStore, users: TestUser[]): Promise<ExportWorld> {
    const clock = { now: (): number => 0 };
    const store = await open(() => clock.now());
    const world = new ExportWorld(() => store, users);
    clock.now = world.clock.now;
    return world;
  }

  /** Starts a process. */
  process(options: ProcessOptions = {}): TestProcess {
    const { store = this.store, settings } = options;
    const blobs = "blobs" in options ? options.blobs : this.blobs;
    const exports = new Exports({
      kernels: nativeExportKernels(),
      ...options,
      store,
      blobs,
      search: options.search ?? this.#search(),
      directory: {
        organisation: id => ({
          id,
          name: "Club",
          ...(settings === undefined ? {} : { settings: { exports: settings } }),
        }),
      },
      secret: testSecret,
      clock: this.clock.now,
      random: systemRandom,
      publicUrl: "https://club.example",
      mailer: {
        send: async mail => {
          if (this.mailFault !== null) throw this.mailFault;
          this.mails.push(mail);
        },
      },
      webhooks: {
        send: async message => {
          this.events.push(message);
        },
      },
      announcer: {
        announce: async announcement => {
          this.announced.push(announcement);
        },
      },
      logger: options.logger ?? silentLogger,
    });
    const handler = handlerOf(exports, options.limiter);
    return {
      exports,
      handler,
      call: (path, call = {}) => callHandler(handler, path, call),
      async work() {
        exports.start();
        await exports.idle();
      },
    };
  }

  #search(): UserSearch {
    return {
      compile: async (_, { filter, fields = ["userId", "name", "points"] }) => {
        if (filter === "wrong") {
          throw new AppError("validation_failed", "Cannot search users", {
            fields: [{ pointer: "/filter", detail: "Expected a condition" }],
          });
        }
        return {
          fields: fields.map(name => ({ name, kind: "json" })),
          page: () => assert.fail("exports read printed pages"),
          estimate: async () => this.users.length,
          printedPage: async ({ cursor, limit }) => {
            this.onPage(this.#pages++);
            const sorted = this.users.toSorted((a, b) => (a.userId < b.userId ? -1 : 1));
            const rest = sorted.filter(({ userId }) => cursor === null || userId > cursor);
            const looked = rest.slice(0, limit);
            const fit = looked.filter(({ points }) => typeof filter !== "number" || points >= filter);
            const rows = fit.map(user =>
              fields.map(name => JSON.stringify(user[name as keyof TestUser] ?? null)),
            );
            const last = looked.at(-1);
            return {
              rows,
              cursor: rest.length > limit && last !== undefined ? last.userId : null,
              examined: looked.length,
            };
          },
        };
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
  }
}

function handlerOf(exports: Exports, limiter: Limiter | undefined): Handler {
  const guard: Guard<ExportCaller> = {
    security: [],
    authenticate: ({ request }) => ({
      space: {
        id: ids.space,
        organisationId: request.headers.get("x-test-organisation") ?? ids.organisation,
      },
      keyId: "gsk_test",
    }),
  };
  const routes = [
    ...exportRoutes({
      exports,
      exporter: guard,
      reader: guard,
      userData: { kinds: [], describe: async () => [], dataSchemas: async () => ({}), async *read() {} },
    }),
    ...downloadRoutes({ exports }),
  ];
  return createHandler(
    [{ name: "audience", family: "problem", routes }],
    limiter === undefined ? {} : { limiter },
  );
}

function callHandler(handler: Handler, path: string, call: TestCall): Promise<Response> {
  const { body, organisationId } = call;
  const request = new Request(new URL(path, "https://club.example"), {
    method: call.method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(organisationId === undefined ? {} : { "x-test-organisation": organisationId }),
      ...call.headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return handler(request, { address: "203.0.113.7" });
}

/** Users in the order of their ids. */
export function manyUsers(count: number, charactersOfName = 10): TestUser[] {
  return Array.from({ length: count }, (_, n) => ({
    userId: `user-${String(n).padStart(6, "0")}`,
    name: `N${n} `.repeat(Math.ceil(charactersOfName / 4)).slice(0, charactersOfName),
    points: n,
  }));
}

/** Asks for an export, and answers its id. */
export async function requestExport(
  process: TestProcess,
  body: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const response = await process.call(exportPath, { body: { format: "json", ...body }, headers });
  const { data, ...rest } = await response.json();
  assert.equal(response.status, 202, JSON.stringify(rest));
  return data.exportId;
}

/** Returns an export as a process shows it. */
// biome-ignore lint/suspicious/noExplicitAny: assertions read members that only they know
export async function getExport(process: TestProcess, exportId: string): Promise<any> {
  const response = await process.call(`/v1/api/audience/internal/exports/${exportId}`);
  assert.equal(response.status, 200);
  return (await response.json()).data;
}

/** Downloads what a completed export leads to. */
export async function fetchFile(process: TestProcess, exportId: string): Promise<Buffer> {
  const { downloadUrl } = await getExport(process, exportId);
  const response = await process.call(downloadUrl);
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}

/** The plaintext of a file, by nothing but node:crypto and what the documentation says. */
export function decrypt(file: Buffer, password: string): string {
  const [salt, iv, tag, data, ...more] = file
    .toString("latin1")
    .split(":")
    .map(part => Buffer.from(part, "base64"));
  assert.ok(salt && iv && tag && data && more.length === 0);
  assert.deepEqual([salt.length, iv.length, tag.length], [16, 12, 16]);
  const key = pbkdf2Sync(password, salt, 600_000, 32, "sha256");
  const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: 16 });
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(data), decipher.final()]).toString();
}

/** The rows of a file in CSV, as another parser reads them. */
export function csvRows(text: string): Record<string, string>[] {
  return parse(text, { columns: true, record_delimiter: "\r\n" }) as Record<string, string>[];
}
