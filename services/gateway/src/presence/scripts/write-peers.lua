-- Adds and removes peers of some users, and keeps the sets alive.
-- KEYS presence.peers:<user>, in the order of ARGV
-- ARGV[1] how long a set lives without this call, ms; then per user: number to add, number to remove, those to add, those to remove
-- Reply: { how many of the sets exist now }
local ttl_ms = ARGV[1]

local at, alive = 2, 0
for _, key in ipairs(KEYS) do
  local adds, removes = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  at = at + 2
  for i = at, at + adds - 1 do on_own_key(key, 'SADD', key, ARGV[i]) end
  at = at + adds
  for i = at, at + removes - 1 do on_own_key(key, 'SREM', key, ARGV[i]) end
  at = at + removes
  alive = alive + redis.call('PEXPIRE', key, ttl_ms)
end
return { alive }
