"""What every request passes between its connection and its route, and every answer on its way out, unbuffered.

Reading order: `edge` (the outermost layer), `problems` (errors to bodies: one table), `access` (who may call what, from
where), `framing` (where a body ends), `bodies` (read, counted, in time), `decoding` (gzip and zstd), `sending` (answers
not taken yet), `page_tokens` (signed pages), `cursors` (where a client stands, signed too), `request_keys` (a request
that counts once), `kept_answers` (sent again to equal polls), `entity_tags` (If-Match, If-None-Match), `request_log`
(one line for a failure), `request_ids`, `front` (what connections and application share).
"""
