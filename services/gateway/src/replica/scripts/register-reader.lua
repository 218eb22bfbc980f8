-- Writes down which connection reads for a replica, provided that the caller holds the lease.
-- KEYS[1] replica hash   KEYS[2] reader   ARGV[1] incarnation   ARGV[2] client id of the reader   ARGV[3] time to live, ms
-- Reply: 'held', 'absent' or 'taken'
local replica, reader = KEYS[1], KEYS[2]
local incarnation, client_id, ttl_ms = ARGV[1], ARGV[2], ARGV[3]

local holder = redis.call('HGET', replica, 'incarnation')
if not holder then return 'absent' end
if holder ~= incarnation then return 'taken' end
redis.call('SET', reader, client_id, 'PX', ttl_ms)
return 'held'
