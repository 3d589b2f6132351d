#!lua name=psoup
--[[
Every write to the store, and its atomic reads. docs/storage_layout.md explains the keys.

A Function runs alone, so each is one step. Redis does not roll a Function back if it fails half-way, hence
three rules: check everything first; write absolute values only; write last what makes the rest count (the
head of the log, the applied operation).

One engine writes results. Whoever acquires the store gets a token, epoch and nonce; every Function of the engine's
compares both with META's before it does anything. When the lease ends only decides when another may acquire.

Numbers are Lua doubles, exact to 2^53: enough for seqs, tuple ids and microseconds. Other 64-bit values pass
through as text. Answers are arrays whose first item says what happened; no user's text is put into an error.
]]

local UNPACK_MAX = 1000 -- values of one variadic command; unpack itself fails at 8,000

local function int(number)
  return string.format('%d', number) -- half the time of '%.0f'
end

local function now_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local known_run

-- Changes with every start of the server: whoever compares it with meta's `run` knows whether the engine has
-- looked at this life of the server. Kept between calls, because INFO takes 9 microseconds.
local function run_id()
  known_run = known_run or string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  return known_run
end

-- How often the server's settings have been changed in this life of it. The engine leaves in meta at which number it has
-- found them to keep what is promised: whoever appends then knows, without a right to ask for them. Takes 45 microseconds.
local function settings_changes()
  return string.match(redis.call('INFO', 'commandstats'), 'cmdstat_config|set:calls=(%d+)') or '0'
end

local FREEING = {drop = true, remove = true, tick = true, hold = true, unhold = true}
local FIXED = 'fixed' -- in place of the number: nobody can change the settings

-- Answers what of meta tells whether something can be stored.
local function look(meta)
  return redis.call('HMGET', meta, 'run', 'settings', 'full', 'applied')
end

-- Tells whether an operation can be stored now: nothing if so, else the answer. `meta` is what `look` has found, which
-- keeps the number of changes for the other operations of the call. Nobody is told that a tick is on disk.
-- Without `settings` the engine, which has just opened the run, has not looked yet.
local function held_up(kind, meta)
  local verified, full = meta[2], meta[3]
  if not verified then return {'RECOVERING'} end
  if kind ~= 'tick' and verified ~= FIXED then
    meta.changes = meta.changes or settings_changes()
    if meta.changes ~= verified then return {'SETTINGS'} end
  end
  if full and not FREEING[kind] then return {'DISK'} end
end

-- Calls `command key value...` in slices that unpack can take. Pairs stay together: UNPACK_MAX is even.
local function call_sliced(command, key, values, first, last)
  for from = first, last, UNPACK_MAX do
    redis.call(command, key, unpack(values, from, math.min(from + UNPACK_MAX - 1, last)))
  end
end

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

---- Histories -----------------------------------------------------------------------------------------------
-- Answers that a job computes from an archive. They are beside the log, transient, and of one generation. The index has
-- the id of each, by its query and the instant asked for. A record lies under the index's key and the id: j what is
-- asked, f its field in the index, q query id, g generation, a when it was asked, s state, x when it goes, w who has
-- claimed it, c until when, v changes of its parts, d done, o of, n rows and z bytes of its parts; once it has ended e
-- when, and m rows of each part and i from when it is complete, or l why it failed. Its parts lie beside it, by number:
-- b bodies, p rows, bytes, first and last place.

local function history_key(index, id)
  return index .. ':' .. id
end

local function forget_parts(record)
  redis.call('UNLINK', record .. ':b')
  forget(LOG_SEALS, record .. ':p')
end

local function forget_history(index, field, id)
  take(index, field)
  redis.call('UNLINK', history_key(index, id))
  forget_parts(history_key(index, id))
end

-- Forgets those that have expired, whose query is no more, or that are of another generation. There are few of them.
local function sweep_histories(index, queries, gen)
  local rows, now = redis.call('HGETALL', index), now_us()
  for i = 1, #rows, 2 do
    local found = redis.call('HMGET', history_key(index, rows[i + 1]), 'x', 'q', 'g')
    if not found[1] or tonumber(found[1]) <= now or found[3] ~= gen
      or redis.call('HEXISTS', queries, found[2]) == 0 then
      forget_history(index, rows[i], rows[i + 1])
    end
  end
end

---- Append --------------------------------------------------------------------------------------------------
-- keys: head log sizes streams queries names readers apps producers owners holds empty (trimmed histories)
-- args: meta backlog_operations backlog_bytes, then of each operation how many arguments it has, and these:
--   kind header body rows count_max sums, then by kind:
--   declare  name declaration
--   drop     name stream_id declared (query_id)*
--   rows     name stream_id declared digests_kept app version digest   (app '' = no producer's version)
--   register query_id query_name sql (name stream_id declared)*        (query_name '' = unnamed)
--   remove   query_id
--   tick
-- `declaration`, `declared`, `digest`, `sql` are digests, `app` and `query_name` hashes of names.
-- Operations are appended in their order, each by itself: one that is refused changes nothing. Answers DONE, and what
-- became of each. meta is an argument because FCALL asks for write permission on declared keys, and appenders only read it.

local HEAD, LOG, SIZES, STREAMS, QUERIES, NAMES, READERS, APPS, PRODUCERS, OWNERS, HOLDS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local EMPTY, TRIMMED, HISTORIES = 12, 13, 14 -- the last two of what frees
local KIND, HEADER, BODY, ROWS, COUNT_MAX, SUMS, FIRST = 1, 2, 3, 4, 5, 6, 7
local FIRST_OPERATION = 4

-- Whether `stream_id` is the stream of this name, and declared as `declared` says ('' = however it is). An id alone
-- does not tell: where a crash has lost the end of the log, another stream may have it.
local function in_force(k, name, stream_id, declared)
  local row = redis.call('HGET', k[STREAMS], name)
  if not row or string.match(row, '^%d+') ~= stream_id then return false end
  return declared == '' or declared == string.match(row, '%S+$')
end

-- A row of queries: seq, hash of the name or '-', digest of the SQL, ids of the streams.
local function query_row(row)
  return string.match(row, '^(%d+) (%S+) (%S+) (%S+)$')
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
    local stream_id, declaration = string.match(row, '^(%d+) (%S+)$')
    if declaration ~= a[FIRST + 1] then return {'DIFFERS', stream_id} end
    return {'DUP', stream_id, ''}
  end
  if redis.call('HLEN', k[STREAMS]) >= tonumber(a[COUNT_MAX]) then return {'QUOTA'} end
end

function enter.declare(k, a, seq)
  replace(k[STREAMS], a[FIRST], seq .. ' ' .. a[FIRST + 1])
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

local function remove_query(k, query_id)
  local _, name, _, streams = query_row(redis.call('HGET', k[QUERIES], query_id))
  if name ~= '-' then take(k[NAMES], name) end
  for stream_id in string.gmatch(streams, '%d+') do
    add(k[READERS], stream_id, -1)
  end
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

function check.register(k, a)
  for i = FIRST + 3, #a, 3 do
    if not in_force(k, a[i], a[i + 1], a[i + 2]) then return {'STALE'} end
  end
  local query_id, name = a[FIRST], a[FIRST + 1]
  local known = name ~= '' and redis.call('HGET', k[NAMES], name) or query_id
  local row = redis.call('HGET', k[QUERIES], known)
  if row then
    local seq, _, sql = query_row(row)
    if sql ~= a[FIRST + 2] then return {'NAMETAKEN', known} end
    return {'DUP', seq, known}
  end
  if redis.call('HLEN', k[QUERIES]) >= tonumber(a[COUNT_MAX]) then return {'QUOTA'} end
end

function enter.register(k, a, seq)
  local query_id, name = a[FIRST], a[FIRST + 1]
  local streams, seen = {}, {}
  for i = FIRST + 4, #a, 3 do
    if not seen[a[i]] then
      seen[a[i]] = true
      streams[#streams + 1] = a[i]
      add(k[READERS], a[i], 1)
    end
  end
  if name ~= '' then replace(k[NAMES], name, query_id) end
  local row = {seq, name ~= '' and name or '-', a[FIRST + 2], table.concat(streams, ',')}
  replace(k[QUERIES], query_id, table.concat(row, ' '))
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

-- Yields the operations of a call.
local function operations(a)
  local at = FIRST_OPERATION
  return function()
    if not a[at] then return end
    local operation, size = {}, tonumber(a[at])
    for i = 1, size do operation[i] = a[at + i] end
    at = at + 1 + size
    return operation
  end
end

-- The head counts those that were appended whole, also where it fails amid a later one.
local function append(k, a)
  local meta = look(a[1])
  if meta[1] ~= run_id() then return {'RECOVERING'} end
  local head = redis.call('HMGET', k[HEAD], unpack(HEAD_FIELDS))
  local before, answers = head[1], {'DONE'}
  local done, failure = pcall(function()
    for operation in operations(a) do
      answers[#answers + 1] = append_one(k, operation, head, meta, a[2], a[3])
    end
  end)
  if head[1] ~= before then
    redis.call('HSET', k[HEAD], 'seq', head[1], 'ts', head[2], 'tuple_id', head[3], 'bytes', head[4], 'waiting', head[5],
      'sum', sum_of(head))
  end
  if not done then error(failure, 0) end
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

---- Stage and commit -----------------------------------------------------------------------------------------
-- A part lies under `prefix` and its id: n number, s stream id, m stream's name, r rows, d digest, x when it expires,
-- z bytes of its body, which lies in field b of a key of its own. A commit leaves the body where it is, for as long as
-- its entry is in the log, and of the part a mark, with v: last seq of the commit, version, app. Parts are numbered as
-- they are staged, so they expire in the order of their numbers; the index has the id of each. Of the head, `staged` is
-- what all of them count, `parts_from` the least number that may be there, `parts_past` the next one.

local SWEPT_MAX, PASSED_MAX = 100, 1000

local function body_of(part)
  return part .. ':b'
end

-- Forgets expired parts, some per call. Answers the time that parts live by, and what is staged.
local function sweep(head_key, index, prefix, mark_bytes)
  local head = redis.call('HMGET', head_key, 'ts', 'staged', 'parts_from', 'parts_past')
  local now, staged, first = tonumber(arrival(head[1])), tonumber(head[2]), tonumber(head[3])
  local past, number, swept = math.min(tonumber(head[4]), first + PASSED_MAX), first, 0
  while number < past and swept < SWEPT_MAX do
    local id = redis.call('HGET', index, int(number))
    if id then
      local part = redis.call('HMGET', prefix .. id, 'x', 'z', 'v')
      if tonumber(part[1]) > now then break end
      redis.call('UNLINK', prefix .. id)
      if not part[3] then redis.call('UNLINK', body_of(prefix .. id)) end
      take(index, int(number))
      staged, swept = staged - tonumber(part[2]) - tonumber(mark_bytes), swept + 1
    end
    number = number + 1
  end
  if number > first then
    redis.call('HSET', head_key, 'staged', int(staged), 'parts_from', int(number))
    close(head_key, HEAD_FIELDS)
  end
  return now, staged
end

-- keys: head index part streams body
-- args: meta prefix mark_bytes stage_id name stream_id declared rows digest body life_us bytes_max sum
local function part_add(k, a)
  local meta = redis.call('HMGET', a[1], 'run', 'full')
  if meta[1] ~= run_id() then return {'RECOVERING'} end
  local now, staged = sweep(k[1], k[2], a[2], a[3])
  local known = redis.call('HGET', k[3], 'x')
  if known then return {'OK', known} end
  if meta[2] then return {'DISK'} end
  if redis.call('HEXISTS', k[5], 'b') == 1 then return redis.error_reply('ERR the id of a committed part') end
  if not in_force({[STREAMS] = k[4]}, a[5], a[6], a[7]) then return {'STALE'} end
  staged = staged + #a[10] + tonumber(a[3])
  if staged > tonumber(a[12]) then return {'STAGED'} end
  local number, expires = redis.call('HGET', k[1], 'parts_past'), int(now + tonumber(a[11]))
  redis.call('HSET', k[3], 'n', number, 's', a[6], 'm', a[5], 'r', a[8], 'd', a[9], 'x', expires, 'z', int(#a[10]),
    'c', a[13])
  close(k[3], PART_FIELDS)
  redis.call('HSET', k[5], 'b', a[10])
  put(k[2], number, a[4])
  redis.call('HSET', k[1], 'staged', int(staged), 'parts_past', int(tonumber(number) + 1))
  close(k[1], HEAD_FIELDS)
  return {'OK', expires}
end

-- keys: head index part body      args: meta prefix mark_bytes
local function part_discard(k, a)
  if redis.call('HGET', a[1], 'run') ~= run_id() then return {'RECOVERING'} end
  local _, staged = sweep(k[1], k[2], a[2], a[3])
  local part = redis.call('HMGET', k[3], 'n', 'z', 'v')
  if part[1] and not part[3] then
    redis.call('UNLINK', k[3])
    redis.call('UNLINK', k[4])
    take(k[2], part[1])
    redis.call('HSET', k[1], 'staged', int(staged - tonumber(part[2]) - tonumber(a[3])))
    close(k[1], HEAD_FIELDS)
  end
  return {'OK'}
end

-- Answers the part under `key` if it counts for the commit that leaves `mark`: it is there, and for a stream in force
-- unless it bears that mark already. How that is declared was checked when the part came: what loses the one loses the
-- other.
local function part_of(k, key, mark, now)
  local found = redis.call('HMGET', key, 's', 'm', 'x', 'z', 'r', 'v', 'c')
  if not found[1] or tonumber(found[3]) <= now then return end
  local part = {key = key, stream_id = found[1], size = tonumber(found[4]), rows = tonumber(found[5]),
    sum = found[7]}
  part.in_force = in_force(k, found[2], found[1], '')
  if found[6] then
    local seq, of = string.match(found[6], '^(%d+) (.*)$')
    part.seq = seq
    return of == mark and part or nil
  end
  return part.in_force and part or nil
end

-- Tells whether the version was committed: nothing if it is new for each stream, else the answer. A stream that gets no
-- row, of an app that is no producer of it, is neither new nor known, unless a part bears the commit's mark.
-- `streams` maps their ids to {producers' key, digest, rows, seq of the commit whose mark a part bears}; each gets what is
-- known of the producer.
local function known_commit(k, streams, parts, app, version, kept, apps_max)
  local seq, fresh, seen, full = nil, false, {}, false
  for _, part in ipairs(parts) do
    if not seen[part.stream_id] then
      seen[part.stream_id] = true
      local stream, found, differs = streams[part.stream_id], nil, false
      k[PRODUCERS] = stream.producers
      if part.in_force then
        found, differs, stream.known = committed(k, app, version, stream.digest, kept)
      end
      if differs then return {'TXN', found} end
      found = found or stream.marked
      if found then
        seq = int(math.max(tonumber(seq or '0'), tonumber(found)))
      else
        fresh = fresh or stream.rows > 0 or stream.known
        full = full or not (stream.known or has_place(k, part.stream_id, apps_max))
      end
    end
  end
  if seq and fresh then return {'TXN', seq} end
  if seq then return {'DUP', seq, ''} end
  if full then return {'QUOTA'} end
end

-- Leaves the mark of a commit, by which it is known when it is sent again.
local function leave_mark(part, seq, mark)
  redis.call('HSET', part.key, 'v', seq .. ' ' .. mark, 'z', '0')
  close(part.key, PART_FIELDS)
end

-- Lets go the parts of a commit that repeats another one. Answers their bytes.
local function drop_parts(parts, seq, mark)
  local size = 0
  for _, part in ipairs(parts) do
    if not part.seq then
      redis.call('UNLINK', body_of(part.key))
      leave_mark(part, seq, mark)
      size = size + part.size
    end
  end
  return size
end

-- keys: head log sizes streams apps owners index bodies empty (producers)*
-- args: meta prefix mark_bytes digests_kept apps_max backlog_operations backlog_bytes bytes_max app version streams
--   (stream_id digest)* (stage_id header sum)*
-- Each of so many streams has the key of its producers, and the digest of all its rows in this commit. A part whose
-- header is '' was not there before the call. The time it takes hangs on the number of parts, not on their bytes.
local function commit(keys, a)
  local meta = look(a[1])
  if meta[1] ~= run_id() then return {'RECOVERING'} end
  local k = {[HEAD] = keys[1], [LOG] = keys[2], [SIZES] = keys[3], [STREAMS] = keys[4], [APPS] = keys[5],
    [OWNERS] = keys[6], [EMPTY] = keys[9]}
  local now, staged = sweep(k[HEAD], keys[7], a[2], a[3])
  local kept, app, version, streams, past = a[4], a[9], a[10], {}, 12 + 2 * tonumber(a[11])
  for i = 12, past - 1, 2 do
    streams[a[i]] = {digest = a[i + 1], producers = keys[10 + (i - 12) / 2], rows = 0}
  end
  local mark, parts, missing, size, rows = version .. ' ' .. app, {}, {}, 0, 0
  for i = past, #a, 3 do
    local part = a[i + 1] ~= '' and part_of(k, a[2] .. a[i], mark, now)
    if part then
      part.id, part.header, part.sums, parts[#parts + 1] = a[i], a[i + 1], a[i + 2] .. ' ' .. part.sum, part
      size, rows = size + part.size, rows + part.rows
      local stream = streams[part.stream_id]
      stream.rows, stream.marked = stream.rows + part.rows, part.seq or stream.marked
    else
      missing[#missing + 1] = a[i]
    end
  end
  if #missing > 0 then return {'MISSING', unpack(missing)} end
  if size > tonumber(a[8]) then return {'LARGE'} end
  local head = redis.call('HMGET', k[HEAD], 'seq', 'ts', 'tuple_id', 'bytes', 'waiting')
  local answer = known_commit(k, streams, parts, app, version, kept, a[5])
  if answer then
    if answer[1] == 'DUP' then
      redis.call('HSET', k[HEAD], 'staged', int(staged - drop_parts(parts, answer[2], mark)))
      close(k[HEAD], HEAD_FIELDS)
    end
    answer[#answer + 1] = head[2]
    return answer
  end
  answer = held_up('rows', meta)
  if answer then return answer end
  if is_full(head, meta[4], a[6], a[7]) then return {'BACKLOG'} end
  local seq, tuple_id, ts = tonumber(head[1]), tonumber(head[3]), int(now)
  for _, part in ipairs(parts) do
    seq = seq + 1
    add_entry(k, int(seq), ts, 'rows', int(tuple_id), part.header, '', part.sums)
    enter_batch(k, int(seq), part.stream_id, part.size, part.rows)
    replace(keys[8], int(seq), part.id)
    leave_mark(part, int(tonumber(head[1]) + #parts), mark)
    tuple_id = tuple_id + part.rows
  end
  for stream_id, stream in pairs(streams) do
    k[PRODUCERS] = stream.producers
    enter_version(k, stream_id, app, version, stream.digest, stream.rows, stream.known, kept, a[5], int(seq))
  end
  redis.call('HSET', k[HEAD], 'seq', int(seq), 'ts', ts, 'tuple_id', int(tuple_id), 'bytes', int(tonumber(head[4]) + size),
    'waiting', int(tonumber(head[5]) + size), 'staged', int(staged - size))
  close(k[HEAD], HEAD_FIELDS)
  return {'OK', int(seq), ts, int(rows)}
end

---- Hold -----------------------------------------------------------------------------------------------------

-- keys: head streams holds      args: meta stream_id through
-- Batches of a held stream past `through` are not trimmed. A hold never goes back.
local function hold(k, a)
  local meta = look(a[1])
  if meta[1] ~= run_id() then return {'RECOVERING'} end
  local declared = false
  for _, row in ipairs(redis.call('HVALS', k[2])) do
    declared = declared or string.match(row, '^%d+') == a[2]
  end
  if not declared then return {'NOSTREAM'} end
  local seq = redis.call('HGET', k[1], 'seq')
  if tonumber(a[3]) > tonumber(seq) then return {'AHEAD', seq} end
  local before = redis.call('HGET', k[3], a[2])
  local through = int(math.max(tonumber(a[3]), tonumber(before or '0')))
  if through == before then return {'OK', through} end
  local refused = held_up('hold', meta)
  if refused then return refused end
  replace(k[3], a[2], through, before)
  return {'OK', through}
end

-- keys: holds      args: meta stream_id
local function unhold(k, a)
  local meta = look(a[1])
  if meta[1] ~= run_id() then return {'RECOVERING'} end
  if redis.call('HEXISTS', k[1], a[2]) == 0 then return {'OK'} end
  local refused = held_up('unhold', meta)
  if refused then return refused end
  take(k[1], a[2])
  return {'OK'}
end

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

---- The one that writes ---------------------------------------------------------------------------------------
-- Equality of epoch and nonce, never >=: neither a paused engine nor a copy of one can pass for the present one.

-- Tells whether this call is the engine's: nothing if so, else the answer. Without META nobody is. `token` is what META
-- has as epoch and nonce.
local function not_of(token, a)
  if not token[1] then return {'RECOVERING'} end
  if token[1] ~= a[1] or token[2] ~= a[2] then return {'FENCED'} end
end

local function fenced(meta, a)
  return not_of(redis.call('HMGET', meta, 'epoch', 'nonce'), a)
end

-- The same, and whether the engine has looked at this life of the server. Else answers what is in META as well.
local function barred(meta, a)
  local found = redis.call('HMGET', meta, 'epoch', 'nonce', 'run', 'applied')
  local refused = not_of(found, a)
  if refused then return refused end
  if found[3] ~= run_id() then return {'RECOVERING'} end
  return nil, found[4]
end

-- keys: meta      args: nonce owner lease_ms library durability
-- The same owner need not wait: its data folder is locked, so its former process is no more.
local function acquire(k, a)
  local meta = redis.call('HMGET', k[1], 'epoch', 'owner', 'lease_from', 'lease_until')
  if not meta[1] then return {'RECOVERING'} end
  local now, from, past = now_us(), tonumber(meta[3]), tonumber(meta[4])
  local held = from <= now and now < past -- one from later: the clock was set back
  if held and meta[2] ~= a[2] then return {'HELD', int(math.ceil((past - now) / 1000)), meta[2]} end
  local epoch = int(tonumber(meta[1]) + 1)
  redis.call('HSET', k[1], 'epoch', epoch, 'nonce', a[1], 'owner', a[2], 'lease_from', int(now),
    'lease_until', int(now + tonumber(a[3]) * 1000), 'library', a[4], 'durability', a[5])
  return {'OK', epoch}
end

-- keys: meta      args: epoch nonce lease_ms (next)
-- No run gate: an engine that waits until a restarted server is verified is alive. With `next`, the nonce from now on:
-- what was sent before, and may still be on its way, is refused. META may hold it already, if that answer was lost.
local function renew(k, a)
  local next = a[4] or a[2]
  local refused = fenced(k[1], a)
  if refused and fenced(k[1], {a[1], next}) then return refused end
  local now = now_us()
  redis.call('HSET', k[1], 'nonce', next, 'lease_from', int(now), 'lease_until', int(now + tonumber(a[3]) * 1000))
  return {'OK'}
end

-- keys: meta      args: epoch nonce
local function release(k, a)
  local refused = fenced(k[1], a)
  if refused then return refused end
  redis.call('HSET', k[1], 'lease_until', '0')
  return {'OK'}
end

-- keys: meta      args: epoch nonce settings full
-- What the engine has seen of the server, for those who append: how often its settings had been changed when they were
-- right (FIXED = nobody can change them, '' = they are not), and whether its disk is full ('' = it is not).
local function guard(k, a)
  local refused = fenced(k[1], a)
  if refused then return refused end
  redis.call('HSET', k[1], 'settings', a[3])
  if a[4] == '' then redis.call('HDEL', k[1], 'full') else redis.call('HSET', k[1], 'full', a[4]) end
  return {'OK'}
end

-- keys: meta figures      args: epoch nonce figures
local function tell(k, a)
  local refused = barred(k[1], a)
  if refused then return refused end
  redis.call('SET', k[2], a[3])
  return {'OK'}
end

-- keys: meta head log sizes owners holds index bodies histories queries streams trimmed empty
-- args: epoch nonce below prefix mark_bytes (seq of a batch)*
-- Forgets expired parts and histories as well: nobody may be staging or asking any more. A batch past its stream's hold
-- stays: its stream and seq stand in the answer. Of one with rows that goes its stream keeps the seq, if that is the
-- largest so far: who has read up to there has missed nothing, in whatever order batches go. One without rows goes
-- at once, and nobody misses it. Control entries are looked for from where the last call stopped,
-- UNPACK_MAX at a time; the answer says how far.
local function trim(k, a)
  local refused, applied = barred(k[1], a)
  if refused then return refused end
  local below, last = tonumber(a[3]), tonumber(a[3]) - 1
  for i = 6, #a do last = math.max(last, tonumber(a[i])) end
  if last > tonumber(applied) then return {'UNAPPLIED', applied, int(last)} end
  sweep(k[2], k[7], a[4], a[5])
  sweep_histories(k[9], k[10], redis.call('HGET', k[1], 'gen'))
  local head = redis.call('HMGET', k[2], 'bytes', 'controls_from')
  local bytes, from = tonumber(head[1]), tonumber(head[2])
  local past = math.max(from, math.min(below, from + UNPACK_MAX))
  local doomed, sums, range = {}, {}, {}
  for seq = from, past - 1 do range[#range + 1] = int(seq) end
  if #range > 0 then
    for i, size in ipairs(redis.call('HMGET', k[4], unpack(range))) do
      if not size then
        doomed[#doomed + 1], sums[#sums + 1] = range[i] .. '-0', range[i]
      end
    end
  end
  local answer, any_held, going, gone = {'OK', int(past)}, redis.call('HLEN', k[6]) > 0, {}, {}
  for i = 6, #a do
    local owner = redis.call('HGET', k[5], a[i])
    local through = any_held and owner and redis.call('HGET', k[6], owner)
    if through and tonumber(a[i]) > tonumber(through) then
      answer[#answer + 1], answer[#answer + 2] = owner, a[i]
    else
      going[#going + 1] = a[i]
      if owner and redis.call('HEXISTS', k[13], a[i]) == 0 then
        gone[owner] = math.max(gone[owner] or 0, tonumber(a[i]))
      end
    end
  end
  for _, row in ipairs(redis.call('HVALS', k[11])) do -- told before it is so
    local stream_id = string.match(row, '^%d+')
    local known = gone[stream_id] and tonumber(redis.call('HGET', k[12], stream_id) or '0')
    if known and gone[stream_id] > known then put(k[12], stream_id, int(gone[stream_id])) end
  end
  for _, seq in ipairs(going) do
    bytes = bytes - tonumber(redis.call('HGET', k[4], seq) or '0')
    for _, key in ipairs({k[4], k[5], k[13]}) do take(key, seq) end
    local part = redis.call('HGET', k[8], seq)
    if part then
      redis.call('UNLINK', body_of(a[4] .. part))
      take(k[8], seq)
    end
    doomed[#doomed + 1], sums[#sums + 1] = seq .. '-0', seq
  end
  call_sliced('XDEL', k[3], doomed, 1, #doomed)
  call_sliced('HDEL', sums_of(k[3]), sums, 1, #sums)
  redis.call('HSET', k[2], 'bytes', int(bytes), 'controls_from', int(past))
  close(k[2], HEAD_FIELDS)
  return answer
end

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

-- Publishing, staging of a publish, and trimming may go over the memory limit: what is committed has to be applied, or
-- nothing would ever be forgotten again. The backlog bounds how much that is.
local function register(name, callback, ...)
  redis.register_function{function_name = name, callback = sealing(callback), flags = {...}}
end

local function register_read(name, callback)
  redis.register_function{function_name = name, callback = callback, flags = {'no-writes'}}
end

register('psoup_append', append)
register('psoup_append_freeing', append_freeing, 'allow-oom')
register('psoup_part_add', part_add)
register('psoup_part_discard', part_discard, 'allow-oom')
register('psoup_commit', commit)
register('psoup_hold', hold, 'allow-oom')
register('psoup_unhold', unhold, 'allow-oom')
register('psoup_history_begin', history_begin)
register('psoup_history_claim', history_claim, 'allow-oom')
register('psoup_history_put', history_put)
register('psoup_history_end', history_end, 'allow-oom')
register('psoup_history_drop', history_drop, 'allow-oom')
register('psoup_history_all', history_all, 'allow-oom')
register('psoup_acquire', acquire, 'allow-oom')
register('psoup_renew', renew, 'allow-oom')
register('psoup_release', release, 'allow-oom')
register('psoup_guard', guard, 'allow-oom')
register('psoup_tell', tell, 'allow-oom')
register('psoup_trim', trim, 'allow-oom')
register('psoup_stage', stage, 'allow-oom')
register('psoup_publish', publish, 'allow-oom')
register('psoup_init', init)
register('psoup_reserve', reserve, 'allow-oom')
register('psoup_open', open, 'allow-oom')
register('psoup_upgrade', upgrade, 'allow-oom')
register_read('psoup_state', state)
register_read('psoup_read', read)
register_read('psoup_list', list)
register_read('psoup_batches', batches)
register_read('psoup_history', history)
