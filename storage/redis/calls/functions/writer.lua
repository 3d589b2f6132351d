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
