-- Purpose: answers the standings of several members of one board.
--
-- KEYS: [1] the ZSET of the board; [2] the HASH of its stamped rows
-- ARGV: [1] 'S' for positions too, else 's'; then the members
-- Returns: per member four elements: score, tie, number of strictly lower scores, position (nil where not asked for);
--          or four times nil

local call, sub, zset, rows, positions = redis.call, string.sub, KEYS[1], KEYS[2], ARGV[1] == 'S'
local hasRows = call('EXISTS', rows) == 1
local answer, n = {}, 0
for i = 2, #ARGV do
  local member, score, tie, below, position = ARGV[i], false, '0', false, false
  local encoded = '0' .. member
  local row = hasRows and call('HGET', rows, member)
  if row then
    score, tie = sub(row, 30), sub(row, 1, 13)
    if tie ~= '0000000000000' then encoded = '1' .. tie .. member end
  else
    score = call('ZSCORE', zset, encoded)
  end
  if score then
    below = call('ZCOUNT', zset, '-inf', '(' .. score)
    if positions then position = call('ZRANK', zset, encoded) end
  end
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = score, tie, below, position
  n = n + 4
end
return answer
