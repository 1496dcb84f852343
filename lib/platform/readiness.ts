import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { object, record, string } from "valibot";
import type { Clock } from "../auth/mod.ts";
import { storedIssuer } from "../auth/tokens/jwks_routes.ts";
import type { KeyRing } from "../auth/tokens/key_ring.ts";
import { AppError } from "../base/errors/mod.ts";
import { escapeHtml } from "../base/text/mod.ts";
import {
  type Area,
  json,
  type Logger,
  named,
  open,
  type ReadinessWarning,
  route,
  text,
} from "../http/mod.ts";
import { prefersHtml } from "../http/replies/replies.ts";
import type { Store } from "../storage/mod.ts";
import { platformPartition } from "../storage/names.ts";

/** Time for which a probe proves that the store takes writes, is the same and opens, in ms. */
const probeAgeMs = 1_000;
/** Time for which warnings are kept, and without a worker before one is missed, in ms. */
const warningAgeMs = 60_000;

const noWorker: ReadinessWarning = {
  code: "no_worker",
  detail:
    "No process applies the actions that are accepted in bulk: start `grandstand worker`, or leave GRANDSTAND_WORKERS on",
};

interface ReadinessOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The issuer that the store had when the process started. */
  readonly issuer: string;
  readonly keyRing: Pick<KeyRing, "check">;
  /** Returns false if queued actions wait for a worker that does not run. */
  readonly hasWorker: () => Promise<boolean>;
}

/**
 * Says if this process can serve requests: the store answers, takes writes, is the one that the process opened and is sealed
 * under a secret that the process has, and the process is not about to stop.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  #isDraining = false;
  #probedAt = Number.NEGATIVE_INFINITY;
  #probing: Promise<void> | undefined;
  #isReplaced = false;
  #isSealed = false;
  #workerSeenAt: number;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #warnings: readonly ReadinessWarning[] = [];

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#workerSeenAt = options.clock();
  }

  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Returns what an operator should put right while requests can be served.
   *
   * @throws {AppError} `busy`: the process is about to stop; `storage_unavailable`, `outcome_unknown`.
   */
  async check(): Promise<readonly ReadinessWarning[]> {
    if (this.#isDraining) throw new AppError("busy", "Cannot take more requests: the server is stopping");
    await this.#options.store.ping();
    if (this.#options.clock() - this.#probedAt >= probeAgeMs) {
      this.#probing ??= this.#probe().finally(() => {
        this.#probing = undefined;
      });
      await this.#probing;
    }
    return await this.warnings();
  }

  /** Logs what an operator should put right, and that the data of the store is gone. */
  async watch(): Promise<void> {
    await this.#isSameStore();
    await this.warnings();
  }

  async warnings(): Promise<readonly ReadinessWarning[]> {
    const { store, clock, logger, hasWorker } = this.#options;
    const now = clock();
    if (now - this.#warnedAt < warningAgeMs) return this.#warnings;
    this.#warnedAt = now;
    const known = new Set(this.#warnings.map(({ code }) => code));
    const found: ReadinessWarning[] = [...((await store.warnings?.()) ?? [])];
    if (await hasWorker()) this.#workerSeenAt = now;
    else if (now - this.#workerSeenAt >= warningAgeMs) found.push(noWorker);
    this.#warnings = found;
    for (const warning of found) {
      const event = warning === noWorker ? "no_worker" : "store_warning";
      if (!known.has(warning.code)) logger.log("warn", event, { ...warning });
    }
    return found;
  }

  async #probe(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock();
    if (!(await this.#isSameStore())) {
      throw new AppError("storage_unavailable", "Cannot use the store: it is not the one that was opened");
    }
    await this.#openKeys();
    await store.commit(platformPartition("health"), {
      writes: [{ type: "put", key: "written", value: String(now) }],
    });
    this.#probedAt = now;
  }

  /** Opens the key ring, which `secret rotate` may have sealed under a secret that this process does not have; logs that once. */
  async #openKeys(): Promise<void> {
    const { keyRing, logger } = this.#options;
    try {
      await keyRing.check();
      this.#isSealed = false;
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (!this.#isSealed) logger.log("error", "key_ring_sealed", { error: String(error) });
      this.#isSealed = true;
      throw new AppError(
        "storage_unavailable",
        "Cannot use the store: it is sealed under a master secret that this process does not have",
      );
    }
  }

  /** Returns false, and logs it once, if the store was emptied or replaced: its issuer is gone or another one. */
  async #isSameStore(): Promise<boolean> {
    const { store, logger, issuer } = this.#options;
    const found = await storedIssuer(store);
    const isReplaced = found !== issuer;
    if (isReplaced && !this.#isReplaced) {
      const detail =
        "The store is empty or another one. Restore its data, or restart every process to begin with what it has";
      logger.log("error", "store_replaced", { detail, issuer, found });
    }
    this.#isReplaced = isReplaced;
    return !isReplaced;
  }
}

interface RootOptions {
  readonly title: string;
  readonly version: string;
  readonly areas: readonly Area[];
  /** Address of the platform, whose path links begin with: a framework in front may take it off requests. */
  readonly publicUrl: string;
}

const RootSchema = named(
  "Root",
  object({
    name: string(),
    version: string(),
    links: record(string(), string()),
  }),
);

/** Places that the root links to where they are served, with their labels. */
const places = {
  documentation: ["/docs", "Documentation"],
  studio: ["/studio", "Studio"],
  openapi: ["/openapi.json", "OpenAPI document"],
  health: ["/healthz", "Health"],
  readiness: ["/readyz", "Readiness"],
} as const;

const style =
  ":root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}body{max-width:34rem;margin:12vh auto;padding:0 1.25rem}" +
  "ul{padding:0;list-style:none}a{display:block;margin:.5rem 0;padding:.875rem 1.125rem;border:1px solid #8886;border-radius:12px;" +
  "color:inherit;text-decoration:none}a:hover{border-color:#66f}";

const systemPaths: readonly string[] = ["/openapi.json", "/healthz", "/readyz"];

/** Creates the area of the root; it has no route where another area has one of this path. */
export function rootArea({ title, version, areas, publicUrl }: RootOptions): Area {
  const paths = [...areas.flatMap(area => area.routes.map(({ path }) => path)), ...systemPaths];
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, "");
  const shown = Object.entries(places).filter(([, [path]]) => paths.includes(path));
  const links = Object.fromEntries(shown.map(([name, [path]]) => [name, prefix + path]));
  const digest = btoa(String.fromCharCode(...sha256(utf8ToBytes(style))));
  const fields = { "cache-control": "public, max-age=300", vary: "Accept" };
  const pageFields = {
    ...fields,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; img-src data:; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><style>${style}</style><h1>${escapeHtml(title)}</h1><p>Version ${escapeHtml(version)}</p>
<ul>${shown.map(([, [path, label]]) => `<li><a href="${escapeHtml(prefix + path)}">${label}</a>`).join("")}</ul></html>\n`;
  const root = route({
    method: "GET",
    path: "/",
    operation: "getRoot",
    summary: "See what is here",
    description: "Links to what is served, in HTML for browsers and else in JSON.",
    auth: open,
    isFallback: true,
    isPage: true,
    cache: "public",
    responses: { 200: { description: "The links", schema: RootSchema } },
    handle: ({ request }) =>
      prefersHtml(request)
        ? (text(200, page, pageFields) as never)
        : { ...json(200, { name: title, version, links }), headers: fields },
  });
  return { name: "root", family: "problem", routes: paths.includes("/") ? [] : [root] };
}
