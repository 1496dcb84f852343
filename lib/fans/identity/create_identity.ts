import { uuid } from "../../auth/crypto/mod.ts";
import type { Clock, MasterSecret, RandomBytes, Tokens } from "../../auth/mod.ts";
import {
  concurrentHashesDefault,
  createPasswordHasher,
  gatedHasher,
  HashGate,
  type PasswordAlgorithm,
  type PasswordHasher,
  type PasswordKernels,
  type PasswordPolicy,
  passwordCosts,
} from "../../auth/passwords/mod.ts";
import { type ClientSecret, createCodeFlow } from "../../auth/remote_issuers/code_flow.ts";
import {
  createRemoteFetch,
  createRemoteIssuers,
  type RemoteFetchOptions,
} from "../../auth/remote_issuers/mod.ts";
import type { Mailer } from "../../base/outbound/outbound.ts";
import type { Logger, Timer } from "../../http/mod.ts";
import type { Quotas } from "../../http/rate_limit/policies.ts";
import type { Limiter, Store } from "../../storage/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { Audit } from "./audit/audit.ts";
import { ClientTokens } from "./client_tokens.ts";
import { codeCost, createCodes } from "./codes/codes.ts";
import type { IdentityContext } from "./context.ts";
import { BackgroundWork } from "./context.ts";
import type { AttemptLimits } from "./limits/limits.ts";
import { noAttemptLimits, StoredAttemptLimiter } from "./limits/limits.ts";
import { type AccountMerge, AccountMerges, type AccountMergesOptions } from "./merges.ts";
import { createOpenIdLogins } from "./openid_logins.ts";
import { OwnAccounts } from "./own_accounts.ts";
import { IdleUsers, type IdleUsersOptions, Removals, type RemovalsOptions } from "./removal/removals.ts";
import { SessionRecords } from "./sessions/session_records.ts";
import { SessionGuard, Sessions } from "./sessions/sessions.ts";
import { SocialVerifiers } from "./social/social_verifiers.ts";
import type { Users } from "./users.ts";

/** Settings of the identity of a platform. */
export interface IdentityOptions {
  /**
   * Algorithm of new password hashes. Hashes of the other one are verified as well, and replaced at the next login.
   * Argon2id needs a native function. @default "scrypt"
   */
  readonly passwordHash?: PasswordAlgorithm | undefined;
  /** Policy for new passwords. @default length and commonness alone */
  readonly passwordPolicy?: PasswordPolicy | undefined;
  /** Policies that replace the default limits of actions, or `off` for none at all. @default {} */
  readonly limits?: AttemptLimits | "off" | undefined;
  /** Issuer of the team's own accounts, for projects whose settings name none. @default none */
  readonly accountIssuer?: string | undefined;
  /** Secrets of the apps at OpenID providers whose redirect flow projects offer. @default none, for public clients */
  readonly clientSecret?: ClientSecret | undefined;
  /** Requests to other identity providers. @default the `fetch` and `AbortSignal.timeout` of the runtime */
  readonly remote?: RemoteFetchOptions | undefined;
  /**
   * Called for every anonymous user who was merged into an account, with points, items and scores; once, and not at all if the
   * process stops just before. @default nothing
   */
  readonly onMerge?: (merge: AccountMerge) => Promise<void> | void;
}

/** Services and settings of {@linkcode createIdentity}. */
export interface IdentityServices {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly issuer: string;
  readonly logger: Logger;
  readonly directory: Directory;
  readonly users: Users;
  readonly tokens: Tokens;
  /** Counts attempts. @default attempts are not limited */
  readonly limiter?: Limiter | undefined;
  readonly quotas: Quotas;
  /** @default mail is dropped, with a warning in the log */
  readonly mailer?: Mailer | undefined;
  /** Native key derivation. @default {} */
  readonly passwordKernels?: PasswordKernels | undefined;
  /** Bounds the time that hashes wait for their turn. @default systemTimer */
  readonly timer?: Timer | undefined;
  readonly onRemove: IdleUsersOptions["onRemove"];
  /** Removes a user with everything that other areas keep about it. It may be called again after an interruption. */
  readonly forgetUser: IdleUsersOptions["onRemove"];
  /** Removes what other areas keep about a user who was never more than a visitor. */
  readonly forgetIdleUser: IdleUsersOptions["onRemove"];
  /** Tests if other areas keep something about a user of a project, or of none, who did not sign up. */
  readonly isReported: RemovalsOptions["isReported"];
  readonly isWorthKeeping: IdleUsersOptions["isWorthKeeping"];
  /** Lists a user again whom a removal has taken off lists. */
  readonly listAgain: IdleUsersOptions["onRemove"];
  readonly mergeUsers: AccountMergesOptions["mergeUsers"];
  /** @default {} */
  readonly options?: IdentityOptions | undefined;
}

/**
 * Creates the identity of a platform.
 *
 * @throws {RangeError} Argon2id is configured and the kernels lack it.
 */
export function createIdentity(services: IdentityServices): IdentityContext & { readonly tokens: Tokens } {
  const { store, secret, clock, random, issuer, logger, directory, users, tokens, onRemove } = services;
  const { options = {}, timer } = services;
  const sessions = new Sessions({
    store,
    users,
    tokens,
    clock,
    random,
    issuer,
    onReuse: (projectId, { userId, sid }) =>
      logger.log("warn", "refresh_token_reused", { projectId, userId, sessionId: sid }),
  });
  const fetch = createRemoteFetch(options.remote);
  const issuers = createRemoteIssuers({ fetch, clock, logger });
  const { passwords, codes } = createHashers(services);
  const codesOfUsers = createCodes({ store, secret, clock, random, hasher: codes });
  const removals = new Removals({
    ...services,
    sessions,
    codes: codesOfUsers,
    onRemove: services.forgetUser,
    removeScores: onRemove,
    hasTransactions: services.isWorthKeeping,
  });
  return {
    clock,
    random,
    directory,
    users,
    sessions,
    sessionGuard: new SessionGuard({ store, clock }),
    records: new SessionRecords(secret, users),
    clientTokens: new ClientTokens({ store, tokens, clock, random, issuer }),
    tokens,
    ownAccounts: new OwnAccounts(directory, options.accountIssuer),
    issuers,
    openIdLogins: createOpenIdLogins({
      ...services,
      flow: createCodeFlow({ fetch, clock, logger, clientSecret: options.clientSecret ?? (() => undefined) }),
    }),
    socialVerifiers: new SocialVerifiers(issuers, fetch, clock),
    hasher: passwords,
    passwordPolicy: { timer, ...options.passwordPolicy },
    codes: codesOfUsers,
    limiter: attemptLimiter(services),
    audit: new Audit(store, secret, logger),
    idleUsers: new IdleUsers({
      ...services,
      sessions,
      codes: codesOfUsers,
      removals,
      onRemove: services.forgetIdleUser,
    }),
    merges: new AccountMerges({ ...services, sessions, holder: uuid(random) }),
    mailer: services.mailer ?? createNoMailer(logger),
    background: new BackgroundWork(logger),
    onMerge: options.onMerge ?? (() => {}),
    onRemove,
    removals,
  };
}

/** Creates the hashers of passwords and codes behind one gate, as they share the threads behind it. */
export function createHashers({
  random,
  passwordKernels: kernels = {},
  timer,
  options: { passwordHash = "scrypt" } = {},
}: Pick<IdentityServices, "random" | "passwordKernels" | "timer" | "options">): {
  readonly passwords: PasswordHasher;
  readonly codes: PasswordHasher;
} {
  // Portable hashes share the event loop: two at once would take twice as long each, and block it twice as long.
  const concurrentMax = kernels.scrypt === undefined ? 1 : (kernels.concurrentMax ?? concurrentHashesDefault);
  const gate = new HashGate({ concurrentMax, timer });
  const gated = (cost: (typeof passwordCosts)[PasswordAlgorithm]): PasswordHasher =>
    gatedHasher(createPasswordHasher({ random, kernels, cost }), gate);
  return { passwords: gated(passwordCosts[passwordHash]), codes: gated(codeCost) };
}

function attemptLimiter({
  limiter,
  secret,
  logger,
  quotas,
  options,
}: IdentityServices): IdentityContext["limiter"] {
  const { limits = {} } = options ?? {};
  if (limits === "off" || limiter === undefined) return noAttemptLimits;
  return new StoredAttemptLimiter(limiter, secret, logger, { limits, quotas });
}

/** Creates a mailer that drops mail with a warning, for a platform without one. */
export function createNoMailer(logger: Logger): Mailer {
  return {
    async send({ kind }) {
      logger.log("warn", "mail_not_configured", {
        kind,
        consequence: "the mail was dropped: hand a mailer to the platform",
      });
    },
  };
}
