/**
 * Abuse controls: how often somebody may try something, asked before anything costly is done.
 *
 * @module
 */

/** Who tries. Only what is known before the credentials are checked; nothing of it is stored in the clear. */
export interface AttemptFacts {
  readonly projectId: string;
  /** Address of the client, as the entrypoint gives it. Without one all clients of the project share a bucket. */
  readonly address: string | undefined;
  /** As the client wrote it, whether a user has it or not. */
  readonly email?: string;
  readonly userId?: string;
  readonly sessionId?: string;
}

/** What is tried. A `noLoginLookup` is counted when it misses, the others before they start. */
export type AbuseAction =
  | "login"
  | "register"
  | "registeredMail"
  | "forgot"
  | "confirm"
  | "anonymousRegister"
  | "noLoginCreate"
  | "noLoginLookup"
  | "refresh"
  | "socialCheck"
  | "profile"
  | "emailChange";

/** What {@linkcode Abuse.clear} forgets: what counts against the account at this address, or against the whole account. */
export type ClearScope = "pair" | "account";

/** Counts attempts. */
export interface Abuse {
  /**
   * Spends one attempt. `silent` means: do nothing, and answer as if it had worked.
   *
   * @throws {AppError} `rate_limited`, and `too_many_attempts` where credentials are guarded, with the time to wait;
   *   `storage_unavailable`: the attempts of a guarded action cannot be counted.
   */
  attempt(action: AbuseAction, facts: AttemptFacts): Promise<"go" | "silent">;
  /**
   * Forgets failed logins: after a successful one those of the pair of account and address (the default), after a reset
   * by mail or by an operator, with `account`, all of the account. Never fails: what cannot be forgotten runs out.
   */
  clear(facts: AttemptFacts, scope?: ClearScope): Promise<void>;
}
