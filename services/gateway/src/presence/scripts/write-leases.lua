-- Writes what one holder wants for a chunk of users: a lease for those who are here, the rest of the grace for those who left.
-- Guarantees: a user's score in presence.online is the latest lease of all holders; becoming a member of it is published in the same
-- step, so that "online" is announced once, whoever connects where; a user whom Redis forgot is taken back without a word; a write that
-- its caller has given up is not done late.
-- KEYS[1] presence.online   KEYS[2] presence.last_seen   KEYS[3...] presence:<user>, in the order of ARGV
-- ARGV[1] holder   ARGV[2] lease, ms   ARGV[3] grace, ms   ARGV[4] how long a user's key outlives the last lease, ms
-- ARGV[5] Redis time after which nothing may be written, Unix ms (0: no limit)   ARGV[6] channel of the transitions
-- then per user: id, ms since the last activity, ms since the last close (-1: still here), the last activity that this holder knows to
-- be written (Unix ms, Redis time; 0: none)
-- Reply: { now (Unix ms), per user 0 (the lease is over) | 1 (held) | 2 (held, online published) | 3 (held again after a loss) };
-- { now } alone when it is too late.
local online, last_seen = KEYS[1], KEYS[2]
local holder, lease_ms, grace_ms, outlive_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local not_after_ms, channel = tonumber(ARGV[5]), ARGV[6]

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
if not_after_ms > 0 and now_ms > not_after_ms then return { now_ms } end

-- The key is ours by name: what else was put there gives way, instead of failing the whole chunk for ever.
local function change(key, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply.err) end
  redis.call('DEL', key)
  redis.call(...)
end

local function latest_lease(key)
  return redis.call('ZRANGE', key, 0, 0, 'REV', 'WITHSCORES')[2]
end

-- Forgotten by Redis, or published offline in the meantime? Whoever was swept still has the activity that was confirmed; after a loss it
-- is gone, or older.
local function was_lost(user, confirmed_ms)
  if confirmed_ms == 0 then return false end
  local seen_ms = redis.call('ZSCORE', last_seen, user)
  return not seen_ms or tonumber(seen_ms) < confirmed_ms
end

local function write(key, user, active_ms, expiry_ms, confirmed_ms)
  if expiry_ms <= now_ms then
    -- Nothing to hold. A score that promised more is corrected; the sweep says offline.
    change(key, 'ZREM', key, holder)
    redis.call('ZADD', online, 'XX', latest_lease(key) or expiry_ms, user)
    redis.call('ZADD', last_seen, 'GT', active_ms, user)
    return 0
  end
  change(key, 'ZADD', key, expiry_ms, holder)
  -- Leases that ended with their holders; else every restart of a replica would leave a member behind.
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now_ms)
  local latest_ms = latest_lease(key)
  redis.call('PEXPIREAT', key, tonumber(latest_ms) + outlive_ms)
  local outcome = 1
  if redis.call('ZADD', online, latest_ms, user) == 1 then
    if was_lost(user, confirmed_ms) then
      outcome = 3
    else
      outcome = 2
      redis.call('PUBLISH', channel, string.format('{"user_id":%s,"status":"online","at_ms":%.0f}', cjson.encode(user), now_ms))
    end
  end
  redis.call('ZADD', last_seen, 'GT', active_ms, user)
  return outcome
end

local reply = { now_ms }
for i = 3, #KEYS do
  local at = 7 + (i - 3) * 4
  local active_ms = now_ms - tonumber(ARGV[at + 1])
  local left_ms = tonumber(ARGV[at + 2])
  local expiry_ms = active_ms + lease_ms
  if left_ms >= 0 then expiry_ms = math.min(expiry_ms, now_ms - left_ms + grace_ms) end
  reply[#reply + 1] = write(KEYS[i], ARGV[at], active_ms, expiry_ms, tonumber(ARGV[at + 3]))
end
return reply
