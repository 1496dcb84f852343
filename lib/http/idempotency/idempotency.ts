/**
 * Requests that may be sent again: the first one with a key is carried out, and its answer is the answer of all others
 * (draft-ietf-httpapi-idempotency-key-header-07).
 *
 * A request claims its key before it is carried out. The claim expires unless it is renewed, so that it ends soon after the
 * process that held it; only then may another request carry the same thing out. Kept are answers that would be the same
 * the next time: no refusal of credentials or for lack of quota, nothing that a retry could turn into success.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { type Store, type Stored, tenantPartition } from "../../storage/mod.ts";
import { errorFacts } from "../errors/status.ts";
import type { Logger } from "../logger.ts";
import type { Timer } from "../requests/body.ts";
import { canonicalJson } from "../requests/json.ts";
import type { IdempotencySubject, Reply } from "../route.ts";
import { IdempotencyClaim } from "./claim.ts";

/** How long an answer is kept, in ms: a day. */
export const idempotencyMs = 86_400_000;
/** How often a claim is tried again that ended between two looks at it. */
export const claimAttemptsMax = 3;
/** After which time a request whose twin is being carried out may come back, in ms. */
export const twinRetryMs = 1_000;

const key = "request";

/** Where answers are kept. */
export interface IdempotencyOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
}

/** What tells one request from another. */
export interface IdempotentRequest {
  readonly subject: IdempotencySubject;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly key: string;
  /** The body as it was sent, parsed. */
  readonly body: unknown;
}

/** How a request is carried out. */
export interface Execution {
  readonly execute: () => Promise<Reply>;
  /** The reply that tells of an error. */
  readonly replyTo: (error: unknown) => Reply;
}

/** What is kept of a request. */
type Kept =
  | { readonly state: "running"; readonly fingerprint: string }
  | { readonly state: "done"; readonly fingerprint: string; readonly reply: Reply };

/** Carries requests out once. */
export class Idempotency {
  readonly #options: IdempotencyOptions & { readonly timer: Timer; readonly logger: Logger };

  constructor(options: IdempotencyOptions & { readonly timer: Timer; readonly logger: Logger }) {
    this.#options = options;
  }

  /**
   * Carries the request out, or answers what was answered to the same one.
   *
   * @throws {AppError} `idempotency_conflict`: the same request is being carried out; `idempotency_mismatch`: another one
   *   had the key; `storage_unavailable` or `outcome_unknown` before anything was carried out, and whatever the execution
   *   throws that is not kept.
   */
  async run(request: IdempotentRequest, { execute, replyTo }: Execution): Promise<Reply> {
    const partition = await partitionOf(request);
    const fingerprint = await sha256Hex(canonicalJson([request.query, request.body ?? null]));
    const claimed = await this.#claim(partition, fingerprint);
    if (!(claimed instanceof IdempotencyClaim)) return claimed;
    let reply: Reply;
    try {
      reply = await execute();
    } catch (error) {
      if (!isKeptError(error)) {
        await claimed.end({ type: "delete", shape: "record", key });
        throw error;
      }
      reply = replyTo(error);
    }
    await this.#keep(claimed, { state: "done", fingerprint, reply });
    return reply;
  }

  async #claim(partition: string, fingerprint: string): Promise<IdempotencyClaim | Reply> {
    const { store } = this.#options;
    const running: Kept = { state: "running", fingerprint };
    for (let attempt = 0; attempt < claimAttemptsMax; attempt++) {
      const claim = new IdempotencyClaim({
        ...this.#options,
        partition,
        key,
        value: JSON.stringify(running),
      });
      if (await claim.take()) return claim;
      const [stored] = await store.read(partition, [{ type: "record", key }]);
      if (stored !== null) return settled(stored, fingerprint);
    }
    throw inProgress();
  }

  async #keep(claim: IdempotencyClaim, kept: Kept & { readonly state: "done" }): Promise<void> {
    const { status, json, text, headers, body } = kept.reply;
    if (body !== undefined || !isKeptStatus(status)) {
      return await claim.end({ type: "delete", shape: "record", key });
    }
    const value = JSON.stringify({ ...kept, reply: { status, json, text, headers } });
    await claim.end({ type: "put", key, value, expireAt: this.#options.clock() + idempotencyMs });
  }
}

/** The answer to a request whose key was used before. */
function settled({ value }: Stored, fingerprint: string): Reply {
  const kept = JSON.parse(value) as Kept;
  if (kept.fingerprint !== fingerprint) {
    throw new AppError("idempotency_mismatch", "Cannot use the idempotency key: another request had it");
  }
  if (kept.state === "running") throw inProgress();
  const { reply } = kept;
  return { ...reply, headers: { ...reply.headers, "idempotent-replayed": "true" } };
}

function inProgress(): AppError {
  return new AppError("idempotency_conflict", "Cannot answer yet: the same request is being carried out", {
    headers: { "retry-after": String(twinRetryMs / 1_000) },
  });
}

function isKeptError(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  const { status, retryable } = errorFacts[error.code];
  return !retryable && isKeptStatus(status);
}

function isKeptStatus(status: number): boolean {
  return status < 500 && status !== 401 && status !== 403 && status !== 429;
}

/** A partition for each request, so that no two of them wait for each other. */
async function partitionOf(request: IdempotentRequest): Promise<string> {
  const { subject, method, host, path, key: name } = request;
  const scope = await sha256Hex(JSON.stringify([subject.caller, method, host.toLowerCase(), path, name]));
  return tenantPartition({ organisation: subject.organisationId }, "idempotency", scope);
}

async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), byte => byte.toString(16).padStart(2, "0")).join("");
}

/** Longest idempotency key, in characters. */
export const idempotencyKeyCharsMax = 255;

/** A string of structured fields (RFC 9651, section 3.3.3). */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** What clients send that write no structured field. */
const bare = /^[!#-+\--:<-~]+$/;

/**
 * The key that a request names in `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07), or null where it names
 * none. The draft writes it in quotes; without them the same key is meant.
 *
 * @throws {AppError} `validation_failed`: the field holds no key of 1 to {@linkcode idempotencyKeyCharsMax} characters of
 *   visible ASCII and, in quotes, spaces.
 */
export function idempotencyKeyOf({ headers }: Request): string | null {
  const field = headers.get("idempotency-key");
  if (field === null) return null;
  const text = field.trim();
  const key = quoted.exec(text)?.[1]?.replace(/\\(.)/g, "$1") ?? (bare.test(text) ? text : "");
  if (key.length >= 1 && key.length <= idempotencyKeyCharsMax) return key;
  const detail = `Expected 1 to ${idempotencyKeyCharsMax} characters of visible ASCII, in quotes`;
  throw new AppError("validation_failed", "Cannot use the idempotency key", {
    fields: [{ pointer: "Idempotency-Key", detail }],
  });
}
