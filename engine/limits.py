"""Every bound of psoup, with its unit and its reason; `docs/settings.md` lists them, `GET /v1/limits` answers them."""

from typing import Final

from psoup.engine.limits_of_cores import *  # noqa: F403 (they are limits like these)
from psoup.engine.limits_of_queries import *  # noqa: F403 (they are limits like these)
from psoup.engine.limits_of_waiting import *  # noqa: F403 (they are limits like these)

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB
SECOND_US: Final = 1_000_000
DAY_US: Final = 86_400 * SECOND_US
# Tuples in memory. A chunk is the unit of a result page, a segment the unit of expiry.
CHUNK_ROWS: Final = 4_096
"""The unit of a result page: its bitmap takes 512 bytes."""
SEGMENT_ROWS: Final = 65_536
"""16 chunks: an offset inside a segment fits 16 bits."""
BODY_PLANS_MAX: Final = 64
"""Of bodies that begin alike, for each stream: how to read one is kept. Batches of one size mostly begin alike."""
MEMORY_TOUCHED_BYTES: Final = 64 * MIB
"""Of the process, taken from the system at the start: the first touch of a page takes longer than filling it."""
MEMORY_FREE_BYTES_MAX: Final = 256 * MIB
"""Kept of what dropped segments and hits leave, for those to come, instead of given back to the system."""

# Declarations.
COLUMNS_COUNT_MAX: Final = 64
"""Wider tuples cost memory in every chunk, and no known stream needs them."""
COLUMN_NAME_LENGTH_MAX: Final = 128
"""Characters, as in the databases that streams come from; also for names of streams."""
STREAMS_COUNT_MAX: Final = 1_024
"""Unless `streams` says otherwise: 45 MB where each has five columns and a row."""
STREAMS_COUNT_CEILING: Final = 4_096
"""Of that setting: 0.2 GB so, 1.6 GB where each has 64 columns: its first row takes a page of each column's array."""
RETENTION_ROWS_DEFAULT: Final = 10_000_000
"""What a laptop holds of an ordinary stream; there is no bound on time by default."""
RETENTION_ROWS_MAX: Final = 1_000_000_000
"""Far past the memory of one machine: the bound in bytes is met first."""
RETENTION_BYTES_DEFAULT: Final = 2 * GIB
"""Reached first by streams of wide rows."""
RETENTION_BYTES_MAX: Final = 6 * GIB
"""The memory cap of the store and of the engine."""
RETENTION_TIME_US_MAX: Final = 36_525 * DAY_US
"""A century: longer than any stream, short enough for sums of instants in 64 bits."""
RETIRED_US: Final = 600 * SECOND_US
"""Tuples out of retention stay readable this long, so that pages already handed out can be finished."""
RETIRED_SEGMENTS_MAX: Final = 16
"""Segments of one stream so kept: a fast stream must not hold ten minutes of what it has let go."""
FUTURE_US_DEFAULT: Final = DAY_US
"""Rows dated further past the server's clock are refused: one wrong year would end every window."""
FUTURE_US_MAX: Final = 36_525 * DAY_US
"""A century, as for retention."""
TIMESTAMP_US_MIN: Final = -62_135_596_800 * SECOND_US
"""0001-01-01: the first instant RFC 3339 can write."""
TIMESTAMP_US_MAX: Final = 253_402_300_800 * SECOND_US - 1
"""9999-12-31T23:59:59.999999: the last instant RFC 3339 can write."""

# Ingest.
BODY_INGEST_BYTES_MAX: Final = 32 * MIB
"""Of a batch as it travels, counted while it streams in."""
BODY_DECODED_BYTES_MAX: Final = 64 * MIB
"""Of a compressed batch once unpacked, counted while it is unpacked."""
BODY_RATIO_MAX: Final = 50
"""Unpacked to packed: real rows stay below, bombs reach a thousand."""
BODY_RATIO_FREE_BYTES: Final = MIB
"""The compression ratio is judged after this many decoded bytes."""
BODY_MEMBERS_MAX: Final = 4_096
"""Members of gzip, frames of zstd: each needs a decoder. Gzip in blocks has one for some 64 KiB, a quarter of these."""
BODY_REGISTER_BYTES_MAX: Final = 6 * 64 * KIB + 64 * KIB
"""A query text of 64 KiB, all of it escaped, and its envelope: the text has QUERY_TEXT_BYTES_MAX."""
BODIES_IN_FLIGHT_BYTES_MAX: Final = 256 * MIB
"""Bodies held by all requests under way: eight of the largest, and far below the memory of one machine."""
BODY_INVOKE_BYTES_MAX: Final = 256 * KIB
"""Of a list of INVOKE_QUERIES_MAX handles, each on a line of its own, with a cursor of two streams."""
BODY_COMMIT_BYTES_MAX: Final = 64 * KIB
"""Of a list of COMMIT_STAGES_MAX handles, each on a line of its own."""
BODY_OTHER_BYTES_MAX: Final = 16 * KIB
"""Of a declaration and everything else."""
ARROW_MESSAGES_MAX: Final = 4_096
"""Of one Arrow stream, schema, dictionaries and batches: each takes 50 us to read, however few rows it has."""
ARROW_METADATA_BYTES_MAX: Final = MIB
"""Of one message: fifty times the schema of a stream with all columns, and a field takes some microseconds."""
BATCH_ROWS_MAX: Final = 200_000
"""A batch is applied whole: a larger one would hold up every other operation."""
ROW_BYTES_MAX: Final = 32 * KIB
"""Of one row as text."""
STRING_BYTES_MAX: Final = 8 * KIB
"""Of one value, in UTF-8."""
ENTRY_BYTES_MAX: Final = 16 * MIB
"""One entry of the log: the Arrow IPC stream of a batch."""
JSON_DEPTH_MAX: Final = 32
"""Rows are flat and requests nearly so; nesting only costs stack."""
JSON_MEMBERS_MAX: Final = 256
"""Of one object."""
JSON_NUMBER_LENGTH_MAX: Final = 32
"""Characters of a number: every int64 and float64 fits."""
ROW_ERRORS_SHOWN_MAX: Final = 100
"""Of a refused batch; the number of all of them is told as well."""
ROW_ERRORS_COUNTED_MAX: Final = 10_000
"""Past so many errors of a batch no more are looked for than may be shown: judging a value takes a microsecond."""
FLOAT64_EXACT_INT_MAX: Final = 2**53
"""An integer literal for a float64 column has to be exact."""
APP_NAME_BYTES_MAX: Final = 200
"""Of a producer's name, in UTF-8."""
APP_VERSION_MAX: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""
APP_DIGESTS_KEPT: Final = 64
"""Versions per producer whose content can still be compared."""
APPS_COUNT_MAX: Final = 1_000
"""Producers per stream: their last versions are kept as long as it; of those without a row, until others come."""
REQUEST_KEY_BYTES_MAX: Final = 200
"""Of an idempotency key, as it is sent: a UUID has 36."""
REQUEST_KEY_LIFE_S: Final = 86_400
"""So long a request with an idempotency key may be repeated: whoever was away for a day asks what became of it."""
REQUEST_KEYS_MAX: Final = 65_536
"""Idempotency keys remembered; the earliest give way. Each takes some 250 bytes of the store's memory."""
STAGE_LIFE_S: Final = 3_600
"""A staged part that is not committed by then is gone: its producer has failed, or has sent it again since."""
STAGED_BYTES_MAX: Final = GIB
"""All staged bodies, with STAGE_MARK_BYTES each: they lie in the store's memory, and four commits fit in."""
STAGE_MARK_BYTES: Final = 512
"""What a part counts beside its body until its life has ended, committed or not: so many tiny ones are bounded too."""
COMMIT_STAGES_MAX: Final = 1_024
"""Parts of one commit: more than a job has partitions, and one call of the store looks at all of them."""
LOAD_PIPE_BYTES_MAX: Final = 4 * GIB
"""Copied of what `psoup load` reads through a pipe: temporary folders are small, and often in memory."""
COMMIT_BYTES_MAX: Final = 256 * MIB
"""Bodies of one commit: as much as may wait to be applied, and the engine reads all of it before it applies any."""

# Keys.
AUTHENTICATION_FAILURES_MAX: Final = 10
"""Wrong keys of one address in AUTHENTICATION_FAILURES_S: enough for a mistake, too few to guess."""
AUTHENTICATION_FAILURES_S: Final = 60
"""So long a wrong key counts, and at most so long an address waits."""
AUTHENTICATION_ADDRESSES_MAX: Final = 10_000
"""Addresses whose wrong keys are counted, for each process; the ones longest without any are forgotten first."""

# HTTP.
HEADERS_BYTES_MAX: Final = 16 * KIB
"""Of the request line and all headers."""
HEADER_BYTES_MAX: Final = 8 * KIB
"""Of one header."""
HEADERS_COUNT_MAX: Final = 64
"""Headers of one request."""
BLANK_BYTES_MAX: Final = 256
"""Of empty lines in front of a request: HTTP has one of them passed over, and some clients send it behind a body."""
URL_BYTES_MAX: Final = 2 * KIB
"""Of the request target; queries travel in bodies."""
REQUEST_SECONDS_MAX: Final = 60
"""A request has arrived by then: a slow one holds its connection no longer."""
REQUEST_BYTES_PER_SECOND_MIN: Final = 8 * KIB
"""The least rate at which a body arrives."""
CONNECTIONS_MAX: Final = 4_096
"""Open at once at one worker, if the system lets it have so many files; most of them idle, 3 to 6 KiB each."""
FILES_RESERVED: Final = 256
"""Open files of a process that are not connections of clients."""
CONNECTIONS_PER_ADDRESS_MAX: Final = 50
"""Open at once from one address."""
TLS_HANDSHAKE_S: Final = 10.0
"""From when a connection is accepted: some round trips, of a slow client as well."""
TLS_FILES_LOOK_S: Final = 1.0
"""A certificate that was renewed is used by connections that come so much later."""
REQUESTS_IN_FLIGHT_MAX: Final = 64
"""Worked on at once by one worker; more are turned away at once, cheaply."""
REQUESTS_READING_MAX: Final = 256
"""Whose bodies are on their way, beside those: they take their bytes, which are bounded, and no thread."""
REQUESTS_WAITING_MAX: Final = 256
"""That wait for an operation to be applied, beside those: a later one is answered at once as if its time were up."""
REQUESTS_UNPARSED_BYTES_MAX: Final = 64 * MIB
"""Of requests sent ahead of their turn, of all connections; of one, what one look at the network finds: 256 KiB."""
ANSWERS_UNSENT_BYTES_MAX: Final = 256 * MIB
"""Of answers that clients have not taken: sixteen of the largest pages. Those below 64 KiB are not counted."""
ANSWER_STALL_S: Final = 30.0
"""A client takes a part of its answer within this, ANSWER_BYTES_PER_SECOND_MIN on average, or is cut off."""
ANSWER_BYTES_PER_SECOND_MIN: Final = 8 * KIB
"""The least rate at which an answer is taken, as for a body."""
APPENDS_IN_FLIGHT_MAX: Final = 64
"""On their way into the log: as many resends as a worker can recognise."""
APPENDS_IN_FLIGHT_BYTES_MAX: Final = 128 * MIB
"""Of the same, in bodies: a server counts them as its clients' memory and cuts those off past 512 MiB."""
APPENDS_TOGETHER_BYTES_MAX: Final = 256 * KIB
"""Of bodies in one call of the log: from here on they take longer than the sync of the disk that they would share."""
INGEST_DEADLINE_S: Final = 10.0
"""A batch committed and not applied by then is answered 202."""
INVOKE_DEADLINE_S: Final = 2.0
"""An answer is there by then, with all it waits for, or it is refused. Most take a thousandth of that."""
HALF_CLOSED_S: Final = 1.0
"""A client that has ended its side has mostly gone: a read is answered to it within this time, or never."""
REGISTER_DEADLINE_S: Final = 30.0
"""Registering reads old data, hence longer."""
SLOW_REQUEST_S: Final = 1.0
"""A request that takes so long has a line in the log."""
REQUEST_LINES_PER_ADDRESS_MAX: Final = 5
"""A second, in the log of one process: of requests that one address sent amiss; as many of those that are warnings."""
REQUEST_LINES_MAX: Final = 20
"""The same from all addresses together: no client fills the disk that the log is on."""
LOGGED_PATH_BYTES_MAX: Final = 200
"""Of a path in a log line; the rest is cut off."""
LOGGED_ADDRESS_BYTES_MAX: Final = 64
"""Of a client's address in a log line: what a proxy has put there may be anything."""

# Log.
BACKLOG_OPERATIONS_MAX: Final = 10_000
"""Committed and not yet published: past it appends are refused, so that recovery stays short."""
BACKLOG_BYTES_MAX: Final = 256 * MIB
"""Of the same, in bodies: they lie in the store's memory."""
FOLD_OPERATIONS_MAX: Final = 64
"""Operations folded in one turn of the loop, and appended by one call of the log: some 2 ms of the store."""
FOLD_BYTES_MAX: Final = 8 * MIB
"""Bodies folded in one turn of the loop; bodies, and texts of queries, kept between append and fold."""
AT_HAND_OPERATIONS_MAX: Final = 1_024
"""Operations kept between append and fold. Later ones are read from the log."""
FOLD_AT_ONCE_OPERATIONS_MAX: Final = 16
"""Operations folded where they were appended, beside requests: some 0.5 ms."""
FOLD_AT_ONCE_BYTES_MAX: Final = 4 * KIB
"""Of a batch that is folded so."""
FOLD_AT_ONCE_ROWS_MAX: Final = 128
"""Rows of such a batch, and rows that it may push out of retention: one of bits takes 776 bytes with 4,000 of them."""
FOLD_AT_ONCE_STREAMS_MAX: Final = 8
"""Streams that may let rows go meanwhile: each operation looks at all of them."""
FOLD_AT_ONCE_BATCHES_MAX: Final = 64
"""Batches that may leave retention with one that is folded so: some 50 microseconds."""
PUBLISH_AFTER_S: Final = 0.5
"""What is applied is published after this long: together, because each publish costs a round trip and a sync."""
PUBLISH_OPERATIONS_MAX: Final = 1_000
"""Operations published together: a tenth of the backlog, which counts what is not published."""
PUBLISH_TOGETHER_BYTES_MAX: Final = 64 * MIB
"""Bodies and hits published together: a quarter of the backlog's bytes, and a copy of them is made."""
LOG_ENTRIES_KEPT: Final = 10_000
"""Control entries kept behind the applied one; batches are kept as long as their tuples."""
PUBLISH_WRITES_MAX: Final = 1_000
"""Writes of one Function call: a call holds every other client up (measured 3 ms for 1,000)."""

# Answers.
PAGE_ROWS_DEFAULT: Final = 1_000
"""Rows of a page where none are asked for."""
PAGE_ROWS_MAX: Final = 100_000
"""Rows of a page at most; the rest follows under `next`."""
PAGE_BYTES_MAX: Final = 16 * MIB
"""A page ends before its body gets larger."""
PAGES_LISTED_MAX: Final = 10_000
"""Pages of one answer that are listed at once: a list of about 3 MB, and more than a cluster reads side by side."""
SERIES_POINTS_DEFAULT: Final = 60
"""Steps of a series where none is asked for: a chart has some hundred pixels for each."""
SERIES_POINTS_MAX: Final = 10_000
"""More than a screen has columns."""
SERIES_ROWS_MAX: Final = 100_000
"""Of all points of a series together: as many as a page has, for a series has no pages."""
LIST_ROWS_DEFAULT: Final = 100
"""Streams or queries of one listing where no number is asked for."""
LIST_ROWS_MAX: Final = 1_000
"""Streams or queries of one listing at most."""
TOP_QUERIES_DEFAULT: Final = 20
"""Queries of `GET /v1/top` where no number is asked for."""
TOP_QUERIES_MAX: Final = 100
"""Queries of `GET /v1/top` at most: as many clauses an engine tells of."""
CUT_CACHE_BYTES_MAX: Final = 64 * MIB
"""Row orders of answers being paged through, kept so that a page costs a page."""
HITS_CACHE_BYTES_MAX: Final = 128 * MIB
"""Hits in whole chunks as invocations found them, kept so that the next one does not look for them again."""
FIRST_DATED_CACHE_BYTES_MAX: Final = 8 * MIB
"""The smallest times of visible hits as invocations found them, a KiB for each query that slides."""
PARTIALS_CACHE_BYTES_MAX: Final = 128 * MIB
"""Aggregates of whole chunks, kept so that the next invocation does not read their rows again."""
PARTIALS_AHEAD_BYTES_MAX: Final = 128 * MIB
"""The same of queries with `materialize` `complete`, which are made before anybody asks."""
DIGESTED_TEXTS_MAX: Final = 16_384
"""Texts that groups are known by whose digests are remembered, some 200 bytes each."""
DIGESTED_DICTIONARIES_MAX: Final = 16
"""Dictionaries of such texts, of some thousand each at most, all of whose digests are remembered in one array."""
DIGESTED_CHARACTERS_MAX: Final = 262_144
"""Characters of one such dictionary: it is held with its digests, which may be longer than its stream holds it."""
CHUNK_GROUPS_MAX: Final = 1_000
"""Groups of a chunk on average whose partials are kept: merging more costs what reading the rows does."""
SEGMENT_GROUPS_MAX: Final = 10_000
"""Groups of a segment whose partial is kept, likewise."""

# Histories.
HISTORIES_MAX: Final = 64
"""Answers computed from an archive, in work or kept: a job computes them one after the other."""
HISTORY_LIFE_S: Final = 3_600
"""So long a finished one is kept, and one that nobody computes: then its asker has gone, or asks again."""
HISTORY_RETRY_S: Final = 60
"""A failed one is begun anew when it is asked for after this long: what was wrong may have been mended."""
HISTORY_CLAIM_S: Final = 30
"""A worker that says nothing for so long has failed: another one may claim what it was computing."""
HISTORY_POLL_S: Final = 2
"""After this long who waits for one may look again."""
HISTORY_ROWS_MAX: Final = 10_000_000
"""Rows of one answer: as many as a join's that is found when it is asked for."""
HISTORY_BYTES_MAX: Final = 256 * MIB
"""Bytes of one answer, in Arrow: they lie in the store's memory, as a commit's do."""
HISTORIES_BYTES_MAX: Final = GIB
"""Bytes of all of them together: four of the largest."""
HISTORY_PART_BYTES_MAX: Final = 16 * MIB
"""Of one part: one value of the store, and what is read for a page of it."""
HISTORY_PARTS_MAX: Final = 4_096
"""Parts of one answer: more than a job has partitions, and one call of the store looks at all of them."""
HISTORY_DETAIL_LENGTH_MAX: Final = 1_000
"""Characters of a job's word why it has failed."""
HISTORY_CACHE_BYTES_MAX: Final = 64 * MIB
"""Parts that a process keeps while their pages are read: a part is fetched once, not for each page."""

# Hits and joins.
HITS_MEMORY_BYTES_MAX: Final = 6 * GIB
"""What hits may take in the engine's memory; past it appends are refused and removals still run."""
HITS_MEMORY_HIGH_PERCENT: Final = 85
"""From here on the service reports `memory-high`, as for the store's memory."""
JOIN_MATCHES_MAX: Final = 1_000_000
"""Composite tuples that one entrant (a chunk of tuples, a query) may find for one clause; past it that is suspended."""
JOIN_STEPS_MAX: Final = 50_000_000
"""Candidates, pairs and conditions asked of these that one entrant may come to in one group: counted, never timed."""
JOIN_ENTRANT_BYTES_MAX: Final = GIB
"""What the composite tuples that one entrant finds for all clauses of a group may take while they are put in order."""
JOIN_RESULTS_MAX: Final = 10_000_000
"""Composite tuples kept for one clause; past it that is suspended."""
JOIN_ANSWER_ROWS_MAX: Final = 10_000_000
"""Rows of the answer of a join that is not kept: they are put in order before the first page is cut."""
JOIN_INDEX_BYTES_MAX: Final = GIB
"""Of the key indexes of one stream; past it they are made again as they are asked for."""

# Processes.
LEASE_S: Final = 10.0
"""How long an engine that says nothing keeps its store from a standby: only when that may try hangs on it."""
LEASE_RENEW_S: Final = 2.0
"""How often an engine says that it is alive: five times before its lease ends."""
STANDBY_LOOK_S: Final = 1.0
"""How often a standby looks whether the lease has ended, at least."""
FOLLOW_S: Final = 0.25
"""How often an API worker looks at the applied position, if nothing tells it that it has moved."""
CATCH_UP_S: Final = 1.0
"""How long a request that was checked against a declaration of before waits for the one that is in force by now."""
FIGURES_EVERY_S: Final = 1.0
"""How often an engine lets API workers know its figures."""
FIGURES_BYTES_MAX: Final = 1 * MIB
"""Of these figures: groups of joins that cost little are left out first."""
API_WORKERS_MAX: Final = 64
"""Processes of one `psoup api`: more than a machine has cores answer nothing faster."""
TUPLES_CACHE_BYTES_MAX: Final = 1 * GIB
"""Segments of tuples that one API worker keeps between invocations; those an answer needs now are held beside."""
COMPOSITES_CACHE_BYTES_MAX: Final = 256 * MIB
"""Pages of joins that one API worker keeps between invocations."""
RECORDS_CACHE_MAX: Final = 20_000
"""Records of queries, clauses and streams that one API worker keeps decoded, of each kind."""

# Store.
STORE_MEMORY_BYTES_MAX: Final = 6 * GIB
"""What the embedded server may use for data; past it appends are refused and removals still run."""
STORE_MEMORY_HIGH_PERCENT: Final = 85
"""From here on the store reports `memory-high`."""
STORE_CONNECTIONS_MAX: Final = 32
"""Connections of one process to its store; more calls than that wait for one."""
STORE_CONNECTION_WAIT_S: Final = 5.0
"""How long a call waits for a connection of the pool."""
STORE_CONNECT_S: Final = 2.0
"""How long connecting to the store may take."""
STORE_ANSWER_S: Final = 10.0
"""How long one call may take: the largest entry of the log, written to a slow disk."""
STORE_LOOK_S: Final = 1.0
"""Health checks wait this long for a look at the store, then get the result of the look before."""
STORE_LOAD_S: Final = 120.0
"""How long a starting server may show no sign of work."""
STORE_WORK_S: Final = 7_200.0
"""How long it may take to read its files and to write them anew (measured: 1.2 s for 750 MB)."""
STORE_STOP_S: Final = 10.0
"""How long an embedded server may take to end; what is committed is on its disk before."""
STORE_CONDITION_S: Final = 1.0
"""How often an engine looks at what its store does not tell by itself: settings, disk, clock."""
DISK_FULL_PERCENT: Final = 90.0
"""Of the disk under the store: from here on nothing is added, while removals still find room to be written."""
DISK_ENOUGH_FREE_BYTES: Final = 32 * GIB
"""With so much free no disk is full, whatever its size: the append-only file written anew takes a part of it."""
DISK_START_FREE_BYTES: Final = MIB
"""With less free the embedded server is not started: it would end at its first write."""
DISK_RESUME_SHARE: Final = 0.98
"""Of that percentage: a disk that was full is so until it is below it, or additions would stop and go."""
DISK_HIGH_SHARE: Final = 0.95
"""Of that percentage: from here on the service warns of `disk-high`."""
CLOCK_BEHIND_S: Final = 5.0
"""So far behind the last arrival the store's clock is worth a warning: steps of a clock that is kept right are less."""
LOSS_SHOWN_S: Final = 3_600.0
"""How long a loss is shown as a warning."""
PUBLISH_BYTES_MAX: Final = 8 * MIB
"""Arguments of one Function call: larger deltas are staged in slices."""
SEQ_REMEMBERED_EVERY: Final = 1_000
"""Operations after which the highest seq is written to `cluster.json`."""
