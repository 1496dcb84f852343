-- Purpose: keeps one chunk of a blob that is arriving.
--
-- KEYS: [1] the chunks of the upload
-- ARGV: [1] the number of the chunk, [2] its bytes, [3] time in ms for which the upload is kept if nothing more arrives
-- Returns: 1

redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
