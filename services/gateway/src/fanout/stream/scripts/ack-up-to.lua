-- Acknowledges a page of a group's pending entries, whoever reads them.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] up to this id   ARGV[3] page size, at most 1000
-- Reply: how many were acknowledged
local stream, group, up_to_id, page = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local ids = {}
for _, entry in ipairs(redis.call('XPENDING', stream, group, '-', up_to_id, page)) do ids[#ids + 1] = entry[1] end
if #ids == 0 then return 0 end
return redis.call('XACK', stream, group, unpack(ids))
