-- Purpose: settles messages, so that they are never handed out again.
--
-- KEYS: [1] the stream of the topic; [2] ZSET of the ids handed out
-- ARGV: the ids
-- Returns: the number of messages that were there

-- Below LUAI_MAXCSTACK (8000), which bounds unpack.
local chunk, settled = 4000, 0
for start = 1, #ARGV, chunk do
  local stop = math.min(start + chunk - 1, #ARGV)
  redis.call('XACK', KEYS[1], 'w', unpack(ARGV, start, stop))
  settled = settled + redis.call('XDEL', KEYS[1], unpack(ARGV, start, stop))
  redis.call('ZREM', KEYS[2], unpack(ARGV, start, stop))
end
return settled
