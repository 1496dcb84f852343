import { keyedTag } from "../../auth/crypto/mod.ts";
import { deriveKey, type MasterSecret, networkTag } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { Limiter } from "../../storage/mod.ts";
import { normaliseEmail } from "../codes/email.ts";
import type { Abuse, AbuseAction, AttemptFacts } from "./abuse.ts";
import { type AbuseCount, type AbusePolicy, type AbuseSubject, abusePolicies } from "./policies.ts";

/** What stands for one client: a whole IPv4 address, and the network that an IPv6 client has to itself. */
export const clientNetworkBits = { ipv4: 32, ipv6: 64 } as const;

/** Policies of some actions in place of the default ones; `off` limits the action no more. */
export type AbuseLimits = Readonly<Partial<Record<AbuseAction, AbusePolicy | "off">>>;

/** How attempts are counted. */
export interface AbuseOptions {
  readonly limiter: Limiter;
  /** Keys the tags that stand for e-mails and addresses in the limiter. */
  readonly secret: MasterSecret;
  readonly logger: Logger;
  /** @default {} */
  readonly limits?: AbuseLimits;
}

/** Counts nothing. */
export const noAbuseControls: Abuse = { attempt: async () => "go", clear: async () => undefined };

/** Counts attempts with a limiter. Subjects are tagged, so that the limiter knows no e-mail and no address. */
export function createAbuse(options: AbuseOptions): Abuse {
  const { limiter, secret, logger } = options;
  const key = deriveKey(secret, "abuse");
  const policies: Readonly<Record<AbuseAction, AbusePolicy | "off">> = {
    ...abusePolicies,
    ...options.limits,
  };
  let isAddressMissed = false;

  function warnWithoutAddress({ counts }: AbusePolicy, { projectId, address }: AttemptFacts): void {
    const isCounted = counts.some(({ by }) => by === "address" || by === "pair");
    if (address !== undefined || !isCounted || isAddressMissed) return;
    isAddressMissed = true;
    logger.log("warn", "client_address_missing", {
      projectId,
      consequence: "all clients of a project share one allowance: hand `info.address` to the handler",
    });
  }

  function subjectOf(action: AbuseAction, by: AbuseSubject, facts: AttemptFacts): string {
    const who: Readonly<Record<AbuseSubject, () => readonly string[]>> = {
      account: () => [accountOf(facts)],
      address: () => [clientOf(facts)],
      pair: () => [accountOf(facts), clientOf(facts)],
      user: () => [known(facts.userId, "userId")],
      session: () => [known(facts.sessionId, "sessionId")],
    };
    return `abuse:${keyedTag(key, [facts.projectId, action, by, ...who[by]()])}`;
  }

  async function spend(action: AbuseAction, count: AbuseCount, facts: AttemptFacts): Promise<number | null> {
    const verdicts = await limiter.take(subjectOf(action, count.by, facts), count.rules);
    if (verdicts.every(verdict => verdict.allowed)) return null;
    return Math.max(...verdicts.map(verdict => verdict.retryAfterMs));
  }

  return {
    async attempt(action, facts) {
      const policy = policies[action];
      if (policy === "off") return "go";
      warnWithoutAddress(policy, facts);
      for (const count of policy.counts) {
        const spent = await spend(action, count, facts).catch((error: unknown) => {
          if (error instanceof TypeError) throw error;
          logger.log("error", "abuse_limiter_failed", { action, reason: String(error) });
          if (policy.whenUncounted === "refuse") throw uncounted(error);
          return null;
        });
        if (spent === null) continue;
        if (count.isSilent === true) return "silent";
        throw refused(count.by, spent);
      }
      return "go";
    },
    async clear(facts, scope = "pair") {
      const policy = policies.login;
      if (policy === "off") return;
      const cleared = policy.counts.filter(({ by }) => by === "pair" || (by === "account" && scope === by));
      const resets = cleared.map(({ by, rules }) => limiter.reset(subjectOf("login", by, facts), rules));
      for (const result of await Promise.allSettled(resets)) {
        if (result.status === "rejected") {
          logger.log("error", "abuse_limiter_failed", { action: "clear", reason: String(result.reason) });
        }
      }
    },
  };
}

/** What stands for the client: its network, the address as it came where that is none, "" where it is unknown. */
function clientOf({ address = "" }: AttemptFacts): string {
  return networkTag(address, clientNetworkBits) ?? address.toWellFormed();
}

function accountOf({ email, userId }: AttemptFacts): string {
  if (email === undefined) return `user:${known(userId, "email or userId")}`;
  // Exactly as coarse as what tells accounts apart: no spelling gets attempts of its own, and no account those of another.
  return `email:${normaliseEmail(email.toWellFormed())}`;
}

function known(value: string | undefined, name: string): string {
  if (value === undefined) throw new TypeError(`Cannot count an attempt without its ${name}`);
  return value;
}

function refused(by: AbuseSubject, retryAfterMs: number): AppError {
  return by === "pair" || by === "account"
    ? new AppError("too_many_attempts", "Cannot accept another attempt for this account yet", {
        retryAfterMs,
      })
    : new AppError("rate_limited", "Cannot accept another request of this kind yet", { retryAfterMs });
}

function uncounted(cause: unknown): AppError {
  return new AppError("storage_unavailable", "Cannot check credentials while attempts cannot be counted", {
    cause,
  });
}
