// Generated from the .lua files of this folder by test/adapters/redis/generate_scripts.ts: do not edit.
import type { Script } from "./script_cache.ts";

/** `ack.lua`: settles messages, so that they are never handed out again. */
export const ackScript: Script = {
  sha: "71f8093afa68f3632415b594902f21e9d809f7d1",
  lua: `redis.call('XACK', KEYS[1], 'w', unpack(ARGV))
redis.call('ZREM', KEYS[2], unpack(ARGV))
return redis.call('XDEL', KEYS[1], unpack(ARGV))`,
};

/** `blob_chunk.lua`: keeps one chunk of a blob that is arriving, unless that would leave too little memory for everything else. */
export const blobChunkScript: Script = {
  sha: "64aa96e23dac2ff330f7e279d526d466eb075f04",
  lua: `if tonumber(ARGV[1]) % 16 == 0 then
local info = redis.pcall('INFO', 'memory')
if type(info) == 'string' then
local most = tonumber(string.match(info, 'maxmemory:(%d+)')) or 0
local used = tonumber(string.match(info, 'used_memory:(%d+)')) or 0
if most > 0 and used > most * 0.9 then return 0 end
end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`,
};

/** `blob_complete.lua`: completes an upload and replaces the blob by it. */
export const blobCompleteScript: Script = {
  sha: "f3ac085b2c049764a85fe2c67903615cb4a25ca3",
  lua: `if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[3]) then return -1 end
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('PERSIST', KEYS[2])
redis.call('SET', KEYS[1], ARGV[2])
return 1`,
};

/** `blob_remove.lua`: removes a blob without holding up the server for its bytes. */
export const blobRemoveScript: Script = {
  sha: "05395eb44277f19fef3716d43eef14215b850bdf",
  lua: `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
return 1`,
};

/** `commit.lua`: applies all writes of one batch to one partition, or none. */
export const commitScript: Script = {
  sha: "e4b6513d8f5972415e0ebbe00ec05e7706b79aa3",
  lua: `local KEYS, ARGV, call, sub, format = KEYS, ARGV, redis.call, string.sub, string.format
local noExpiry, noTie, noAsOf = '0000000000000000', '0000000000000', '                '
local safeMax = 9007199254740991
local now, checks, fieldsMax = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
for c = 1, checks do
local expected = ARGV[3 + c]
if sub(expected, 1, 1) == '!' then
if call('HEXISTS', KEYS[c], sub(expected, 2)) == 1 then return c end
else
local head = call('GETRANGE', KEYS[c], 0, 31)
local version = ''
if head ~= '' then
local expireAt = sub(head, 17, 32)
if expireAt == noExpiry or tonumber(expireAt) > now then version = sub(head, 1, 16) end
end
if version ~= expected then return c end
end
end
local function encode(tie, member)
if tie == noTie then return '0' .. member end
return '1' .. tie .. member
end
local function standing(zset, rows, member)
local row = call('HGET', rows, member)
if row then return sub(row, 30), sub(row, 1, 13), sub(row, 14, 29), row end
return call('ZSCORE', zset, '0' .. member), noTie, noAsOf, false
end
local function isStale(old, oldAsOf, asOf)
return old and asOf ~= noAsOf and oldAsOf ~= noAsOf and tonumber(asOf) <= tonumber(oldAsOf)
end
local function sumOf(a, b)
local sum, abs, floor = a + b, math.abs, math.floor
if sum == floor(sum) then return sum end
local size, scale, bound = math.max(abs(a), abs(b)), 1e9, 1e6
while size >= bound and scale > 1 do bound, scale = bound * 10, scale / 10 end
local whole = floor(abs(sum) * scale + 0.5) / scale
if sum < 0 and whole > 0 then return -whole end
return whole
end
local function combine(op, old, given)
if not old then return tonumber(given), given end
local before, value = tonumber(old), tonumber(given)
if op == '+' then
value = sumOf(before, value)
if value == before then return before, old end
return value, format('%.17g', value)
end
if before == value or (op == '<' and before < value) or (op == '>' and before > value) then
return before, old
end
return value, given
end
local function scores(zset, rows, first, last, results)
local members, removed, added, kept, dropped = {}, {}, {}, {}, {}
for i = first, last, 4 do members[#members + 1] = ARGV[i + 1] end
local stored = call('HMGET', rows, unpack(members))
for n = 1, #members do
local i = first + 4 * (n - 1)
local op, member, given, stamp, row = ARGV[i], members[n], ARGV[i + 2], ARGV[i + 3], stored[n]
local old, oldTie, oldAsOf, tie, asOf = false, noTie, noAsOf, noTie, noAsOf
if row then
old, oldTie, oldAsOf = sub(row, 30), sub(row, 1, 13), sub(row, 14, 29)
elseif op ~= '=' or stamp ~= '' then
old = call('ZSCORE', zset, '0' .. member)
end
if stamp ~= '' then tie, asOf = sub(stamp, 1, 13), sub(stamp, 14) end
local text = old
if not isStale(old, oldAsOf, asOf) then
if asOf == noAsOf then asOf = oldAsOf end
local _, wanted = combine(op, old, given)
text = wanted
if old and text == old then
tie = oldTie
else
if old and tie ~= oldTie then removed[#removed + 1] = encode(oldTie, member) end
added[#added + 1], added[#added + 2] = text, encode(tie, member)
end
if tie ~= noTie or asOf ~= noAsOf then
kept[#kept + 1], kept[#kept + 2] = member, tie .. asOf .. text
elseif row then
dropped[#dropped + 1] = member
end
end
results[#results + 1] = text
end
if removed[1] then call('ZREM', zset, unpack(removed)) end
if added[1] then call('ZADD', zset, unpack(added)) end
if kept[1] then call('HSET', rows, unpack(kept)) end
if dropped[1] then call('HDEL', rows, unpack(dropped)) end
end
local function append(key, value, at, maxLength)
local id, last = at .. '-1', call('LINDEX', key, -1)
if last then
local ms, seq = string.match(last, '^(%d+)-(%d+)')
if tonumber(at) <= tonumber(ms) then id = ms .. '-' .. format('%.0f', seq + 1) end
end
local length = call('RPUSH', key, id .. ' ' .. value)
if length > tonumber(maxLength) then call('LTRIM', key, '-' .. maxLength, -1) end
return id
end
if fieldsMax then
local sums, sizes, scores, emptied = {}, {}, {}, {}
local function inner(outer, key)
local found = outer[key]
if not found then
found = {}
outer[key] = found
end
return found
end
local function tryAdd(key, field, by, min, max)
local fields = inner(sums, key)
local sum, isNew = fields[field], false
if not sum then
sum = tonumber(not emptied[key] and call('HGET', key, field) or nil)
isNew = not sum
end
sum = (sum or 0) + tonumber(by)
if sum > safeMax or sum < -safeMax then return 'guard' end
if (min ~= '' and sum < tonumber(min)) or (max ~= '' and sum > tonumber(max)) then return 'guard' end
fields[field] = sum
if isNew then
local size = sizes[key] or (emptied[key] and 0 or call('HLEN', key))
sizes[key] = size + 1
if size >= fieldsMax then return 'size' end
end
return nil
end
local function tryScore(zset, rows, op, member, given, stamp)
local known = inner(scores, zset)
local state = known[member]
if not state then
state = { false, noAsOf }
if not emptied[zset] then
local old, _, asOf = standing(zset, rows, member)
state = { old, asOf }
end
known[member] = state
end
local asOf = stamp == '' and noAsOf or sub(stamp, 14)
if isStale(state[1], state[2], asOf) then return nil end
local value, text = combine(op, state[1], given)
if op == '+' and state[1] and (value > safeMax or value < -safeMax) then return 'guard' end
state[1] = text
if asOf ~= noAsOf then state[2] = asOf end
return nil
end
local k, i, w = checks + 1, checks + 4, 1
while ARGV[i] do
local op, refusal, width = ARGV[i], nil, 4
if op == 'a' then
refusal, width = tryAdd(KEYS[k], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]), 5
elseif op == 'p' then
width = 2
elseif op == 'P' then
width = 3
elseif op == 'u' then
inner(scores, KEYS[k])[ARGV[i + 1]] = { false, noAsOf }
k, width = k + 1, 2
elseif op == 'd' or op == 'D' then
emptied[KEYS[k]], sums[KEYS[k]], sizes[KEYS[k]], scores[KEYS[k]] = true, nil, nil, nil
if op == 'D' then k = k + 1 end
width = 1
elseif op == 's' then
local last = i + 4 * tonumber(ARGV[i + 1])
for j = i + 2, last, 4 do
if tryScore(KEYS[k], KEYS[k + 1], ARGV[j], ARGV[j + 1], ARGV[j + 2], ARGV[j + 3]) then return -w end
w = w + 1
end
k, w, width = k + 1, w - 1, last + 2 - i
end
if refusal == 'guard' then return -w end
if refusal == 'size' then return -1000000 - w end
k, i, w = k + 1, i + width, w + 1
end
end
local results, r, k, i = {}, 0, checks + 1, checks + 4
while ARGV[i] do
local op, key = ARGV[i], KEYS[k]
if op == 'p' then
call('SET', key, ARGV[i + 1])
i = i + 2
elseif op == 'P' then
call('SET', key, ARGV[i + 1], 'PX', ARGV[i + 2])
i = i + 3
elseif op == 'l' then
r = r + 1
results[r] = append(key, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
i = i + 4
elseif op == 'a' then
r = r + 1
results[r] = format('%.0f', call('HINCRBY', key, ARGV[i + 1], ARGV[i + 2]))
i = i + 5
elseif op == 'd' then
call('UNLINK', key)
i = i + 1
else
k = k + 1
local rows, member = KEYS[k], ARGV[i + 1]
if op == 'D' then
call('UNLINK', key, rows)
i = i + 1
elseif op == 'u' then
local row = call('HGET', rows, member)
call('ZREM', key, encode(row and sub(row, 1, 13) or noTie, member))
if row then call('HDEL', rows, member) end
i = i + 2
else
local last = i + 4 * tonumber(ARGV[i + 1])
scores(key, rows, i + 2, last - 2, results)
r, i = #results, last + 2
end
end
k = k + 1
end
return results`,
};

/** `forget.lua`: removes whole keys of one slot. */
export const forgetScript: Script = {
  sha: "ee755c38bd681a277c72a8a2dd4548baa6783666",
  lua: `return redis.call('UNLINK', unpack(KEYS))`,
};

/** `limit.lua`: spends units of every rule of a subject, or of none if one refuses: a sliding window in buckets of a */
export const limitScript: Script = {
  sha: "f3daa7e7ad424269fd5469d992a3dd6107f40028",
  lua: `local call, format, find, match, gmatch = redis.call, string.format, string.find, string.match, string.gmatch
local cost, slack = tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[1])
if not now then
local time = call('TIME')
now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local buckets = 100
local states, answer, spends = {}, { format('%.0f', now) }, true
for n = 1, #KEYS do
local limit, window = tonumber(ARGV[2 * n + 2]), tonumber(ARGV[2 * n + 3])
local bucket = math.floor(now * buckets / window)
local state = { total = 0, oldest = bucket, newest = bucket, units = 0, rest = '' }
local isRedated = false
local kept = call('GET', KEYS[n])
if kept then
local total, oldest, newest, units, rest = match(kept, '^(%d+) (%d+) (%d+) (%d+)(.*)$')
total, oldest, newest, units = tonumber(total), tonumber(oldest), tonumber(newest), tonumber(units)
local ahead = newest - bucket
isRedated = ahead * window / buckets > 60000
if isRedated then
oldest, newest = oldest - ahead, bucket
rest = string.gsub(rest, ' (%d+) (%d+)', function(at, count)
return format(' %.0f ', at - ahead) .. count
end)
elseif ahead > 0 then
bucket = newest
end
local first = bucket - buckets
if newest < first then
total = 0
elseif oldest < first then
local from, stop = 1, #rest
while from <= stop do
local _, last, at, count = find(rest, '^ (%d+) (%d+)', from)
at = tonumber(at)
if at >= first then oldest = at break end
total = total - tonumber(count)
from = last + 1
end
if from > stop then oldest = newest end
rest = string.sub(rest, from)
end
if total > 0 then state = { total = total, oldest = oldest, newest = newest, units = units, rest = rest } end
end
state.bucket = bucket
state.isRedated = isRedated and state.total > 0
local awaited = '-'
local excess = state.total + cost - limit
if excess > 0 then
spends = false
awaited = state.newest
for at, count in gmatch(state.rest, ' (%d+) (%d+)') do
excess = excess - tonumber(count)
if excess <= 0 then awaited = tonumber(at) break end
end
awaited = format('%.0f', awaited)
end
states[n] = state
answer[n + 1] = format('%.0f %.0f ', state.total, state.newest) .. awaited
end
local spent = spends and cost or 0
for n = 1, #KEYS do
local window, state = tonumber(ARGV[2 * n + 3]), states[n]
if spends or state.isRedated then
local oldest, newest, units, rest = state.oldest, state.bucket, state.units + spent, state.rest
if state.total == 0 then
oldest, rest = state.bucket, ''
elseif state.newest < state.bucket then
rest = rest .. format(' %.0f %.0f', state.newest, state.units)
units = spent
end
local ttl = math.ceil((newest + buckets + 1) * window / buckets) - now + slack
local kept = format('%.0f %.0f %.0f %.0f', state.total + spent, oldest, newest, units) .. rest
call('SET', KEYS[n], kept, 'PX', format('%.0f', ttl))
end
end
return table.concat(answer, ' ')`,
};

/** `push.lua`: appends messages to a topic, all of them or none. */
export const pushScript: Script = {
  sha: "dfadbc35bbe2ba0917d4d16117708b845bb9de44",
  lua: `if redis.call('XLEN', KEYS[1]) + #ARGV - 1 > tonumber(ARGV[1]) then return false end
local ids = {}
for n = 2, #ARGV do ids[n - 1] = redis.call('XADD', KEYS[1], '*', 'v', ARGV[n]) end
return ids`,
};

/** `read.lua`: answers several queries from one instant of a partition. */
export const readScript: Script = {
  sha: "a02ccd6a820dfa08fa816e8e192e522b926e08f3",
  lua: `local KEYS, ARGV, call, sub = KEYS, ARGV, redis.call, string.sub
local chunk = 4000
local function fields(key, first, last)
local values = {}
for start = first, last, chunk do
local stop = math.min(start + chunk - 1, last)
for n, value in ipairs(call('HMGET', key, unpack(ARGV, start, stop))) do
values[start - first + n] = value
end
end
return values
end
local function find(rows, member)
local row = call('HGET', rows, member)
if not row then return '0' .. member end
local tie = sub(row, 1, 13)
return tie == '0000000000000' and '0' .. member or '1' .. tie .. member, sub(row, 30), tie
end
local function around(zset, rows, member, limit)
local position = call('ZRANK', zset, (find(rows, member)))
if not position then return false end
local size = call('ZCARD', zset)
local first = math.max(0, math.min(position - math.floor((limit - 1) / 2), size - limit))
local entries = call('ZRANGE', zset, first, first + limit - 1, 'WITHSCORES')
return { size, entries, first, call('ZCOUNT', zset, '-inf', '(' .. entries[2]) }
end
local function standing(zset, rows, op, member)
local encoded, score, tie = find(rows, member)
if not score then
score = call('ZSCORE', zset, encoded)
if not score then return false end
end
local below = call('ZCOUNT', zset, '-inf', '(' .. score)
if op == 'S' then return { score, tie or '0', below, call('ZRANK', zset, encoded) } end
return { score, tie or '0', below }
end
local function precedes(a, b)
local left, right = { string.byte(a, 1, -1) }, { string.byte(b, 1, -1) }
for n = 1, math.min(#a, #b) do
if left[n] ~= right[n] then return left[n] < right[n] end
end
return #a < #b
end
local function before(zset, score, point)
local low = call('ZCOUNT', zset, '-inf', '(' .. score)
if point == '' then return low end
local high = low + call('ZCOUNT', zset, score, score)
while low < high do
local middle = math.floor((low + high) / 2)
if precedes(call('ZRANGE', zset, middle, middle)[1], point) then low = middle + 1 else high = middle end
end
return low
end
local function upTo(key, ms, seq, high)
local low = 0
ms, seq = tonumber(ms), tonumber(seq)
while low < high do
local middle = math.floor((low + high) / 2)
local otherMs, otherSeq = string.match(call('LINDEX', key, middle), '^(%d+)-(%d+)')
otherMs = tonumber(otherMs)
if otherMs < ms or (otherMs == ms and tonumber(otherSeq) <= seq) then low = middle + 1 else high = middle end
end
return low
end
local function log(key, i)
local count, isReverse = tonumber(ARGV[i + 1]), ARGV[i + 2] ~= ''
local start, stop = 0, call('LLEN', key)
if ARGV[i + 5] ~= '' then stop = upTo(key, ARGV[i + 5], ARGV[i + 6], stop) end
if ARGV[i + 3] ~= '' then start = upTo(key, ARGV[i + 3], ARGV[i + 4], stop) end
if stop - start > count then
if isReverse then start = stop - count else stop = start + count end
end
if start >= stop then return {} end
return call('LRANGE', key, start, stop - 1)
end
local function board(key, i)
if ARGV[i] == 'b' then
if ARGV[i + 3] == '' then return call('ZRANGE', key, ARGV[i + 1], ARGV[i + 2], 'WITHSCORES') end
return call('ZRANGE', key, ARGV[i + 1], ARGV[i + 2], 'REV', 'WITHSCORES')
end
local from, to, offset, limit = ARGV[i + 1], ARGV[i + 2], ARGV[i + 4], ARGV[i + 5]
if ARGV[i + 3] == '' then
return call('ZRANGE', key, from, to, 'BYSCORE', 'LIMIT', offset, limit, 'WITHSCORES')
end
return call('ZRANGE', key, from, to, 'BYSCORE', 'REV', 'LIMIT', offset, limit, 'WITHSCORES')
end
local answers, n, k, i = {}, 0, 1, 1
while ARGV[i] do
local op, key = ARGV[i], KEYS[k]
n = n + 1
if op == 'r' then
answers[n] = call('GET', key)
i = i + 1
elseif op == 't' then
answers[n] = call('HGETALL', key)
i = i + 1
elseif op == 'f' then
local count = tonumber(ARGV[i + 1])
answers[n] = fields(key, i + 2, i + 1 + count)
i = i + 2 + count
elseif op == 's' or op == 'S' then
answers[n] = standing(key, KEYS[k + 1], op, ARGV[i + 1])
k, i = k + 1, i + 2
elseif op == 'w' then
answers[n] = around(key, KEYS[k + 1], ARGV[i + 1], tonumber(ARGV[i + 2]))
k, i = k + 1, i + 3
elseif op == 'c' then
answers[n] = before(key, ARGV[i + 1], ARGV[i + 2])
i = i + 3
elseif op == 'l' then
answers[n] = log(key, i)
i = i + 7
else
answers[n] = { call('ZCARD', key), board(key, i) }
i = i + (op == 'b' and 4 or 6)
end
k = k + 1
end
return answers`,
};

/** `release.lua`: ends every lease of a topic, so that its messages are handed out again before new ones. */
export const releaseScript: Script = {
  sha: "0030fc780dab7e2ecc120dfbb3ddf3bd4379f059",
  lua: `local ids = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(ids, function(a, b)
local aMs, aSeq = string.match(a, '(%d+)-(%d+)')
local bMs, bSeq = string.match(b, '(%d+)-(%d+)')
if aMs ~= bMs then return tonumber(aMs) < tonumber(bMs) end
return tonumber(aSeq) < tonumber(bSeq)
end)
for n, id in ipairs(ids) do redis.call('ZADD', KEYS[1], n, id) end
return #ids`,
};

/** `standing.lua`: answers the standings of several members of one board. */
export const standingScript: Script = {
  sha: "f74065b176457001e4aab3880b538a6f3861a9f7",
  lua: `local call, sub, zset, rows, positions = redis.call, string.sub, KEYS[1], KEYS[2], ARGV[1] == 'S'
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
return answer`,
};

/** `take.lua`: hands out messages under a lease, first those whose lease ended, then new ones. */
export const takeScript: Script = {
  sha: "231a45050268a10518d4297f34be638b4cfeb146",
  lua: `local stream, leases, limit, consumer = KEYS[1], KEYS[2], tonumber(ARGV[3]), ARGV[4]
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
return taken`,
};
