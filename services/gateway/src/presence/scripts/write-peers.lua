-- Adds and removes peers of some users, and keeps the sets alive.
-- KEYS presence.peers:<user>, in the order of ARGV
-- ARGV[1] how long a set lives without this call, ms; then per user: number to add, number to remove, those to add, those to remove
-- Reply: { how many of the sets exist now }
local ttl_ms = ARGV[1]

-- The key is ours by name: what else was put there gives way, instead of failing the whole chunk for ever.
local function change(key, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply.err) end
  redis.call('DEL', key)
  redis.call(...)
end

local at, alive = 2, 0
for _, key in ipairs(KEYS) do
  local adds, removes = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  at = at + 2
  for i = at, at + adds - 1 do change(key, 'SADD', key, ARGV[i]) end
  at = at + adds
  for i = at, at + removes - 1 do change(key, 'SREM', key, ARGV[i]) end
  at = at + removes
  alive = alive + redis.call('PEXPIRE', key, ttl_ms)
end
return { alive }
