-- Reads whom each of some users may see, and keeps the sets alive that are read.
-- KEYS presence.peers:<user>   ARGV[1] most peers of one user   ARGV[2] how long a set lives, ms
-- ARGV[3] younger than this (ms) a set's life is not extended
-- Reply: per key its peers; of a bigger set any of that many.
local most, ttl_ms, refresh_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local reply = {}
for i, key in ipairs(KEYS) do
  local peers = on_own_key(key, 'SCARD', key)
  local left_ms = redis.call('PTTL', key)
  if left_ms >= 0 and left_ms < ttl_ms - refresh_ms then redis.call('PEXPIRE', key, ttl_ms) end
  reply[i] = peers <= most and redis.call('SMEMBERS', key) or redis.call('SRANDMEMBER', key, most)
end
return reply
