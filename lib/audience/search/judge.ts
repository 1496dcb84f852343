import type { CheckedSearch } from "./criteria.ts";
import type { SearchedUser } from "./searched_user.ts";
import type { Candidate } from "./shard_walk.ts";
import { readUsers, type UserReaderOptions } from "./user_reader.ts";

/** How many times more candidates than users who fit make it worth while to read in two steps. */
export const sparseRatioMin = 4;

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
  async fitting(candidates: readonly Candidate[]): Promise<readonly SearchedUser[]> {
    const likely = this.#isSparse ? await this.#judge(candidates, this.#search.judged) : null;
    const asked = likely === null ? candidates : likely.map(({ candidate }) => candidate);
    const fitting = await this.#judge(asked, this.#search.shown);
    if (candidates.length > 0) this.#isSparse = fitting.length * sparseRatioMin < candidates.length;
    return fitting;
  }

  async #judge(
    candidates: readonly Candidate[],
    demand: CheckedSearch["judged"],
  ): Promise<readonly SearchedUser[]> {
    if (candidates.length === 0) return [];
    const { fits } = this.#search.context.filter;
    const users = await readUsers(this.#options, demand, candidates);
    return users.filter(user => user.isThere && fits(user));
  }
}
