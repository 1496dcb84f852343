/**
 * The control API for commands: documents of JSON:API, all pages of lists, and writes that the profile's allow-list lets
 * through.
 */

import { present } from "../../base/text/present.ts";
import { isThisMachine } from "./checks.ts";
import { type ApiClient, type ApiRequest, type ClientContext, unknownAnswer } from "./client.ts";
import { CliError, exits } from "./errors.ts";
import { type AllowEntry, entryFor, notAllowed, tokenOf } from "./profile.ts";
import { createClient } from "./requests.ts";
import {
  type AnyDocument,
  documentOf,
  type Identifier,
  isLinkage,
  type Kind,
  kinds,
  pathOf,
  type ResourceObject,
  relation,
  type Target,
} from "./resources.ts";

const base = "/api/v2";
const rowsMax = 10_000;
/** Most pages of a list, with empty ones among them. */
const pagesMax = 1_000;
const pageCount = 100;
const atomicType = 'application/vnd.api+json; ext="https://jsonapi.org/ext/atomic"';
const jsonApiType = "application/vnd.api+json";

export interface Document<D = ResourceObject> {
  readonly status: number;
  readonly data: D;
  readonly etag: string | null;
  readonly meta: Readonly<Record<string, unknown>>;
  included(type: string, id: string | null): ResourceObject | undefined;
}

export interface Listing extends Document<readonly ResourceObject[]> {
  /** True if it has more than 10,000 records, or more than 1,000 pages. */
  readonly isTruncated: boolean;
}

type Query = Readonly<Record<string, string | undefined>>;

export interface Write {
  /** What changes, or what the new resource belongs to: the allow-list is asked about it. Null: the caller's own account, or nothing. */
  readonly within: Target | null;
  readonly document?: unknown;
  readonly ifMatch?: string | null;
  /** True for the checks alone. @default false */
  readonly isDryRun?: boolean;
  readonly query?: Query;
  readonly stream?: ApiRequest["stream"];
  readonly timeoutMs?: number;
  /** False if it cannot be sent twice. @default true */
  readonly isRepeatable?: boolean;
}

interface Creation extends Pick<Write, "isDryRun"> {
  readonly related?: Readonly<Record<string, Identifier>>;
}

export interface Operation {
  readonly op: "add" | "update" | "remove";
  readonly data?: unknown;
  readonly ref?: { readonly type: string; readonly id: string };
  readonly href?: string;
  readonly meta?: { readonly if_match?: string };
}

/** The control API of a platform. Paths begin behind `/api/v2`. */
export class ControlApi {
  readonly #context: ClientContext;
  readonly #client: ApiClient;
  readonly #chains = new Map<string, Promise<readonly Target[]>>();
  #hasNamedProfile = false;

  private constructor(context: ClientContext, client: ApiClient) {
    this.#context = context;
    this.#client = client;
  }

  /** Opens the API with the token of the settings. @throws {CliError} No token or no platform is known. */
  static async open(context: ClientContext): Promise<ControlApi> {
    return ControlApi.with(await tokenOf(context.settings, context), context);
  }

  /** Opens the API with another token. @throws {CliError} No platform is known. */
  static with(token: string, context: ClientContext): ControlApi {
    return new ControlApi(context, createClient({ authorization: `Bearer ${token}` }, context));
  }

  get url(): string {
    return this.#client.url;
  }

  async read(target: Target, query: Query = {}): Promise<Document> {
    return await this.get(pathOf(target), query);
  }

  /** Reads a resource, or a page of a list. @throws {CliError} The server refused. */
  async get<D = ResourceObject>(path: string, query: Query = {}): Promise<Document<D>> {
    return await this.#ask<D>(path + queryText(query));
  }

  /**
   * Reads a list to its end.
   *
   * @throws {CliError} The server refused, or a page leads to another server.
   */
  async all(path: string, query: Query = {}): Promise<Listing> {
    const data: ResourceObject[] = [];
    const pages: Document<readonly ResourceObject[]>[] = [];
    const asked = new Set<string>();
    let next: string | null = path + queryText({ "page[count]": String(pageCount), ...query });
    // A page may be empty before the end: a filter looks at so many records a page.
    while (next !== null && data.length < rowsMax && pages.length < pagesMax) {
      asked.add(next);
      const page: Document<readonly ResourceObject[]> & { readonly next: string | null } =
        await this.#ask<readonly ResourceObject[]>(next);
      if (!Array.isArray(page.data) || (page.next !== null && asked.has(page.next))) throw unknownAnswer();
      pages.push(page);
      data.push(...page.data);
      next = page.next;
    }
    const isTruncated = next !== null;
    if (isTruncated) this.#context.note(`Only the first ${data.length} are shown`);
    const included: Document["included"] = (type, id) => {
      for (const page of pages) {
        const found = page.included(type, id);
        if (found !== undefined) return found;
      }
      return undefined;
    };
    const [first] = pages;
    const shown = { status: first?.status ?? 0, etag: null, meta: first?.meta ?? {} };
    return { ...shown, data: data.slice(0, rowsMax), included, isTruncated };
  }

  /**
   * Creates, changes or removes. A repeated attempt takes effect once.
   *
   * @throws {CliError} The allow-list does not have it, before any request that changes something; or the server refused.
   */
  async write<D = ResourceObject>(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    { within, document, ifMatch, isDryRun = false, query = {}, stream, ...more }: Write,
  ): Promise<Document<D>> {
    if (within !== null) await this.requireAllowed(within);
    const asked: Query = { ...query, dry_run: isDryRun ? "true" : undefined };
    return await this.#ask<D>(path + queryText(asked), {
      method,
      headers: present({
        accept: jsonApiType,
        "content-type": stream === undefined ? jsonApiType : undefined,
        "idempotency-key": method === "DELETE" ? undefined : this.#context.uniqueId(),
        "if-match": ifMatch ?? undefined,
      }),
      body: document,
      stream,
      ...more,
    });
  }

  /** Changes attributes of a resource, or does an action of it. @throws {CliError} As {@linkcode write}. */
  async change(
    target: Target,
    attributes: Readonly<Record<string, unknown>>,
    write: Partial<Write> = {},
  ): Promise<Document> {
    const document = documentOf(kinds[target.kind].path, attributes, { id: target.id });
    return await this.write("PATCH", pathOf(target), { within: target, document, ...write });
  }

  /** Creates a resource in the one that it belongs to. @throws {CliError} As {@linkcode write}. */
  async create(
    type: string,
    attributes: Readonly<Record<string, unknown>>,
    within: Target,
    { related = {}, isDryRun = false }: Creation = {},
  ): Promise<ResourceObject> {
    const owner = { type: kinds[within.kind].path, id: within.id };
    const document = documentOf(type, attributes, { related: { [within.kind]: owner, ...related } });
    return (await this.write("POST", `/${type}`, { within, document, isDryRun })).data;
  }

  /** Does up to 500 operations at once, all or none, and returns their resources. @throws {CliError} As {@linkcode write}. */
  async operations(
    operations: readonly Operation[],
    { within, isDryRun = false }: Omit<Write, "document">,
  ): Promise<readonly ResourceObject[]> {
    if (within !== null) await this.requireAllowed(within);
    const headers = {
      accept: atomicType,
      "content-type": atomicType,
      "idempotency-key": this.#context.uniqueId(),
    };
    const body = { "atomic:operations": operations };
    const path = `/operations${isDryRun ? "?dry_run=true" : ""}`;
    const { json } = await this.#answer(path, { method: "POST", headers, body });
    const results = json?.["atomic:results"];
    if (!Array.isArray(results)) throw unknownAnswer();
    return results.map(result => (result as { readonly data: ResourceObject }).data);
  }

  /** Returns a resource and those above it, nearest first. */
  async chain(target: Target): Promise<readonly Target[]> {
    const key = `${target.kind}/${target.id}`;
    const found = this.#chains.get(key) ?? this.#readChain(target);
    this.#chains.set(key, found);
    return await found;
  }

  /** @throws {CliError} The profile's allow-list has neither the resource nor one above it. */
  async requireAllowed(target: Target): Promise<void> {
    const { settings } = this.#context;
    const { allow } = settings.profile;
    const entry = allow === undefined ? null : await this.allowedBy(target);
    if (allow !== undefined && entry === null) throw notAllowed(settings, target);
    if (this.#hasNamedProfile) return;
    this.#hasNamedProfile = true;
    const label = entry === null ? "" : ` · ${entry.kind} ${entry.label ?? entry.id}`;
    this.#context.note(`profile ${settings.profileName}${label}`);
  }

  /** Returns the entry of the allow-list that lets a resource change; null: none. */
  async allowedBy(target: Target): Promise<AllowEntry | null> {
    const { profile } = this.#context.settings;
    if ((profile.allow ?? []).length === 0) return null;
    return entryFor(profile, [target]) ?? entryFor(profile, await this.chain(target));
  }

  async #readChain({ kind, id }: Target): Promise<readonly Target[]> {
    const { above } = kinds[kind];
    const document = await this.read({ kind, id }, { include: above || undefined });
    const chain: Target[] = [{ kind, id }];
    let current: ResourceObject | undefined = document.data;
    for (const name of above.split(".") as Kind[]) {
      const next: string | null = current === undefined ? null : relation(current, name);
      if (next === null) break;
      chain.push({ kind: name, id: next });
      current = document.included(kinds[name].path, next);
    }
    return chain;
  }

  async #ask<D>(path: string, ask: ApiRequest = {}): Promise<Document<D> & { readonly next: string | null }> {
    const { status, json, etag } = await this.#answer(path, { headers: { accept: jsonApiType }, ...ask });
    const { data, included = [], links, meta = {} } = json ?? {};
    if (json !== null && !(isLinkage(data) && isLinkage(included))) throw unknownAnswer();
    const byKey = new Map(included.map(one => [`${one.type}/${one.id}`, one]));
    return {
      status,
      data: data as D,
      etag,
      meta,
      next: links?.next ? this.#pathOf(links.next) : null,
      included: (type, id) => byKey.get(`${type}/${id}`),
    };
  }

  async #answer(path: string, ask: ApiRequest) {
    const { status, json, etag } = await this.#client.send(base + path, ask);
    if (json !== null && (typeof json !== "object" || Array.isArray(json))) throw unknownAnswer();
    return { status, json: json as AnyDocument | null, etag };
  }

  /** @throws {CliError} The link leads to another server. */
  #pathOf(link: string): string {
    const own = new URL(`${this.url}${base}/`);
    if (!URL.canParse(link, own)) throw unknownAnswer();
    const next = new URL(link, own);
    // A platform without a public URL links to one of the names of its machine.
    if (isSameOrigin(own, next) && next.pathname.startsWith(own.pathname)) {
      return next.pathname.slice(own.pathname.length - 1) + next.search;
    }
    throw new CliError(exits.failed, "The next page of the list is on another server", {
      code: "wrong_answer",
      hint: "Set the public URL of the platform to the address that is called",
    });
  }
}

function isSameOrigin(a: URL, b: URL): boolean {
  const areLocal = isThisMachine(a) && isThisMachine(b) && a.protocol === b.protocol && a.port === b.port;
  return a.origin === b.origin || areLocal;
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
