-- How late a group is, and which epoch it is, in one cheap look.
-- KEYS[1] stream   KEYS[2] epoch hash   ARGV[1] group   ARGV[2] last id that was handled
-- Reply: entries not delivered to the group yet (-1: Redis does not know), pending, id of the oldest entry not handled ('' none),
--        Redis time in ms, epoch id, barrier, floor ('' each when there is none)
local stream, epoch, group, handled_id = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', epoch, 'id', 'barrier', 'floor')
local lag, pending, oldest_id = -1, 0, ''
if redis.call('EXISTS', stream) == 1 then
  for _, row in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local fields = {}
    for i = 1, #row, 2 do fields[row[i]] = row[i + 1] end
    if fields['name'] == group then lag, pending = fields['lag'] or -1, fields['pending'] end
  end
  local next_entry = redis.call('XRANGE', stream, '(' .. handled_id, '+', 'COUNT', 1)[1]
  if next_entry then oldest_id = next_entry[1] end
end
return {lag, pending, oldest_id, now_ms, known[1] or '', known[2] or '', known[3] or ''}
