---- Seals ---------------------------------------------------------------------------------------------------
-- What is kept is checked when it is read again (storage/encoding/checksums.py, storage/redis/fsck/seals.py). Two things are kept for that here.
-- A hash has a seal: the sum of one number for each of its fields, so that a change of one field changes it by two
-- numbers. The number is of field and value; where a value has a checksum of its own and is large, of the field alone. A
-- record, whose fields are few and known, has a sum of all their values in its field `sum`. The seals of what only the
-- engine writes lie apart, because API workers may not write there.
-- A call adds up by how much the seal of each hash changes, and writes each seal once, at its end: also where it fails
-- half-way, so that no seal is out of step with what was written.

local LOG_SEALS, RESULT_SEALS, HITS = '{ps}:log:v', '{ps}:v', '^{ps}:[rbj]:'
local HEAD_FIELDS = {'seq', 'ts', 'tuple_id', 'bytes', 'waiting', 'controls_from', 'staged', 'parts_from', 'parts_past'}
local META_FIELDS = {'fmt', 'cluster', 'gen', 'applied', 'ts', 'untidy', 'page_key', 'lost'}
local PART_FIELDS = {'n', 's', 'm', 'r', 'd', 'x', 'z', 'v', 'c'}
local HISTORY_FIELDS = {'j', 'f', 'q', 'g', 'a', 'x', 's', 'w', 'c', 'v', 'd', 'o', 'n', 'z', 'e', 'm', 'i', 'l'}

-- Answers the sum of a record's values, false where there is none.
local function sum_of(values)
  for i = 1, #values do values[i] = values[i] or '' end
  return string.sub(redis.sha1hex(table.concat(values, '\0')), 1, 16)
end

local function close(key, fields)
  redis.call('HSET', key, 'sum', sum_of(redis.call('HMGET', key, unpack(fields))))
end

local function item(field, value)
  return tonumber(string.sub(redis.sha1hex(field .. '\0' .. value), 1, 8), 16)
end

-- By hash of seals and key: by how much the seals change in this call.
local changes = {}

local function seal(seals, key, change)
  local of_hash = changes[seals]
  if not of_hash then
    of_hash = {}
    changes[seals] = of_hash
  end
  of_hash[key] = (of_hash[key] or 0) + change
end

local function write_seals()
  for seals, of_hash in pairs(changes) do
    for key, change in pairs(of_hash) do
      if change ~= 0 and redis.call('HINCRBY', seals, key, int(change)) == 0 then redis.call('HDEL', seals, key) end
    end
  end
end

-- Answers what a Function registers: `callback`, and behind it the seals of what it has written.
local function sealing(callback)
  return function(k, a)
    changes = {}
    local done, answer = pcall(callback, k, a)
    write_seals()
    if not done then error(answer, 0) end
    return answer
  end
end

-- Writes a field of a sealed hash, which has `old` there; without `old` it has not got the field.
local function replace(key, field, value, old)
  redis.call('HSET', key, field, value)
  seal(LOG_SEALS, key, item(field, value) - (old and item(field, old) or 0))
end

local function put(key, field, value)
  replace(key, field, value, redis.call('HGET', key, field))
end

local function add(key, field, number)
  local old = redis.call('HGET', key, field)
  replace(key, field, int(tonumber(old or '0') + number), old)
end

-- Removes a field of a sealed hash.
local function take(key, field)
  local old = redis.call('HGET', key, field)
  if not old then return end
  redis.call('HDEL', key, field)
  seal(LOG_SEALS, key, -item(field, old))
end

-- Removes a sealed hash.
local function forget(seals, key)
  redis.call('UNLINK', key)
  redis.call('HDEL', seals, key)
  if changes[seals] then changes[seals][key] = nil end
end
