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

# KEYS bundle, stream, pools; ARGV milliseconds, pool, task, reply, evaluation id, content: no task without its bundle
ADD = """
if ARGV[6] then
  redis.call('SET', KEYS[1], ARGV[6], 'PX', ARGV[1])
elseif redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then
  return false
end
redis.call('SADD', KEYS[3], ARGV[2])
return redis.call('XADD', KEYS[2], '*', 'task', ARGV[3], 'reply', ARGV[4], 'evaluation_id', ARGV[5])
"""

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

# KEYS stream, dead letters; ARGV group, consumer, lease milliseconds, deliveries, evaluation, milliseconds
TAKE_OVER = (
    _HELD
    + """
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
    return {id, claimed[1][2], delivery + 1}
  end
end
"""
)

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

# KEYS claims, wants; ARGV submitter, wanted, milliseconds: what each submitter wants whose word is not too old
SHARE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
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
return redis.call('HGETALL', KEYS[2])
"""

# KEYS stream; ARGV group, milliseconds, beginning of the keys of workers: forget who died and left nothing
SWEEP = """
local found = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if found.err then return 0 end
local swept = 0
for _, flat in ipairs(found) do
  local consumer = {}
  for at = 1, #flat, 2 do consumer[flat[at]] = flat[at + 1] end
  local silent = consumer.idle >= tonumber(ARGV[2]) and redis.call('EXISTS', ARGV[3] .. consumer.name) == 0
  if silent and consumer.pending == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    swept = swept + 1
  end
end
return swept
"""

# KEYS stream; ARGV group, consumer: forget a worker, unless something is left with it that another must take over
LEAVE = """
local found = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if not found.err and #found == 0 then redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
"""
