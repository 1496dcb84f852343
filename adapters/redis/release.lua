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
