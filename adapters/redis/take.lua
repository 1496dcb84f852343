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
