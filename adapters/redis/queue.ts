import { AppError } from "../../lib/base/errors/mod.ts";
import type { Queue, QueueLease, QueueMessage } from "../../lib/storage/ports.ts";
import { ServerClock } from "../../lib/storage/server_clock.ts";
import { validateAck, validateLease, validatePush } from "../../lib/storage/validate.ts";
import { createClient, RedisConnection } from "./connection.ts";
import type { RedisAdapterOptions } from "./keys.ts";
import { KeySpace, keyOf, redisRetryMs } from "./keys.ts";
import { scriptOf } from "./script_cache.ts";

/** Most unsettled messages of one topic by default. */
const queueDepthMax = 100_000;
const idPattern = /^\d{1,16}-\d{1,19}$/;

/** Options of a Redis queue. */
export interface RedisQueueOptions extends RedisAdapterOptions {
  /** Most unsettled messages of one topic. @default queueDepthMax */
  readonly depthMax?: number;
}

/**
 * Opens a queue on Redis 6.2 or later, standalone or Cluster: a stream with one consumer group per topic.
 *
 * Leases are counted by the clock of the clients, not by that of the server. A message that was accepted is kept until
 * it is settled, as far as the server's persistence keeps what it acknowledges.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisQueue(options: RedisQueueOptions): Queue {
  return new RedisQueue(options);
}

class RedisQueue implements Queue {
  readonly #connection: RedisConnection;
  readonly #keys: KeySpace;
  readonly #clock: () => number;
  /** Null where a clock is given: it is the time of the queue. */
  readonly #serverClock: ServerClock | null;
  readonly #depthMax: number;

  constructor({ server, prefix, clock, depthMax = queueDepthMax }: RedisQueueOptions) {
    this.#keys = new KeySpace(prefix);
    this.#connection = new RedisConnection(createClient(server));
    this.#clock = clock ?? Date.now;
    this.#serverClock = clock === undefined ? new ServerClock(this.#connection) : null;
    this.#depthMax = depthMax;
  }

  async push(topic: string, bodies: readonly string[]): Promise<readonly string[]> {
    validatePush(topic, bodies);
    if (bodies.length === 0) return [];
    await this.#serverClock?.admit(this.#clock());
    const [stream] = this.#keysOf(topic);
    const ids = await this.#connection.run(pushScript, [[stream], [String(this.#depthMax), ...bodies]]);
    if (ids === null) {
      const message = `Cannot push to ${topic}: it may hold at most ${this.#depthMax} unsettled messages`;
      throw new AppError("busy", message, { retryAfterMs: redisRetryMs });
    }
    return ids as readonly string[];
  }

  async take(topic: string, lease: QueueLease): Promise<readonly QueueMessage[]> {
    validateLease(topic, lease);
    const now = this.#clock();
    await this.#serverClock?.admit(now);
    const args = [String(now), String(now + lease.leaseMs), String(lease.limit), lease.consumer];
    const reply = await this.#connection.run(takeScript, [this.#keysOf(topic), args]);
    const taken = reply as readonly (readonly [id: string, body: string, attempts: number])[];
    return taken.map(([id, body, attempts]) => ({ id, body, attempts }));
  }

  async ack(topic: string, ids: readonly string[]): Promise<void> {
    validateAck(topic, ids);
    const possible = ids.filter(id => idPattern.test(id));
    if (possible.length > 0) await this.#connection.run(ackScript, [this.#keysOf(topic), possible]);
  }

  async release(topic: string): Promise<void> {
    validateAck(topic, []);
    const [, leases] = this.#keysOf(topic);
    await this.#connection.run(releaseScript, [[leases], []]);
  }

  async depth(topic: string): Promise<number> {
    validateAck(topic, []);
    const [stream] = this.#keysOf(topic);
    return Number(await this.#connection.ask("xlen", [stream]));
  }

  async oldest(topic: string): Promise<number | null> {
    validateAck(topic, []);
    const [stream] = this.#keysOf(topic);
    const [entry] = (await this.#connection.ask("xrange", [stream, "-", "+", "COUNT", "1"])) as [[string]?];
    return entry === undefined ? null : Number.parseInt(entry[0], 10);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }

  #keysOf(topic: string): [string, string] {
    const root = this.#keys.root(topic);
    return [keyOf(root, "q", ""), keyOf(root, "w", "")];
  }
}

const ackScript = scriptOf(`
-- Purpose: settles messages, so that they are never handed out again.
--
-- KEYS: [1] the stream of the topic; [2] ZSET of the ids handed out
-- ARGV: the ids, at most 1,000 (unpack can do 8,000)
-- Returns: the number of messages that were there

redis.call('XACK', KEYS[1], 'w', unpack(ARGV))
redis.call('ZREM', KEYS[2], unpack(ARGV))
return redis.call('XDEL', KEYS[1], unpack(ARGV))
`);

const pushScript = scriptOf(`
-- Purpose: appends messages to a topic, all of them or none.
--
-- KEYS: [1] the stream of the topic
-- ARGV: [1] most messages that may wait unsettled; then the bodies
-- Returns: the ids in order, or nil if the topic would hold more messages than allowed

if redis.call('XLEN', KEYS[1]) + #ARGV - 1 > tonumber(ARGV[1]) then return false end
local ids = {}
for n = 2, #ARGV do ids[n - 1] = redis.call('XADD', KEYS[1], '*', 'v', ARGV[n]) end
return ids
`);

const releaseScript = scriptOf(`
-- Purpose: ends every lease of a topic, so that its messages are handed out again before new ones.
--
-- The new scores are distinct: equal ones would order the ids by their bytes, not by arrival.
--
-- KEYS: [1] ZSET of the ids handed out, by the end of their lease, Unix ms
-- ARGV: none
-- Returns: the number of leases

local ids = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(ids, function(a, b)
  local aMs, aSeq = string.match(a, '(%d+)-(%d+)')
  local bMs, bSeq = string.match(b, '(%d+)-(%d+)')
  if aMs ~= bMs then return tonumber(aMs) < tonumber(bMs) end
  return tonumber(aSeq) < tonumber(bSeq)
end)
for n, id in ipairs(ids) do redis.call('ZADD', KEYS[1], n, id) end
return #ids
`);

const takeScript = scriptOf(`
-- Purpose: hands out messages under a lease, first those whose lease ended, then new ones.
--
-- The consumer group keeps the holder of a message and its number of deliveries. The ZSET keeps the end of each lease
-- by the clock of the clients, because the group counts idle time by the server's clock and alike for every lease.
--
-- KEYS: [1] the stream of the topic; [2] ZSET of the ids handed out, by the end of their lease, Unix ms
-- ARGV: [1] now, Unix ms; [2] end of the new lease, Unix ms; [3] most messages, at most 1,000; [4] consumer
-- Returns: per message {id, body, times handed out}, in order of arrival, the expired before the new

local stream, leases, limit, consumer = KEYS[1], KEYS[2], tonumber(ARGV[3]), ARGV[4]
local call, group = redis.call, 'w'
local taken, former = {}, {}

local function earlier(a, b)
  local aMs, aSeq = string.match(a, '(%d+)-(%d+)')
  local bMs, bSeq = string.match(b, '(%d+)-(%d+)')
  if aMs ~= bMs then return tonumber(aMs) < tonumber(bMs) end
  return tonumber(aSeq) < tonumber(bSeq)
end

local function hand(entries, attempts)
  local ends = {}
  for _, entry in ipairs(entries) do
    ends[#ends + 1], ends[#ends + 2] = ARGV[2], entry[1]
    taken[#taken + 1] = { entry[1], entry[2][2], attempts }
  end
  if #ends > 0 then call('ZADD', leases, unpack(ends)) end
end

local expired = call('ZRANGE', leases, '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, limit)
table.sort(expired, earlier)
for _, id in ipairs(expired) do
  local pending = call('XPENDING', stream, group, id, id, 1)[1]
  if pending then
    former[pending[2]] = true
    hand(call('XCLAIM', stream, group, consumer, 0, id), pending[4] + 1)
  end
end

-- A consumer without messages has probably died; consumers named after processes would pile up.
former[consumer] = nil
for name in pairs(former) do
  if #call('XPENDING', stream, group, '-', '+', 1, name) == 0 then
    call('XGROUP', 'DELCONSUMER', stream, group, name)
  end
end

if #taken < limit then
  local read = { 'XREADGROUP', 'GROUP', group, consumer, 'COUNT', limit - #taken, 'STREAMS', stream, '>' }
  local found = redis.pcall(unpack(read))
  if found and found.err then
    if not string.find(found.err, 'NOGROUP', 1, true) then error(found.err, 0) end
    if call('EXISTS', stream) == 1 then
      call('XGROUP', 'CREATE', stream, group, 0)
      found = call(unpack(read))
    else
      found = false
    end
  end
  if found then hand(found[1][2], 1) end
end
return taken
`);
