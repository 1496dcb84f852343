-- Purpose: answers the standings of several members of one board.
--
-- KEYS: [1] the ZSET of the board; [2] the HASH of its stamped rows
-- ARGV: [1] 'S' for positions too, else 's'; then the members
-- Returns: per member three elements, or four with positions: score, tie, number of strictly lower scores, position;
--          nil for each if it is absent

local call, sub, zset, rows, positions = redis.call, string.sub, KEYS[1], KEYS[2], ARGV[1] == 'S'
local hasRows = call('EXISTS', rows) == 1
local answer, n = {}, 0
for i = 2, #ARGV do
  local member, score, tie, below = ARGV[i], false, '0', false
  local row = hasRows and call('HGET', rows, member)
  if row then
    score, tie = sub(row, 30), sub(row, 1, 13)
  else
    score = call('ZSCORE', zset, '0' .. member)
  end
  if score then below = call('ZCOUNT', zset, '-inf', '(' .. score) end
  answer[n + 1], answer[n + 2], answer[n + 3] = score, tie, below
  n = n + 3
  if positions then
    n = n + 1
    local head = tonumber(tie) == 0 and '0' or '1' .. tie
    answer[n] = score and call('ZRANK', zset, head .. member)
  end
end
return answer
