import type { LogEntry, ReadLog } from "../../lib/storage/contract.ts";

/** A place in a log: entries have a sequence of at least 1. */
interface Place {
  readonly ms: number;
  readonly seq: number;
}

/** The indexes of LRANGE for a query that is bounded by its limit alone, or undefined where its ends must be searched. */
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

/** The arguments with which `read.lua` reads the log. */
export function logArguments({ from, to, cursor, limit, reverse = false }: ReadLog): string[] {
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
export function decodeLog({ reverse = false }: ReadLog, stored: readonly string[]): LogEntry[] {
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
