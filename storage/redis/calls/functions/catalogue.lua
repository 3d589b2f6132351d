---- Catalogue -----------------------------------------------------------------------------------------------
-- What operations are checked against, and what each leaves there: as storage/memory/catalogue.py. This is how
-- psoup_append takes them.
-- keys: head log sizes streams queries names readers apps producers owners holds empty requests (trimmed histories)
--   (producers)*
-- args: meta backlog_operations backlog_bytes requests_max request_life, then of each operation how many arguments it has,
-- which key its stream's producers are, and these:
--   kind header body rows count_max sums request content, then by kind:   (request '' = no client's key)
--   declare  name declaration
--   alter    name stream_id declared declaration
--   drop     name stream_id declared (query_id)*
--   rows     name stream_id declared digests_kept app version digest   (app '' = no producer's version)
--   register query_id query_name sql ttl '' (name stream_id declared)*   (query_name '' = unnamed, ttl '' = none)
--   replace  query_id query_name sql ttl changed (name stream_id declared)*   (changed '' = only to another sql)
--   renew    query_id renewals_per_ttl
--   remove   query_id
--   expire   query_id
--   tick
-- `declaration`, `declared`, `digest`, `content`, `sql` are digests, `app`, `request` and `query_name` hashes of names.
-- Operations are appended in their order, each by itself: one that is refused changes nothing, and one that fails harms no
-- other. Answers DONE, and what became of each. meta is an argument because FCALL asks for write permission on declared keys, and appenders only read it.

local HEAD, LOG, SIZES, STREAMS, QUERIES, NAMES, READERS, APPS, PRODUCERS, OWNERS, HOLDS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local EMPTY, REQUESTS, TRIMMED, HISTORIES = 12, 13, 14, 15 -- the last two of what frees
local KIND, HEADER, BODY, ROWS, COUNT_MAX, SUMS, REQUEST, CONTENT, FIRST = 1, 2, 3, 4, 5, 6, 7, 8, 9
local FIRST_OPERATION = 6

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
-- it last, if one has. Of a query with a time to live that is 0 if none has, and behind it stand the time, and when it is
-- over (both in microseconds). What is not there is answered as ''.
local function query_row(row)
  local seq, name, sql, streams, changed, ttl, expires = string.match(row, '^(%d+) (%S+) (%S+) (%S+) ?(%d*) ?(%d*) ?(%d*)$')
  return seq, name, sql, streams, changed ~= '0' and changed or '', ttl, expires
end

local function write_query(k, query_id, row, old)
  local changed, ttl = row[5], row[6]
  if ttl == '' then
    row = {row[1], row[2], row[3], row[4], changed ~= '' and changed or nil}
  elseif changed == '' then
    row[5] = '0'
  end
  replace(k[QUERIES], query_id, table.concat(row, ' '), old)
end

-- When a query expires that is used at `ts`.
local function expiry(ttl, ts)
  return ttl == '' and '' or int(tonumber(ts) + tonumber(ttl))
end

-- Producers of one stream are one hash. Field `app`: last version, number of versions committed. Fields
-- `app:0` to `app:63`, a ring: version, seq and digest of the last committed ones. Of those that have never sent a row a
-- hash beside it has the seq of the last batch: they give way to new ones.
local function rowless_of(producers)
  return producers .. ':e'
end

-- Keys of requests, as clients give them, are one hash. Field `request`: the key's number, seq and arrival time of its
-- operation, digest of what was sent, handle of a query or '-'. Fields `:0` to `:65535`, a ring: the key of that number.
-- Field `:`: how many there ever were.
local function known_request(k, a, ts, life)
  if a[REQUEST] == '' then return end
  local row = redis.call('HGET', k[REQUESTS], a[REQUEST])
  if not row then return end
  local seq, sent, content, query_id = string.match(row, '^%d+ (%d+) (%d+) (%S+) (%S+)$')
  if tonumber(ts) - tonumber(sent) >= tonumber(life) then return nil, row end
  if content ~= a[CONTENT] then return {'REUSED', seq} end
  return {'REPLAY', seq, query_id == '-' and '' or query_id}
end

-- `row` is what `known_request` found of the key: it was sent too long ago to count.
local function enter_request(k, a, seq, ts, row, max)
  if a[REQUEST] == '' then return end
  local count = redis.call('HGET', k[REQUESTS], ':')
  local number = tonumber(count or '0')
  local slot = ':' .. int(number % tonumber(max))
  local earlier = redis.call('HGET', k[REQUESTS], slot)
  if earlier and earlier ~= a[REQUEST] then
    local other = redis.call('HGET', k[REQUESTS], earlier)
    if other and tonumber(string.match(other, '^%d+')) == number - tonumber(max) then take(k[REQUESTS], earlier) end
  end
  local query_id = a[KIND] == 'register' and a[FIRST] or '-'
  replace(k[REQUESTS], slot, a[REQUEST], earlier)
  replace(k[REQUESTS], a[REQUEST], table.concat({int(number), seq, ts, a[CONTENT], query_id}, ' '), row)
  replace(k[REQUESTS], ':', int(number + 1), count)
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
  local seq, _, _, _, changed = query_row(row)
  return {'DUP', changed ~= '' and changed or seq, query_id}
end

local function are_in_force(k, a)
  for i = FIRST + 5, #a, 3 do
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
  for i = FIRST + 6, #a, 3 do
    if not seen[a[i]] then
      seen[a[i]] = true
      streams[#streams + 1] = a[i]
      add(k[READERS], a[i], 1)
    end
  end
  return table.concat(streams, ',')
end

function enter.register(k, a, seq, _, ts)
  local query_id, name, ttl = a[FIRST], a[FIRST + 1], a[FIRST + 3]
  if name ~= '' then replace(k[NAMES], name, query_id) end
  write_query(k, query_id, {seq, name ~= '' and name or '-', a[FIRST + 2], read_streams(k, a), '', ttl, expiry(ttl, ts)})
end

function check.replace(k, a)
  if not are_in_force(k, a) then return {'STALE'} end
  local row = redis.call('HGET', k[QUERIES], a[FIRST])
  if not row then return {'STALE'} end
  local seq, name, sql, _, changed = query_row(row)
  if name ~= (a[FIRST + 1] ~= '' and a[FIRST + 1] or '-') then return {'STALE'} end
  local expected = a[FIRST + 4]
  if expected ~= '' then
    if expected ~= (changed ~= '' and changed or seq) then return {'STALE'} end
  elseif sql == a[FIRST + 2] then
    return repeated(row, a[FIRST])
  end
  return nil, row
end

function enter.replace(k, a, seq, row, ts)
  local first, name, _, streams = query_row(row)
  local ttl = a[FIRST + 3]
  unread_streams(k, streams)
  write_query(k, a[FIRST], {first, name, a[FIRST + 2], read_streams(k, a), seq, ttl, expiry(ttl, ts)}, row)
end

function check.renew(k, a, ts)
  local row = redis.call('HGET', k[QUERIES], a[FIRST])
  if not row then return {'NOQUERY'} end
  local _, _, _, _, _, ttl, expires = query_row(row)
  if ttl == '' then return {'NOQUERY'} end
  local passed = tonumber(ts) + tonumber(ttl) - tonumber(expires)
  if passed * tonumber(a[FIRST + 1]) < tonumber(ttl) then return repeated(row, a[FIRST]) end
  return nil, row
end

function enter.renew(k, a, _, row, ts)
  local seq, name, sql, streams, changed, ttl = query_row(row)
  write_query(k, a[FIRST], {seq, name, sql, streams, changed, ttl, expiry(ttl, ts)}, row)
end

function check.remove(k, a)
  if redis.call('HEXISTS', k[QUERIES], a[FIRST]) == 0 then return {'NOQUERY'} end
end

function enter.remove(k, a)
  remove_query(k, a[FIRST])
end

function check.expire(k, a, ts)
  local row = redis.call('HGET', k[QUERIES], a[FIRST])
  if not row then return {'NOQUERY'} end
  local _, _, _, _, _, _, expires = query_row(row)
  if expires == '' or tonumber(ts) < tonumber(expires) then return {'NOQUERY'} end
end

function enter.expire(k, a)
  remove_query(k, a[FIRST])
end

function check.tick() end
function enter.tick() end
