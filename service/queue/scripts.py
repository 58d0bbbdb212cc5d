"""What Redis does in one step: each script judges a lease by the group's own list of what is pending, and acts on it.

A task is an entry of its pool's stream with the fields `task`, `reply` (key of its submitter's results) and
`evaluation_id`. XPENDING and XCLAIM do what XAUTOCLAIM does, and tell the number of deliveries as well. Time is the
server's throughout. Cancelled tasks are deleted from the stream at once, and stay pending with who works at them.
"""

_HELD = """
local function held(stream, group, id, consumer, delivery)
  local found = redis.pcall('XPENDING', stream, group, id, id, 1)
  return not found.err and #found == 1 and found[1][2] == consumer and found[1][4] == tonumber(delivery)
end
local function answer(fields, evaluation, milliseconds)
  local named = {}
  for at = 1, #fields, 2 do named[fields[at]] = fields[at + 1] end
  if not named.reply or not named.evaluation_id then return end
  redis.call('XADD', named.reply, 'MAXLEN', '~', 10000, '*',
    'evaluation_id', named.evaluation_id, 'evaluation', evaluation)
  redis.call('PEXPIRE', named.reply, milliseconds)
end
local function remove(stream, group, id)
  redis.call('XACK', stream, group, id)
  redis.call('XDEL', stream, id)
end
"""

# The id that a group has handed out last, and for how many milliseconds the first entry behind it has waited.
_BACKLOG = """
local function backlog(stream, group)
  local groups, last = redis.pcall('XINFO', 'GROUPS', stream), '0-0'
  if groups.err then return {last, 0} end
  for _, flat in ipairs(groups) do
    local named = {}
    for at = 1, #flat, 2 do named[flat[at]] = flat[at + 1] end
    if named.name == group then last = named['last-delivered-id'] end
  end
  local first = redis.call('XRANGE', stream, '(' .. last, '+', 'COUNT', 1)
  if #first == 0 then return {last, 0} end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  return {last, math.max(0, now - string.match(first[1][1], '^%d+'))}
end
"""

# KEYS bundle, stream, pools; ARGV milliseconds, pool, task, reply, evaluation id, group, content: no task without its
# bundle. Its entry, and the backlog that it came to.
ADD = (
    _BACKLOG
    + """
if ARGV[7] then
  redis.call('SET', KEYS[1], ARGV[7], 'PX', ARGV[1])
elseif redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then
  return false
end
redis.call('SADD', KEYS[3], ARGV[2])
local before = backlog(KEYS[2], ARGV[6])
local entry = redis.call('XADD', KEYS[2], '*', 'task', ARGV[3], 'reply', ARGV[4], 'evaluation_id', ARGV[5])
return {entry, before[1], before[2]}
"""
)

# KEYS stream, cancellation; ARGV group, id, consumer, delivery
RENEW = (
    _HELD
    + """
if not held(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then return 'lost' end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'cancelled' end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[2], 'JUSTID')
return 'held'
"""
)

# KEYS stream; ARGV group, id, consumer, delivery, evaluation, milliseconds
COMPLETE = (
    _HELD
    + """
if not held(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then return 0 end
local entry = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])
if #entry == 1 then answer(entry[1][2], ARGV[5], ARGV[6]) end
remove(KEYS[1], ARGV[1], ARGV[2])
return 1
"""
)

# KEYS stream; ARGV group, id, consumer, delivery: its submitter sends a task again that is nowhere
RELEASE = (
    _HELD
    + """
if not held(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then return 0 end
remove(KEYS[1], ARGV[1], ARGV[2])
return 1
"""
)

# KEYS stream, dead letters, look; ARGV group, consumer, lease milliseconds, deliveries, evaluation, milliseconds, pause
# The list of what is pending is as long as the fleet is large: it is looked through once a pause, and on while there is
# something. A Redis that is full cannot note the look, and looks each time.
LEASE = (
    _HELD
    + """
local function lapsed()
  if not redis.pcall('SET', KEYS[3], 1, 'NX', 'PX', ARGV[7]) then return false end
  while true do
    local found = redis.pcall('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], '-', '+', 1)
    if found.err or #found == 0 then return false end
    local id, delivery = found[1][1], found[1][4]
    local entry = redis.call('XRANGE', KEYS[1], id, id)
    if #entry == 0 then
      redis.call('XACK', KEYS[1], ARGV[1], id)
    elseif delivery >= tonumber(ARGV[4]) then
      redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', unpack(entry[1][2]))
      answer(entry[1][2], ARGV[5], ARGV[6])
      remove(KEYS[1], ARGV[1], id)
    else
      local claimed = redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id)
      redis.call('DEL', KEYS[3])
      return {id, claimed[1][2], delivery + 1}
    end
  end
end
local function fresh()
  local read = redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', 1, 'STREAMS', KEYS[1], '>')
  if not read or read.err then return false end
  local entry = read[1][2][1]
  return {entry[1], entry[2], 1}
end
local found = lapsed() or fresh()
if found then
  local time = redis.call('TIME')
  found[4], found[5] = time[1], time[2]
end
return found
"""
)

# KEYS stream; ARGV ids: positions of those that are not in it
MISSING = """
local missing = {}
for position, id in ipairs(ARGV) do
  if #redis.call('XRANGE', KEYS[1], id, id) == 0 then missing[#missing + 1] = position end
end
return missing
"""

# KEYS stream, dead letters; ARGV group, id, evaluation, milliseconds
BURY = (
    _HELD
    + """
local entry = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])
if #entry == 1 then
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', unpack(entry[1][2]))
  answer(entry[1][2], ARGV[3], ARGV[4])
end
remove(KEYS[1], ARGV[1], ARGV[2])
"""
)

# A worker as the others count it: its slots in a hash, whose field '' is their sum, and the end of its last word in a
# sorted set. Adding them up anew would be work for each submitter that grows with the fleet.
_COUNTED = """
local function milliseconds()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function count(slots, id, now)
  local before = redis.call('HGET', slots, id) or 0
  if now == nil then redis.call('HDEL', slots, id) else redis.call('HSET', slots, id, now) end
  if (now or 0) - before ~= 0 then redis.call('HINCRBY', slots, '', (now or 0) - before) end
end
"""

# KEYS claims, wants, workers, slots, ends, stream; ARGV submitter, wanted, milliseconds, group: the slots of the
# workers that live, how many workers are in no sum (of an earlier version), what each submitter wants whose word is
# not too old, and the backlog of the pool
SHARE = (
    _COUNTED
    + _BACKLOG
    + """
local now = milliseconds()
for _, silent in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])) do
  redis.call('ZREM', KEYS[1], silent)
  redis.call('HDEL', KEYS[2], silent)
end
if tonumber(ARGV[2]) > 0 then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
end
for _, silent in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now)) do
  redis.call('ZREM', KEYS[5], silent)
  redis.call('SREM', KEYS[3], silent)
  count(KEYS[4], silent, nil)
end
local uncounted = redis.call('SCARD', KEYS[3]) - redis.call('ZCARD', KEYS[5])
return {tonumber(redis.call('HGET', KEYS[4], '') or 0), uncounted, redis.call('HGETALL', KEYS[2]),
  unpack(backlog(KEYS[6], ARGV[4]))}
"""
)

# KEYS pools, workers, worker, drain, slots, ends, stream, sweep; ARGV pool, worker id, word, milliseconds, slots,
# group, milliseconds to forget, beginning of the keys of workers: note a worker's word; whether it was told to drain.
# Once in that time, by whichever worker comes first, consumers are forgotten who died and left nothing.
HEARTBEAT = (
    _COUNTED
    + """
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('SADD', KEYS[2], ARGV[2])
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
redis.call('ZADD', KEYS[6], milliseconds() + ARGV[4], ARGV[2])
count(KEYS[5], ARGV[2], tonumber(ARGV[5]))
local function sweep()
  local found = redis.pcall('XINFO', 'CONSUMERS', KEYS[7], ARGV[6])
  if found.err then return end
  for _, flat in ipairs(found) do
    local consumer = {}
    for at = 1, #flat, 2 do consumer[flat[at]] = flat[at + 1] end
    local silent = consumer.idle >= tonumber(ARGV[7]) and redis.call('EXISTS', ARGV[8] .. consumer.name) == 0
    if silent and consumer.pending == 0 then
      redis.call('XGROUP', 'DELCONSUMER', KEYS[7], ARGV[6], consumer.name)
    end
  end
end
if tonumber(ARGV[7]) == 0 or redis.call('SET', KEYS[8], 1, 'NX', 'PX', ARGV[7]) then sweep() end
return redis.call('EXISTS', KEYS[4])
"""
)

# KEYS stream, workers, worker, drain, slots, ends; ARGV group, consumer: forget a worker; as a consumer, unless
# something is left with it that another must take over
LEAVE = (
    _COUNTED
    + """
redis.call('DEL', KEYS[3], KEYS[4])
redis.call('SREM', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[6], ARGV[2])
count(KEYS[5], ARGV[2], nil)
local found = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if not found.err and #found == 0 then redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
"""
)
