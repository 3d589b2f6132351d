---- Read ----------------------------------------------------------------------------------------------------

local function position(meta)
  local m = redis.call('HMGET', meta, 'run', 'gen', 'applied', 'ts')
  if m[1] ~= run_id() then return {'RECOVERING'} end
  return {'OK', m[2], m[3], m[4], int(now_us())}
end

-- keys: meta queries clauses streams declarations      args: (query_id)*
-- Answers the position; for each query itself and its clause, or nothing; record and declaration of each stream
-- that one of them reads.
local function read(k, a)
  local answer = position(k[1])
  if answer[1] ~= 'OK' then return answer end
  local applied, found, streams, seen = tonumber(answer[3]), {}, {}, {}
  for i, query_id in ipairs(a) do
    found[i] = false
    local query = redis.call('HGET', k[2], query_id)
    local seq, clause_id = string.match(query or '', '^(%d+) (%d+) ')
    if seq and tonumber(seq) <= applied then -- one with a later seq is staged, not yet published
      local clause = redis.call('HGET', k[3], clause_id)
      found[i] = {query, clause}
      for stream_id in string.gmatch(string.match(clause, '^(%S+) '), '%d+') do
        if not seen[stream_id] then
          seen[stream_id] = true
          streams[#streams + 1] = redis.call('HGET', k[4], stream_id)
          streams[#streams + 1] = redis.call('HGET', k[5], stream_id)
        end
      end
    end
  end
  answer[6], answer[7] = found, streams
  return answer
end

-- keys: meta (hash)*
-- Answers the position and each hash whole.
local function list(k)
  local answer = position(k[1])
  if answer[1] ~= 'OK' then return answer end
  for i = 2, #k do answer[#answer + 1] = redis.call('HGETALL', k[i]) end
  return answer
end

-- keys: meta streams declarations batches      args: stream_id after
-- Answers the position; the stream's record and declaration, if it is in force; the seqs from past `after` up to the
-- applied one that have a batch of its, each with the record, or nothing where they are more than BATCHES_MAX.
local BATCHES_MAX = 5 * UNPACK_MAX

local function batches(k, a)
  local answer = position(k[1])
  if answer[1] ~= 'OK' then return answer end
  answer[6], answer[7] = redis.call('HGET', k[2], a[1]), redis.call('HGET', k[3], a[1])
  local applied, from, found = tonumber(answer[3]), tonumber(a[2]) + 1, {}
  if applied - from >= BATCHES_MAX then
    answer[8] = false
    return answer
  end
  for first = from, applied, UNPACK_MAX do
    local seqs = {}
    for seq = first, math.min(first + UNPACK_MAX - 1, applied) do seqs[#seqs + 1] = int(seq) end
    for i, record in ipairs(redis.call('HMGET', k[4], unpack(seqs))) do
      if record then
        found[#found + 1] = seqs[i]
        found[#found + 1] = record
      end
    end
  end
  answer[8] = found
  return answer
end

-- keys: meta index queries      args: field id parts
-- Answers the time, and the record of the id, or of the field where that is '', if it is there and its query stands;
-- with `parts` what is known of these.
local function history(k, a)
  local meta = redis.call('HMGET', k[1], 'run', 'gen')
  if meta[1] ~= run_id() then return {'RECOVERING'} end
  local answer = {'OK', int(now_us())}
  local id = a[2] ~= '' and a[2] or redis.call('HGET', k[2], a[1])
  if not id then return answer end
  local record = history_key(k[2], id)
  local found = redis.call('HMGET', record, 'q', 'g', 'x')
  if not found[1] or found[2] ~= meta[2] or tonumber(found[3]) <= tonumber(answer[2])
    or redis.call('HEXISTS', k[3], found[1]) == 0 then
    return answer
  end
  answer[3] = redis.call('HGETALL', record)
  if a[3] == '1' then answer[4] = redis.call('HGETALL', record .. ':p') end
  return answer
end
