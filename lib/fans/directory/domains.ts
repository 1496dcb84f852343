/**
 * Claims of spaces to domains. A claim counts while the record of its space has the domain, and for a minute after it was made,
 * in which that record is written. What a process that died has left of a change stands in nobody's way, therefore.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import type { Store, Stored, Version } from "../../storage/mod.ts";
import { directoryPartition, domainPartition, type Space } from "./records.ts";

/** Time in ms in which a space that has claimed a domain has to be written. */
const pendingMs = 60_000;
const attemptsMax = 5;
const reads = [
  { type: "record", key: "space" },
  { type: "record", key: "pending" },
] as const;

/**
 * Returns the version of the claim to a domain that a space may replace; null: nobody claims it.
 *
 * @throws {AppError} `conflict`: another space has the domain.
 */
export async function requireFreeDomain(
  store: Store,
  spaceId: string,
  domain: string,
): Promise<Version | null> {
  const [holder, pending] = await store.read(domainPartition(domain), reads);
  if (holder === null) return null;
  const isOwn = holder.value === JSON.stringify(spaceId);
  if (!isOwn && (pending !== null || (await hasDomain(store, holder, domain)))) throw taken(domain);
  return holder.version;
}

/**
 * Claims a domain for a space, whose record has to be written next. {@linkcode settleDomain} ends the change.
 *
 * @throws {AppError} `conflict`: another space has the domain.
 */
export async function claimDomain(
  store: Store,
  spaceId: string,
  domain: string,
  now: number,
): Promise<Version> {
  const value = JSON.stringify(spaceId);
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const version = await requireFreeDomain(store, spaceId, domain);
    const commit = await store.commit(domainPartition(domain), {
      checks: [{ key: "space", version }],
      writes: [
        { type: "put", key: "space", value },
        { type: "put", key: "pending", value, expireAt: now + pendingMs },
      ],
    });
    if (commit.ok) return commit.version;
  }
  throw taken(domain);
}

/**
 * Makes a claim final if the record of its space has the domain, and ends it otherwise. A claim that another change of the
 * space has just made is left to that change.
 *
 * @param claim What {@linkcode claimDomain} returned; null for a domain that the space had before.
 */
export async function settleDomain(
  store: Store,
  spaceId: string,
  domain: string,
  claim: Version | null,
): Promise<void> {
  const partition = domainPartition(domain);
  const [holder, pending] = await store.read(partition, reads);
  if (holder === null || holder.value !== JSON.stringify(spaceId)) return;
  if (pending !== null && holder.version !== claim) return;
  const ended = (await hasDomain(store, holder, domain)) ? ["pending"] : ["space", "pending"];
  await store.commit(partition, {
    checks: [{ key: "space", version: holder.version }],
    writes: ended.map(key => ({ type: "delete", shape: "record", key })),
  });
}

async function hasDomain(store: Store, claim: Stored, domain: string): Promise<boolean> {
  const partition = directoryPartition("space", JSON.parse(claim.value) as string);
  const [space] = await store.read(partition, [{ type: "record", key: "space" }]);
  return space !== null && (JSON.parse(space.value) as Space).domain === domain;
}

function taken(domain: string): AppError {
  return new AppError("conflict", `Cannot give the domain ${domain} to a space as another space holds it`);
}
