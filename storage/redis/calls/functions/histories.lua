---- Histories -----------------------------------------------------------------------------------------------
-- Answers that a job computes from an archive. They are beside the log, transient, and of one generation. The index has
-- the id of each, by its query and the instant asked for. A record lies under the index's key and the id: j what is
-- asked, f its field in the index, q query id, g generation, a when it was asked, s state, x when it goes, w who has
-- claimed it, c until when, v changes of its parts, d done, o of, n rows and z bytes of its parts; once it has ended e
-- when, and m rows of each part, i from when it is complete and l what overflows, or l why it failed. Its parts lie
-- beside it, by number: b bodies, p rows, bytes, first and last place.

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
