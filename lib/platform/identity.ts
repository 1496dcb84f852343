/**
 * The identity of a platform: the only place where it meets the loyalty and the boards of its users.
 *
 * @module
 */

import {
  type Clock,
  createTokens,
  type KeyRing,
  type RandomBytes,
  systemRandom,
  type Tokens,
} from "../auth/mod.ts";
import { createRemoteFetch, createRemoteIssuers } from "../auth/remote_issuers/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { silentLogger } from "../http/mod.ts";
import {
  type Abuse,
  type Credentials,
  createAbuse,
  createAudit,
  createBackground,
  createClientTagger,
  createClientTokens,
  createCredentials,
  createIdleUsers,
  createNoMailer,
  createSessionGuard,
  createSessionRecords,
  createSessions,
  createSocialVerifiers,
  type IdentityContext,
  type IdleUsersOptions,
  noAbuseControls,
} from "../identity/mod.ts";
import type { Leaderboards } from "../leaderboards/mod.ts";
import type { Loyalty } from "../loyalty/mod.ts";
import type { PlatformOptions } from "./options.ts";

/** What identity is made of besides the options of the platform. */
export interface IdentityParts {
  readonly directory: Directory;
  readonly users: IdentityContext["users"];
  readonly keyRing: KeyRing;
  readonly leaderboards: Pick<Leaderboards, "removeUser">;
  readonly loyalty: Pick<Loyalty, "history">;
}

/** Creates what the identity of a platform works with. */
export function platformIdentity(
  options: PlatformOptions & { readonly clock: Clock; readonly publicUrl: string },
  { directory, users, keyRing, leaderboards, loyalty }: IdentityParts,
): IdentityContext & { readonly tokens: Tokens } {
  const { store, secret, clock, publicUrl, random = systemRandom, logger = silentLogger } = options;
  const tokens = createTokens({ ring: keyRing, clock, random });
  const sessions = createSessions({
    store,
    tokens,
    clock,
    random,
    publicUrl,
    onReuse: (projectId, { userId, sid }) =>
      logger.log("warn", "refresh_token_reused", { projectId, userId, sessionId: sid }),
  });
  const isKept = keepsPoints({ directory, loyalty });
  const fetch = createRemoteFetch(options.identity?.remote);
  const issuers = createRemoteIssuers({ fetch, clock });
  return {
    directory,
    clock,
    random,
    users,
    records: createSessionRecords(secret),
    sessions,
    idleUsers: createIdleUsers({ store, users, sessions, clock, isKept, onRemove: leaderboards.removeUser }),
    onRemove: leaderboards.removeUser,
    sessionGuard: createSessionGuard({ store, clock }),
    tokens,
    issuers,
    socialVerifiers: createSocialVerifiers({ issuers, fetch, clock }),
    ...credentials({ ...options, random }),
    abuse: abuseControls(options),
    audit: createAudit({ store, logger }),
    tagClient: createClientTagger(secret),
    clientTokens: createClientTokens({ tokens, publicUrl }),
    mailer: options.mailer ?? createNoMailer(logger),
    background: createBackground(logger),
    onMerge: options.identity?.onMerge ?? (() => {}),
  };
}

/** Points are what a user's history of transactions tells of; a profile alone is made by looking at it. */
function keepsPoints(from: Pick<IdentityParts, "directory" | "loyalty">): IdleUsersOptions["isKept"] {
  return async (projectId, { userId }) => {
    const project = await from.directory.project(projectId);
    if (project === null) return true;
    const { organisationId, spaceId } = project;
    const history = await from.loyalty.history({ organisationId, spaceId, projectId, userId }, {});
    return history.length > 0;
  };
}

function credentials(
  options: PlatformOptions & { readonly clock: Clock; readonly random: RandomBytes },
): Credentials {
  const { store, secret, clock, random, passwordKernels, identity = {} } = options;
  const { passwordHash, passwordPolicy } = identity;
  return createCredentials({
    store,
    secret,
    clock,
    random,
    ...(passwordKernels === undefined ? {} : { kernels: passwordKernels }),
    ...(passwordHash === undefined ? {} : { algorithm: passwordHash }),
    ...(passwordPolicy === undefined ? {} : { policy: passwordPolicy }),
  });
}

function abuseControls({ secret, identity, http, logger = silentLogger }: PlatformOptions): Abuse {
  const { limits = {} } = identity ?? {};
  if (limits === "off" || http?.limiter === undefined) return noAbuseControls;
  return createAbuse({ limiter: http.limiter, secret, logger, limits });
}
