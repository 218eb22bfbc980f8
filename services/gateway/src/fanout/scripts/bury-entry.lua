-- Copies a malformed entry aside, once for the whole fleet: whoever sets the claim writes the letter, in the same step, so that a
-- replica that dies in between cannot lose it.
-- KEYS[1] claim   KEYS[2] stream of dead letters
-- ARGV[1] claim's time to live, ms   ARGV[2] most letters to keep   ARGV[3] id of the entry   ARGV[4] reason   ARGV[5] replica
-- ARGV[6] the entry as a JSON object
-- Reply: 1 when this call wrote it, else 0
local claim, letters = KEYS[1], KEYS[2]
local claim_ttl_ms, max_letters, id, reason, replica, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

if not redis.call('SET', claim, replica, 'NX', 'PX', claim_ttl_ms) then return 0 end
local time = redis.call('TIME')
local at_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('XADD', letters, 'MAXLEN', max_letters, '*',
  'id', id, 'reason', reason, 'replica', replica, 'at_ms', at_ms, 'entry', entry)
return 1
