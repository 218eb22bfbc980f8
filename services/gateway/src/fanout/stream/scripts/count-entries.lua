-- Counts a page of entries without sending them anywhere.
-- KEYS[1] stream   ARGV[1] after this id   ARGV[2] up to this id   ARGV[3] page size
-- Reply: how many, the last of them ('' when none)
local found = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], ARGV[2], 'COUNT', ARGV[3])
return {#found, #found > 0 and found[#found][1] or ''}
