---- Publish -------------------------------------------------------------------------------------------------
-- Writes are a flat list: command, number of the key, count, that many values; again and again.

-- Each writes one field, and answers by how much the seal changes. `named`: it is of the fields alone.
local WRITE = {}

function WRITE.HSET(key, _, field, value)
  local old = redis.call('HGET', key, field)
  redis.call('HSET', key, field, value)
  return item(field, value) - (old and item(field, old) or 0)
end

function WRITE.HSETNX(key, named, field, value)
  assert(not named)
  return redis.call('HSETNX', key, field, value) == 1 and item(field, value) or 0
end

function WRITE.HDEL(key, named, field)
  local old = named and '' or redis.call('HGET', key, field)
  return redis.call('HDEL', key, field) == 1 and -item(field, old) or 0
end

-- Writes fields of hits, and seals their names. Hits are large and come by the hundred: a call for each of them would
-- take the server longer than writing them.
local function write_hits(key, a, first, last)
  for from = first, last, UNPACK_MAX do
    local to, change = math.min(from + UNPACK_MAX - 1, last), 0
    for at = from, to, 2 do
      if redis.call('HEXISTS', key, a[at]) == 0 then change = change + item(a[at], '') end
    end
    redis.call('HSET', key, unpack(a, from, to))
    seal(RESULT_SEALS, key, change)
  end
end

local function write(k, a, i)
  while i <= #a do
    local command, key, count = a[i], k[tonumber(a[i + 1])], tonumber(a[i + 2])
    assert(key)
    if command == 'UNLINK' then
      forget(RESULT_SEALS, key)
    else
      local named, step = string.find(key, HITS) ~= nil, command == 'HDEL' and 1 or 2
      if named and command == 'HSET' then
        write_hits(key, a, i + 3, i + 2 + count)
      else
        for at = i + 3, i + 2 + count, step do
          seal(RESULT_SEALS, key, WRITE[command](key, named, a[at], a[at + 1]))
        end
      end
    end
    i = i + 3 + count
  end
end

-- Tells whether this call may write: nothing if so, else the answer. expect == applied, never >=: a call from an
-- earlier turn can then never apply to a later state.
local function turn(k, a)
  local refused, applied = barred(k[1], a)
  if refused then return refused end
  if applied ~= a[3] then return {'BADSEQ', applied} end
end

local function set_untidy(meta, untidy)
  if untidy == '' then
    redis.call('HDEL', meta, 'untidy')
  else
    redis.call('HSET', meta, 'untidy', untidy)
  end
end

-- keys: meta (key)*      args: epoch nonce applied untidy (write)*
-- Writes what nobody can see at `applied`: parts of the next delta, or the removal of what the last one dropped.
local function stage(k, a)
  local refused = turn(k, a)
  if refused then return refused end
  if a[4] ~= '' then set_untidy(k[1], a[4]) end -- first: a half-done call has to be found
  write(k, a, 5)
  if a[4] == '' then set_untidy(k[1], '') end
  close(k[1], META_FIELDS)
  return {'OK'}
end

-- keys: meta head sizes (key)*      args: epoch nonce expect new ts untidy channel (write)*
-- Who listens on the channel is woken; what is true is in META.
local function publish(k, a)
  local refused = turn(k, a)
  if refused then return refused end
  local head = redis.call('HMGET', k[2], unpack(HEAD_FIELDS))
  if tonumber(a[4]) > tonumber(head[1]) then return {'AHEAD', head[1]} end
  write(k, a, 8)
  local waiting, seqs = tonumber(head[5]), {}
  for seq = tonumber(a[3]) + 1, tonumber(a[4]) do
    seqs[#seqs + 1] = int(seq)
    if #seqs == UNPACK_MAX or seq == tonumber(a[4]) then
      for _, size in ipairs(redis.call('HMGET', k[3], unpack(seqs))) do
        waiting = waiting - tonumber(size or '0')
      end
      seqs = {}
    end
  end
  head[5] = int(waiting)
  redis.call('HSET', k[2], 'waiting', head[5], 'sum', sum_of(head))
  set_untidy(k[1], a[6])
  redis.call('HSET', k[1], 'applied', a[4], 'ts', a[5])
  close(k[1], META_FIELDS)
  redis.call('PUBLISH', a[7], a[4])
  return {'OK'}
end
