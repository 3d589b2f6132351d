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
