-- Destroys the group of a replica whose lease has been gone for long enough; a living one is left alone.
-- KEYS[1] event stream   KEYS[2] replicas   KEYS[3] replica hash   KEYS[4] reader   KEYS[5] canary stream
-- ARGV[1] replica id   ARGV[2] its group   ARGV[3] how long its lease must have been gone, ms
-- Reply: 1 when a group was destroyed, else 0
local stream, replicas, replica, reader, canary = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, group, retention_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

if redis.call('EXISTS', replica) == 1 then return 0 end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local expired_ms = tonumber(redis.call('ZSCORE', replicas, id) or '')
if not expired_ms then
  -- A group that nobody knows: it is as if its lease had ended now.
  redis.call('ZADD', replicas, now_ms, id)
  return 0
end
if now_ms - expired_ms < retention_ms then return 0 end
redis.call('ZREM', replicas, id)
redis.call('DEL', reader, canary)
if redis.call('EXISTS', stream) == 0 then return 0 end
return redis.call('XGROUP', 'DESTROY', stream, group)
