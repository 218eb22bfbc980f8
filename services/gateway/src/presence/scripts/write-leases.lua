-- Writes what one holder wants for a chunk of users: a lease for those who are here, the rest of the grace for those who left.
-- Guarantees: a user's score in presence.online is the latest lease of all holders; becoming a member of it is published in the same
-- step, so that "online" is announced once, whoever connects where; a user whom Redis forgot is taken back without a word; a write that
-- its caller has given up is not done late.
-- KEYS[1] presence.online   KEYS[2] presence.last_seen   KEYS[3...] presence:<user>, in the order of ARGV; no user twice
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

-- What all users share is read once before and written once after: half of the time of a script is in its calls.
local users = {}
for at = 7, #ARGV, 4 do users[#users + 1] = ARGV[at] end
local was_online = redis.call('ZMSCORE', online, unpack(users))
local online_from_now, seen = {}, {}

local function latest_lease(key)
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'REV', 'WITHSCORES')[2] or nil)
end

-- Writes the holder's lease and returns the latest of all.
local function hold(key, expiry_ms)
  on_own_key(key, 'ZADD', key, expiry_ms, holder)
  if redis.call('ZCARD', key) == 1 then return expiry_ms end
  -- Leases that ended with their holders; else every restart of a replica would leave a member behind.
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now_ms)
  return latest_lease(key)
end

-- Forgotten by Redis, or published offline in the meantime? Whoever was swept still has the activity that was confirmed; after a loss it
-- is gone, or older.
local function was_lost(user, confirmed_ms)
  if confirmed_ms == 0 then return false end
  local seen_ms = redis.call('ZSCORE', last_seen, user)
  return not seen_ms or tonumber(seen_ms) < confirmed_ms
end

-- Nothing to hold. A score that promised more is corrected; the sweep says offline.
local function let_go(key, user, expiry_ms)
  on_own_key(key, 'ZREM', key, holder)
  redis.call('ZADD', online, 'XX', latest_lease(key) or expiry_ms, user)
  return 0
end

local function write(key, i, expiry_ms, confirmed_ms)
  local user = users[i]
  if expiry_ms <= now_ms then return let_go(key, user, expiry_ms) end
  local latest_ms = hold(key, expiry_ms)
  redis.call('PEXPIREAT', key, latest_ms + outlive_ms)
  online_from_now[#online_from_now + 1] = latest_ms
  online_from_now[#online_from_now + 1] = user
  if was_online[i] then return 1 end
  if was_lost(user, confirmed_ms) then return 3 end
  redis.call('PUBLISH', channel, string.format('{"user_id":%s,"status":"online","at_ms":%.0f}', cjson.encode(user), now_ms))
  return 2
end

local reply = { now_ms }
for i, user in ipairs(users) do
  local at = 3 + i * 4
  local active_ms = now_ms - tonumber(ARGV[at + 1])
  local left_ms = tonumber(ARGV[at + 2])
  local expiry_ms = active_ms + lease_ms
  if left_ms >= 0 then expiry_ms = math.min(expiry_ms, now_ms - left_ms + grace_ms) end
  reply[#reply + 1] = write(KEYS[i + 2], i, expiry_ms, tonumber(ARGV[at + 3]))
  seen[#seen + 1] = active_ms
  seen[#seen + 1] = user
end
if #online_from_now > 0 then redis.call('ZADD', online, unpack(online_from_now)) end
redis.call('ZADD', last_seen, 'GT', unpack(seen))
return reply
