-- Purpose: removes whole keys of one slot.
--
-- KEYS: the keys
-- Returns: the number of keys that were there

return redis.call('UNLINK', unpack(KEYS))
