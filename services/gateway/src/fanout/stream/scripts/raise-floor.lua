-- A stream that began anew keeps its ids, which may be lower than those that clients hold. Its epoch stays; the floor says up
-- to which id no cursor is resumed. A barrier of the old stream is no position in the new one.
-- KEYS[1] epoch hash   ARGV[1] last id that was handled of the old stream
-- Reply: the floor
local epoch, handled_id = KEYS[1], ARGV[1]

local function below(a, b)
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return #a_ms < #b_ms or (#a_ms == #b_ms and a_ms < b_ms) end
  return #a_seq < #b_seq or (#a_seq == #b_seq and a_seq < b_seq)
end

local floor = redis.call('HGET', epoch, 'floor') or '0-0'
if below(floor, handled_id) then
  floor = handled_id
  redis.call('HSET', epoch, 'floor', floor, 'entries', -1)
end
return floor
