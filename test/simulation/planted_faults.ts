/** Faults that are planted to show that simulations find such. */

import { pathToFileURL } from "node:url";
import type { Mutation } from "../support/mutation.ts";
import { bundleSimulation } from "./bundle.ts";
import type { Outcome } from "./simulate.ts";

/** A fault to plant. */
export interface PlantedFault extends Mutation {
  readonly name: string;
}

/** Most seeds that a planted fault may survive. */
export const plantedSeedsMax = 60;

/** The faults. */
export const plantedFaults: readonly PlantedFault[] = [
  {
    name: "an id is not marked as used",
    file: "lib/fans/loyalty/user/stored_state.ts",
    text: "if (onceMarks.generation === generation) return [mark];",
    replacement: "if (onceMarks.generation === generation) return [];",
  },
  {
    name: "a commit does not check versions",
    file: "lib/storage/decide.ts",
    text: "return { key: query.key, version: stored === null ? null : stored.version };",
    replacement: "return stored === null ? { key: query.key, version: null } : null;",
  },
  {
    name: "stock has no bound",
    file: "lib/fans/loyalty/products/stock.ts",
    text: "by: quantity, min: 0, max: total }",
    replacement: "by: quantity, min: 0 }",
  },
  {
    name: "stock is off by one",
    file: "lib/fans/loyalty/products/stock.ts",
    text: "by: quantity, min: 0, max: total }",
    replacement: "by: quantity, min: 0, max: total + 1 }",
  },
  {
    name: "a code is given again",
    file: "lib/fans/loyalty/coupons/code_pools.ts",
    text: "again === undefined ? { ...pool, next: number + 1 }",
    replacement: "again === undefined ? { ...pool, next: number + (number % 2) }",
  },
  {
    name: "a redemption is paid again when it is repeated",
    file: "lib/fans/loyalty/products/redemptions.ts",
    text: 'writes: [{ type: "add", ...mark, by: 1 }, ...outcome.writes]',
    replacement: "writes: outcome.writes",
  },
  {
    name: "a redemption without anything to give is confirmed",
    file: "lib/fans/loyalty/products/redemptions.ts",
    text: "      if (fault === null) {",
    replacement: "      if (fault === null || config !== undefined) {",
  },
  {
    name: "late scores replace newer ones",
    file: "lib/fans/leaderboards/scores/change_scores.ts",
    text: "if (asOf === undefined) return",
    replacement: "if (asOf !== 0.5) return",
  },
  {
    name: "a score counts as delivered before it is",
    file: "lib/fans/loyalty/deliver.ts",
    text: "if (isDelivered) cachedUser.markDelivered(updates);\n      done(isDelivered);",
    replacement: "if (!isDelivered) cachedUser.markDelivered(updates);\n      done(true);",
  },
  {
    name: "a device gets a user for each registration",
    file: "lib/fans/identity/users.ts",
    text: "userId: holder?.userId ?? userId, sealedId: holder?.sealedId ?? sealedId",
    replacement: "userId, sealedId",
  },
  {
    name: "tenants share their users",
    file: "lib/fans/loyalty/user/state.ts",
    text: 'tenantPartition({ organisation: organisationId }, "loyalty", userId)',
    replacement: 'tenantPartition({ organisation: organisationId.slice(0, -1) + "1" }, "loyalty", userId)',
  },
  {
    name: "a key opens other organisations",
    file: "lib/fans/audience/http/guards.ts",
    text: "if (named.toLowerCase() === organisationId) return;",
    replacement: 'if (named.toLowerCase() === organisationId || organisationId !== "") return;',
  },
  {
    name: "tokens outlive their users",
    file: "lib/fans/identity/sessions/sessions.ts",
    text: "if (issuedAt >= notBefore) return;",
    replacement: "if (issuedAt >= notBefore || notBefore < Number.POSITIVE_INFINITY) return;",
  },
  {
    name: "actions that failed are acknowledged",
    file: "lib/fans/audience/worker/process_actions.ts",
    text: "      done += result.applied;",
    replacement: "      done += run.length;",
  },
  {
    name: "a limit is off by one",
    file: "lib/fans/loyalty/engine/rounds.ts",
    text: "+ pending >= max;",
    replacement: "+ pending > max;",
  },
  {
    name: "a mailed code logs in again and again",
    file: "lib/fans/identity/codes/codes.ts",
    text: "apply: state => consume(state, hash) }",
    replacement: "apply: state => ({ ...consume(state, hash), writes: [] }) }",
  },
  {
    name: "a login at a provider ends again and again",
    file: "lib/fans/identity/openid_logins.ts",
    text: "answer: used === null,",
    replacement: "answer: true,",
  },
  {
    name: "a guest who signs in at a provider stays apart",
    file: "lib/fans/identity/providers/openid_login.ts",
    text: "await mergeAnonymous(context, call, { pair, into: user.userId });",
    replacement: "void [mergeAnonymous, pair];",
  },
  {
    name: "a guest who is merged twice brings points twice",
    file: "lib/fans/loyalty/merge_users.ts",
    text: "if (stored !== null || isEmpty) return null;",
    replacement: "if (isEmpty) return null;",
  },
  {
    name: "an account has another user where a back end signs it in",
    file: "lib/fans/identity/back_end_sign_in.ts",
    text: "const origin = { issuer, subject: externalId };",
    replacement: "const origin = { issuer, subject: externalId.concat('~') };",
  },
  {
    name: "any password opens an account that moved in",
    file: "lib/auth/passwords/foreign.ts",
    text: "return constantTimeEqual(new Uint8Array(derived), key);",
    replacement: "return constantTimeEqual(new Uint8Array(derived), key) || key.length > 0;",
  },
  {
    name: "a change of the master secret leaves users under the old one",
    file: "lib/platform/sealing.ts",
    text: 'if (kind === "user") await',
    replacement: 'if (kind === "user" && id === "") await',
  },
  {
    name: "the data of a person leave out who was merged",
    file: "lib/platform/user_data.ts",
    text: "waiting.push(...merged.filter(from => !waiting.includes(from)));",
    replacement: "void merged;",
  },
  {
    name: "a merged guest returns to boards",
    file: "lib/fans/loyalty/sweep.ts",
    text: "if (state.mergedInto !== null) {",
    replacement: "if (state.mergedInto === user.userId) {",
  },
  {
    name: "the address of a broken registration becomes free",
    file: "lib/fans/identity/providers/managed_pool/pool_user.ts",
    text: "user.account?.isEmailVerified !== false",
    replacement: "user.account !== undefined",
  },
  {
    name: "a refresh token is exchanged again and again",
    file: "lib/fans/identity/sessions/sessions.ts",
    text: 'return { writes: [], answer: { type: "refreshed", row, user } };',
    replacement:
      'return { writes: rowWrites({ ...row, counter: row.counter + 1 }), answer: { type: "refreshed", row: { ...row, counter: row.counter + 1 }, user } };',
  },
  {
    name: "a revoked key is trusted for a minute",
    file: "lib/auth/api_keys/api_keys.ts",
    text: "const isFresh = cached !== undefined && now < cached.until;",
    replacement: "const isFresh = cached !== undefined && now < cached.until + 60_000;",
  },
  {
    name: "an idempotency key is not claimed",
    file: "lib/http/idempotency/idempotency.ts",
    text: "if (!(claimed instanceof IdempotencyClaim)) return claimed;",
    replacement: "if (!(claimed instanceof IdempotencyClaim)) return await execute();",
  },
  {
    name: "a ban leaves the sessions",
    file: "lib/fans/identity/operators/routes.ts",
    text: "await sessions.revokeAll(projectId, userId, { isFinal: true });\n          return identityEnvelope({ userId, ...ban });",
    replacement: "return identityEnvelope({ userId, ...ban });",
  },
  {
    name: "roles are remembered for ever",
    file: "lib/authoring/control/access/roles.ts",
    text: "this.#grants = new Cache({ entriesMax: cachedMax, maxAgeMs: ageMsMax,",
    replacement: "this.#grants = new Cache({ entriesMax: cachedMax, maxAgeMs: 1e12,",
  },
  {
    name: "a webhook that fails is not repeated",
    file: "lib/fans/loyalty/webhooks/dispatcher.ts",
    text: 'return typeof attempt === "string" ? null : attempt;',
    replacement: "return null;",
  },
  {
    name: "webhooks go on behind a failure",
    file: "lib/fans/loyalty/webhooks/dispatcher.ts",
    text: "if (failure !== null) return { sent, failure };",
    replacement: "if (failure !== null && sent === entries.length - 1) return { sent, failure };",
  },
  {
    name: "a revoked token is remembered",
    file: "lib/authoring/control/access/authors.ts",
    text: "this.#verified = new Cache({ entriesMax: cachedMax, maxAgeMs: ageMsMax,",
    replacement: "this.#verified = new Cache({ entriesMax: cachedMax, maxAgeMs: 1e12,",
  },
  {
    name: "what is published is known to the server alone",
    file: "lib/authoring/feeds/sources.ts",
    text: "this.#events = new Cache({ ...common, maxAgeMs: ageMsMax });",
    replacement: "this.#events = new Cache({ ...common, maxAgeMs: 1e12 });",
  },
  {
    name: "a server does not believe what another one's clock noted",
    file: "lib/fans/directory/event_times.ts",
    text: "return Math.max(now, noted);",
    replacement: "return noted < 0 ? 0 : now;",
  },
  {
    name: "a rebuild counts twice",
    file: "lib/fans/leaderboards/scores/rebuild.ts",
    text: "const total = steps.reduce((sum, { by }) => addBounded(sum, by), 0);",
    replacement: "const total = steps.reduce((sum, { by }) => addBounded(sum, 2 * by), 0);",
  },
  {
    name: "a fan votes as often as they like",
    file: "lib/fans/loyalty/votes/votes.ts",
    text: "isGuarded ? bounds.perUser : 0",
    replacement: "isGuarded ? 9 * bounds.perUser : 0",
  },
  {
    name: "votes are taken after the end",
    file: "lib/fans/loyalty/report.ts",
    text: "if (isGuarded && !moment.isOpen) throw voteClosed();",
    replacement: "if (isGuarded && !moment.isOpen && now < 0) throw voteClosed();",
  },
  {
    name: "votes are refused as this process knows no publication",
    file: "lib/fans/loyalty/report.ts",
    text: "if (!(error instanceof AppError) || !readAgain.has(error.code)) throw error;",
    replacement: "if (!(error instanceof AppError) || readAgain.has(error.code)) throw error;",
  },
];

/** Plants a fault in a bundle and returns the first simulation that finds it; null where none does. */
export async function findPlanted(fault: PlantedFault, outfile: string): Promise<Outcome | null> {
  await bundleSimulation(outfile, fault);
  const { simulate } = (await import(pathToFileURL(outfile).href)) as typeof import("./simulate.ts");
  for (let seed = 1; seed <= plantedSeedsMax; seed++) {
    const outcome = await simulate({ seed });
    if (outcome.faults.length > 0) return outcome;
  }
  return null;
}
