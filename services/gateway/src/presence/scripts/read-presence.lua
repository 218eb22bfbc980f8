-- Reads the published state of many users at one moment.
-- KEYS[1] presence.online   KEYS[2] presence.last_seen   ARGV user ids (at most 1,000: Lua's stack bounds `unpack`)
-- Reply: { now (Unix ms), per user the latest lease or nil, per user the last activity (Unix ms) or nil }
local online, last_seen = KEYS[1], KEYS[2]

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
return { now_ms, redis.call('ZMSCORE', online, unpack(ARGV)), redis.call('ZMSCORE', last_seen, unpack(ARGV)) }
