-- Reports where the stream and one of its groups stand, all of the same moment. Changes nothing.
-- KEYS[1] stream   ARGV[1] group
-- Reply: entries ever added, length, first id, last id (zeros and '0-0' without a stream), 1 when there is a stream,
--        the group's last delivered id ('' without a group), entries read by it (-1: Redis does not know),
--        how many are pending, the lowest pending id ('' when none), Redis time in ms
local stream, group = KEYS[1], ARGV[1]

local function pairs_of(reply)
  local fields = {}
  for i = 1, #reply, 2 do fields[reply[i]] = reply[i + 1] end
  return fields
end

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('EXISTS', stream) == 0 then return {0, 0, '0-0', '0-0', 0, '', -1, 0, '', now_ms} end

local info = pairs_of(redis.call('XINFO', 'STREAM', stream))
local delivered_id, entries_read, pending, first_pending = '', -1, 0, ''
for _, row in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local fields = pairs_of(row)
  if fields['name'] == group then
    delivered_id = fields['last-delivered-id']
    entries_read = fields['entries-read'] or -1
    local summary = redis.call('XPENDING', stream, group)
    pending, first_pending = summary[1], summary[2] or ''
  end
end
return {
  info['entries-added'], info['length'], info['recorded-first-entry-id'], info['last-generated-id'], 1,
  delivered_id, entries_read, pending, first_pending, now_ms,
}
