/** What the parts of the control API share. */

import type { Cursors } from "../../auth/mod.ts";
import type { FieldError } from "../../base/errors/mod.ts";
import type { Outbound } from "../../base/outbound/outbound.ts";
import type { Directory } from "../../fans/directory/mod.ts";
import type { HomeKind, Places } from "../../fans/directory/records.ts";
import type { LiveStreams } from "../../http/live_streams.ts";
import type { Store } from "../../storage/mod.ts";
import type { ResourceType } from "../table/mod.ts";
import type { Authors } from "./access/authors.ts";
import type { Roles } from "./access/roles.ts";
import type { Apps } from "./apps/apps.ts";
import type { WithoutKind } from "./jsonapi/types.ts";
import type { Kind } from "./kind.ts";
import type { ControlWork } from "./work.ts";

export interface ControlServices {
  readonly store: Store;
  readonly directory: Directory;
  readonly authors: Authors;
  readonly roles: Roles;
  readonly places: Places;
  readonly apps: Apps;
  readonly cursors: Cursors;
  readonly work: ControlWork;
  readonly live: LiveStreams;
  /** Unix ms. */
  readonly clock: () => number;
  /** Address of the platform, without a slash at its end. */
  readonly publicUrl: string;
  /** Address of the control API, without a slash at its end. */
  readonly base: string;
  /** Reads addresses that authors name; null: they are refused. */
  readonly outbound: Outbound | null;
  readonly userAgent: string;
  /** Hears of events and elements that are about to change; the function that it returns is called after the change, or its failure. */
  readonly beforeShowChange: (ids: readonly string[]) => Promise<() => Promise<void>>;
  /** Checks the settings of areas, as the attribute `services` has them. */
  readonly settingsFaults: (
    kind: HomeKind | "event",
    settings: Readonly<Record<string, unknown>>,
    pointer: string,
  ) => readonly FieldError[];
}

export type Kinds = Readonly<Record<Exclude<ResourceType, WithoutKind>, Kind>> &
  Readonly<Partial<Record<WithoutKind, Kind>>>;
