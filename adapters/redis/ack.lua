-- Purpose: settles messages, so that they are never handed out again.
--
-- KEYS: [1] the stream of the topic; [2] ZSET of the ids handed out
-- ARGV: the ids, at most 1,000 (unpack can do 8,000)
-- Returns: the number of messages that were there

redis.call('XACK', KEYS[1], 'w', unpack(ARGV))
redis.call('ZREM', KEYS[2], unpack(ARGV))
return redis.call('XDEL', KEYS[1], unpack(ARGV))
