-- Purpose: spends units of every rule of a subject, or of none where one refuses (GCRA, ITU-T I.371).
--
-- KEYS: one per rule: its theoretical arrival time (TAT), Unix ms.
-- ARGV: [1] now, Unix ms; [2] cost; then per rule: limit, windowMs
-- Returns: {1 or 0 for spent or not, per rule the TAT as a string: after the cost where spent, else before it}

local now, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
-- A key outlives its last effect by this, so that a clock that differs between clients loses nothing.
local slackMs = 60000
local before, after, spent = {}, {}, 1

for n = 1, #KEYS do
  local limit, window = tonumber(ARGV[2 * n + 1]), tonumber(ARGV[2 * n + 2])
  local tat = tonumber(redis.call('GET', KEYS[n]) or nil) or now
  if tat < now then tat = now end
  before[n] = tat
  after[n] = tat + cost * (window / limit)
  if after[n] - window > now then spent = 0 end
end

local reply = { spent }
for n = 1, #KEYS do
  local tat = spent == 1 and after[n] or before[n]
  reply[n + 1] = string.format('%.17g', tat)
  if spent == 1 and tat > now then
    redis.call('SET', KEYS[n], reply[n + 1], 'PX', math.ceil(tat - now) + slackMs)
  end
end
return reply
