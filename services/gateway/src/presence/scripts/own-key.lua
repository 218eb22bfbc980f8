-- Put in front of scripts that write keys of one user each. The key is ours by name: what else was put there gives way, instead of failing
-- the whole chunk for ever.
local function on_own_key(key, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply.err) end
  redis.call('DEL', key)
  return redis.call(...)
end

