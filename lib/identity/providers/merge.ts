/** An anonymous user who logged in to an account that existed before. Ids of users. */
export interface Merge {
  readonly projectId: string;
  readonly from: string;
  readonly into: string;
}
