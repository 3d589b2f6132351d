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

-- What is stored where nothing may be added: it frees memory, or, as a renewal, takes next to none.
local FREEING = {drop = true, remove = true, renew = true, expire = true, tick = true, hold = true, unhold = true}
local REMOVING = {drop = true, remove = true, expire = true} -- queries, and their histories with them
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
