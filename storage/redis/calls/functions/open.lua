---- Open ----------------------------------------------------------------------------------------------------

-- keys: meta head      args: fmt cluster gen library durability page_key
-- Nobody has the store yet: the first engine acquires epoch 1, and no nonce is '-'.
local function init(k, a)
  if redis.call('EXISTS', k[1], k[2]) ~= 0 then return {'EXISTS'} end
  redis.call('HSET', k[2], 'seq', '0', 'ts', '0', 'tuple_id', '1', 'bytes', '0', 'waiting', '0', 'controls_from', '1',
    'staged', '0', 'parts_from', '1', 'parts_past', '1')
  redis.call('HSET', k[1], 'fmt', a[1], 'cluster', a[2], 'gen', a[3], 'library', a[4], 'applied', '0', 'ts', '0',
    'run', run_id(), 'durability', a[5], 'page_key', a[6], 'epoch', '0', 'nonce', '-', 'owner', '',
    'lease_from', '0', 'lease_until', '0')
  close(k[1], META_FIELDS)
  close(k[2], HEAD_FIELDS)
  return {'OK'}
end

-- keys: meta      args: epoch nonce gen
-- The generation that psoup_open is going to begin. It is on disk before anybody is told of it: at everysec, with the
-- clock set back as well, another one could have the same number.
local function reserve(k, a)
  local refused = fenced(k[1], a)
  if refused then return refused end
  redis.call('HSET', k[1], 'gen', a[3])
  close(k[1], META_FIELDS)
  return {'OK'}
end

-- keys: meta head log      args: epoch nonce head_seq gen library durability (lost_first lost_last)
-- The engine has compared the log up to head_seq with what it knows: appends, publishes and reads may go on. What it found
-- lost stays in META: first and last seq, when, how many operations were lost in all, and the generation that begins.
local function open(k, a)
  local refused = fenced(k[1], a)
  if refused then return refused end
  local seq = redis.call('HGET', k[2], 'seq')
  if seq ~= a[3] then return {'BADSEQ', seq} end
  if seq ~= '0' then
    local stream = redis.call('XINFO', 'STREAM', k[3])
    for i = 1, #stream, 2 do
      if stream[i] == 'last-generated-id' and stream[i + 1] ~= seq .. '-0' then return {'TORN', stream[i + 1]} end
    end
  end
  if a[7] then
    local before = string.match(redis.call('HGET', k[1], 'lost') or '0 0 0 0', '^%d+ %d+ %d+ (%d+)')
    local total = int(tonumber(before) + tonumber(a[8]) - tonumber(a[7]) + 1)
    redis.call('HSET', k[1], 'lost', table.concat({a[7], a[8], int(now_us()), total, a[4]}, ' '))
  end
  redis.call('HDEL', k[1], 'settings')
  redis.call('HSET', k[1], 'gen', a[4], 'library', a[5], 'durability', a[6], 'run', run_id())
  close(k[1], META_FIELDS)
  return {'OK'}
end

-- keys: meta (key)*      args: epoch nonce layout (number of the key, field, value)*
-- A store of an earlier layout is given checksums (storage/redis/upgrade.py).
local function upgrade(k, a)
  local refused = fenced(k[1], a)
  if refused then return refused end
  assert(redis.call('HGET', k[1], 'fmt') == a[3])
  for i = 4, #a, 3 do redis.call('HSET', k[tonumber(a[i])], a[i + 1], a[i + 2]) end
  return {'OK'}
end

-- keys: meta head
-- Answers whatever there is, verified or not.
local function state(k)
  local head = redis.call('HMGET', k[2], 'seq', 'waiting')
  local meta = redis.call('HMGET', k[1], 'fmt', 'cluster', 'gen', 'applied', 'run', 'library', 'durability',
    'lease_from', 'lease_until')
  return {run_id(), int(now_us()), head[1], head[2], unpack(meta, 1, 9)}
end
