-- Renews a replica's lease and writes its figures, unless another process holds it; its reader stays written down meanwhile.
-- KEYS[1] replica hash   KEYS[2] replicas (score: lease expiry, Redis ms)   KEYS[3] reader
-- ARGV[1] replica id   ARGV[2] incarnation   ARGV[3] lease, ms
-- ARGV[4] 'claim': an absent lease becomes ours | 'force': any lease does
-- ARGV[5] client id of the reader, '' when there is none   ARGV[6] time to live of that, ms
-- ARGV[7…] name, value, name, value … of the figures
-- Reply: 'held' or 'taken'
local replica, replicas, reader = KEYS[1], KEYS[2], KEYS[3]
local id, incarnation, lease_ms, mode, client_id, reader_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]

local holder = redis.call('HGET', replica, 'incarnation')
if holder and holder ~= incarnation and mode ~= 'force' then return 'taken' end
local figures = {}
for i = 7, #ARGV do figures[#figures + 1] = ARGV[i] end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', replica, 'replica_id', id, 'incarnation', incarnation, unpack(figures))
-- Whoever waits for this id sees that the holder lives.
redis.call('HINCRBY', replica, 'renewals', 1)
redis.call('PEXPIRE', replica, lease_ms)
redis.call('ZADD', replicas, now_ms + lease_ms, id)
-- What stands there may be newer than this call. It is only missing when Redis has lost it.
if client_id ~= '' and redis.call('PEXPIRE', reader, reader_ms) == 0 then
  redis.call('SET', reader, client_id, 'PX', reader_ms)
end
return 'held'
