/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The storage contract: four data shapes, read at one instant and committed together within one partition.
 *
 * | shape  | Redis type  | holds                                                     |
 * |--------|-------------|-----------------------------------------------------------|
 * | record | STRING      | profiles, sessions, settings, jobs, claims                |
 * | tally  | HASH        | balances, stock, counters                                 |
 * | board  | ZSET (+HASH)| leaderboards, due-queues, listing and search indexes      |
 * | log    | LIST        | transactions, notifications, history                      |
 *
 * Each shape has a key space of its own: a record `x` and a board `x` of one partition are two things.
 * There is no transaction across partitions, no prefix listing and no callback inside the store.
 */

/**
 * The unit of atomicity: all keys of a partition live together (one Redis hash slot). Any well-formed string of 1 to
 * `partitionBytesMax` bytes; build it with `tenantPartition`, which cannot forget the tenant.
 */
export type Partition = string;

/** The state of a record, opaque, equal for equal states and never used again for the same key, even after a delete. */
export type Version = string;

/** A record as stored. */
export interface Stored {
  readonly value: string;
  readonly version: Version;
}

/** One member of a board. A board is ordered by `score`, then `tie`, then the member's UTF-8 bytes, all ascending. */
export interface BoardEntry {
  readonly member: string;
  readonly score: number;
  /** The stamp that orders equal scores; 0 where none was given. */
  readonly tie: number;
}

/** A part of a board in order, with the number of all its members. */
export interface BoardRange {
  readonly entries: readonly BoardEntry[];
  readonly size: number;
}

/** A part of a board around a member. */
export interface BoardWindow extends BoardRange {
  /** Number of members before the first entry in the order of the board. */
  readonly offset: number;
  /** Number of members with a strictly lower score than the first entry: its competition rank, counted from 0. */
  readonly below: number;
}

/** Rank and score of one member of a board. */
export interface Standing {
  readonly score: number;
  readonly tie: number;
  /** Number of members with a strictly lower score: the competition rank, counted from 0. */
  readonly below: number;
  /** Number of members before this one in the order of the board. Present if the query asked for it. */
  readonly position?: number;
}

/** One entry of a log. */
export interface LogEntry {
  /** `<milliseconds>-<sequence>`, strictly increasing along the log. Opaque to callers except as a cursor. */
  readonly id: string;
  readonly at: number;
  readonly value: string;
}

/** Reads a record; the result is `null` if it is absent or expired. */
export interface ReadRecord {
  readonly type: "record";
  readonly key: string;
}
/** Reads a tally; the result maps every field (or each of `fields` that exists) to its value. */
export interface ReadTally {
  readonly type: "tally";
  readonly key: string;
  readonly fields?: readonly string[];
}
/**
 * Reads up to `limit` entries by position: `offset` 0 is the first in order, or the last with `reverse`. A `limit` of 0
 * answers the size alone.
 */
export interface ReadBoard {
  readonly type: "board";
  readonly key: string;
  readonly limit: number;
  /** @default 0 */
  readonly offset?: number;
  /** Only scores >= this. `offset` then counts from the first such entry. */
  readonly min?: number;
  /** Only scores <= this. */
  readonly max?: number;
  /** Walk from the highest to the lowest. @default false */
  readonly reverse?: boolean;
}
/**
 * Reads up to `limit` entries around a member, as many before it as behind and one more behind where the limit is even. At
 * either end of the board the other side is longer. The result is `null` where the member is not on the board.
 */
export interface ReadAround {
  readonly type: "around";
  readonly key: string;
  readonly member: string;
  /** At least 1. */
  readonly limit: number;
}
/** Reads one member's standing; the result is `null` where it is not on the board. */
export interface ReadStanding {
  readonly type: "standing";
  readonly key: string;
  readonly member: string;
  /** True if the standing tells the member's `position`. @default false */
  readonly position?: boolean;
}
/**
 * Counts the entries that come strictly before the point (`score`, `tie`, `member`) of the board's order, whether or not
 * an entry stands there; the result is a number. It makes ranks exact over boards that share their members out.
 */
export interface ReadBefore {
  readonly type: "before";
  readonly key: string;
  /** Infinities stand before and after everything. */
  readonly score: number;
  /** @default 0 */
  readonly tie?: number;
  /** Omitted: the point before all members of this score and tie. */
  readonly member?: string;
}
/** Reads up to `limit` log entries, oldest first, or newest first with `reverse`. */
export interface ReadLog {
  readonly type: "log";
  readonly key: string;
  readonly limit: number;
  /** Only entries at this time (Unix ms) or later. */
  readonly from?: number;
  /** Only entries at this time (Unix ms) or earlier. */
  readonly to?: number;
  /** Only entries beyond this one in the direction of reading. */
  readonly cursor?: string;
  /** @default false */
  readonly reverse?: boolean;
}

/** A query of {@linkcode Store.read}. */
export type Read = ReadRecord | ReadTally | ReadBoard | ReadAround | ReadStanding | ReadBefore | ReadLog;

/** The result of one query. */
export type Result<Q extends Read> = Q extends ReadRecord
  ? Stored | null
  : Q extends ReadTally
    ? ReadonlyMap<string, number>
    : Q extends ReadBoard
      ? BoardRange
      : Q extends ReadAround
        ? BoardWindow | null
        : Q extends ReadStanding
          ? Standing | null
          : Q extends ReadBefore
            ? number
            : Q extends ReadLog
              ? readonly LogEntry[]
              : never;

/** The results of a tuple of queries, in its order. */
export type Results<Q extends readonly Read[]> = { readonly [K in keyof Q]: Result<Q[K]> };

/** A condition on a record: it still has this version, or with `null` it is absent or expired. */
interface RecordCheck {
  readonly key: string;
  readonly version: Version | null;
}
/** A condition on a tally: it has no such field. A commit that also sets the field takes effect once, without a read. */
export interface FieldCheck {
  readonly key: string;
  readonly absent: string;
}
/** A condition of {@linkcode Store.commit}. */
export type Check = RecordCheck | FieldCheck;

/** Creates or replaces a record. */
export interface Put {
  readonly type: "put";
  readonly key: string;
  readonly value: string;
  /** Unix ms of the store's clock from which the record is absent. Omitted: it does not expire. */
  readonly expireAt?: number;
}
/** Removes a whole key of any shape; nothing happens if it is absent. */
export interface Delete {
  readonly type: "delete";
  readonly shape: "record" | "tally" | "board" | "log";
  readonly key: string;
}
/**
 * Adds a safe integer to a field, which starts at 0 and exists from then on. Outside `min`..`max`, or unsafe, the whole
 * commit is refused.
 */
export interface Add {
  readonly type: "add";
  readonly key: string;
  readonly field: string;
  readonly by: number;
  readonly min?: number;
  readonly max?: number;
}
/**
 * Gives a member a score: `set` it, keep the lower (`min`) or higher (`max`) of old and new, or `add` to it
 * (from 0 for a new member). Where the score does not change, the stored tie stays.
 */
export interface Score {
  readonly type: "score";
  readonly op: "set" | "min" | "max" | "add";
  readonly key: string;
  readonly member: string;
  /** A finite number, -0 being 0. A sum is rounded to 9 decimal digits; beyond ±(2^53 - 1) a guard refuses it. */
  readonly score: number;
  /** Orders equal scores, lower first: an integer from 0 to `tieMax`. @default 0 */
  readonly tie?: number;
  /**
   * The version of the fact behind this score, a safe integer >= 0. The write does nothing unless it is greater than
   * the version last stored for the member: this makes redelivery and reordering harmless. It is stored even where
   * the score stays as it is. Without `asOf` the write always applies and the version stays.
   */
  readonly asOf?: number;
}
/** Takes a member off a board; nothing happens if it is absent. Its `asOf` is forgotten. */
export interface Unscore {
  readonly type: "unscore";
  readonly key: string;
  readonly member: string;
}
/** Appends to a log at `at`, or at the time of its last entry if that is later. */
export interface Append {
  readonly type: "append";
  readonly key: string;
  readonly value: string;
  /** Unix ms. */
  readonly at: number;
  /** The oldest entries beyond this number are dropped, exactly. */
  readonly maxLength: number;
}

/** An effect of {@linkcode Store.commit}. Writes apply in order, so a later one sees an earlier one. */
export type Write = Put | Delete | Add | Score | Unscore | Append;

/** Checks and writes that succeed or fail as one. Checks see the state before the writes, and come before guards. */
export interface Batch {
  /** @default [] */
  readonly checks?: readonly Check[];
  readonly writes: readonly Write[];
}

/** Outcome of a commit. */
export type Commit =
  | {
      readonly ok: true;
      /** The version that every record put by this commit now has. */
      readonly version: Version;
      /** Per write, in order: the new value of `add`, the resulting score of `score`, the id of `append`, else null. */
      readonly results: readonly (number | string | null)[];
    }
  | {
      readonly ok: false;
      /** `check`: a record or field is not as expected. `guard`: a tally or score would leave its bounds. Nothing was written. */
      readonly because: "check" | "guard";
      /** The first key at fault. */
      readonly key: string;
    };

/** Abilities of an adapter. */
export interface Traits {
  /** True if an acknowledged commit survives the end of the process. */
  readonly durable: boolean;
  /** Most writes of one commit, from 1 to `storageLimits.writesMax`. */
  readonly maxWrites: number;
  /** Largest record or log entry in UTF-8 bytes, from 1 to `storageLimits.valueBytesMax`. */
  readonly maxValueBytes: number;
}

/** Something about a store that endangers its data. */
export interface StoreWarning {
  readonly code: "keys_are_evicted" | "not_persistent";
  /** What to do, for operators. */
  readonly detail: string;
}

/**
 * Storage for every area.
 *
 * Misuse (an exceeded limit, an ill-formed string, a score that is not finite) throws a `TypeError` or `RangeError`
 * before any effect. A store that cannot be reached throws an `AppError` with the code `storage_unavailable`, and
 * then nothing was written; where it cannot be known whether a commit was applied the code is `outcome_unknown`. So it does within
 * `answerMsMax`. A commit of a process whose clock is more than `aheadMsMax` ahead of the store's is refused with `storage_unavailable`.
 */
export interface Store extends AsyncDisposable {
  readonly traits: Traits;
  /** Answers every query from one instant of the partition. */
  read<const Q extends readonly Read[]>(partition: Partition, queries: Q): Promise<Results<Q>>;
  /** Applies every write or none. Of N racers that hold the same check exactly one gets `ok: true`. */
  commit(partition: Partition, batch: Batch): Promise<Commit>;
  /**
   * Resolves when the store answers, rejects with `storage_unavailable` when it does not within `pingMsMax`, or when the clock of this
   * process and that of the store differ by more than `readySkewMsMax`. It need not write: a check of readiness also tries a
   * commit, which a store that takes no writes refuses with `storage_unavailable`.
   */
  ping(): Promise<void>;
  /**
   * Returns the number of the last change of a partition, where the process knows it: while that stays, so does what was read after
   * it was asked for, but for records that expire. No two changes have the same number. @default unknown
   */
  lastChange?(partition: Partition): number | undefined;
  /** Returns the time of the store in Unix ms, as far as this process knows it. @default the clock of the process */
  readonly now?: (() => number) | undefined;
  /** Returns what endangers the data, as far as the store says so. @default nothing */
  warnings?(): Promise<readonly StoreWarning[]>;
}

/** Times that a store on a server keeps, in ms. */
export const storageTimes = {
  /** Longest time of a ping. */
  pingMsMax: 1_000,
  /** Longest time of a read or a commit, which has failed after that. */
  answerMsMax: 5_000,
  /** Most that the clocks of process and server may differ where the process is ready. */
  readySkewMsMax: 30_000,
  /** Most that the clock of a process may be ahead of the server's where it writes. */
  aheadMsMax: 300_000,
} as const;

/** Bounds of the storage contract and its side ports. Every adapter refuses larger arguments with a `RangeError` before any effect. */
export const storageLimits = {
  /** Longest partition name, in UTF-8 bytes. */
  partitionBytesMax: 512,
  /** Longest key, tally field or board member, in UTF-8 bytes; the shortest is one byte. */
  nameBytesMax: 512,
  /** Largest record or log entry, in UTF-8 bytes. */
  valueBytesMax: 1_048_576,
  /** Most queries in one `read`. */
  readsMax: 512,
  /** Most entries that one board or log query may ask for. */
  rangeLimitMax: 1_000,
  /** Most checks in one `commit`. */
  checksMax: 200,
  /** Most writes in one `commit`. */
  writesMax: 1_000,
  /** Most bytes of values in one `commit`. */
  commitBytesMax: 8_388_608,
  /** Most fields that a tally may hold. */
  tallyFieldsMax: 10_000,
  /** Largest `maxLength` of a log. */
  logLengthMax: 100_000,
  /** Largest tie stamp: 13 decimal digits, which as Unix milliseconds lasts until the year 2286. */
  tieMax: 9_999_999_999_999,
  /** Most rules that one `take` of a limiter may spend. */
  limitRulesMax: 16,
  /** Most messages in one `push`, `take` or `ack` of a queue. */
  queueBatchMax: 1_000,
  /** Longest lease of a message, in ms. */
  leaseMsMax: 86_400_000,
  /** Longest name of a blob, in characters. */
  blobNameCharactersMax: 256,
} as const;
