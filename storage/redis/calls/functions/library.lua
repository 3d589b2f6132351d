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
