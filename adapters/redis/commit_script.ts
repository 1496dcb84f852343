/**
 * Scripts made to measure: the Lua that applies batches of one shape, and nothing else.
 *
 * Going through the commands of a batch one by one costs `commit.lua` more than Redis needs to carry them out. Most
 * batches are of few shapes ("one check, two puts, an append"), so a shape that comes up gets a script of its own,
 * without loops, tables and conditions that its batches cannot meet. Its effects and answers are those of
 * `commit.lua`. No value is ever part of a script: its text depends on the shape alone.
 *
 * @module
 */
import { storageLimits } from "../../lib/storage/limits.ts";

/**
 * A batch in signs, one for each check, then a bar, then one for each write. The keys and arguments are those of
 * {@linkcode commitArguments}, in the same order; a key or field that the batch has named before is not named again.
 *
 * - Checks: `c` a version, `n` an absent record, `f` an absent field, `g` an absent field that has the name of the one in the
 *   check before it.
 * - Writes: `p` put, `P` put with a ttl, `q` put of the record that the first check is about, `d` delete, `D` delete a board,
 *   `a` add, `m` with a minimum, `x` with a maximum, `r` with both, `A` and `X` likewise to another field of the tally before, `l` append, `=` set a score, `<` keep the lower, `>` the
 *   higher, and `M` add to the field that the last check has
 *   found absent, where no other write can be refused.
 */
export type CommitShape = string;

/** Counts the keys and arguments that a script has named so far. */
class Names {
  /** The key of the first check. */
  readonly firstKey = "keys[k + 1]";
  /** Key and field of the last check for an absent field. */
  absent = { key: "", field: "" };
  /** Key of the last tally that is added to, and the Lua names of what its fields were before. */
  tally: { readonly key: string; readonly before: readonly string[] } = { key: "", before: [] };
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

  /** Numbers of keys and arguments of one batch. */
  get width(): { readonly keys: number; readonly args: number } {
    return { keys: this.#keys, args: this.#args };
  }
}

/** Lua of a write: the guard that may refuse it, its effect, and the expression of its result. */
interface Part {
  readonly attempt?: string;
  readonly effect?: string;
  readonly result?: string;
}

/**
 * Writes the script of a shape, which applies any number of batches, one after the other.
 *
 * KEYS: per batch one for each check and write that names one, two for a board. ARGV: [1] the number of batches; per batch now
 * (Unix ms), per `c` the version, per `f` the field, per write its values. Returns: per batch the results of adds, appends and
 * scores as strings, 0 where there are none, or a refusal as `commit.lua` has it.
 */
export function writeCommitScript(shape: CommitShape): string {
  const [checks = "", writes = ""] = shape.split("|");
  const names = new Names();
  const now = names.arg();
  const lines = [
    "local call, sub, format, keys, args = redis.call, string.sub, string.format, KEYS, ARGV",
    ...(/[=<>]/.test(writes) ? [scoreFunction] : []),
    "local function apply(k, a)",
  ];
  const checked = [...checks].map((sign, index) => check(sign, names, { now, number: index + 1 }));
  const parts = [...writes].map((sign, index) =>
    write(sign, names, { number: index + 1, checks: checks.length }),
  );
  // Setting the field also shows if it was absent.
  lines.push(...(writes.includes("M") ? checked.slice(0, -1) : checked));
  for (const { attempt } of parts) if (attempt !== undefined) lines.push(attempt);
  for (const { effect } of parts) if (effect !== undefined) lines.push(effect);
  const results = parts.flatMap(({ result }) => (result === undefined ? [] : [result]));
  lines.push(results.length === 0 ? "return 0" : `return { ${results.join(", ")} }`);
  const { keys, args } = names.width;
  lines.push(
    "end",
    "local answers = {}",
    `for n = 0, args[1] - 1 do answers[n + 1] = apply(${keys} * n, ${args} * n + 1) end`,
  );
  lines.push("return answers");
  return lines.join("\n");
}

function check(sign: string, names: Names, { now, number }: { now: string; number: number }): string {
  if (sign === "f" || sign === "g") {
    const field = sign === "f" ? names.arg() : names.absent.field;
    names.absent = { key: names.key(), field };
    return `if call('HEXISTS', ${names.absent.key}, ${field}) == 1 then return ${number} end`;
  }
  const head = `h${number}`;
  const isOver = `(sub(${head}, 17, 32) ~= '0000000000000000' and tonumber(sub(${head}, 17, 32)) <= tonumber(${now}))`;
  const read = `local ${head} = call('GETRANGE', ${names.key()}, 0, 31)`;
  const fails =
    sign === "n" ? `${head} ~= '' and not ${isOver}` : `sub(${head}, 1, 16) ~= ${names.arg()} or ${isOver}`;
  return `${read}\nif ${fails} then return ${number} end`;
}

interface WritePlace {
  readonly number: number;
  readonly checks: number;
}

function write(sign: string, names: Names, { number, checks }: WritePlace): Part {
  if (sign === "q") return { effect: `call('SET', ${names.firstKey}, ${names.arg()})` };
  if (sign === "M") return mark(names, { number, checks });
  if (sign === "A" || sign === "X") return add(sign, names.tally.key, { names, number });
  const key = names.key();
  switch (sign) {
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
      return score(sign, key, { names, number });
    default:
      names.tally = { key, before: [] };
      return add(sign, key, { names, number });
  }
}

function add(sign: string, key: string, { names, number }: { names: Names; number: number }): Part {
  const [field, by, sum] = [names.arg(), names.arg(), `s${number}`];
  const outside = [`${sum} > 9007199254740991`, `${sum} < -9007199254740991`];
  if (sign === "m" || sign === "r") outside.push(`${sum} < tonumber(${names.arg()})`);
  if (sign === "x" || sign === "X" || sign === "r") outside.push(`${sum} > tonumber(${names.arg()})`);
  const added = names.tally.before.map(other => ` + (${other} and 0 or 1)`).join("");
  names.tally = { key, before: [...names.tally.before, `f${number}`] };
  return {
    attempt: [
      `local f${number} = call('HGET', ${key}, ${field})`,
      `local ${sum} = tonumber(f${number} or 0) + tonumber(${by})`,
      `if ${outside.join(" or ")} then return -${number} end`,
      `if not f${number} and call('HLEN', ${key})${added} >= ${storageLimits.tallyFieldsMax} then return ${-1_000_000 - number} end`,
    ].join("\n"),
    effect: `call('HINCRBY', ${key}, ${field}, ${by})`,
    result: `format('%.0f', ${sum})`,
  };
}

/** Gives a member a score as `commit.lua` does; a stored row is tie, version and score. */
const scoreFunction = `local noTie, noAsOf = '0000000000000', '                '
local function encode(tie, member)
if tie == noTie then return '0' .. member end
return '1' .. tie .. member
end
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
    result,
  };
}

/** Adds to the field that the last check is about, and is that check. */
function mark(names: Names, { number, checks }: WritePlace): Part {
  const { key, field } = names.absent;
  const by = names.arg();
  return {
    attempt: [
      `if call('HSETNX', ${key}, ${field}, ${by}) == 0 then return ${checks} end`,
      `if call('HLEN', ${key}) > ${storageLimits.tallyFieldsMax} then`,
      `call('HDEL', ${key}, ${field})`,
      `return ${-1_000_000 - number}`,
      "end",
    ].join("\n"),
    result: by,
  };
}

function append(key: string, names: Names, number: number): Part {
  const [value, at, maxLength] = [names.arg(), names.arg(), names.arg()];
  const [id, last] = [`i${number}`, `l${number}`];
  return {
    effect: [
      `local ${id}, ${last} = ${at} .. '-1', call('LINDEX', ${key}, -1)`,
      `if ${last} then`,
      `local ms, seq = string.match(${last}, '^(%d+)-(%d+)')`,
      `if tonumber(${at}) <= tonumber(ms) then ${id} = ms .. '-' .. format('%.0f', seq + 1) end`,
      "end",
      `if call('RPUSH', ${key}, ${id} .. ' ' .. ${value}) > tonumber(${maxLength}) then`,
      `call('LTRIM', ${key}, '-' .. ${maxLength}, -1)`,
      "end",
    ].join("\n"),
    result: id,
  };
}
