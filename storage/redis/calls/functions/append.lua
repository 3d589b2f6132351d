---- Append --------------------------------------------------------------------------------------------------
-- keys: head log sizes streams queries names readers apps producers owners holds empty (trimmed histories) (producers)*
-- args: meta backlog_operations backlog_bytes, then of each operation how many arguments it has, which key its stream's
-- producers are, and these:
--   kind header body rows count_max sums, then by kind:
--   declare  name declaration
--   alter    name stream_id declared declaration
--   drop     name stream_id declared (query_id)*
--   rows     name stream_id declared digests_kept app version digest   (app '' = no producer's version)
--   register query_id query_name sql (name stream_id declared)*        (query_name '' = unnamed)
--   replace  as register: of the query that stands under handle and name
--   remove   query_id
--   tick
-- `declaration`, `declared`, `digest`, `sql` are digests, `app` and `query_name` hashes of names.
-- Operations are appended in their order, each by itself: one that is refused changes nothing, and one that fails harms no
-- other. Answers DONE, and what became of each. meta is an argument because FCALL asks for write permission on declared keys, and appenders only read it.

local HEAD, LOG, SIZES, STREAMS, QUERIES, NAMES, READERS, APPS, PRODUCERS, OWNERS, HOLDS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local EMPTY, TRIMMED, HISTORIES = 12, 13, 14 -- the last two of what frees
local KIND, HEADER, BODY, ROWS, COUNT_MAX, SUMS, FIRST = 1, 2, 3, 4, 5, 6, 7
local FIRST_OPERATION = 4

-- A row of streams: id, digest of the declaration, and the seq that has changed that last, if one has. Then which seq has
-- made the declaration.
local function stream_row(row)
  local stream_id, declaration, altered = string.match(row or '', '^(%d+) (%S+) ?(%d*)$')
  return stream_id, declaration, altered ~= '' and altered or stream_id
end

-- Whether `stream_id` is the stream of this name, and declared as `declared` says ('' = however it is). An id alone
-- does not tell: where a crash has lost the end of the log, another stream may have it.
local function in_force(k, name, stream_id, declared)
  local found, declaration = stream_row(redis.call('HGET', k[STREAMS], name))
  if found ~= stream_id then return false end
  return declared == '' or declared == declaration
end

-- A row of queries: seq, hash of the name or '-', digest of the SQL, ids of the streams, and the seq that has replaced
-- it last, if one has.
local function query_row(row)
  return string.match(row, '^(%d+) (%S+) (%S+) (%S+) ?(%d*)$')
end

-- Producers of one stream are one hash. Field `app`: last version, number of versions committed. Fields
-- `app:0` to `app:63`, a ring: version, seq and digest of the last committed ones. Of those that have never sent a row a
-- hash beside it has the seq of the last batch: they give way to new ones.
local function rowless_of(producers)
  return producers .. ':e'
end

local check, enter = {}, {}

function check.declare(k, a)
  local row = redis.call('HGET', k[STREAMS], a[FIRST])
  if row then
    local stream_id, declaration, seq = stream_row(row)
    if declaration ~= a[FIRST + 1] then return {'DIFFERS', stream_id} end
    return {'DUP', seq, ''}
  end
  if redis.call('HLEN', k[STREAMS]) >= tonumber(a[COUNT_MAX]) then return {'QUOTA'} end
end

function enter.declare(k, a, seq)
  replace(k[STREAMS], a[FIRST], seq .. ' ' .. a[FIRST + 1])
end

function check.alter(k, a)
  local row = redis.call('HGET', k[STREAMS], a[FIRST])
  local stream_id, declaration, seq = stream_row(row)
  if stream_id ~= a[FIRST + 1] then return {'NOSTREAM'} end
  if declaration == a[FIRST + 3] then return {'DUP', seq, ''} end
  if a[FIRST + 2] ~= '' and a[FIRST + 2] ~= declaration then return {'STALE'} end
  return nil, row
end

function enter.alter(k, a, seq, row)
  replace(k[STREAMS], a[FIRST], table.concat({a[FIRST + 1], a[FIRST + 3], seq}, ' '), row)
end

function check.drop(k, a)
  local stream_id = a[FIRST + 1]
  if not in_force(k, a[FIRST], stream_id, a[FIRST + 2]) then return {'NOSTREAM'} end
  local readers = tonumber(redis.call('HGET', k[READERS], stream_id) or '0')
  local listed = #a - FIRST - 2
  if readers > 0 and listed == 0 then return {'HASQUERIES', int(readers)} end
  if listed ~= readers then return {'STALE'} end
  for i = FIRST + 3, #a do
    local row = redis.call('HGET', k[QUERIES], a[i])
    if not row then return {'STALE'} end
    local _, _, _, streams = query_row(row)
    if not string.find(',' .. streams .. ',', ',' .. stream_id .. ',', 1, true) then return {'STALE'} end
  end
end

local function unread_streams(k, streams)
  for stream_id in string.gmatch(streams, '%d+') do add(k[READERS], stream_id, -1) end
end

local function remove_query(k, query_id)
  local _, name, _, streams = query_row(redis.call('HGET', k[QUERIES], query_id))
  if name ~= '-' then take(k[NAMES], name) end
  unread_streams(k, streams)
  take(k[QUERIES], query_id)
end

function enter.drop(k, a)
  local stream_id = a[FIRST + 1]
  for i = FIRST + 3, #a do remove_query(k, a[i]) end
  take(k[STREAMS], a[FIRST])
  for _, key in ipairs({k[READERS], k[APPS], k[HOLDS], k[TRIMMED]}) do take(key, stream_id) end
  for _, key in ipairs({k[PRODUCERS], rowless_of(k[PRODUCERS])}) do forget(LOG_SEALS, key) end
end

local function known_version(k, app, version, kept)
  for slot = 0, kept - 1 do
    local row = redis.call('HGET', k[PRODUCERS], app .. ':' .. int(slot))
    if not row then return end
    local found, seq, digest = string.match(row, '^(%d+) (%d+) (%S+)$')
    if found == version then return seq, digest end
  end
end

-- Whether a version was committed for a stream: nothing = it is new, else the seq of its batch ('0' = no longer known).
-- Then whether that had other rows, and what is known of the producer.
local function committed(k, app, version, digest, kept)
  local row = redis.call('HGET', k[PRODUCERS], app)
  if not row or tonumber(version) > tonumber(string.match(row, '^%d+')) then return nil, false, row end
  local seq, found = known_version(k, app, version, tonumber(kept))
  return seq or '0', seq ~= nil and found ~= digest, row
end

-- Whether a stream can get one more producer: there is a place, or one without rows that gives way.
local function has_place(k, stream_id, count_max)
  return tonumber(redis.call('HGET', k[APPS], stream_id) or '0') < tonumber(count_max)
    or redis.call('HLEN', rowless_of(k[PRODUCERS])) > 0
end

-- Forgets the producer of a stream that has been idle for longest of those that have never sent a row.
local function forget_idle(k, kept)
  local rows, idle, least = redis.call('HGETALL', rowless_of(k[PRODUCERS])), nil, math.huge
  for i = 1, #rows, 2 do
    local seq = tonumber(rows[i + 1])
    if seq < least then idle, least = rows[i], seq end
  end
  local versions = tonumber(string.match(redis.call('HGET', k[PRODUCERS], idle), '%d+$'))
  for slot = 0, math.min(versions, tonumber(kept)) - 1 do take(k[PRODUCERS], idle .. ':' .. int(slot)) end
  take(k[PRODUCERS], idle)
  take(rowless_of(k[PRODUCERS]), idle)
end

local function take_place(k, stream_id, count_max, kept)
  local count = redis.call('HGET', k[APPS], stream_id)
  if tonumber(count or '0') < tonumber(count_max) then
    replace(k[APPS], stream_id, int(tonumber(count or '0') + 1), count)
  else
    forget_idle(k, kept)
  end
end

-- Notes that a producer has sent a batch of so many rows. `known` is whether it was one before.
local function note_rows(k, app, rows, known, seq)
  local rowless = rowless_of(k[PRODUCERS])
  if tonumber(rows) == 0 then
    local before = known and redis.call('HGET', rowless, app)
    if before or not known then replace(rowless, app, seq, before) end
  elseif known then
    take(rowless, app)
  end
end

-- `row` is what `committed` found of the producer.
local function enter_version(k, stream_id, app, version, digest, rows, row, kept, count_max, seq)
  local versions = row and tonumber(string.match(row, '%d+$')) or 0
  if not row then take_place(k, stream_id, count_max, kept) end
  note_rows(k, app, rows, row, seq)
  local slot = app .. ':' .. int(versions % tonumber(kept))
  local before = versions >= tonumber(kept) and redis.call('HGET', k[PRODUCERS], slot)
  replace(k[PRODUCERS], slot, version .. ' ' .. seq .. ' ' .. digest, before)
  replace(k[PRODUCERS], app, version .. ' ' .. int(versions + 1), row)
end

function check.rows(k, a)
  local stream_id, kept, app, version = a[FIRST + 1], a[FIRST + 3], a[FIRST + 4], a[FIRST + 5]
  if not in_force(k, a[FIRST], stream_id, a[FIRST + 2]) then return {'STALE'} end
  if app == '' then return end
  local seq, differs, row = committed(k, app, version, a[FIRST + 6], kept)
  if differs then return {'TXN', seq} end
  if seq then return {'DUP', seq, ''} end
  if not row and not has_place(k, stream_id, a[COUNT_MAX]) then return {'QUOTA'} end
  return nil, row
end

function enter.rows(k, a, seq, row)
  local stream_id, kept, app, version = a[FIRST + 1], a[FIRST + 3], a[FIRST + 4], a[FIRST + 5]
  if app ~= '' then
    enter_version(k, stream_id, app, version, a[FIRST + 6], a[ROWS], row, kept, a[COUNT_MAX], seq)
  end
end

-- What a query answers that is asked for again: the seq that has made it what it is, and its handle.
local function repeated(row, query_id)
  local seq, _, _, _, replaced = query_row(row)
  return {'DUP', replaced ~= '' and replaced or seq, query_id}
end

local function are_in_force(k, a)
  for i = FIRST + 3, #a, 3 do
    if not in_force(k, a[i], a[i + 1], a[i + 2]) then return false end
  end
  return true
end

function check.register(k, a)
  if not are_in_force(k, a) then return {'STALE'} end
  local query_id, name = a[FIRST], a[FIRST + 1]
  local known = name ~= '' and redis.call('HGET', k[NAMES], name) or query_id
  local row = redis.call('HGET', k[QUERIES], known)
  if row then
    local _, _, sql = query_row(row)
    if sql ~= a[FIRST + 2] then return {'NAMETAKEN', known} end
    return repeated(row, known)
  end
  if redis.call('HLEN', k[QUERIES]) >= tonumber(a[COUNT_MAX]) then return {'QUOTA'} end
end

-- Counts a query as a reader of its streams, each once, and answers their ids.
local function read_streams(k, a)
  local streams, seen = {}, {}
  for i = FIRST + 4, #a, 3 do
    if not seen[a[i]] then
      seen[a[i]] = true
      streams[#streams + 1] = a[i]
      add(k[READERS], a[i], 1)
    end
  end
  return table.concat(streams, ',')
end

function enter.register(k, a, seq)
  local query_id, name = a[FIRST], a[FIRST + 1]
  if name ~= '' then replace(k[NAMES], name, query_id) end
  local row = {seq, name ~= '' and name or '-', a[FIRST + 2], read_streams(k, a)}
  replace(k[QUERIES], query_id, table.concat(row, ' '))
end

function check.replace(k, a)
  if not are_in_force(k, a) then return {'STALE'} end
  local row = redis.call('HGET', k[QUERIES], a[FIRST])
  if not row then return {'STALE'} end
  local _, name, sql = query_row(row)
  if name ~= a[FIRST + 1] then return {'STALE'} end
  if sql == a[FIRST + 2] then return repeated(row, a[FIRST]) end
  return nil, row
end

function enter.replace(k, a, seq, row)
  local first, name, _, streams = query_row(row)
  unread_streams(k, streams)
  local changed = {first, name, a[FIRST + 2], read_streams(k, a), seq}
  replace(k[QUERIES], a[FIRST], table.concat(changed, ' '), row)
end

function check.remove(k, a)
  if redis.call('HEXISTS', k[QUERIES], a[FIRST]) == 0 then return {'NOQUERY'} end
end

function enter.remove(k, a)
  remove_query(k, a[FIRST])
end

function check.tick() end
function enter.tick() end

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

-- `head` is what it is behind the operations before; whoever appends writes it in the end.
local function append_one(k, a, head, meta, operations_max, bytes_max)
  local kind = a[KIND]
  local answer, known = check[kind](k, a)
  if answer then
    answer[#answer + 1] = head[2]
    return answer
  end
  answer = held_up(kind, meta) -- after the duplicates: they add nothing
  if answer then return answer end
  if is_full(head, meta[4], operations_max, bytes_max) then return {'BACKLOG'} end
  local seq, ts, size = int(tonumber(head[1]) + 1), arrival(head[2]), #a[BODY]
  add_entry(k, seq, ts, kind, head[3], a[HEADER], a[BODY], a[SUMS])
  if kind == 'rows' then enter_batch(k, seq, a[FIRST + 1], size, a[ROWS]) end
  enter[kind](k, a, seq, known)
  head[1], head[2], head[3] = seq, ts, int(tonumber(head[3]) + tonumber(a[ROWS]))
  head[4], head[5] = int(tonumber(head[4]) + size), int(tonumber(head[5]) + size)
  return {'OK', seq, ts}
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
  local touched = {unpack(k)}
  for operation, producers in operations(a) do
    k[PRODUCERS] = touched[producers]
    local done, answer = pcall(append_one, k, operation, head, meta, a[2], a[3])
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
    if not FREEING[kind] then return redis.error_reply('ERR psoup_append_freeing takes drop, remove and tick') end
    removes = removes or kind ~= 'tick'
  end
  local answers = append(k, a)
  if removes and answers[1] == 'DONE' then
    sweep_histories(k[HISTORIES], k[QUERIES], redis.call('HGET', a[1], 'gen'))
  end
  return answers
end
