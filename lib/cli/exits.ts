/** What exit codes of commands mean; the same for every command. */
export const exits = {
  /** Done, or nothing to do. */
  ok: 0,
  failed: 1,
  usage: 2,
  /** There are differences. */
  differs: 3,
  unauthenticated: 4,
  forbidden: 5,
  notFound: 6,
  /** Something has changed in the meantime. */
  conflict: 7,
  invalid: 8,
  /** Throttled, out of time or out of reach. */
  unavailable: 9,
} as const;

/** An exit code. */
export type Exit = (typeof exits)[keyof typeof exits];

/** The exit code of an HTTP status that is an error. */
export function exitOf(status: number): Exit {
  switch (status) {
    case 401:
      return exits.unauthenticated;
    case 403:
      return exits.forbidden;
    case 404:
      return exits.notFound;
    case 409:
    case 412:
    case 428:
      return exits.conflict;
    case 400:
    case 413:
    case 415:
    case 422:
      return exits.invalid;
    case 429:
    case 503:
      return exits.unavailable;
    default:
      return exits.failed;
  }
}
