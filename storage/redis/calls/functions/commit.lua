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
