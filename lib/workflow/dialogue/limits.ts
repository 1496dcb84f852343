/** The bounds of the protocol. */

/** Bounds of the workflow protocol, for backends and frontends alike. */
export const dialogueLimits = {
  /** Longest request, in bytes: files travel as Base64. */
  requestBytesMax: 15 * 1_048_576,
  /** Longest answer that a frontend reads, in bytes. */
  answerBytesMax: 2 * 1_048_576,
  /** Time that a frontend waits for an answer, in ms. */
  answerMsMax: 30_000,
  /** Bytes of all files of a request together, before Base64. */
  fileBytesMax: 10 * 1_048_576,
  /** Bytes of an image in a `data:` address. */
  imageBytesMax: 1_048_576,
  textCharactersMax: 20_000,
  /** Characters of ids, names and labels. */
  nameCharactersMax: 200,
  /** Characters of an address. */
  urlCharactersMax: 2_048,
  /** Blocks and actions of an answer. */
  blocksMax: 500,
  actionsMax: 100,
  /** Levels of a payload. */
  payloadDepthMax: 32,
  /** Open `<strong>` and `<em>` at a time. */
  markupDepthMax: 16,
  /** Time between polls in ms: without `pollIntervalMs`, at least, at most, and at least on a hidden page. */
  pollMs: 2_000,
  pollMsMin: 500,
  pollMsMax: 30_000,
  hiddenPollMsMin: 10_000,
  /** Tries of a first request or poll, and of a request that is told to wait. */
  triesMax: 8,
  /** Auto actions in a row, without a press and without progress. */
  autoActionsMax: 25,
  /** Messages for developers that a dialogue keeps. */
  reportsMax: 50,
} as const;
