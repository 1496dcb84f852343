/** What the page of a show gets with its HTML. */

import type { PageToken } from "../../fans/identity/mod.ts";
import type { ShowSettings } from "./settings.ts";

/** An event of the listing. Times are Unix seconds. */
export interface ListedEvent {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly start_at: number | null;
  readonly end_at: number | null;
}

export interface PageData {
  /** Unix ms of the server when the page was made; older where the page comes from a cache. */
  readonly now: number;
  readonly version: string;
  readonly project: {
    readonly id: string;
    readonly name: string;
    readonly spaceId: string;
    readonly organisationId: string;
    readonly locales: readonly string[];
  };
  /** The event that the address names. */
  readonly event: string | null;
  readonly events: readonly ListedEvent[];
  readonly boards: readonly string[];
  /** True where project or event say for which countries they are. */
  readonly limitsPlaces: boolean;
  /** What a fan shows who has forgotten a password, or signs in with a mailed code; null where the project asks for nothing, or fans sign in without one. */
  readonly clientToken: PageToken | null;
  /** True where fans may sign in with a mailed code. */
  readonly codeLogin: boolean;
  /** Origins whose pages may show it in a frame, and hand it their user. */
  readonly hosts: readonly string[];
  readonly settings: Omit<ShowSettings, "boards" | "embed">;
}
