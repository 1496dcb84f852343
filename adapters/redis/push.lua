-- Purpose: appends messages to a topic, all of them or none.
--
-- KEYS: [1] the stream of the topic
-- ARGV: [1] most messages that may wait unsettled; then the bodies
-- Returns: the ids in order, or nil if the topic would hold more messages than allowed

if redis.call('XLEN', KEYS[1]) + #ARGV - 1 > tonumber(ARGV[1]) then return false end
local ids = {}
for n = 2, #ARGV do ids[n - 1] = redis.call('XADD', KEYS[1], '*', 'v', ARGV[n]) end
return ids
