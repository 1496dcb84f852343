import type { CheckedSearch } from "./criteria.ts";
import type { SearchedUser } from "./searched_user.ts";
import type { Candidate } from "./shard_walk.ts";
import { readUsers, type UserReaderOptions } from "./user_reader.ts";

/** How many times more candidates than users who fit make it worth while to read in two steps. */
export const sparseRatioMin = 4;

/** A user who fits, and which of the candidates it is. */
export interface FittingUser {
  readonly user: SearchedUser;
  readonly index: number;
}

/**
 * Says which candidates fit. At first everything that is shown is read at once; where few turn out to fit, only what the filter
 * compares, and the rest of those who fit.
 */
export class Judge {
  readonly #options: UserReaderOptions;
  readonly #search: CheckedSearch;
  #isSparse = false;

  constructor(options: UserReaderOptions, search: CheckedSearch) {
    this.#options = options;
    this.#search = search;
  }

  /** The candidates who fit, in their order. */
  async fitting(candidates: readonly Candidate[]): Promise<readonly FittingUser[]> {
    if (candidates.length === 0) return [];
    const all = candidates.map((candidate, index) => ({ candidate, index }));
    const likely = this.#isSparse ? await this.#judge(all, this.#search.judged) : all;
    const fitting = await this.#judge(likely, this.#search.shown);
    this.#isSparse = fitting.length * sparseRatioMin < candidates.length;
    return fitting;
  }

  async #judge(
    placed: readonly { readonly candidate: Candidate; readonly index: number }[],
    demand: CheckedSearch["judged"],
  ): Promise<readonly (FittingUser & { readonly candidate: Candidate })[]> {
    if (placed.length === 0) return [];
    const users = await readUsers(
      this.#options,
      demand,
      placed.map(({ candidate }) => candidate),
    );
    const { fits } = this.#search.context.filter;
    return users.flatMap((user, at) => {
      const found = placed[at];
      return found !== undefined && user.isThere && fits(user) ? [{ ...found, user }] : [];
    });
  }
}
