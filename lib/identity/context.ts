import type { Clock, RandomBytes, Tokens } from "../auth/mod.ts";
import type { RemoteIssuers } from "../auth/remote_issuers/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { Mailer } from "../outbound/mailer.ts";
import type { Abuse } from "./abuse/abuse.ts";
import type { Audit } from "./audit/audit.ts";
import type { ClientTagger } from "./audit/tags.ts";
import type { Background } from "./background.ts";
import type { ClientTokens } from "./codes/client_tokens.ts";
import type { Credentials } from "./credentials.ts";
import type { OnRemove } from "./operators/remove_user.ts";
import type { IdleUsers } from "./providers/idle_users.ts";
import type { Merge } from "./providers/merge.ts";
import type { SocialVerifiers } from "./providers/social/verifiers.ts";
import type { SessionGuard } from "./sessions/guard.ts";
import type { SessionRecords } from "./sessions/session_records.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { Users } from "./users.ts";

/** What the operations of the identity area work with. */
export interface IdentityContext extends Credentials {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly sessionGuard: SessionGuard;
  readonly records: SessionRecords;
  readonly directory: Directory;
  readonly abuse: Abuse;
  readonly audit: Audit;
  readonly tagClient: ClientTagger;
  readonly clientTokens: ClientTokens;
  readonly idleUsers: IdleUsers;
  readonly mailer: Mailer;
  readonly background: Background;
  /** Told once of every anonymous user who logged in to an account. */
  readonly onMerge: (merge: Merge) => Promise<void> | void;
  readonly onRemove: OnRemove;
  /** Tells tokens that were made here from those of other issuers. */
  readonly tokens: Pick<Tokens, "namesOwnKey">;
  /** Judges tokens of other issuers. */
  readonly issuers: RemoteIssuers;
  readonly socialVerifiers: SocialVerifiers;
  readonly clock: Clock;
  readonly random: RandomBytes;
}
