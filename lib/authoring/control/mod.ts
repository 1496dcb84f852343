/**
 * The control API: authoring over JSON:API.
 *
 * @module
 */

import * as v from "valibot";
import type { Clock, Cursors, MasterSecret, RandomBytes } from "../../auth/mod.ts";
import type { Metrics } from "../../base/metrics/mod.ts";
import type { ActionService } from "../../fans/audience/mod.ts";
import type { Directory } from "../../fans/directory/mod.ts";
import { Places } from "../../fans/directory/records.ts";
import type { AnyRoute, Logger } from "../../http/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { type Resource, type ResourceType, resources } from "../table/mod.ts";
import type { Authors } from "./access/authors.ts";
import { authorGuard } from "./access/authors.ts";
import type { Roles } from "./access/roles.ts";
import { accessRoutes } from "./access/routes.ts";
import { type LoginServices, sessionRoutes } from "./access/sessions.ts";
import { analyticsRoute } from "./analytics_route.ts";
import { answersRoutes } from "./answers_routes.ts";
import { Apps } from "./apps/apps.ts";
import { appRoutes } from "./apps/routes.ts";
import { AssetFiles, type AssetFilesOptions } from "./assets/files.ts";
import { assetRoutes } from "./assets/routes.ts";
import { auditRoutes } from "./audit.ts";
import { cloneRoute } from "./clone.ts";
import { stagedTask } from "./contents.ts";
import { type Kind, sharedKind } from "./kind.ts";
import { appKind } from "./kinds/apps.ts";
import { assetKind, tagKind } from "./kinds/assets.ts";
import { elementKind } from "./kinds/elements.ts";
import { eventKind, statsKind } from "./kinds/events.ts";
import { scopeRoleKind } from "./kinds/people.ts";
import { settingsTask } from "./kinds/settings.ts";
import { templateKind } from "./kinds/templates.ts";
import { organisationKind, projectKind, spaceKind } from "./kinds/tenants.ts";
import { liveRoutes } from "./live_routes.ts";
import { operationsRoute } from "./operations.ts";
import { processRoutes } from "./processes.ts";
import { Reader } from "./read.ts";
import { eventTask } from "./repeat.ts";
import { resourceRoutes } from "./routes.ts";
import type { ControlServices, Kinds } from "./services.ts";
import { ControlWork } from "./work.ts";
import { dispatchRoute } from "./workflows/dispatch_route.ts";
import { type ResourceRoutesContext, Writer } from "./write.ts";

export type { Author, Authors, AuthorUser, TokenInfo } from "./access/authors.ts";
export type { LoginServices } from "./access/sessions.ts";
export type { IncludedResource, Shown, ShownDocument, ShownList, Type } from "./jsonapi/types.ts";

/** Options of {@linkcode createControl}, which a platform gives. */
export interface ControlOptions
  extends Pick<ControlServices, "live" | "outbound" | "settingsFaults" | "beforeShowChange">,
    Pick<AssetFilesOptions, "blobs" | "sha256"> {
  readonly store: Store;
  readonly authors: Authors;
  readonly login: LoginServices;
  readonly roles: Roles;
  readonly secret: MasterSecret;
  readonly directory: Directory;
  readonly cursors: Cursors;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Names this process among all. */
  readonly holder: string;
  readonly logger: Logger;
  /** The metrics of this process; null: it measures nothing. */
  readonly metrics: Metrics | null;
  /** Actions that could not be applied. */
  readonly deadLetters: ActionService["deadLetters"];
  /** Address of the platform, without a slash at its end. */
  readonly publicUrl: string;
}

/** The control API of a platform. */
export interface Control {
  readonly routes: readonly AnyRoute[];
  /** Does what time or dead processes left to do. */
  work(): Promise<void>;
}

/**
 * Creates the control API, as the option `control` of a platform.
 *
 * @example
 * ```ts
 * import { createPlatform, MasterSecret } from "grandstand";
 * import { createControl } from "grandstand/control";
 * import { createMemoryStore } from "grandstand/memory";
 *
 * const platform = await createPlatform({
 *   store: createMemoryStore(),
 *   secret: new MasterSecret("a long text that only this deployment knows"),
 *   control: createControl,
 * });
 * const author = await platform.authors.findOrCreate("producer@example.com", { operator: true });
 * const { token } = await platform.authors.createToken({ userId: author.id, name: "Pipeline" });
 * const headers = { authorization: `Bearer ${token}` };
 * const me = await platform.fetch(new Request("http://localhost/api/v2/me", { headers }));
 * console.log(me.status); // 200
 * ```
 */
export function createControl(options: ControlOptions): Control {
  const { publicUrl, random } = options;
  const work = new ControlWork(options);
  const services: ControlServices = {
    ...options,
    work,
    places: new Places(options),
    apps: new Apps({ ...options, work }),
    base: `${publicUrl}/api/v2`,
    userAgent: `Grandstand-Authoring/1.0 (+${publicUrl})`,
  };
  work.add(eventTask(services));
  work.add(stagedTask(options.store));
  work.add(settingsTask(options.store));
  const files = new AssetFiles({ ...options, work });
  const assets = assetKind(services);
  const events = eventKind(services);
  const own = {
    organisations: organisationKind(services),
    spaces: spaceKind(services),
    projects: projectKind(services),
    apps: appKind(services),
    events,
    event_templates: templateKind(services),
    elements: elementKind(services),
    assets,
    tags: tagKind(),
    stats: statsKind(options.store),
    scope_roles: scopeRoleKind(services),
  };
  const kinds: Kinds = { ...own, ...sharedKinds(own) };
  const reader = new Reader(services, kinds);
  const writer = new Writer(services, kinds);
  const author = authorGuard(services.authors);
  const context = { services, kinds, reader, writer, author, random };
  return {
    work: () => work.run(),
    routes: controlRoutes({ ...context, options, files, kind: assets, events }).map(withStrictQuery),
  };
}

interface ControlRoutesContext extends ResourceRoutesContext {
  readonly options: ControlOptions;
  readonly files: AssetFiles;
  readonly kind: Kind;
  readonly events: Kind;
}

function controlRoutes(context: ControlRoutesContext) {
  const { options, services, author, random } = context;
  return [
    ...accessRoutes({ services, author }),
    ...sessionRoutes({ services, login: options.login, random }),
    ...auditRoutes(services, author),
    ...processRoutes({ ...options, services, author }),
    ...resourceRoutes(context),
    ...appRoutes(context),
    ...assetRoutes(context),
    operationsRoute(context),
    dispatchRoute(context),
    cloneRoute(context.events, context),
    analyticsRoute(context),
    ...answersRoutes(context.kinds.elements, context),
    ...liveRoutes(context),
  ];
}

/** A route of the control API with its types, for clients. */
export type ControlRoute = ReturnType<typeof controlRoutes>[number];

/** Lets a route that says nothing of query parameters refuse all of them. Public files ignore them. */
function withStrictQuery(route: AnyRoute): AnyRoute {
  const isFile = !route.path.startsWith("/api/v2/");
  return isFile || route.query !== undefined ? route : { ...route, query: v.strictObject({}) };
}

/** Returns the kinds of resources that share one record in a home and have no rules of their own. */
function sharedKinds(own: object): Readonly<Record<SharedType, Kind>> {
  const shared = Object.values<Resource>(resources).filter(
    ({ type, entriesMax }) => entriesMax !== undefined && !Object.hasOwn(own, type),
  );
  return Object.fromEntries(shared.map(resource => [resource.type, sharedKind(resource)])) as never;
}

type SharedType = {
  [T in ResourceType]: (typeof resources)[T] extends { readonly entriesMax: number } ? T : never;
}[ResourceType];
