---- Histories: begin, claim, parts, end -----------------------------------------------------------------------
-- Each begins with keys index queries, and args meta.

-- Whether the engine has looked at this life of the server; what is to go has gone then.
local function histories_open(k, a)
  local meta = redis.call('HMGET', a[1], 'run', 'gen')
  if meta[1] ~= run_id() then return end
  sweep_histories(k[1], k[2], meta[2])
  return meta[2]
end

local function shown_history(record)
  return {'OK', int(now_us()), redis.call('HGETALL', record)}
end

-- Tells whether the worker may change this record: nothing if so, else the answer.
local function not_claimed(record, worker)
  local found = redis.call('HMGET', record, 's', 'w')
  if not found[1] then return {'UNKNOWN'} end
  if found[1] ~= 'running' or found[2] ~= worker then return {'TAKEN'} end
end

-- keys: index queries record      args: meta id field asked query_id gen replaces life_us count_max
-- Answers the one there is of this field, unless it is the one to be replaced.
local function history_begin(k, a)
  local gen = histories_open(k, a)
  if not gen or gen ~= a[6] then return {'RECOVERING'} end
  local known = redis.call('HGET', k[1], a[3])
  if known and known ~= a[7] then return shown_history(history_key(k[1], known)) end
  if redis.call('HEXISTS', k[2], a[5]) == 0 then return {'NOQUERY'} end
  if known then
    forget_history(k[1], a[3], known)
  elseif redis.call('HLEN', k[1]) >= tonumber(a[9]) then
    return {'FULL'}
  end
  local now = now_us()
  redis.call('HSET', k[3], 'j', a[4], 'f', a[3], 'q', a[5], 'g', gen, 'a', int(now), 's', 'queued',
    'x', int(now + tonumber(a[8])), 'w', '', 'c', '', 'v', '0', 'd', '0', 'o', '', 'n', '0', 'z', '0')
  close(k[3], HISTORY_FIELDS)
  put(k[1], a[3], a[2])
  return shown_history(k[3])
end

-- keys: index queries record bodies parts      args: meta worker done of claim_us life_us
local function history_claim(k, a)
  if not histories_open(k, a) then return {'RECOVERING'} end
  local found, now = redis.call('HMGET', k[3], 's', 'w', 'c'), now_us()
  if not found[1] then return {'UNKNOWN'} end
  local own = found[1] == 'running' and found[2] == a[2]
  local free = found[1] == 'queued' or (found[1] == 'running' and tonumber(found[3]) <= now)
  if not own and not free then return {'TAKEN'} end
  if not own then
    forget_parts(k[3])
    redis.call('HINCRBY', k[3], 'v', 1)
    redis.call('HSET', k[3], 'n', '0', 'z', '0')
  end
  redis.call('HSET', k[3], 's', 'running', 'w', a[2], 'c', int(now + tonumber(a[5])), 'x', int(now + tonumber(a[6])),
    'd', a[3], 'o', a[4])
  close(k[3], HISTORY_FIELDS)
  return shown_history(k[3])
end

-- keys: index queries record bodies parts
-- args: meta worker number rows places body claim_us life_us rows_max bytes_max all_bytes_max
-- `places` end with the sum of the body.
local function history_put(k, a)
  if not histories_open(k, a) then return {'RECOVERING'} end
  if redis.call('HGET', a[1], 'full') then return {'DISK'} end
  local refused = not_claimed(k[3], a[2])
  if refused then return refused end
  local rows, bytes = string.match(redis.call('HGET', k[5], a[3]) or '0 0', '^(%d+) (%d+)')
  local sums = redis.call('HMGET', k[3], 'n', 'z')
  local more = #a[6] - tonumber(bytes)
  rows, bytes = tonumber(sums[1]) - tonumber(rows) + tonumber(a[4]), tonumber(sums[2]) + more
  if rows > tonumber(a[9]) then return {'LONG'} end
  if bytes > tonumber(a[10]) then return {'LARGE'} end
  for _, id in ipairs(redis.call('HVALS', k[1])) do
    more = more + tonumber(redis.call('HGET', history_key(k[1], id), 'z'))
  end
  if more > tonumber(a[11]) then return {'FULL'} end
  local now = now_us()
  redis.call('HSET', k[4], a[3], a[6])
  put(k[5], a[3], a[4] .. ' ' .. int(#a[6]) .. ' ' .. a[5])
  redis.call('HINCRBY', k[3], 'v', 1)
  redis.call('HSET', k[3], 'n', int(rows), 'z', int(bytes), 'c', int(now + tonumber(a[7])),
    'x', int(now + tonumber(a[8])))
  close(k[3], HISTORY_FIELDS)
  return {'OK'}
end

-- keys: index queries record bodies parts      args: meta worker state changes rows complete_from detail life_us
-- The caller has looked at the parts after so many `changes`. `rows` are those of each part of the answer: what lies
-- beyond them goes.
local function history_end(k, a)
  if not histories_open(k, a) then return {'RECOVERING'} end
  local found = redis.call('HMGET', k[3], 's', 'w', 'v')
  if found[1] == a[3] and found[2] == a[2] then return shown_history(k[3]) end
  local refused = not_claimed(k[3], a[2])
  if refused then return refused end
  local parts, rows, bytes = 0, 0, 0
  if a[3] == 'done' then
    if found[3] ~= a[4] then return {'CHANGED'} end
    for _ in string.gmatch(a[5], '%d+') do parts = parts + 1 end
    local known = redis.call('HGETALL', k[5])
    for i = 1, #known, 2 do
      if tonumber(known[i]) < parts then
        local more, size = string.match(known[i + 1], '^(%d+) (%d+)')
        rows, bytes = rows + tonumber(more), bytes + tonumber(size)
      else
        redis.call('HDEL', k[4], known[i])
        take(k[5], known[i])
      end
    end
  else
    forget_parts(k[3])
  end
  local now = now_us()
  redis.call('HSET', k[3], 's', a[3], 'c', '', 'm', a[5], 'i', a[6], 'l', a[7], 'n', int(rows), 'z', int(bytes),
    'e', int(now), 'x', int(now + tonumber(a[8])))
  close(k[3], HISTORY_FIELDS)
  return shown_history(k[3])
end

-- keys: index queries      args: meta id
local function history_drop(k, a)
  if not histories_open(k, a) then return {'RECOVERING'} end
  local id = a[2]
  local field = redis.call('HGET', history_key(k[1], id), 'f')
  if field then forget_history(k[1], field, id) end
  return {'OK'}
end

-- keys: index queries      args: meta
-- Answers the time, and all records.
local function history_all(k, a)
  if not histories_open(k, a) then return {'RECOVERING'} end
  local answer = {'OK', int(now_us())}
  for _, id in ipairs(redis.call('HVALS', k[1])) do
    answer[#answer + 1] = redis.call('HGETALL', history_key(k[1], id))
  end
  return answer
end
