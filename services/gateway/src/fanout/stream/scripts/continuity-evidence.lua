-- Tells whether an entry is still in the stream and, when it is gone, what proves or disproves that others went with it; and which
-- epoch it is. Sent behind every blocking read on the same connection, so it must cost next to nothing while the entry exists.
-- KEYS[1] stream   KEYS[2] epoch hash   ARGV[1] id of the last entry that was handled
-- Reply: epoch id, barrier, floor ('' each when there is none) and, when the entry does not exist, entries ever added, length, first id,
--        last id (zeros and '0-0' without a stream)
local stream, epoch, handled_id = KEYS[1], KEYS[2], ARGV[1]

local known = redis.call('HMGET', epoch, 'id', 'barrier', 'floor')
local reply = {known[1] or '', known[2] or '', known[3] or ''}
if #redis.call('XRANGE', stream, handled_id, handled_id) > 0 then return reply end
local fields = {['entries-added'] = 0, ['length'] = 0, ['recorded-first-entry-id'] = '0-0', ['last-generated-id'] = '0-0'}
if redis.call('EXISTS', stream) == 1 then
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
end
for i, name in ipairs({'entries-added', 'length', 'recorded-first-entry-id', 'last-generated-id'}) do reply[3 + i] = fields[name] end
return reply
