-- Takes the users of a sweep out of presence.online if no holder has a lease for them any more.
-- Guarantees: leaving it is published in the same step, so that "offline" is announced once, whoever sweeps; a user who was taken up
-- again since the sweep read its list stays, with a corrected score.
-- KEYS[1] presence.online   KEYS[2] presence.last_seen   KEYS[3...] presence:<user>, in the order of ARGV
-- ARGV[1] how long a user's key outlives the last lease, ms   ARGV[2] Redis time after which the list is too old, Unix ms
-- ARGV[3] channel of the transitions   ARGV[4...] user ids
-- Reply: { now (Unix ms), how many became offline }
local online, last_seen = KEYS[1], KEYS[2]
local outlive_ms, not_after_ms, channel = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
-- The sweeper stood still in between: the living may have had no chance to renew, and the next sweep decides whether to hold.
if now_ms > not_after_ms then return { now_ms, 0 } end

local function latest_lease_ms(key)
  local reply = redis.pcall('ZREMRANGEBYSCORE', key, '-inf', now_ms)
  if type(reply) == 'table' and reply.err then
    redis.call('DEL', key) -- the key is ours by name: something else there holds nobody
    return nil
  end
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'REV', 'WITHSCORES')[2] or nil)
end

local function publish_offline(user)
  local seen_ms = redis.call('ZSCORE', last_seen, user)
  local seen = seen_ms and string.format('"last_seen_ms":%.0f,', tonumber(seen_ms)) or ''
  redis.call('PUBLISH', channel, string.format('{"user_id":%s,"status":"offline",%s"at_ms":%.0f}', cjson.encode(user), seen, now_ms))
end

local gone = 0
for i = 3, #KEYS do
  local key, user = KEYS[i], ARGV[i + 1]
  local latest_ms = latest_lease_ms(key)
  if latest_ms then
    redis.call('ZADD', online, 'XX', latest_ms, user)
    redis.call('PEXPIREAT', key, latest_ms + outlive_ms)
  elseif redis.call('ZREM', online, user) == 1 then
    gone = gone + 1
    publish_offline(user)
  end
end
return { now_ms, gone }
