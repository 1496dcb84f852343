/** The platform: every area over one store. */

import type { ApiKeys, KeyRing } from "../auth/mod.ts";
import { openIssuer, requireKnownFormat } from "../auth/tokens/jwks_routes.ts";
import { createKeyRing } from "../auth/tokens/key_ring.ts";
import type { Authors } from "../authoring/control/access/authors.ts";
import type { ActionService, ActionWorker } from "../fans/audience/mod.ts";
import type { Directory, LoyaltyVersions } from "../fans/directory/mod.ts";
import type { Exports } from "../fans/exports/mod.ts";
import type { Audit, ClientTokens, IdleUsers, SessionGuard, Sessions } from "../fans/identity/mod.ts";
import type { BoardPath, Leaderboards, Rebuilt } from "../fans/leaderboards/mod.ts";
import type { Location } from "../fans/location/mod.ts";
import type { Loyalty } from "../fans/loyalty/mod.ts";
import type { SpaceTokens } from "../fans/space_tokens/mod.ts";
import { createRouter } from "../http/handler.ts";
import {
  type Area,
  createHandler,
  type Handler,
  type HandlerOptions,
  type PlatformRouter,
  type ReadinessWarning,
} from "../http/mod.ts";
import { type AreaName, areaNames, createAreas } from "./areas.ts";
import type { PlatformMetrics } from "./metrics/mod.ts";
import { tracedPorts } from "./observed_ports.ts";
import { type PlatformOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { createFailureLimit } from "./rate_limits.ts";
import { Readiness, rootArea } from "./readiness.ts";
import { createServices, type Services } from "./services.ts";
import { type PlatformUsers, rebuildFromLoyalty } from "./users.ts";
import { version } from "./version.ts";

export { version };

/** A platform. */
export interface Platform {
  /** Serves every area. Never rejects. */
  readonly fetch: Handler;
  /**
   * The itty `Router` behind `fetch`, to which routes and middleware can be added.
   *
   * @example
   * ```ts
   * platform.router.get("/hello/:name", ({ params }) => Response.json({ hello: params.name }));
   * platform.router.before.push(request => console.log(request.method, request.url));
   * ```
   */
  readonly router: PlatformRouter;
  /**
   * Returns a handler of the named areas alone, for a server of your own.
   *
   * @throws {TypeError} There is no area of this name.
   */
  handler(areas: readonly AreaName[]): Handler;
  readonly directory: Directory;
  readonly apiKeys: ApiKeys;
  /** Issues the tokens of apps, for users without a session who request a new password. */
  readonly clientTokens: ClientTokens;
  /** Authoring users and their access tokens. */
  readonly authors: Authors;
  readonly keyRing: KeyRing;
  /** The `iss` of the tokens of all processes on the store; spaces with a domain have their own. */
  readonly issuer: string;
  /** Feeds boards, streams them to listeners, and removes expired seasons. */
  readonly leaderboards: Leaderboards;
  readonly location: Location;
  readonly loyalty: Loyalty;
  /** The loyalty configurations of spaces with their history. */
  readonly loyaltyVersions: LoyaltyVersions;
  /** The users of organisations: searching them, and building indexes of their metrics. */
  readonly users: PlatformUsers;
  /** The exports of users. `work` starts due exports; `idle` waits for them. */
  readonly exports: Exports;
  readonly sessions: Sessions;
  /** Checks sessions for services that verify users' tokens themselves. */
  readonly sessionGuard: SessionGuard;
  readonly spaceTokens: SpaceTokens;
  /** Removes anonymous users after a long absence. */
  readonly idleUsers: IdleUsers;
  /** The trail of every attempt at an identity operation. */
  readonly audit: Audit;
  /**
   * Recomputes a board from stored user histories, while it is read and fed. Users without a stored score leave the board.
   *
   * @param users Ids of the users who may be on it. @default all users of the organisation with a history
   *
   * @throws {AppError} `not_found` or `validation_failed`: there is no such board; `conflict`: back ends write to it.
   */
  rebuildBoard(
    path: BoardPath & { readonly season?: string },
    users?: AsyncIterable<string>,
  ): Promise<Rebuilt>;
  /**
   * Runs due background work: finishes the work and the removals of crashed processes, settles inactive users, removes expired seasons and
   * idle anonymous users, and records the last use of API keys. Call it every few seconds, in one process or in all.
   */
  work(): Promise<void>;
  /**
   * Starts a worker that applies queued actions in this process; stop it before `close`. Workers of several processes share
   * the work.
   *
   * @throws {TypeError} The platform has no queue.
   */
  startActionWorker(options?: Parameters<ActionService["startWorker"]>[0]): ActionWorker;
  /** Resolves when the background work of past requests is done, boards included. */
  idle(): Promise<void>;
  /**
   * Resolves with what an operator should put right if requests can be served, as `GET /readyz` answers.
   *
   * @throws {AppError} `busy`: the process is about to stop; `storage_unavailable`, `outcome_unknown`.
   */
  ready(): Promise<readonly ReadinessWarning[]>;
  /** Makes `GET /readyz` fail, so that load balancers send requests elsewhere. Call it a few seconds before the server stops. */
  drain(): void;
  /** Ends live boards and finishes the background work. The store stays open: its creator closes it. */
  close(): Promise<void>;
}

/**
 * Creates a platform over a store.
 *
 * @throws {TypeError} An option is missing, unknown or of another type.
 * @throws {Error} The store holds keys that were sealed under another secret.
 * @throws {AppError} `storage_unavailable` or `outcome_unknown`: the store could not be asked for the keys.
 *
 * @example
 * ```ts
 * import { createPlatform, MasterSecret } from "grandstand";
 * import { createMemoryStore } from "grandstand/memory";
 *
 * const platform = await createPlatform({
 *   store: createMemoryStore(),
 *   secret: new MasterSecret("a long text that only this deployment knows"),
 * });
 * const response = await platform.fetch(new Request("http://localhost/healthz"));
 * console.log(response.status); // 200
 * ```
 */
export async function createPlatform(options: PlatformOptions): Promise<Platform> {
  const given = resolveOptions(options);
  const traced = given.tracer === undefined ? given : tracedPorts(given, given.tracer);
  const resolved = given.metrics?.ports(traced) ?? traced;
  const { logger, metrics } = resolved;
  const authority = await openAuthority(resolved);
  const { keyRing, issuer } = authority;
  const services = createServices(resolved, authority);
  metrics?.readFigures({ ...resolved, ...services, version });
  const areas = createAreas(services);
  const readiness = new Readiness({ ...resolved, issuer, keyRing, hasWorker: services.actions.hasWorker });
  const http = handlerOptions(resolved, services, readiness);
  // Asked for once the router is there.
  const document = async () =>
    await (await router.fetch(new Request(`${resolved.publicUrl}/openapi.json`))).json();
  const docs = options.docs === undefined ? [] : [options.docs(document)];
  const all = [...Object.values(areas), ...docs, ...(options.areas ?? [])];
  const { title = "Grandstand" } = options.http ?? {};
  const router = createRouter([...all, rootArea({ ...resolved, title, version, areas: all })], http);
  const { apiKeys, leaderboards, loyalty, exports, userDirectory, idleUsers, actions } = services;
  async function idle(): Promise<void> {
    const { background, audit, userIndex, actionCounts, analytics } = services;
    await Promise.all(
      [leaderboards, userIndex, loyalty, background, audit, exports, actionCounts].map(part => part.idle()),
    );
    // Counts come to it with their owners.
    await analytics.idle();
  }
  return {
    fetch: router.fetch,
    router,
    handler: names =>
      createHandler(
        names.map(name => areaOf(areas, name)),
        http,
      ),
    directory: services.directory,
    apiKeys,
    clientTokens: services.clientTokens,
    authors: services.authors,
    keyRing,
    issuer,
    leaderboards,
    location: services.location,
    loyalty,
    loyaltyVersions: services.loyaltyVersions,
    users: userDirectory,
    exports,
    sessions: services.sessions,
    sessionGuard: services.sessionGuard,
    spaceTokens: services.spaceTokens,
    idleUsers,
    audit: services.audit,
    work: () => work(services, readiness, metrics),
    rebuildBoard: (path, users) => rebuildFromLoyalty(services, path, users),
    startActionWorker: actions.startWorker,
    idle,
    ready: () => readiness.check(),
    drain: () => readiness.drain(),
    async close() {
      leaderboards.live.close();
      await exports.close();
      await idle();
      await apiKeys
        .flushUses()
        .catch((error: unknown) => logger.log("warn", "key_uses_not_written", { reason: String(error) }));
    },
  };
}

async function work(services: Services, readiness: Readiness, metrics?: PlatformMetrics): Promise<void> {
  services.exports.start();
  services.loyalty.reveals.start();
  const swept = await services.loyalty.sweep();
  for (const outcome of ["processed", "failed"] as const) {
    metrics?.counter("grandstand_due_users_total", { outcome }).add(swept[outcome]);
  }
  await services.userDirectory.work();
  await services.leaderboards.prune();
  await services.merges.work();
  await services.removals.resume();
  await services.idleUsers.sweepDue();
  await services.control?.work();
  await services.apiKeys.flushUses();
  await readiness.watch();
}

/** Opens the keys first, as a process that is refused must not become the issuer. */
async function openAuthority(options: ResolvedOptions) {
  await requireKnownFormat(options.store);
  const keyRing = await openKeyRing(options);
  return { keyRing, issuer: await openStoredIssuer(options) };
}

/** Opens the issuer of the deployment, and warns of a public URL that is another one. */
async function openStoredIssuer({ store, random, givenUrl, logger }: ResolvedOptions): Promise<string> {
  const issuer = await openIssuer({ store, random, publicUrl: givenUrl });
  if (givenUrl !== undefined && givenUrl !== issuer) {
    logger.log("warn", "issuer_differs", { issuer, publicUrl: givenUrl });
  }
  return issuer;
}

async function openKeyRing(options: ResolvedOptions): Promise<KeyRing> {
  const { store, secret, clock, random, signatureAlgorithm = "EdDSA", logger } = options;
  return await createKeyRing({
    store,
    secret,
    clock,
    random,
    algorithm: signatureAlgorithm,
    onReloadFailed: error => logger.log("warn", "key_ring_reload_failed", { error: String(error) }),
  });
}

function handlerOptions(
  options: ResolvedOptions,
  { quotas }: Services,
  readiness: Readiness,
): HandlerOptions {
  const { store, secret, clock, timer, logger, limiter, localLimiter, publicUrl, basePath } = options;
  const { clientAddress, metrics, tracer } = options;
  return {
    ...options.http,
    timer,
    logger,
    publicUrl,
    basePath,
    version,
    clientAddress,
    localLimiter,
    metrics,
    tracer,
    limiter: limiter === "off" ? undefined : limiter,
    ready: () => readiness.check(),
    failureLimit: createFailureLimit(quotas, secret),
    idempotency: { store, clock },
  };
}

function areaOf(areas: Readonly<Record<string, Area>>, name: string): Area {
  const area = Object.hasOwn(areas, name) ? areas[name] : undefined;
  if (area !== undefined) return area;
  throw new TypeError(`Cannot serve the area ${name}: the areas are ${areaNames.join(", ")}`);
}
