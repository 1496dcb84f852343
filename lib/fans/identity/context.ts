import type { Clock, RandomBytes, Tokens } from "../../auth/mod.ts";
import type { PasswordHasher, PasswordPolicy } from "../../auth/passwords/mod.ts";
import type { RemoteIssuers } from "../../auth/remote_issuers/mod.ts";
import type { Mailer } from "../../base/outbound/outbound.ts";
import type { ClientInfo, Logger } from "../../http/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { Audit } from "./audit/audit.ts";
import type { ClientTokens } from "./client_tokens.ts";
import type { Codes } from "./codes/codes.ts";
import type { AttemptLimiter } from "./limits/limits.ts";
import type { AccountMerge, AccountMerges } from "./merges.ts";
import type { OpenIdLogins } from "./openid_logins.ts";
import type { OwnAccounts } from "./own_accounts.ts";
import type { IdleUsers, OnRemove, Removals } from "./removal/removals.ts";
import type { SessionRecords } from "./sessions/session_records.ts";
import type { SessionGuard, Sessions } from "./sessions/sessions.ts";
import type { SocialVerifiers } from "./social/social_verifiers.ts";
import type { Users } from "./users.ts";

/** Services of the operations of identity. */
export interface IdentityContext {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly directory: Directory;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly sessionGuard: SessionGuard;
  readonly records: SessionRecords;
  readonly clientTokens: ClientTokens;
  /** Distinguishes tokens of the platform from those of other issuers. */
  readonly tokens: Pick<Tokens, "namesOwnKey">;
  readonly openIdLogins: OpenIdLogins;
  readonly ownAccounts: OwnAccounts;
  readonly issuers: RemoteIssuers;
  readonly socialVerifiers: SocialVerifiers;
  /** Hashes passwords behind the gate of the process. */
  readonly hasher: PasswordHasher;
  readonly passwordPolicy: PasswordPolicy;
  readonly codes: Codes;
  readonly limiter: AttemptLimiter;
  readonly audit: Audit;
  readonly idleUsers: IdleUsers;
  readonly mailer: Mailer;
  readonly background: BackgroundWork;
  readonly merges: AccountMerges;
  /** Called once for every anonymous user who was merged into an account. */
  readonly onMerge: (merge: AccountMerge) => Promise<void> | void;
  /** Takes a user off boards. */
  readonly onRemove: OnRemove;
  readonly removals: Removals;
}

/** Most running pieces of work; a further one is dropped and logged. */
const runningMax = 10_000;

export class BackgroundWork {
  readonly #logger: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  run(name: string, info: ClientInfo, work: () => Promise<unknown>): void {
    if (this.#running.size >= runningMax) {
      this.#logger.log("error", "background_work_dropped", { work: name });
      return;
    }
    const done = this.#attempt(name, work).finally(() => this.#running.delete(done));
    this.#running.add(done);
    info.waitUntil?.(done);
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #attempt(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.log("error", "background_work_failed", { work: name, reason: String(error) });
    }
  }
}
