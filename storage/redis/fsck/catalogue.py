"""What is wrong with the log's catalogue: streams and queries by name, and the versions that producers have sent."""

import collections
from collections.abc import Iterator

from psoup.engine.log.operation import definition
from psoup.engine.results.contract import Checkpoint
from psoup.engine.tuples.batch import Seq
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.encoding.histories import pairs
from psoup.storage.encoding.records import declaration_digest, text_digest
from psoup.storage.redis.calls.client import RedisClient


def index_faults(client: RedisClient) -> Iterator[Difference]:
    """Yield where the log's streams, queries, their names and readers do not lead to each other."""
    hashes = (keys.LOG_STREAMS, keys.LOG_QUERIES, keys.LOG_NAMES, keys.LOG_READERS)
    answers = client.fetch_together([("HGETALL", name) for name in hashes])
    streams, rows, names, readers = map(_texts, answers)
    queries = {query_id: row.split() for query_id, row in rows.items()}
    named = {name: query_id for query_id, (_, name, *_) in queries.items() if name != "-"}
    for name in sorted(names.keys() | named.keys()):
        if names.get(name) != named.get(name):
            said, found = names.get(name, "nothing"), named.get(name, "nothing")
            text = f"the name {name} leads to {said}, and {found} has it"
            yield Difference("query", text)
    read = collections.Counter(
        stream_id
        for _, _, _, stream_ids, *_ in queries.values()
        for stream_id in stream_ids.split(",")
    )
    in_force = {row.split()[0] for row in streams.values()}
    for stream_id in sorted(read.keys() - in_force):
        yield Difference("stream", f"stream {stream_id} is read by a query, and is not declared")
    for stream_id in sorted(readers.keys() | read.keys()):
        count = int(readers.get(stream_id, "0"))
        if count != read[stream_id]:
            text = f"{count} queries are said to read stream {stream_id}, and {read[stream_id]} do"
            yield Difference("stream", text)


def catalogue_faults(client: RedisClient, checkpoint: Checkpoint) -> Iterator[Difference]:
    """Yield where streams and queries are declared otherwise in the log's catalogue than in what is published.

    What was declared or dropped, or registered, replaced, renewed, removed or expired, and is not applied is left out.
    """
    applied = checkpoint.cut.seq
    names = (keys.LOG_STREAMS, keys.LOG_QUERIES)
    streams, queries = map(pairs, client.fetch_together([("HGETALL", name) for name in names]))
    for stream in checkpoint.streams:
        row = streams.get(stream.schema.name.encode())
        said = [b"%d" % stream.stream_id, declaration_digest(stream.schema).encode()]
        if row is None or max(map(int, row.split()[::2])) > applied:
            continue
        if row.split()[:2] != said:
            yield Difference("stream", "it is declared otherwise in the log", stream.schema.name)
    clauses = {clause.clause_id: clause for clause in checkpoint.clauses}
    for query in checkpoint.queries:
        row, clause = queries.get(query.query_id.encode()), clauses.get(query.clause_id)
        if row is None or clause is None:
            continue
        name = "-" if query.name is None else keys.name_hash(query.name)
        digest = text_digest(definition(clause.materialize, query.canonical))
        seq, said_name, said_digest, read, *later = row.decode(errors="replace").split()
        changed_seq, ttl_us, expires_us = [*map(int, later), 0, 0, 0][:3]
        if changed_seq > applied:
            continue
        logged = (int(seq), said_name, said_digest, sorted(read.split(",")), changed_seq, ttl_us)
        streams_read = sorted(map(str, set(clause.streams)))
        replaced_seq = max(query.defined_seq, query.amended_seq)
        known = (query.seq, name, digest, streams_read, replaced_seq, query.ttl_us or 0)
        # A renewal that is not applied yet puts the instant off.
        if logged != known or expires_us < (query.expires_us or 0):
            text = "it is registered otherwise in the log"
            yield Difference("query", text, query=query.query_id, seq=query.seq)
    yield from _producer_faults(client, checkpoint)


def _producer_faults(client: RedisClient, checkpoint: Checkpoint) -> Iterator[Difference]:
    """Yield producers whose last version is not the last one of the ring that remembers versions.

    And those without a row whose last batch is said to be another one.
    """
    for stream in checkpoint.streams:
        flat, idle_flat, head = client.fetch_together(
            [
                ("HGETALL", keys.producers(stream.stream_id)),
                ("HGETALL", keys.rowless(stream.stream_id)),
                ("HGET", keys.HEAD, "seq"),
            ]
        )
        rows, idle = pairs(flat), pairs(idle_flat)
        rings: dict[bytes, list[tuple[int, int]]] = {}
        for field, row in rows.items():
            app, ring, _ = field.partition(b":")
            if ring:
                numbers = row.split()
                rings.setdefault(app, []).append((int(numbers[0]), int(numbers[1])))
        for app, known in rings.items():
            version, seq = max(known)
            said = rows.get(app, b"-1 0").split()
            if int(said[0]) != version or seq != max(one for _, one in known) or seq > int(head):
                text = f"a producer's last version is said to be {int(said[0])}, and {version} is the last known"
                yield Difference("producer", text, stream.schema.name, seq=Seq(seq))
        for app, said_seq in idle.items():
            last = max((one for _, one in rings.get(app, [])), default=0)
            if int(said_seq) != last:
                text = f"the last batch of a producer without rows is said to be {int(said_seq)}, and {last} is known"
                yield Difference("producer", text, stream.schema.name, seq=Seq(last))


def _texts(flat: list[bytes]) -> dict[str, str]:
    """Return a hash as text; what is none is damaged, and leads to nothing."""
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in pairs(flat).items()
    }
