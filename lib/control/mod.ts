/**
 * The control API: authoring over JSON:API.
 *
 * @module
 */

import type { Clock, Cursors, MasterSecret, RandomBytes } from "../auth/mod.ts";
import { type Directory, Places } from "../directory/mod.ts";
import type { AnyRoute, Logger } from "../http/mod.ts";
import type { Store } from "../storage/mod.ts";
import { Authors } from "./access/authors.ts";
import { authorGuard } from "./access/guard.ts";
import { Roles } from "./access/roles.ts";
import { accessRoutes } from "./access/routes.ts";
import { auditRoutes } from "./audit.ts";
import { elementKind } from "./kinds/elements.ts";
import { eventKind } from "./kinds/events.ts";
import { scopeRoleKind, workflowKind } from "./kinds/people.ts";
import { listOrganisation, tenantKinds } from "./kinds/tenants.ts";
import { Reader } from "./read.ts";
import { eventTask } from "./repeat.ts";
import { resourceRoutes } from "./routes.ts";
import type { ControlServices, Kinds } from "./services.ts";
import { ControlWork } from "./work.ts";
import { Writer } from "./write.ts";

export type { Author, Authors, AuthorUser, TokenInfo } from "./access/authors.ts";
export { listOrganisation };

/** Options of {@linkcode createControl}. */
export interface ControlOptions extends Pick<ControlServices, "outbound" | "settingsFaults"> {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly directory: Directory;
  readonly cursors: Cursors;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Names this process among all. */
  readonly holder: string;
  readonly logger: Logger;
  /** Address of the platform, without a slash at its end. */
  readonly publicUrl: string;
}

/** The control API of a platform. */
export interface Control {
  readonly authors: Authors;
  readonly roles: Roles;
  readonly routes: readonly AnyRoute[];
  /** Does what time or dead processes left to do. */
  work(): Promise<void>;
}

/** Creates the control API. */
export function createControl(options: ControlOptions): Control {
  const { publicUrl, random } = options;
  const services: ControlServices = {
    ...options,
    authors: new Authors(options),
    roles: new Roles(options),
    places: new Places(options),
    work: new ControlWork(options),
    base: `${publicUrl}/api/v2`,
    userAgent: `Grandstand-Authoring/1.0 (+${publicUrl})`,
  };
  services.work.add(eventTask(services));
  const kinds: Kinds = {
    ...tenantKinds(services),
    events: eventKind(services),
    elements: elementKind(),
    scope_roles: scopeRoleKind(services),
    workflows: workflowKind,
  };
  const reader = new Reader(services, kinds);
  const writer = new Writer(services, kinds);
  const author = authorGuard(services.authors);
  const { authors, roles } = services;
  return {
    authors,
    roles,
    work: () => services.work.run(),
    routes: [
      ...accessRoutes({ services, author }),
      ...auditRoutes(services, author),
      ...resourceRoutes({ services, kinds, reader, writer, author, random }),
    ],
  };
}
