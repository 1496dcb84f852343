import type {
  BoardRange,
  BoardWindow,
  LogEntry,
  Read,
  ReadBoard,
  ReadLog,
  Standing,
  Stored,
} from "../../lib/storage/contract.ts";
import { keyOf } from "./keys.ts";
import { decodeMember, decodeRecord, encodePoint } from "./stored.ts";

type Answer =
  | Stored
  | ReadonlyMap<string, number>
  | BoardRange
  | BoardWindow
  | Standing
  | number
  | readonly LogEntry[]
  | null;

/** Adds the arguments with which {@linkcode readScript} answers the query. */
export function pushRead(root: string, query: Read, keys: string[], args: string[]): void {
  switch (query.type) {
    case "record":
      keys.push(keyOf(root, "r", query.key));
      args.push("r");
      return;
    case "tally":
      keys.push(keyOf(root, "t", query.key));
      if (query.fields === undefined) args.push("t");
      else args.push("f", String(query.fields.length), ...query.fields);
      return;
    case "board":
      keys.push(keyOf(root, "b", query.key));
      pushBoard(query, args);
      return;
    case "around":
      keys.push(keyOf(root, "b", query.key), keyOf(root, "m", query.key));
      args.push("w", query.member, String(query.limit));
      return;
    case "standing":
      keys.push(keyOf(root, "b", query.key), keyOf(root, "m", query.key));
      args.push(query.position === true ? "S" : "s", query.member);
      return;
    case "before":
      keys.push(keyOf(root, "b", query.key));
      args.push("c", bound(query.score), encodePoint(query));
      return;
    case "log":
      keys.push(keyOf(root, "l", query.key));
      args.push("l", ...logArguments(query));
  }
}

/** Reads the answer of Redis, which is the same from {@linkcode readScript} and from the single command. */
export function decodeRead(query: Read, reply: unknown, now: number): Answer {
  switch (query.type) {
    case "record":
      return decodeRecord(reply, now);
    case "tally":
      return decodeTally(query.fields, reply as readonly (string | null)[]);
    case "board":
      return decodeBoard(reply as readonly [number, readonly string[]]);
    case "around":
      return decodeWindow(reply as readonly [number, readonly string[], number, number] | null);
    case "standing":
      return decodeStanding(reply as readonly [string, string, number, number?] | null);
    case "before":
      return Number(reply);
    case "log":
      return decodeLog(query, reply as readonly string[]);
  }
}

function pushBoard({ min, max, offset = 0, limit, reverse = false }: ReadBoard, args: string[]): void {
  const direction = reverse ? "REV" : "";
  if (min === undefined && max === undefined) {
    const stop = limit === 0 ? offset - 1 : offset + limit - 1;
    // A stop of -1 would mean the last entry.
    args.push("b", ...(stop < 0 ? ["1", "0"] : [String(offset), String(stop)]), direction);
    return;
  }
  const low = bound(min ?? Number.NEGATIVE_INFINITY);
  const high = bound(max ?? Number.POSITIVE_INFINITY);
  const [from, to] = reverse ? [high, low] : [low, high];
  args.push("B", from, to, direction, String(offset), String(limit));
}

/** Returns a score as Redis takes it for the end of a range. */
export function bound(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return score > 0 ? "+inf" : "-inf";
}

function decodeTally(
  fields: readonly string[] | undefined,
  reply: readonly (string | null)[],
): ReadonlyMap<string, number> {
  const tally = new Map<string, number>();
  if (fields === undefined) {
    for (let index = 0; index < reply.length; index += 2) {
      tally.set(reply[index] ?? "", Number(reply[index + 1]));
    }
    return tally;
  }
  for (const [index, field] of fields.entries()) {
    const value = reply[index];
    if (typeof value === "string") tally.set(field, Number(value));
  }
  return tally;
}

function decodeBoard([size, flat]: readonly [number, readonly string[]]): BoardRange {
  const entries = [];
  for (let index = 0; index < flat.length; index += 2) {
    const { member, tie } = decodeMember(flat[index] ?? "");
    entries.push({ member, score: Number(flat[index + 1]), tie });
  }
  return { entries, size };
}

function decodeWindow(
  reply: readonly [number, readonly string[], number, number] | null,
): BoardWindow | null {
  if (reply === null) return null;
  const [size, flat, offset, below] = reply;
  return { ...decodeBoard([size, flat]), offset, below };
}

function decodeStanding(reply: readonly [string, string, number, number?] | null): Standing | null {
  if (reply === null) return null;
  const [score, tie, below, position] = reply;
  const standing = { score: Number(score), tie: Number(tie), below };
  return position === undefined ? standing : { ...standing, position };
}

/** A place in a log: entries have a sequence of at least 1. */
interface Place {
  readonly ms: number;
  readonly seq: number;
}

/** Returns the indexes of LRANGE for a query that is bounded by its limit alone, or undefined if its ends must be searched. */
export function listRange({
  from,
  to,
  cursor,
  limit,
  reverse = false,
}: ReadLog): [string, string] | undefined {
  // To LRANGE, -1 means the last entry.
  if (limit === 0) return ["1", "0"];
  if (from !== undefined || to !== undefined || cursor !== undefined) return undefined;
  return reverse ? [String(-limit), "-1"] : ["0", String(limit - 1)];
}

/** Returns the arguments with which {@linkcode readScript} reads the log. */
function logArguments({ from, to, cursor, limit, reverse = false }: ReadLog): string[] {
  let after: Place | undefined = from === undefined ? undefined : { ms: from, seq: 0 };
  let upTo: Place | undefined = to === undefined ? undefined : { ms: to, seq: Number.MAX_SAFE_INTEGER };
  if (cursor !== undefined) {
    const { ms, seq } = parse(cursor);
    if (!reverse && (after === undefined || ms >= after.ms)) after = { ms, seq };
    if (reverse && (upTo === undefined || ms <= upTo.ms)) upTo = { ms, seq: seq - 1 };
  }
  return [String(limit), reverse ? "REV" : "", ...placeArguments(after), ...placeArguments(upTo)];
}

/** Reads entries as they stand in the list, `<id> <value>`, oldest first. */
function decodeLog({ reverse = false }: ReadLog, stored: readonly string[]): LogEntry[] {
  const entries = stored.map(entry => {
    const space = entry.indexOf(" ");
    return { id: entry.slice(0, space), at: Number.parseInt(entry, 10), value: entry.slice(space + 1) };
  });
  return reverse ? entries.reverse() : entries;
}

function placeArguments(place: Place | undefined): string[] {
  return place === undefined ? ["", ""] : [String(place.ms), String(place.seq)];
}

function parse(cursor: string): Place {
  const [ms, seq] = cursor.split("-");
  return { ms: Number(ms), seq: Number(seq) };
}
