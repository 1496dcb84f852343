/** The client of the platform in the page. It has the access token, and lets the user sign in when that ends. */

import { isLoopback } from "../../../base/text/mod.ts";
import {
  audience,
  type Client,
  type Credentials,
  control,
  createClient,
  feeds,
  type IncludedResource,
  identity,
  leaderboards,
  loyalty,
  workflow,
} from "../../../client/mod.ts";

export type Resource = IncludedResource;

export interface Document<D = Resource> {
  readonly data: D;
  readonly included?: readonly Resource[];
}

/** Reads all pages of a list. */
export async function allOf(list: AsyncIterable<unknown>): Promise<readonly Resource[]> {
  const found: Resource[] = [];
  for await (const each of list) found.push(each as Resource);
  return found;
}

export const scopeTypes = ["organisations", "spaces", "projects", "events"] as const;
export type ScopeType = (typeof scopeTypes)[number];

export type Role = "viewer" | "creator" | "admin";

const areas = { audience, control, feeds, identity, leaderboards, loyalty, workflow };
/** Longest time for an answer, in ms. A slow connection shows the page late rather than never. */
const timeoutMs = 120_000;

export class Api {
  /** Address of the platform, without a slash at its end. */
  readonly base: string;
  readonly audience: Client<typeof areas>["audience"];
  readonly control: Client<typeof areas>["control"];
  readonly feeds: Client<typeof areas>["feeds"];
  readonly identity: Client<typeof areas>["identity"];
  readonly leaderboards: Client<typeof areas>["leaderboards"];
  readonly loyalty: Client<typeof areas>["loyalty"];
  readonly workflow: Client<typeof areas>["workflow"];
  #token: string;

  /** @param signIn Called when there is no valid token; resolves when there is another one. */
  constructor(base: string, signIn: () => Promise<void>) {
    this.base = base;
    this.#token = withStorage(storage => storage.getItem(`token of ${base}`)) ?? "";
    this.token = takeTokenOfAddress() ?? this.#token;
    const credentials: Credentials = {
      headers: async kinds => {
        if (!kinds.includes("a")) return {};
        if (this.token === "") await signIn();
        return { authorization: `Bearer ${this.token}` };
      },
      renew: async (_, { authorization }) => {
        if (authorization === `Bearer ${this.token}`) this.token = "";
        return true;
      },
    };
    // Views repeat what failed themselves.
    ({
      audience: this.audience,
      control: this.control,
      feeds: this.feeds,
      identity: this.identity,
      leaderboards: this.leaderboards,
      loyalty: this.loyalty,
      workflow: this.workflow,
    } = createClient({ url: base, areas, credentials, timeoutMs, attemptsMax: 1 }));
  }

  /** The access token, for as long as the tab is open; where storage is blocked, until the page is left. */
  get token(): string {
    return this.#token;
  }

  set token(token: string) {
    this.#token = token;
    withStorage(storage => storage.setItem(`token of ${this.base}`, token));
  }

  async scope(type: ScopeType, id: string, query: ScopeQuery, signal: AbortSignal): Promise<Document> {
    const { control: api } = this;
    const read = {
      organisations: () => api.readOrganisation({ organisationId: id, ...query }, { signal }),
      spaces: () => api.readSpace({ spaceId: id, ...query }, { signal }),
      projects: () => api.readProject({ projectId: id, ...query }, { signal }),
      events: () => api.readEvent({ eventId: id, ...query }, { signal }),
    }[type];
    return (await read().whole()).document as Document;
  }

  async scopesBelow(type: ScopeType, id: string, query: PageQuery, signal: AbortSignal): Promise<ScopePage> {
    const { control: api } = this;
    const list = {
      organisations: () => api.listOrganisations({ sort: "name", ...query }, { signal }),
      spaces: () => api.listOrganisationSpaces({ organisationId: id, sort: "name", ...query }, { signal }),
      projects: () => api.listSpaceProjects({ spaceId: id, sort: "name", ...query }, { signal }),
      events: () => api.listProjectEvents({ projectId: id, sort: "-start_time", ...query }, { signal }),
    }[type];
    const { data, links } = (await list().whole()).document;
    return { data: data as readonly Resource[], next: cursorOf(links) };
  }
}

/** Uses the storage of the tab, which browsers refuse where cookies are blocked. */
function withStorage<T>(use: (storage: Storage) => T): T | null {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}

interface ScopeQuery {
  readonly include?: string;
  readonly [fields: `fields[${string}]`]: string;
}

export interface PageQuery {
  readonly "page[count]": number;
  readonly "page[cursor]"?: string;
}

/**
 * A demo on this machine prints an address that signs in: `#token=…`. From anywhere else nobody may decide by a link who a producer is.
 */
function takeTokenOfAddress(): string | null {
  const [, token] = /^#token=([\w-]{1,200})$/.exec(location.hash) ?? [];
  if (token === undefined || !isLoopback(location.hostname)) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return token;
}

interface ScopePage {
  readonly data: readonly Resource[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** Returns the cursor of the next page of a list; null at the end. */
export function cursorOf(links: Readonly<Record<string, string | null>>): string | null {
  const { next = null } = links;
  return next === null ? null : new URL(next, location.href).searchParams.get("page[cursor]");
}

/** Returns a text attribute of a resource, or "" if it has none. */
export function textOf({ attributes }: Pick<Resource, "attributes">, name: string): string {
  const value = attributes[name];
  return typeof value === "string" ? value : "";
}
