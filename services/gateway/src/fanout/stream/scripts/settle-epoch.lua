-- Compares the Redis that we are connected to with the one that the fleet knew. When it is another one (restarted, promoted), or the
-- same one has lost the epoch, entries may have been lost that somebody has read: then a barrier is raised above everything that any
-- client can hold, and the stream's last id is moved up to it, so that whatever is added next lies above. Every replica that notices
-- raises the barrier by what it has handled itself.
-- KEYS[1] epoch hash   KEYS[2] stream
-- ARGV[1] epoch id that the caller knows ('' none yet)   ARGV[2] barrier that it knows ('' none)   ARGV[3] last id that it handled ('' none)
-- ARGV[4] a new epoch id, in case one is needed   ARGV[5] the caller's group, made when the stream has to be
-- Reply: 'same' | 'new' (the fleet's first epoch) | 'lost', epoch id, barrier,
--        entries added to the stream up to the barrier (-1: nothing has been lost yet, nobody's position moves there),
--        floor (see raise-floor.lua; '0-0' when none)
local epoch, stream = KEYS[1], KEYS[2]
local known_id, known_barrier, handled_id, new_id, group = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local function below(a, b)
  if b == '' then return false end
  if a == '' then return true end
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return #a_ms < #b_ms or (#a_ms == #b_ms and a_ms < b_ms) end
  return #a_seq < #b_seq or (#a_seq == #b_seq and a_seq < b_seq)
end

local function highest(...)
  local top = '0-0'
  for _, id in ipairs({...}) do
    if below(top, id) then top = id end
  end
  return top
end

-- Decimal text less one; a number would lose digits above 2^53.
local function less_one(digits)
  local head, tail = string.match(digits, '^(%d-)([1-9]0*)$')
  local zeros = string.rep('9', #tail - 1)
  local text = head .. tostring(tonumber(string.sub(tail, 1, 1)) - 1) .. zeros
  text = string.gsub(text, '^0+', '')
  return text == '' and '0' or text
end

local function before(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  if seq ~= '0' then return ms .. '-' .. less_one(seq) end
  return less_one(ms) .. '-18446744073709551615'
end

local function inspect()
  local fields = {['entries-added'] = 0, ['length'] = 0, ['last-generated-id'] = '0-0'}
  if redis.call('EXISTS', stream) == 1 then
    local info = redis.call('XINFO', 'STREAM', stream)
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
  end
  return fields
end

local time = redis.call('TIME')
local now_id = string.format('%.0f-0', time[1] * 1000 + math.floor(time[2] / 1000))
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local stored = redis.call('HMGET', epoch, 'run_id', 'id', 'barrier', 'entries', 'floor')
local stored_run_id, stored_id, stored_barrier = stored[1] or '', stored[2] or '', stored[3] or ''
local stored_entries, floor = tonumber(stored[4] or '0'), stored[5] or '0-0'

local function store(outcome, id, barrier, entries)
  redis.call('HSET', epoch, 'run_id', run_id, 'id', id, 'barrier', barrier, 'entries', entries)
  return {outcome, id, barrier, entries, floor}
end

local function raise(id, barrier)
  local info = inspect()
  if below(info['last-generated-id'], barrier) then
    -- XSETID needs a stream; a group is the one thing that makes an empty one.
    if redis.call('EXISTS', stream) == 0 then redis.call('XGROUP', 'CREATE', stream, group, barrier, 'MKSTREAM', 'ENTRIESREAD', 0) end
    redis.call('XSETID', stream, barrier)
  end
  return store('lost', id, barrier, info['entries-added'])
end

if stored_id == '' and known_id == '' then
  -- Nobody has read this stream yet. A cursor that someone still has can only be good from where the stream now begins.
  local info = inspect()
  local barrier = now_id
  if info['length'] > 0 then barrier = before(info['recorded-first-entry-id'])
  elseif info['last-generated-id'] ~= '0-0' then barrier = info['last-generated-id'] end
  return store('new', new_id, barrier, -1)
end

local is_other_redis = stored_run_id ~= run_id
-- The epoch that we know was itself among what was lost.
local has_forgotten = known_id ~= '' and below(stored_barrier, known_barrier)
if is_other_redis or has_forgotten then
  return raise(new_id, highest(inspect()['last-generated-id'], now_id, handled_id, known_barrier, stored_barrier))
end
if known_id ~= '' and known_id ~= stored_id then
  if below(stored_barrier, handled_id) then
    -- We have read beyond the barrier. What was added since lies beyond it too and cannot be told from what was lost: above both.
    return raise(stored_id, highest(inspect()['last-generated-id'], handled_id))
  end
  return {'lost', stored_id, stored_barrier, stored_entries, floor}
end
if known_id ~= '' and below(known_barrier, stored_barrier) then
  -- Someone who came later had read beyond the barrier, from a Redis that went on after we had left it: we cannot know what is there.
  return {'lost', stored_id, stored_barrier, stored_entries, floor}
end
return {'same', stored_id, stored_barrier, stored_entries, floor}
