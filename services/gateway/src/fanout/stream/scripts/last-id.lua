-- KEYS[1] stream
-- Reply: the stream's last id, '0-0' without a stream
local stream = KEYS[1]

if redis.call('EXISTS', stream) == 0 then return '0-0' end
local info = redis.call('XINFO', 'STREAM', stream)
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then return info[i + 1] end
end
