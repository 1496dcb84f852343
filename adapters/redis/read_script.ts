/** Scripts made to measure for reads: what `commit_script.ts` is for batches. */

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
import { scriptOf } from "./script_cache.ts";
import { decodeMember, decodeRecord, encodePoint } from "./stored.ts";

export const preparedReadsMax = 16;
export const preparedFieldsMax = 9;

/** The queries in signs: `r` a record, `t` a tally, a digit for that many fields of a tally. */
type ReadShape = string;

/** Returns the shape of a read, or undefined if it takes {@linkcode readScript}: it is large, or asks for a board or a log. */
export function readShape(queries: readonly Read[]): ReadShape | undefined {
  if (queries.length > preparedReadsMax) return undefined;
  let shape = "";
  for (const query of queries) {
    if (query.type === "record") shape += "r";
    else if (query.type !== "tally") return undefined;
    else if (query.fields === undefined) shape += "t";
    else if (query.fields.length >= 1 && query.fields.length <= preparedFieldsMax)
      shape += query.fields.length;
    else return undefined;
  }
  return shape;
}

export function readArguments(root: string, queries: readonly Read[]): [string[], string[]] {
  const keys: string[] = [];
  const args: string[] = [];
  for (const query of queries) {
    keys.push(keyOf(root, query.type === "record" ? "r" : "t", query.key));
    if (query.type === "tally" && query.fields !== undefined) args.push(...query.fields);
  }
  return [keys, args];
}

/**
 * Writes the script of a shape, which answers any number of reads.
 *
 * KEYS: per read one for each query. ARGV: [1] the number of reads; per read the fields. Returns: per read and query what
 * {@linkcode readScript} answers.
 */
export function writeReadScript(shape: ReadShape): string {
  const records = [...shape].flatMap((sign, index) => (sign === "r" ? [`keys[k + ${index + 1}]`] : []));
  let [record, field] = [0, 0];
  const answers = [...shape].map((sign, index) => {
    const key = `keys[k + ${index + 1}]`;
    if (sign === "r") return `records[${++record}]`;
    if (sign === "t") return `call('HGETALL', ${key})`;
    const fields = Array.from({ length: Number(sign) }, () => `args[a + ${++field}]`);
    return `call('HMGET', ${key}, ${fields.join(", ")})`;
  });
  const read = records.length === 0 ? [] : [`local records = call('MGET', ${records.join(", ")})`];
  return [
    "local call, keys, args, answers = redis.call, KEYS, ARGV, {}",
    "for n = 0, args[1] - 1 do",
    `local k, a = ${shape.length} * n, ${field} * n + 1`,
    ...read,
    `answers[n + 1] = { ${answers.join(", ")} }`,
    "end",
    "return answers",
  ].join("\n");
}

export const readScript = scriptOf(`
-- Purpose: answers several queries from one instant of a partition.
--
-- KEYS: per query its key; w, s and S have two (ZSET, HASH of stamped rows).
-- ARGV: per query, by its first argument:
--         r                                          a record
--         t                                          a tally, every field
--         f <n> <field>...                           n fields of a tally
--         b <start> <stop> <REV or ''>               a board by position; stop < start for no entries
--         B <from> <to> <REV or ''> <offset> <limit> a board by score
--         w <member> <n>                             n entries around a member
--         s <member>                                 a standing
--         S <member>                                 a standing with its position
--         c <score> <point or ''>                    the entries before a score, or before a point among its entries
--         l <n> <REV or ''> <ms> <seq> <ms> <seq>    n entries of a log beyond the first position, up to the second;
--                                                    '' for no bound
-- Returns: per query: r the stored string or nil; t field, value, ...; f the values or nil; b, B {size, {member,
--          score, ...}}; w the same, the number of entries before the first and of scores lower than its, or nil;
--          s {score, tie, number of lower scores} or nil, S with the position as a fourth;
--          c the number of entries; l the entries <id> <value>, oldest first.

local KEYS, ARGV, call, sub = KEYS, ARGV, redis.call, string.sub
-- Below LUAI_MAXCSTACK (8000), which bounds unpack.
local chunk = 4000

local function fields(key, first, last)
  local values = {}
  for start = first, last, chunk do
    local stop = math.min(start + chunk - 1, last)
    for n, value in ipairs(call('HMGET', key, unpack(ARGV, start, stop))) do
      values[start - first + n] = value
    end
  end
  return values
end

-- Returns a member as the ZSET keeps it; and of one with a stamped row its score and tie.
local function find(rows, member)
  local row = call('HGET', rows, member)
  if not row then return '0' .. member end
  local tie = sub(row, 1, 13)
  return tie == '0000000000000' and '0' .. member or '1' .. tie .. member, sub(row, 30), tie
end

local function around(zset, rows, member, limit)
  local position = call('ZRANK', zset, (find(rows, member)))
  if not position then return false end
  local size = call('ZCARD', zset)
  local first = math.max(0, math.min(position - math.floor((limit - 1) / 2), size - limit))
  local entries = call('ZRANGE', zset, first, first + limit - 1, 'WITHSCORES')
  return { size, entries, first, call('ZCOUNT', zset, '-inf', '(' .. entries[2]) }
end

local function standing(zset, rows, op, member)
  local encoded, score, tie = find(rows, member)
  if not score then
    score = call('ZSCORE', zset, encoded)
    if not score then return false end
  end
  local below = call('ZCOUNT', zset, '-inf', '(' .. score)
  if op == 'S' then return { score, tie or '0', below, call('ZRANK', zset, encoded) } end
  return { score, tie or '0', below }
end

-- True if a name comes before another by its bytes; Lua's own order follows the server's locale.
local function precedes(a, b)
  local left, right = { string.byte(a, 1, -1) }, { string.byte(b, 1, -1) }
  for n = 1, math.min(#a, #b) do
    if left[n] ~= right[n] then return left[n] < right[n] end
  end
  return #a < #b
end

-- Counts the entries before a score, and with a point (the member as the ZSET keeps it) those of the same score
-- that come before it, by binary search over their ranks.
local function before(zset, score, point)
  local low = call('ZCOUNT', zset, '-inf', '(' .. score)
  if point == '' then return low end
  local high = low + call('ZCOUNT', zset, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(call('ZRANGE', zset, middle, middle)[1], point) then low = middle + 1 else high = middle end
  end
  return low
end

-- Returns the number of entries of a log, of high in all, at a position or before it.
local function upTo(key, ms, seq, high)
  local low = 0
  ms, seq = tonumber(ms), tonumber(seq)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local otherMs, otherSeq = string.match(call('LINDEX', key, middle), '^(%d+)-(%d+)')
    otherMs = tonumber(otherMs)
    if otherMs < ms or (otherMs == ms and tonumber(otherSeq) <= seq) then low = middle + 1 else high = middle end
  end
  return low
end

local function log(key, i)
  local count, isReverse = tonumber(ARGV[i + 1]), ARGV[i + 2] ~= ''
  local start, stop = 0, call('LLEN', key)
  if ARGV[i + 5] ~= '' then stop = upTo(key, ARGV[i + 5], ARGV[i + 6], stop) end
  if ARGV[i + 3] ~= '' then start = upTo(key, ARGV[i + 3], ARGV[i + 4], stop) end
  if stop - start > count then
    if isReverse then start = stop - count else stop = start + count end
  end
  if start >= stop then return {} end
  return call('LRANGE', key, start, stop - 1)
end

local function board(key, i)
  if ARGV[i] == 'b' then
    if ARGV[i + 3] == '' then return call('ZRANGE', key, ARGV[i + 1], ARGV[i + 2], 'WITHSCORES') end
    return call('ZRANGE', key, ARGV[i + 1], ARGV[i + 2], 'REV', 'WITHSCORES')
  end
  local from, to, offset, limit = ARGV[i + 1], ARGV[i + 2], ARGV[i + 4], ARGV[i + 5]
  if ARGV[i + 3] == '' then
    return call('ZRANGE', key, from, to, 'BYSCORE', 'LIMIT', offset, limit, 'WITHSCORES')
  end
  return call('ZRANGE', key, from, to, 'BYSCORE', 'REV', 'LIMIT', offset, limit, 'WITHSCORES')
end

local answers, n, k, i = {}, 0, 1, 1
while ARGV[i] do
  local op, key = ARGV[i], KEYS[k]
  n = n + 1
  if op == 'r' then
    answers[n] = call('GET', key)
    i = i + 1
  elseif op == 't' then
    answers[n] = call('HGETALL', key)
    i = i + 1
  elseif op == 'f' then
    local count = tonumber(ARGV[i + 1])
    answers[n] = fields(key, i + 2, i + 1 + count)
    i = i + 2 + count
  elseif op == 's' or op == 'S' then
    answers[n] = standing(key, KEYS[k + 1], op, ARGV[i + 1])
    k, i = k + 1, i + 2
  elseif op == 'w' then
    answers[n] = around(key, KEYS[k + 1], ARGV[i + 1], tonumber(ARGV[i + 2]))
    k, i = k + 1, i + 3
  elseif op == 'c' then
    answers[n] = before(key, ARGV[i + 1], ARGV[i + 2])
    i = i + 3
  elseif op == 'l' then
    answers[n] = log(key, i)
    i = i + 7
  else
    answers[n] = { call('ZCARD', key), board(key, i) }
    i = i + (op == 'b' and 4 or 6)
  end
  k = k + 1
end
return answers
`);

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
