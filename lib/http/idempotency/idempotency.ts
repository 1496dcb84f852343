/**
 * Idempotent requests: the first request with a key runs, and every later one gets its reply
 * (draft-ietf-httpapi-idempotency-key-header-07).
 *
 * A request claims its key before it runs. The claim expires unless it is renewed, so another request can run soon after a
 * process dies. Only final replies are stored: no rejected credentials, no exhausted quota, nothing that a retry could turn
 * into success.
 */

import { AppError } from "../../base/errors/mod.ts";
import { createPause, retry, type Timer } from "../../storage/background/mod.ts";
import { type Store, type Stored, tenantPartition, type Version, type Write } from "../../storage/mod.ts";
import { platformPartition } from "../../storage/names.ts";
import { errorFacts } from "../errors/failure.ts";
import type { Logger } from "../logger.ts";
import { canonicalJson } from "../requests/body.ts";
import type { IdempotencySubject, Reply } from "../route.ts";

/** Lifetime of a claim after its last renewal, in ms: 15 s more than a clock that serves may be behind that of the store. */
export const claimLeaseMs = 45_000;
/** Interval between renewals while the request runs, in ms. */
export const claimRenewalMs = 5_000;
/** Lifetime of a stored reply, in ms: a day. */
export const idempotencyMs = 86_400_000;
/** Lifetime of a stored refusal, in ms: it changed nothing, and a caller can make many. */
export const idempotentRefusalMs = 600_000;
/** Maximum number of attempts to claim a key whose claim expires between write and read. */
export const claimAttemptsMax = 3;
/** `Retry-After` of a request whose duplicate is running, in ms. */
export const twinRetryMs = 1_000;

const key = "request";

/** Storage of replies. */
export interface IdempotencyOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
}

type IdempotencyServices = IdempotencyOptions & { readonly timer: Timer; readonly logger: Logger };

interface IdempotentRequest {
  readonly subject: IdempotencySubject;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly key: string;
  readonly body: unknown;
}

interface Execution {
  readonly execute: (fingerprint: string) => Promise<Reply>;
  readonly replyTo: (error: unknown) => Reply;
}

type RequestState =
  | { readonly state: "running"; readonly fingerprint: string }
  | { readonly state: "done"; readonly fingerprint: string; readonly reply: Reply };

export class Idempotency {
  readonly #options: IdempotencyServices;

  constructor(options: IdempotencyServices) {
    this.#options = options;
  }

  /**
   * Runs the request, or returns the reply of an earlier one with the same key.
   *
   * @throws {AppError} `idempotency_conflict`: the same request is running; `idempotency_mismatch`: a different request used
   *   the key; `storage_unavailable` or `outcome_unknown`: nothing ran.
   */
  async run(request: IdempotentRequest, { execute, replyTo }: Execution): Promise<Reply> {
    const partition = await partitionOf(request);
    const pause = createPause();
    const text = canonicalJson([request.query, request.body ?? null]);
    await pause();
    const fingerprint = await sha256Hex(text);
    await pause();
    const claimed = await this.#claim(partition, fingerprint);
    if (!(claimed instanceof IdempotencyClaim)) return claimed;
    let reply: Reply;
    try {
      reply = await execute(fingerprint);
    } catch (error) {
      if (!isStoredError(error)) {
        await claimed.end({ type: "delete", shape: "record", key });
        throw error;
      }
      reply = replyTo(error);
    }
    await this.#storeReply(claimed, { state: "done", fingerprint, reply });
    return reply;
  }

  async #claim(partition: string, fingerprint: string): Promise<IdempotencyClaim | Reply> {
    const { store } = this.#options;
    const running: RequestState = { state: "running", fingerprint };
    return await retry(
      async () => {
        const claim = new IdempotencyClaim(this.#options, partition, JSON.stringify(running));
        if (await claim.take()) return claim;
        const [stored] = await store.read(partition, [{ type: "record", key }]);
        return stored === null ? undefined : replay(stored, fingerprint);
      },
      { attemptsMax: claimAttemptsMax, exhausted: inProgress },
    );
  }

  async #storeReply(
    claim: IdempotencyClaim,
    state: RequestState & { readonly state: "done" },
  ): Promise<void> {
    const { status, json, text, headers, body } = state.reply;
    if (body !== undefined || !isStoredStatus(status)) {
      return await claim.end({ type: "delete", shape: "record", key });
    }
    const value = JSON.stringify({ ...state, reply: { status, json, text, headers } });
    const lifetimeMs = status < 400 ? idempotencyMs : idempotentRefusalMs;
    await claim.end({ type: "put", key, value, expireAt: this.#options.clock() + lifetimeMs });
  }
}

class IdempotencyClaim {
  readonly #options: IdempotencyServices;
  readonly #partition: string;
  readonly #value: string;
  #version: Version | null = null;
  #cancel: () => void = () => {};
  #renewal: Promise<unknown> = Promise.resolve();

  constructor(options: IdempotencyServices, partition: string, value: string) {
    this.#options = options;
    this.#partition = partition;
    this.#value = value;
  }

  /**
   * Takes the lease. Returns false if another request holds it.
   *
   * @throws {AppError} `storage_unavailable`: the lease was not taken; `outcome_unknown`: it may have been, and then expires.
   */
  async take(): Promise<boolean> {
    const isTaken = await this.#write(this.#record());
    if (isTaken) this.#renewLater();
    return isTaken;
  }

  /** Replaces the claim with the outcome. Never fails: a claim that cannot be replaced expires. */
  async end(write: Write): Promise<void> {
    this.#cancel();
    await this.#renewal;
    try {
      if (!(await this.#write(write))) this.#warn("another request has taken it over");
    } catch (error) {
      this.#warn(error instanceof Error ? error.message : String(error));
    }
  }

  #renewLater(): void {
    this.#cancel = this.#options.timer(() => {
      // A failed renewal is retried at the next interval; the lease lasts for at least three.
      this.#renewal = this.#write(this.#record()).catch(() => undefined);
      this.#renewLater();
    }, claimRenewalMs);
  }

  #record(): Write {
    return { type: "put", key, value: this.#value, expireAt: this.#options.clock() + claimLeaseMs };
  }

  async #write(write: Write): Promise<boolean> {
    const commit = await this.#options.store.commit(this.#partition, {
      checks: [{ key, version: this.#version }],
      writes: [write],
    });
    if (commit.ok) this.#version = commit.version;
    return commit.ok;
  }

  #warn(reason: string): void {
    this.#options.logger.log("warn", "idempotency_claim_lost", { reason });
  }
}

function replay({ value }: Stored, fingerprint: string): Reply {
  const state = JSON.parse(value) as RequestState;
  if (state.fingerprint !== fingerprint) {
    throw new AppError("idempotency_mismatch", "Cannot use the idempotency key: another request had it");
  }
  if (state.state === "running") throw inProgress();
  const { reply } = state;
  return { ...reply, headers: { ...reply.headers, "idempotent-replayed": "true" } };
}

function inProgress(): AppError {
  return new AppError("idempotency_conflict", "Cannot answer yet: the same request is being carried out", {
    headers: { "retry-after": String(twinRetryMs / 1_000) },
  });
}

function isStoredError(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  const { status, retryable } = errorFacts[error.code];
  return !retryable && isStoredStatus(status);
}

function isStoredStatus(status: number): boolean {
  return status < 500 && status !== 401 && status !== 403 && status !== 429;
}

/** Returns the partition of a request. Each has its own, so that requests never contend. */
async function partitionOf(request: IdempotentRequest): Promise<string> {
  const { subject, method, host, path, key: name } = request;
  const scope = await sha256Hex(JSON.stringify([subject.caller, method, host.toLowerCase(), path, name]));
  const { organisationId } = subject;
  return organisationId === null
    ? platformPartition("idempotency", scope)
    : tenantPartition({ organisation: organisationId }, "idempotency", scope);
}

async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), byte => byte.toString(16).padStart(2, "0")).join("");
}

export const idempotencyKeyCharsMax = 255;

/** A string of structured fields (RFC 9651, section 3.3.3). */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** A key without quotes. */
const bare = /^[!#-+\--:<-~]+$/;

/**
 * Returns the key in `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07), or null if the field is absent.
 * Quotes are optional and not part of the key.
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
