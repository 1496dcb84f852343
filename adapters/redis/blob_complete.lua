-- Purpose: completes an upload and replaces the blob by it.
--
-- KEYS: [1] the blob, [2] the chunks of the upload, [3] the chunks of the blob that is replaced, or [2] again
-- ARGV: [1] the current descriptor of the blob, or ''; [2] the new descriptor; [3] the number of chunks;
--       [4] time in ms for which the replaced chunks are kept for their readers
-- Returns: 1, or 0 if the blob has another descriptor, or -1 if chunks are missing

if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[3]) then return -1 end
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('PERSIST', KEYS[2])
redis.call('SET', KEYS[1], ARGV[2])
return 1
