---- Append --------------------------------------------------------------------------------------------------

-- Whether too much waits to be applied.
local function is_full(head, applied, operations_max, bytes_max)
  return tonumber(head[1]) - tonumber(applied) >= tonumber(operations_max) or tonumber(head[5]) >= tonumber(bytes_max)
end

-- A clock set back stops here.
local function arrival(ts)
  return int(math.max(tonumber(ts), now_us()))
end

local function sums_of(log)
  return log .. ':c'
end

-- `sums` are the client's: of kind and header, and of the body.
local function add_entry(k, seq, ts, kind, tuple_id, header, body, sums)
  redis.call('XADD', k[LOG], seq .. '-0', 'f', '1', 'k', kind, 't', ts, 'i', tuple_id, 'h', header, 'b', body)
  local bound = redis.sha1hex(table.concat({seq, ts, tuple_id, sums}, ' '))
  redis.call('HSET', sums_of(k[LOG]), seq, string.sub(bound, 1, 16))
end

-- What is known of a batch beside its entry.
local function enter_batch(k, seq, stream_id, size, rows)
  if tonumber(rows) == 0 then replace(k[EMPTY], seq, '') end
  replace(k[SIZES], seq, int(size))
  replace(k[OWNERS], seq, stream_id)
end

-- `head` is what it is behind the operations before; whoever appends writes it in the end. `bounds` are those of the call.
local function append_one(k, a, head, meta, bounds)
  local operations_max, bytes_max, requests_max, life = unpack(bounds)
  local kind, ts = a[KIND], arrival(head[2])
  local answer, request = known_request(k, a, ts, life)
  local known
  if not answer then answer, known = check[kind](k, a, ts) end
  if answer then
    answer[#answer + 1] = head[2]
    return answer
  end
  answer = held_up(kind, meta) -- after the duplicates: they add nothing
  if answer then return answer end
  if is_full(head, meta[4], operations_max, bytes_max) then return {'BACKLOG'} end
  local seq, size, tuple_id = int(tonumber(head[1]) + 1), #a[BODY], head[3]
  add_entry(k, seq, ts, kind, tuple_id, a[HEADER], a[BODY], a[SUMS])
  if kind == 'rows' then enter_batch(k, seq, a[FIRST + 1], size, a[ROWS]) end
  enter[kind](k, a, seq, known, ts)
  enter_request(k, a, seq, ts, request, requests_max)
  head[1], head[2], head[3] = seq, ts, int(tonumber(tuple_id) + tonumber(a[ROWS]))
  head[4], head[5] = int(tonumber(head[4]) + size), int(tonumber(head[5]) + size)
  return {'OK', seq, ts, tuple_id}
end

-- Yields the operations of a call, each with the number of its producers' key.
local function operations(a)
  local at = FIRST_OPERATION
  return function()
    if not a[at] then return end
    local operation, size, producers = {}, tonumber(a[at]), tonumber(a[at + 1])
    for i = 1, size do operation[i] = a[at + 1 + i] end
    at = at + 2 + size
    return operation, producers
  end
end

-- What failed, as the server words it, without what follows its first word.
local function cause_of(failure)
  return string.match(type(failure) == 'table' and failure.err or failure, '%S+')
end

-- The head counts those that were appended whole, and none that failed amid its writes.
local function append(k, a)
  local meta = look(a[1])
  if meta[1] ~= run_id() then return {'RECOVERING'} end
  local head = redis.call('HMGET', k[HEAD], unpack(HEAD_FIELDS))
  local before, answers = head[1], {'DONE'}
  local touched, bounds = {unpack(k)}, {a[2], a[3], a[4], a[5]}
  for operation, producers in operations(a) do
    k[PRODUCERS] = touched[producers]
    local done, answer = pcall(append_one, k, operation, head, meta, bounds)
    answers[#answers + 1] = done and answer or {'FAILED', cause_of(answer)}
  end
  if head[1] ~= before then
    redis.call('HSET', k[HEAD], 'seq', head[1], 'ts', head[2], 'tuple_id', head[3], 'bytes', head[4], 'waiting', head[5],
      'sum', sum_of(head))
  end
  return answers
end

-- The same for what frees memory, so that it runs when there is none left. Queries take their histories along.
local function append_freeing(k, a)
  local removes = false
  for operation in operations(a) do
    local kind = operation[KIND]
    if not FREEING[kind] then return redis.error_reply('ERR psoup_append_freeing does not take ' .. kind) end
    removes = removes or REMOVING[kind]
  end
  local answers = append(k, a)
  if removes and answers[1] == 'DONE' then
    sweep_histories(k[HISTORIES], k[QUERIES], redis.call('HGET', a[1], 'gen'))
  end
  return answers
end
