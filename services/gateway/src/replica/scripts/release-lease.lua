-- Leaves the fleet: the lease ends now, and an id that never comes back takes its group with it. A successor's lease is left alone.
-- KEYS[1] replica hash   KEYS[2] replicas   KEYS[3] reader   KEYS[4] canary stream   KEYS[5] event stream
-- ARGV[1] replica id   ARGV[2] incarnation   ARGV[3] group to destroy, '' to keep it
-- Reply: 1 when it was ours, else 0
local replica, replicas, reader, canary, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, incarnation, group = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', replica, 'incarnation') ~= incarnation then return 0 end
redis.call('DEL', replica, reader, canary)
if group ~= '' then
  if redis.call('EXISTS', stream) == 1 then redis.call('XGROUP', 'DESTROY', stream, group) end
  redis.call('ZREM', replicas, id)
else
  -- The janitor counts from here.
  local time = redis.call('TIME')
  redis.call('ZADD', replicas, time[1] * 1000 + math.floor(time[2] / 1000), id)
end
return 1
