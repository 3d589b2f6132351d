"""Only the Function library writes to the store: that is what makes two writers impossible."""

import ast

import pytest

from tests.house import tree

WRITES = frozenset(
    """
    bitfield bitop copy decr decrby delete eval evalsha expire expireat flushall flushdb getdel
    getex getset hdel hincrby hmset hset hsetnx incr incrby linsert lpop lpush lset ltrim migrate
    move mset msetnx persist pexpire pexpireat pfadd psetex register_script rename renamenx restore
    rpop rpush sadd set setbit setex setnx setrange smove spop srem swapdb unlink xack xadd
    xautoclaim xclaim xdel xgroup_create xreadgroup xsetid xtrim zadd zincrby zrem
    """.split()  # noqa: SIM905 -- as a list it would be 64 lines
)
AMBIGUOUS = frozenset({"copy", "delete", "eval", "expire", "move", "rename", "restore", "set"})
"""Words other objects have too: counted only where the receiver is named like a connection."""
CONNECTIONS = ("client", "connection", "pipe", "pipeline", "redis", "server", "store")


def raw_writes(module: ast.Module) -> list[tuple[int, str]]:
    """Return (line, command) of each write to a store that does not go through a Function."""
    found = []
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        command = _command(node, node.func)
        if command is not None and command.lower() in WRITES:
            found.append((node.lineno, command))
    return sorted(found)


def _command(call: ast.Call, function: ast.Attribute) -> str | None:
    if function.attr == "execute_command":
        first = call.args[0] if call.args else None
        return str(first.value).partition(" ")[0] if isinstance(first, ast.Constant) else None
    if function.attr in AMBIGUOUS:
        receiver = tree.dotted_name(function.value).rpartition(".")[2].lower()
        return function.attr if receiver.lstrip("_").endswith(CONNECTIONS) else None
    return function.attr


def test_storage_writes_through_functions_alone():
    """No module under storage/ or app/ sends a write command of its own."""
    found = [
        f"{tree.place(path, line)}: {command} belongs into storage/redis/calls/functions/"
        for path in tree.python_files("storage", "app")
        for line, command in raw_writes(tree.syntax_tree(path))
    ]
    assert [] == found


@pytest.mark.parametrize(
    "source",
    [
        "client.hset('k', 'f', 1)",
        "self._redis.set('k', 1)",
        "pipe.delete('k')",
        "anything.xadd('k', {})",
        "client.execute_command('SET', 'k', 1)",
        "client.execute_command('XTRIM k MAXLEN 1')",
    ],
)
def test_raw_writes_of_a_write_are_found(source):
    """The check can fail: a write is seen by its method, its receiver or its command."""
    assert [] != raw_writes(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "event.set()",
        "rows.copy()",
        "client.fcall('psoup_append', 1, 'k')",
        "client.hgetall('k')",
        "client.execute_command('FCALL', 'psoup_publish')",
    ],
)
def test_raw_writes_of_anything_else_are_none(source):
    """Reads, Function calls and other objects' methods are left alone."""
    assert [] == raw_writes(ast.parse(source))
