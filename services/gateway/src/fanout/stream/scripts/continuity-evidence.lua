-- Tells whether an entry is still in the stream and, when it is gone, what proves or disproves that others went with it.
-- Sent behind every blocking read on the same connection, so it must cost next to nothing while the entry exists.
-- KEYS[1] stream   ARGV[1] id of the last entry that was handled
-- Reply: 1 while it exists, else {entries ever added, length, first id, last id} (zeros and '0-0' without a stream)
local stream, handled_id = KEYS[1], ARGV[1]

if #redis.call('XRANGE', stream, handled_id, handled_id) > 0 then return 1 end
if redis.call('EXISTS', stream) == 0 then return {0, 0, '0-0', '0-0'} end
local info = redis.call('XINFO', 'STREAM', stream)
local fields = {}
for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
return {fields['entries-added'], fields['length'], fields['recorded-first-entry-id'], fields['last-generated-id']}
