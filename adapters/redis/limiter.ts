import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { useAheadMsMax, windowBuckets } from "../../lib/storage/ports.ts";
import { validateTake } from "../../lib/storage/validate.ts";
import { CallGroups } from "./call_groups.ts";
import { createClient, RedisConnection } from "./connection.ts";
import type { RedisAdapterOptions } from "./keys.ts";
import { expirySlackMs, KeySpace, keyOf } from "./keys.ts";
import { scriptOf } from "./script_cache.ts";

/** Size of a decision in a call of several: no call carries more than 32, so that there are two to work on. */
const takeUnits = 2_048;

/**
 * Opens a limiter on Redis 6.2 or later, standalone or Cluster: one round trip per call, or for several that are made at
 * about the same time, and all rules of a subject in one slot. It decides exactly as the one in memory does, by the clock
 * of the server unless it is given one.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisLimiter(options: RedisAdapterOptions): Limiter {
  return new RedisLimiter(options);
}

class RedisLimiter implements Limiter {
  readonly #connection: RedisConnection;
  readonly #groups: CallGroups;
  readonly #keys: KeySpace;
  readonly #clock: (() => number) | undefined;

  constructor({ server, prefix, clock }: RedisAdapterOptions) {
    this.#keys = new KeySpace(prefix);
    this.#connection = new RedisConnection(createClient(server));
    this.#groups = new CallGroups(this.#connection);
    this.#clock = clock;
  }

  async take(
    subject: string,
    rules: readonly LimitRule[],
    cost: number = 1,
  ): Promise<readonly LimitVerdict[]> {
    validateTake(subject, rules, cost);
    if (rules.length === 0) return [];
    const args = [String(rules.length), String(this.#clock?.() ?? ""), String(cost)];
    for (const { limit, windowMs } of rules) args.push(String(limit), String(windowMs));
    const answer = await this.#groups.run(limitScript, this.#keysOf(subject, rules), args, takeUnits);
    return verdicts(rules, answer as readonly number[]);
  }

  async reset(subject: string, rules: readonly LimitRule[]): Promise<void> {
    validateTake(subject, rules);
    if (rules.length > 0) await this.#connection.run(forgetScript, [this.#keysOf(subject, rules), []]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }

  #keysOf(subject: string, rules: readonly LimitRule[]): string[] {
    const root = this.#keys.root(subject);
    return rules.map(({ name, limit, windowMs }) => keyOf(root, "g", `window/${limit}/${windowMs}/${name}`));
  }
}

/** Reads the answer of the script: units that count, ms until they do not, and ms to wait of each rule. */
function verdicts(rules: readonly LimitRule[], answer: readonly number[]): readonly LimitVerdict[] {
  return rules.map(({ limit }, index) => {
    const retryAfterMs = answer[3 * index + 2] ?? 0;
    return {
      allowed: retryAfterMs === 0,
      remaining: limit - (answer[3 * index] ?? 0),
      resetMs: answer[3 * index + 1] ?? 0,
      retryAfterMs,
    };
  });
}

const limitScript = scriptOf(`
-- Purpose: for each of several subjects, spends units of every rule, or of none if one refuses: a sliding window in
-- buckets of a hundredth of the window (lib/storage/ports.ts).
--
-- KEYS: per subject one per rule: doubles, as packing costs half the time of decimals: total, oldest, newest, units in
--       newest; then bucket and units of each older bucket, oldest first
-- ARGV: [1] number of subjects; per subject the number of rules, now in Unix ms or '' for the time of the server, and
--       the cost; then per rule limit and windowMs
-- Returns: per subject and rule: units that count, ms until none of them does, and ms after which the cost would be
--          allowed, or 0. The cost was spent if all rules have 0.

local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local floor, ceil, format = math.floor, math.ceil, string.format
local buckets = ${windowBuckets}
local states, answers = {}, {}
local time

local function serverTime()
  if not time then
    local parts = call('TIME')
    time = parts[1] * 1000 + floor(parts[2] / 1000)
  end
  return time
end

local function read(state, key, bucket, window)
  local total, oldest, newest, units, rest = 0, bucket, bucket, 0, ''
  local isRedated = false
  local kept = call('GET', key)
  if kept then
    total, oldest, newest, units = unpack('<dddd', kept)
    rest = sub(kept, 33)
    -- A clock that goes back gives nothing back. Uses of one that was over a minute ahead are dated now, or they would
    -- count until that time.
    local ahead = newest - bucket
    isRedated = ahead * window / buckets > ${useAheadMsMax}
    if isRedated then
      oldest, newest = oldest - ahead, bucket
      local older = {}
      for from = 1, #rest, 16 do
        local at, count = unpack('<dd', rest, from)
        older[#older + 1] = pack('<dd', at - ahead, count)
      end
      rest = table.concat(older)
    elseif ahead > 0 then
      bucket = newest
    end
    local first = bucket - buckets
    if newest < first then
      total = 0
    elseif oldest < first then
      local from, stop = 1, #rest
      while from <= stop do
        local at, count = unpack('<dd', rest, from)
        if at >= first then oldest = at break end
        total = total - count
        from = from + 16
      end
      if from > stop then oldest = newest end
      rest = sub(rest, from)
    end
    if total == 0 then oldest, newest, units, rest = bucket, bucket, 0, '' end
  end
  state.total, state.oldest, state.newest, state.units, state.rest = total, oldest, newest, units, rest
  state.bucket, state.isRedated = bucket, isRedated and total > 0
end

local function untilEnd(bucket, now, window)
  return math.max(1, ceil((bucket + buckets + 1) * window / buckets) - now)
end

-- Returns the bucket with whose end so many units are back.
local function awaited(state, excess)
  local rest = state.rest
  for from = 1, #rest, 16 do
    local at, count = unpack('<dd', rest, from)
    excess = excess - count
    if excess <= 0 then return at end
  end
  return state.newest
end

local function write(state, key, spent, now, window)
  local total, oldest, newest, units, rest = state.total, state.oldest, state.newest, state.units, state.rest
  local bucket = state.bucket
  -- The key lives as long as its newest bucket needs it.
  if total > 0 and newest == bucket and not state.isRedated then
    call('SET', key, pack('<dddd', total + spent, oldest, newest, units + spent) .. rest, 'KEEPTTL')
    return
  end
  if total > 0 and newest < bucket then
    rest = rest .. pack('<dd', newest, units)
    units = 0
  end
  local ttl = untilEnd(bucket, now, window) + ${expirySlackMs}
  call('SET', key, pack('<dddd', total + spent, oldest, bucket, units + spent) .. rest, 'PX', format('%.0f', ttl))
end

local k, a = 0, 1
for n = 1, tonumber(ARGV[1]) do
  local rules, now, cost = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]) or serverTime(), tonumber(ARGV[a + 3])
  a = a + 3
  local spent, answer = cost, {}
  for rule = 1, rules do
    local limit, window = tonumber(ARGV[a + 2 * rule - 1]), tonumber(ARGV[a + 2 * rule])
    local state = states[rule]
    if not state then
      state = {}
      states[rule] = state
    end
    read(state, KEYS[k + rule], floor(now * buckets / window), window)
    local excess = state.total + cost - limit
    local retryAfter = 0
    if excess > 0 then
      spent = 0
      retryAfter = untilEnd(awaited(state, excess), now, window)
    end
    answer[3 * rule - 2], answer[3 * rule - 1], answer[3 * rule] = 0, 0, retryAfter
  end
  for rule = 1, rules do
    local state, window = states[rule], tonumber(ARGV[a + 2 * rule])
    if spent > 0 or state.isRedated then write(state, KEYS[k + rule], spent, now, window) end
    local total, newest = state.total + spent, spent > 0 and state.bucket or state.newest
    answer[3 * rule - 2], answer[3 * rule - 1] = total, total > 0 and untilEnd(newest, now, window) or 0
  end
  answers[n] = answer
  k, a = k + rules, a + 2 * rules
end
return answers
`);

const forgetScript = scriptOf(`
-- Purpose: removes whole keys of one slot.
--
-- KEYS: the keys
-- Returns: the number of keys that were there

return redis.call('UNLINK', unpack(KEYS))
`);
