-- Gives the right to sweep to one caller of the fleet at a time, and the users whose last lease is over.
-- Guarantees: nobody else sweeps within the claim; after a silence (Redis or the whole fleet stood still) there is a hold first, in which
-- the living renew their leases, so that the return is no storm of false offlines.
-- KEYS[1] presence.online   KEYS[2] presence.last_seen   KEYS[3] presence.swept_at
-- ARGV[1] claim, ms   ARGV[2] silence after which a hold is due, ms   ARGV[3] hold, ms   ARGV[4] most users of one reply
-- ARGV[5] how long a last activity is remembered, ms
-- Reply: { now (Unix ms), swept_at before (Unix ms, -1: none), swept_at after, members of presence.online, the users… };
-- no users while somebody else has the claim, and during a hold.
local online, last_seen, swept_at = KEYS[1], KEYS[2], KEYS[3]
local claim_ms, silence_ms, hold_ms, max_users = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local remember_ms = tonumber(ARGV[5])
local most_forgotten = 1000 -- at once, so that a long silence does not end with a long script

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local count = redis.call('ZCARD', online)
local before_ms = tonumber(redis.call('GET', swept_at) or nil)

local function set(after_ms)
  redis.call('SET', swept_at, string.format('%.0f', after_ms))
  return { now_ms, before_ms or -1, after_ms, count }
end

-- A hold is a sweep that is noted ahead of time. One that is further ahead than a hold can be was written by another clock.
local is_silence = not before_ms or now_ms - before_ms > silence_ms or before_ms - now_ms > hold_ms
if is_silence and count > 0 then return set(now_ms + hold_ms) end
if not is_silence and now_ms - before_ms < claim_ms then return { now_ms, before_ms, before_ms, count } end

local reply = set(now_ms)
for _, user in ipairs(redis.call('ZRANGE', online, '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, max_users)) do reply[#reply + 1] = user end
local forgotten = redis.call('ZRANGE', last_seen, '-inf', now_ms - remember_ms, 'BYSCORE', 'LIMIT', 0, most_forgotten)
if #forgotten > 0 then redis.call('ZREM', last_seen, unpack(forgotten)) end
return reply
