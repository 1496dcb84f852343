import type { Stored } from "../../storage/mod.ts";
import { type AccountNote, parseAccountNote } from "../../users/mod.ts";
import { ProfileMembers, type ProfileRecord, parseProfileRecord } from "../profile/record.ts";
import type { LoyaltyFacts, SpaceFacts } from "./facts.ts";
import type { Candidate } from "./shard_walk.ts";

/** What is on record of a user. */
export interface FoundRecords {
  readonly candidate: Candidate;
  readonly space: SpaceFacts;
  readonly profile: Stored | null;
  readonly account: Stored | null;
  /** Undefined where nobody asked for it. */
  readonly loyalty: Stored | null | undefined;
  /** Unix ms; null where nobody asked or knows. */
  readonly createdAt: number | null;
  /** Unix ms, to the hour; null where nobody asked or knows. */
  readonly lastActiveAt: number | null;
}

/** A user as conditions and rows see one. What nobody asks for is never parsed. */
export class SearchedUser {
  readonly candidate: Candidate;
  readonly createdAt: number | null;
  readonly lastActiveAt: number | null;
  readonly #found: FoundRecords;
  #profile: ProfileRecord | undefined;
  #members: ProfileMembers | undefined;
  #loyalty: LoyaltyFacts | undefined;
  #account: AccountNote | null | undefined;

  constructor(found: FoundRecords) {
    this.candidate = found.candidate;
    this.createdAt = found.createdAt;
    this.lastActiveAt = found.lastActiveAt;
    this.#found = found;
  }

  get userId(): string {
    return this.candidate.userId;
  }

  /**
   * Whether there is such a user: the index may list one who was never stored, or is gone. It may be said too early of one whose
   * loyalty nobody has asked for.
   */
  get isThere(): boolean {
    const { profile, loyalty, account } = this.#found;
    if (account === null) return profile !== null || loyalty !== null;
    return this.account?.removedAt === null;
  }

  get profile(): ProfileRecord {
    this.#profile ??= parseProfileRecord(this.#found.profile);
    return this.#profile;
  }

  /** The JSON of a member of the profile. */
  profileText(name: keyof ProfileRecord): string {
    this.#members ??= new ProfileMembers(this.#found.profile);
    return this.#members.text(name);
  }

  get loyalty(): LoyaltyFacts {
    this.#loyalty ??= this.#found.space.read(this.#found.loyalty ?? null);
    return this.#loyalty;
  }

  /** Null for users who did not sign up here. */
  get account(): AccountNote | null {
    if (this.#account === undefined) this.#account = parseAccountNote(this.#found.account);
    return this.#account;
  }
}
