"""Limits that a few steps of a random run reach."""

SMALL_LIMITS = {
    "QUERIES_COUNT_MAX": 4,
    "APPS_COUNT_MAX": 2,
    "APP_DIGESTS_KEPT": 3,
    "REQUEST_KEYS_MAX": 3,
    "BACKLOG_OPERATIONS_MAX": 9,
    "BACKLOG_BYTES_MAX": 60,
    "STAGED_BYTES_MAX": 100,
    "STAGE_MARK_BYTES": 5,
    "COMMIT_BYTES_MAX": 30,
    "PUBLISH_WRITES_MAX": 20,
}
