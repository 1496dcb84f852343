-- Purpose: keeps one chunk of a blob that is arriving, unless that would leave too little memory for everything else.
--
-- KEYS: [1] the chunks of the upload
-- ARGV: [1] the number of the chunk, [2] its bytes, [3] time in ms for which the upload is kept if nothing more arrives
-- Returns: 1, or 0 if nine tenths of the server's memory are in use

if tonumber(ARGV[1]) % 16 == 0 then
  local info = redis.pcall('INFO', 'memory')
  if type(info) == 'string' then
    local most = tonumber(string.match(info, 'maxmemory:(%d+)')) or 0
    local used = tonumber(string.match(info, 'used_memory:(%d+)')) or 0
    if most > 0 and used > most * 0.9 then return 0 end
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
