-- Purpose: removes a blob without holding up the server for its bytes.
--
-- KEYS: [1] the blob, [2] its chunks
-- ARGV: [1] the current descriptor of the blob
-- Returns: 1, or 0 if it has another descriptor

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
return 1
