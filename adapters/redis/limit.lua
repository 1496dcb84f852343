-- Purpose: spends units of every rule of a subject, or of none if one refuses (GCRA, ITU-T I.371).
--
-- The key of a rule keeps the lead of its theoretical arrival time (TAT) over now, times the limit:
-- owed = (TAT - now) * limit at the time `at`. Every quantity is then an integer, and limits that do not divide their
-- window are exact.
--
-- KEYS: one per rule: '<owed> <at>'
-- ARGV: [1] now, Unix ms; [2] cost; [3] time in ms for which a key outlives its last effect;
--       then per rule: limit, windowMs
-- Returns: per rule the units owed before, as a string. The cost was spent if no rule owes too much with it.

local call, format = redis.call, string.format
local now, cost, slack = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local owed, at, before, spends = {}, {}, {}, true

for n = 1, #KEYS do
  local limit, window = tonumber(ARGV[2 * n + 2]), tonumber(ARGV[2 * n + 3])
  owed[n], at[n] = 0, now
  local kept = call('GET', KEYS[n])
  if kept then
    local space = string.find(kept, ' ', 1, true)
    local since = tonumber(string.sub(kept, space + 1))
    owed[n] = tonumber(string.sub(kept, 1, space - 1))
    -- A clock that goes back must not give units back twice.
    if since > now then at[n] = since else owed[n] = math.max(0, owed[n] - (now - since) * limit) end
  end
  before[n] = format('%.17g', owed[n])
  if owed[n] + cost * window > limit * window then spends = false end
end

if spends then
  for n = 1, #KEYS do
    local limit, window = tonumber(ARGV[2 * n + 2]), tonumber(ARGV[2 * n + 3])
    local sum = owed[n] + cost * window
    local ttl = math.ceil(sum / limit) + at[n] - now + slack
    call('SET', KEYS[n], format('%.17g %.17g', sum, at[n]), 'PX', format('%.0f', ttl))
  end
end
return before
