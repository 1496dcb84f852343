import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { bucketAt, windowVerdict } from "../../lib/storage/ports.ts";
import { validateTake } from "../../lib/storage/validate.ts";
import { createClient, RedisConnection } from "./connection.ts";
import type { RedisAdapterOptions } from "./keys.ts";
import { expirySlackMs, KeySpace, keyOf } from "./keys.ts";
import { scriptOf } from "./script_cache.ts";

/**
 * Opens a limiter on Redis 6.2 or later, standalone or Cluster: one round trip per call, all rules of a subject in one
 * slot. It decides exactly as the one in memory does, by the clock of the server unless it is given one.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisLimiter(options: RedisAdapterOptions): Limiter {
  return new RedisLimiter(options);
}

class RedisLimiter implements Limiter {
  readonly #connection: RedisConnection;
  readonly #keys: KeySpace;
  readonly #clock: (() => number) | undefined;

  constructor({ server, prefix, clock }: RedisAdapterOptions) {
    this.#keys = new KeySpace(prefix);
    this.#connection = new RedisConnection(createClient(server));
    this.#clock = clock;
  }

  async take(
    subject: string,
    rules: readonly LimitRule[],
    cost: number = 1,
  ): Promise<readonly LimitVerdict[]> {
    validateTake(subject, rules, cost);
    if (rules.length === 0) return [];
    const args = [String(this.#clock?.() ?? ""), String(cost), String(expirySlackMs)];
    for (const { limit, windowMs } of rules) args.push(String(limit), String(windowMs));
    const reply = await this.#connection.run(limitScript, [this.#keysOf(subject, rules), args]);
    return verdicts(rules, String(reply).split(" "), cost);
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

/** Reads the answer of the script: now, then units before, newest bucket and awaited bucket of each rule. */
function verdicts(
  rules: readonly LimitRule[],
  answer: readonly string[],
  cost: number,
): readonly LimitVerdict[] {
  const now = Number(answer[0]);
  const spends = rules.every((_, index) => answer[3 * index + 3] === "-");
  return rules.map((rule, index) => {
    const total = Number(answer[3 * index + 1]);
    const newest = Number(answer[3 * index + 2]);
    const awaited = answer[3 * index + 3];
    const use = {
      total: spends ? total + cost : total,
      newest: spends ? Math.max(newest, bucketAt(now, rule)) : newest,
      awaited: awaited === "-" ? null : Number(awaited),
    };
    return windowVerdict(rule, use, now);
  });
}

const limitScript = scriptOf(`
-- Purpose: spends units of every rule of a subject, or of none if one refuses: a sliding window in buckets of a
-- hundredth of the window (lib/storage/ports.ts).
--
-- KEYS: one per rule: '<total> <oldest> <newest> <units in newest>', then ' <bucket> <units>' for each older bucket,
--       oldest first
-- ARGV: [1] now, Unix ms, or '' for the time of the server; [2] cost; [3] time in ms for which a key outlives its
--       last effect;
--       then per rule: limit, windowMs
-- Returns: '<now>', then per rule ' <total> <newest> <awaited>': units before, newest bucket, and the bucket with whose
--          end the cost would be allowed, or '-'. The cost was spent if all rules have '-'.

local call, format, find, match, gmatch = redis.call, string.format, string.find, string.match, string.gmatch
local cost, slack = tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local buckets = 100
local states, answer, spends = {}, { format('%.0f', now) }, true

for n = 1, #KEYS do
  local limit, window = tonumber(ARGV[2 * n + 2]), tonumber(ARGV[2 * n + 3])
  local bucket = math.floor(now * buckets / window)
  local state = { total = 0, oldest = bucket, newest = bucket, units = 0, rest = '' }
  local isRedated = false
  local kept = call('GET', KEYS[n])
  if kept then
    local total, oldest, newest, units, rest = match(kept, '^(%d+) (%d+) (%d+) (%d+)(.*)$')
    total, oldest, newest, units = tonumber(total), tonumber(oldest), tonumber(newest), tonumber(units)
    -- A clock that goes back gives nothing back. Uses of one that was over a minute ahead are dated now, or they would
    -- count until that time.
    local ahead = newest - bucket
    isRedated = ahead * window / buckets > 60000
    if isRedated then
      oldest, newest = oldest - ahead, bucket
      rest = string.gsub(rest, ' (%d+) (%d+)', function(at, count)
        return format(' %.0f ', at - ahead) .. count
      end)
    elseif ahead > 0 then
      bucket = newest
    end
    local first = bucket - buckets
    if newest < first then
      total = 0
    elseif oldest < first then
      local from, stop = 1, #rest
      while from <= stop do
        local _, last, at, count = find(rest, '^ (%d+) (%d+)', from)
        at = tonumber(at)
        if at >= first then oldest = at break end
        total = total - tonumber(count)
        from = last + 1
      end
      if from > stop then oldest = newest end
      rest = string.sub(rest, from)
    end
    if total > 0 then state = { total = total, oldest = oldest, newest = newest, units = units, rest = rest } end
  end
  state.bucket = bucket
  state.isRedated = isRedated and state.total > 0
  local awaited = '-'
  local excess = state.total + cost - limit
  if excess > 0 then
    spends = false
    awaited = state.newest
    for at, count in gmatch(state.rest, ' (%d+) (%d+)') do
      excess = excess - tonumber(count)
      if excess <= 0 then awaited = tonumber(at) break end
    end
    awaited = format('%.0f', awaited)
  end
  states[n] = state
  answer[n + 1] = format('%.0f %.0f ', state.total, state.newest) .. awaited
end

local spent = spends and cost or 0
for n = 1, #KEYS do
  local window, state = tonumber(ARGV[2 * n + 3]), states[n]
  if spends or state.isRedated then
    local oldest, newest, units, rest = state.oldest, state.bucket, state.units + spent, state.rest
    if state.total == 0 then
      oldest, rest = state.bucket, ''
    elseif state.newest < state.bucket then
      rest = rest .. format(' %.0f %.0f', state.newest, state.units)
      units = spent
    end
    local ttl = math.ceil((newest + buckets + 1) * window / buckets) - now + slack
    local kept = format('%.0f %.0f %.0f %.0f', state.total + spent, oldest, newest, units) .. rest
    call('SET', KEYS[n], kept, 'PX', format('%.0f', ttl))
  end
end
return table.concat(answer, ' ')
`);

const forgetScript = scriptOf(`
-- Purpose: removes whole keys of one slot.
--
-- KEYS: the keys
-- Returns: the number of keys that were there

return redis.call('UNLINK', unpack(KEYS))
`);
