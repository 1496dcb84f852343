/**
 * Scripts made to measure: the Lua that applies batches of one shape, and nothing else.
 *
 * Going through the commands of a batch one by one costs {@linkcode commitScript} more than Redis needs to carry them out. Most
 * batches are of few shapes ("one check, two puts, an append"), so a shape that comes up gets a script of its own,
 * without loops, tables and conditions that its batches cannot meet. Its effects and answers are those of
 * {@linkcode commitScript}. No value is ever part of a script: its text depends on the shape alone.
 */
import { storageLimits } from "../../lib/storage/contract.ts";
import { scriptOf } from "./script_cache.ts";
import { noExpiry } from "./stored.ts";

/**
 * A batch in signs, one for each check, then a bar, then one for each write. The keys and arguments are those of
 * {@linkcode commitArguments}, in the same order; a key or field that the batch has named before is not named again.
 *
 * - Checks: `c` a version, `n` an absent record, `f` an absent field, `g` an absent field that has the name of the one in the
 *   check before it.
 * - Writes: `p` put, `P` put with a ttl, `q` put of the record that the first check is about, `d` delete, `D` delete a board,
 *   `a` add, `m` with a minimum, `x` with a maximum, `r` with both, `A` and `X` likewise to another field of the tally before, `l` append, `=` set a score, `<` keep the lower, `>` the
 *   higher, and `M` add 1 to the field that the last check has found absent, before any other write adds.
 */
export type CommitShape = string;

class Names {
  readonly firstKey = "keys[k + 1]";
  absent = { key: "", field: "" };
  /** Lua that takes back what the checks have written, before a guard refuses the batch. */
  undo = "";
  #keys = 0;
  #args = 0;

  key(): string {
    this.#keys += 1;
    return `keys[k + ${this.#keys}]`;
  }

  arg(): string {
    this.#args += 1;
    return `args[a + ${this.#args}]`;
  }

  get width(): { readonly keys: number; readonly args: number } {
    return { keys: this.#keys, args: this.#args };
  }
}

/** Lua of a write, or of a run of additions to one tally: guards that may refuse it, its effect, and expressions of its results. */
interface Part {
  readonly attempt?: string;
  readonly effect?: string;
  readonly results?: readonly string[];
  /** Name of the id of an entry, which is empty where it is the one that the client gave. */
  readonly id?: string;
}

/**
 * Writes the script of a shape, which applies any number of batches, one after the other.
 *
 * KEYS: per batch one for each check and write that names one, two for a board. ARGV: [1] the number of batches; per batch now
 * (Unix ms), per `c` the head of the record, per `f` the field, per write its values. Returns: per batch the results of adds,
 * appends and scores as {@linkcode commitScript} has them, 0 where the client knows all of them, or a refusal.
 */
export function writeCommitScript(shape: CommitShape): string {
  const [checks = "", writes = ""] = shape.split("|");
  const names = new Names();
  const now = names.arg();
  const lines = [
    "local call, sub, format, keys, args = redis.call, string.sub, string.format, KEYS, ARGV",
    ...(/[=<>]/.test(writes) ? [scoreFunction] : []),
    ...(writes.includes("l") ? [appendFunction] : []),
    "local function apply(k, a)",
  ];
  const checked = [...checks].map((sign, index) => check(sign, names, { now, number: index + 1 }));
  if (writes.includes("M")) {
    // Setting the field also shows if it was absent.
    checked.pop();
    checked.push(mark(names, { checks: checks.length, number: writes.indexOf("M") + 1 }));
  }
  const parts = partsOf(writes, names);
  lines.push(...checked);
  for (const { attempt } of parts) if (attempt !== undefined) lines.push(attempt);
  for (const { effect } of parts) if (effect !== undefined) lines.push(effect);
  lines.push(answer(parts));
  const { keys, args } = names.width;
  lines.push(
    "end",
    "local answers = {}",
    `for n = 0, args[1] - 1 do answers[n + 1] = apply(${keys} * n, ${args} * n + 1) end`,
  );
  lines.push("return answers");
  return lines.join("\n");
}

function partsOf(writes: string, names: Names): readonly Part[] {
  // A run of additions to one tally is one part.
  const runs = writes.matchAll(/[amxr][AX]*|./g);
  return Array.from(runs, ({ 0: signs, index }) => write(signs, names, index + 1));
}

/** Lua that answers a batch. It leaves out what the client knows, as a table and its reply cost: with fewer arguments 2 of 14 us. */
function answer(parts: readonly Part[]): string {
  const results = parts.flatMap(part => part.results ?? []);
  const ids = parts.flatMap(({ id }) => id ?? []);
  const known = results.every(result => result === markResult || ids.includes(result));
  const all = `return { ${results.join(", ")} }`;
  if (!known) return all;
  return ids.length === 0
    ? "return 0"
    : `if ${ids.map(id => `${id} == ''`).join(" and ")} then return 0 end\n${all}`;
}

function check(sign: string, names: Names, { now, number }: { now: string; number: number }): string {
  if (sign === "f" || sign === "g") {
    const field = sign === "f" ? names.arg() : names.absent.field;
    names.absent = { key: names.key(), field };
    return `if call('HEXISTS', ${names.absent.key}, ${field}) == 1 then return ${number} end`;
  }
  const head = `h${number}`;
  const expireAt = `sub(${head}, 17, 32)`;
  const isOver = `tonumber(${expireAt}) <= tonumber(${now})`;
  const read = `local ${head} = call('GETRANGE', ${names.key()}, 0, 31)`;
  if (sign === "n") {
    return `${read}\nif ${head} ~= '' and (${expireAt} == '${noExpiry}' or not (${isOver})) then return ${number} end`;
  }
  const expected = names.arg();
  return `${read}\nif ${head} ~= ${expected} and (sub(${head}, 1, 16) ~= sub(${expected}, 1, 16) or ${isOver}) then return ${number} end`;
}

function write(signs: string, names: Names, number: number): Part {
  if (signs === "M") return { results: [markResult] };
  if (signs === "q") return { effect: `call('SET', ${names.firstKey}, ${names.arg()})` };
  const key = names.key();
  switch (signs) {
    case "p":
      return { effect: `call('SET', ${key}, ${names.arg()})` };
    case "P":
      return { effect: `call('SET', ${key}, ${names.arg()}, 'PX', ${names.arg()})` };
    case "d":
      return { effect: `call('UNLINK', ${key})` };
    case "D":
      return { effect: `call('UNLINK', ${key}, ${names.key()})` };
    case "l":
      return append(key, names, number);
    case "=":
    case "<":
    case ">":
      return score(signs, key, { names, number });
    default:
      return add(signs, key, { names, number });
  }
}

/** Adds to fields of one tally, which are read by one command and set by another. */
function add(signs: string, key: string, { names, number: first }: { names: Names; number: number }): Part {
  const fields = [...signs].map((sign, index) => {
    const number = first + index;
    const [field, by, sum] = [names.arg(), names.arg(), `s${number}`];
    const outside = [`${sum} > 9007199254740991`, `${sum} < -9007199254740991`];
    if (sign === "m" || sign === "r") outside.push(`${sum} < tonumber(${names.arg()})`);
    if (sign === "x" || sign === "X" || sign === "r") outside.push(`${sum} > tonumber(${names.arg()})`);
    return { number, field, by, sum, old: `f${first}[${index + 1}]`, text: `t${number}`, outside };
  });
  const olds = fields.map(({ old }) => old);
  const [size, refuse] = [`n${first}`, (code: number) => `then ${names.undo}return ${code} end`];
  return {
    attempt: [
      `local f${first} = call('HMGET', ${key}, ${fields.map(({ field }) => field).join(", ")})`,
      `local ${size} = not (${olds.join(" and ")}) and call('HLEN', ${key})`,
      ...fields.flatMap(({ number, by, sum, old, text, outside }) => [
        `local ${sum} = tonumber(${old} or 0) + tonumber(${by})`,
        `if ${outside.join(" or ")} ${refuse(-number)}`,
        `if not ${old} then ${size} = ${size} + 1 end`,
        `if not ${old} and ${size} > ${storageLimits.tallyFieldsMax} ${refuse(-1_000_000 - number)}`,
        `local ${text} = format('%.0f', ${sum})`,
      ]),
    ].join("\n"),
    effect: `call('HSET', ${key}, ${fields.map(({ field, text }) => `${field}, ${text}`).join(", ")})`,
    results: fields.map(({ text }) => text),
  };
}

/** Lua of a member as the ZSET keeps it: ordered by tie, then by its bytes, among equal scores. */
const encodeFunction = `local function encode(tie, member)
  if tie == noTie then return '0' .. member end
  return '1' .. tie .. member
end`;

/**
 * Lua that appends an entry to a log: its id, a space and its value. Time never runs backwards along the log. Returns the id, or
 * nothing where it is the one that the entry came with.
 */
const appendFunction = `local function append(key, entry, maxLength)
  local id, last = '', call('LINDEX', key, -1)
  if last then
    local at, ms, seq = string.match(entry, '^%d+'), string.match(last, '^(%d+)-(%d+)')
    if tonumber(at) <= tonumber(ms) then
      id = ms .. '-' .. format('%.0f', seq + 1)
      entry = id .. sub(entry, #at + 3)
    end
  end
  local length = call('RPUSH', key, entry)
  if length > tonumber(maxLength) then call('LTRIM', key, '-' .. maxLength, -1) end
  return id
end`;

/** Gives a member a score as {@linkcode commitScript} does; a stored row is tie, version and score. */
const scoreFunction = `local noTie, noAsOf = '0000000000000', '                '
${encodeFunction}
local function score(op, zset, rows, member, given, stamp)
local row, old, oldTie, oldAsOf, tie, asOf = call('HGET', rows, member), false, noTie, noAsOf, noTie, noAsOf
if row then
old, oldTie, oldAsOf = sub(row, 30), sub(row, 1, 13), sub(row, 14, 29)
elseif op ~= '=' or stamp ~= '' then
old = call('ZSCORE', zset, '0' .. member)
end
if stamp ~= '' then tie, asOf = sub(stamp, 1, 13), sub(stamp, 14) end
if old then
if asOf == noAsOf then
asOf = oldAsOf
elseif oldAsOf ~= noAsOf and tonumber(asOf) <= tonumber(oldAsOf) then
return old
end
local before, value = tonumber(old), tonumber(given)
if before == value or (op == '<' and before < value) or (op == '>' and before > value) then
given, tie = old, oldTie
elseif tie ~= oldTie then
call('ZREM', zset, encode(oldTie, member))
end
end
if given ~= old then call('ZADD', zset, given, encode(tie, member)) end
if tie ~= noTie or asOf ~= noAsOf then
call('HSET', rows, member, tie .. asOf .. given)
elseif row then
call('HDEL', rows, member)
end
return given
end`;

function score(sign: string, key: string, { names, number }: { names: Names; number: number }): Part {
  const [rows, member, given, stamp] = [names.key(), names.arg(), names.arg(), names.arg()];
  const result = `c${number}`;
  return {
    effect: `local ${result} = score('${sign}', ${key}, ${rows}, ${member}, ${given}, ${stamp})`,
    results: [result],
  };
}

const markResult = "'1'";

/** Adds to the field that the last check is about, and is that check. */
function mark(
  names: Names,
  { number, checks }: { readonly number: number; readonly checks: number },
): string {
  const { key, field } = names.absent;
  names.undo = `call('HDEL', ${key}, ${field}) `;
  return [
    `if call('HSETNX', ${key}, ${field}, ${markResult}) == 0 then return ${checks} end`,
    `if call('HLEN', ${key}) > ${storageLimits.tallyFieldsMax} then ${names.undo}return ${-1_000_000 - number} end`,
  ].join("\n");
}

function append(key: string, names: Names, number: number): Part {
  const [entry, maxLength, id] = [names.arg(), names.arg(), `i${number}`];
  return { effect: `local ${id} = append(${key}, ${entry}, ${maxLength})`, results: [id], id };
}

export const commitScript = scriptOf(`
-- Purpose: applies all writes of one batch to one partition, or none.
--
-- KEYS: one per check (its record or tally), then per write its key: board keys come in pairs (ZSET, HASH of stamped
--       rows), one pair for a run of scores.
-- ARGV: [1] now, Unix ms
--       [2] number of checks
--       [3] most fields of a tally if the batch has guards to try first ('add' writes), else ''
--       one per check: the expected 16-character version, or '' for an absent record, or '!' and the field that
--         a tally must not have
--       per write, by its first argument:
--         p <stored>                                put a record; stored = version, expireAt, value
--         P <stored> <ttl ms>                       put a record that Redis may delete after the ttl
--         d                                         delete a record, tally or log
--         D                                         delete a board
--         a <field> <by> <min or ''> <max or ''>    add to a tally
--         s <n>, then n times
--           = < > + <member> <score> <stamp or ''>  set, min, max, add the scores of n different members of a board;
--                                                   stamp = tie, asOf
--         u <member>                                unscore
--         l <entry> <maxLength>                     append to a log; entry = time, '-1 ', value
-- Returns: an array with the result of each a, score and l write as a string, in order; empty for an id as given;
--          or n > 0: check n does not hold; -m: the guard of write m refuses it;
--          -1000000 - m: write m would make its tally too large.
--
-- A failing script keeps its earlier writes, so every check and guard runs before the first write.

local KEYS, ARGV, call, sub, format = KEYS, ARGV, redis.call, string.sub, string.format
local noExpiry, noTie, noAsOf = '${noExpiry}', '0000000000000', '                '
local safeMax = 9007199254740991
local now, checks, fieldsMax = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

for c = 1, checks do
  local expected = ARGV[3 + c]
  if sub(expected, 1, 1) == '!' then
    if call('HEXISTS', KEYS[c], sub(expected, 2)) == 1 then return c end
  else
    local head = call('GETRANGE', KEYS[c], 0, 31)
    local version = ''
    if head ~= '' then
      local expireAt = sub(head, 17, 32)
      if expireAt == noExpiry or tonumber(expireAt) > now then version = sub(head, 1, 16) end
    end
    if version ~= expected then return c end
  end
end

${encodeFunction}

-- Reads a member's score (false if absent), tie, asOf and row. A row exists only for a tie or an asOf.
local function standing(zset, rows, member)
  local row = call('HGET', rows, member)
  if row then return sub(row, 30), sub(row, 1, 13), sub(row, 14, 29), row end
  return call('ZSCORE', zset, '0' .. member), noTie, noAsOf, false
end

-- True if a write as of a version is not newer than the stored one.
local function isStale(old, oldAsOf, asOf)
  return old and asOf ~= noAsOf and oldAsOf ~= noAsOf and tonumber(asOf) <= tonumber(oldAsOf)
end

-- Adds two scores as decimal numbers, in the steps of addDecimals in lib/base/text.
local function sumOf(a, b)
  local sum, abs, floor = a + b, math.abs, math.floor
  if sum == floor(sum) then return sum end
  local size, scale, bound = math.max(abs(a), abs(b)), 1e9, 1e6
  while size >= bound and scale > 1 do bound, scale = bound * 10, scale / 10 end
  local whole = floor(abs(sum) * scale + 0.5) / scale
  if sum < 0 and whole > 0 then return -whole end
  return whole
end

-- Returns the score after the operation, as a number and as exact text.
local function combine(op, old, given)
  if not old then return tonumber(given), given end
  local before, value = tonumber(old), tonumber(given)
  if op == '+' then
    value = sumOf(before, value)
    if value == before then return before, old end
    return value, format('%.17g', value)
  end
  if before == value or (op == '<' and before < value) or (op == '>' and before > value) then
    return before, old
  end
  return value, given
end

-- Sets the scores of different members of a board, by one command of each kind for all of them. The writes are those
-- at ARGV[first], ARGV[first + 4], ... ARGV[last].
local function scores(zset, rows, first, last, results)
  local members, removed, added, kept, dropped = {}, {}, {}, {}, {}
  for i = first, last, 4 do members[#members + 1] = ARGV[i + 1] end
  local stored = call('HMGET', rows, unpack(members))
  for n = 1, #members do
    local i = first + 4 * (n - 1)
    local op, member, given, stamp, row = ARGV[i], members[n], ARGV[i + 2], ARGV[i + 3], stored[n]
    local old, oldTie, oldAsOf, tie, asOf = false, noTie, noAsOf, noTie, noAsOf
    if row then
      old, oldTie, oldAsOf = sub(row, 30), sub(row, 1, 13), sub(row, 14, 29)
    elseif op ~= '=' or stamp ~= '' then
      old = call('ZSCORE', zset, '0' .. member)
    end
    if stamp ~= '' then tie, asOf = sub(stamp, 1, 13), sub(stamp, 14) end
    local text = old
    if not isStale(old, oldAsOf, asOf) then
      if asOf == noAsOf then asOf = oldAsOf end
      local _, wanted = combine(op, old, given)
      text = wanted
      if old and text == old then
        tie = oldTie
      else
        if old and tie ~= oldTie then removed[#removed + 1] = encode(oldTie, member) end
        added[#added + 1], added[#added + 2] = text, encode(tie, member)
      end
      if tie ~= noTie or asOf ~= noAsOf then
        kept[#kept + 1], kept[#kept + 2] = member, tie .. asOf .. text
      elseif row then
        dropped[#dropped + 1] = member
      end
    end
    results[#results + 1] = text
  end
  if removed[1] then call('ZREM', zset, unpack(removed)) end
  if added[1] then call('ZADD', zset, unpack(added)) end
  if kept[1] then call('HSET', rows, unpack(kept)) end
  if dropped[1] then call('HDEL', rows, unpack(dropped)) end
end

${appendFunction}

-- Only batches with guards pay for the following: tables and functions are made anew on every call.
if fieldsMax then
  -- The state that guards see of the batch itself: tallies and scores as the earlier writes leave them.
  local sums, sizes, scores, emptied = {}, {}, {}, {}

  local function inner(outer, key)
    local found = outer[key]
    if not found then
      found = {}
      outer[key] = found
    end
    return found
  end

  -- Tries an add and returns nil, or the reason of its refusal.
  local function tryAdd(key, field, by, min, max)
    local fields = inner(sums, key)
    local sum, isNew = fields[field], false
    if not sum then
      sum = tonumber(not emptied[key] and call('HGET', key, field) or nil)
      isNew = not sum
    end
    sum = (sum or 0) + tonumber(by)
    if sum > safeMax or sum < -safeMax then return 'guard' end
    if (min ~= '' and sum < tonumber(min)) or (max ~= '' and sum > tonumber(max)) then return 'guard' end
    fields[field] = sum
    if isNew then
      local size = sizes[key] or (emptied[key] and 0 or call('HLEN', key))
      sizes[key] = size + 1
      if size >= fieldsMax then return 'size' end
    end
    return nil
  end

  -- Tries a score and returns nil, or the reason of its refusal: the sum must stay within safeMax.
  local function tryScore(zset, rows, op, member, given, stamp)
    local known = inner(scores, zset)
    local state = known[member]
    if not state then
      state = { false, noAsOf }
      if not emptied[zset] then
        local old, _, asOf = standing(zset, rows, member)
        state = { old, asOf }
      end
      known[member] = state
    end
    local asOf = stamp == '' and noAsOf or sub(stamp, 14)
    if isStale(state[1], state[2], asOf) then return nil end
    local value, text = combine(op, state[1], given)
    if op == '+' and state[1] and (value > safeMax or value < -safeMax) then return 'guard' end
    state[1] = text
    if asOf ~= noAsOf then state[2] = asOf end
    return nil
  end

  local k, i, w = checks + 1, checks + 4, 1
  while ARGV[i] do
    local op, refusal, width = ARGV[i], nil, 4
    if op == 'a' then
      refusal, width = tryAdd(KEYS[k], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]), 5
    elseif op == 'p' then
      width = 2
    elseif op == 'P' or op == 'l' then
      width = 3
    elseif op == 'u' then
      inner(scores, KEYS[k])[ARGV[i + 1]] = { false, noAsOf }
      k, width = k + 1, 2
    elseif op == 'd' or op == 'D' then
      emptied[KEYS[k]], sums[KEYS[k]], sizes[KEYS[k]], scores[KEYS[k]] = true, nil, nil, nil
      if op == 'D' then k = k + 1 end
      width = 1
    elseif op == 's' then
      local last = i + 4 * tonumber(ARGV[i + 1])
      for j = i + 2, last, 4 do
        if tryScore(KEYS[k], KEYS[k + 1], ARGV[j], ARGV[j + 1], ARGV[j + 2], ARGV[j + 3]) then return -w end
        w = w + 1
      end
      k, w, width = k + 1, w - 1, last + 2 - i
    end
    if refusal == 'guard' then return -w end
    if refusal == 'size' then return -1000000 - w end
    k, i, w = k + 1, i + width, w + 1
  end
end

local results, r, k, i = {}, 0, checks + 1, checks + 4
while ARGV[i] do
  local op, key = ARGV[i], KEYS[k]
  if op == 'p' then
    call('SET', key, ARGV[i + 1])
    i = i + 2
  elseif op == 'P' then
    call('SET', key, ARGV[i + 1], 'PX', ARGV[i + 2])
    i = i + 3
  elseif op == 'l' then
    r = r + 1
    results[r] = append(key, ARGV[i + 1], ARGV[i + 2])
    i = i + 3
  elseif op == 'a' then
    r = r + 1
    results[r] = format('%.0f', call('HINCRBY', key, ARGV[i + 1], ARGV[i + 2]))
    i = i + 5
  elseif op == 'd' then
    call('UNLINK', key)
    i = i + 1
  else
    k = k + 1
    local rows, member = KEYS[k], ARGV[i + 1]
    if op == 'D' then
      call('UNLINK', key, rows)
      i = i + 1
    elseif op == 'u' then
      local row = call('HGET', rows, member)
      call('ZREM', key, encode(row and sub(row, 1, 13) or noTie, member))
      if row then call('HDEL', rows, member) end
      i = i + 2
    else
      local last = i + 4 * tonumber(ARGV[i + 1])
      scores(key, rows, i + 2, last - 2, results)
      r, i = #results, last + 2
    end
  end
  k = k + 1
end
return results
`);
