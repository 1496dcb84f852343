-- Purpose: makes an upload the blob, in place of what was there.
--
-- KEYS: [1] the blob, [2] the chunks of the upload, [3] the chunks of the blob that is replaced, or [2] again
-- ARGV: [1] what stands under the blob now, or nothing; [2] what shall stand there; [3] the number of chunks;
--       [4] for how many ms the replaced chunks are kept for those who are reading them
-- Returns: 1, or 0 where something else stands under the blob, or -1 where chunks are missing

if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[3]) then return -1 end
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('PERSIST', KEYS[2])
redis.call('SET', KEYS[1], ARGV[2])
return 1
