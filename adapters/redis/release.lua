-- Purpose: ends every lease of a topic, so that what was handed out is handed out again before what is new.
--
-- Equal scores would put the ids in the order of their bytes, which is not that of arrival.
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
