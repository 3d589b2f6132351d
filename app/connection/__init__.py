"""A client's connection, from its first byte to its last, and the server that accepts it.

Reading order: `server` (uvicorn as psoup runs it), `listening` (the address), `tls` (the certificate),
`handshakes` (bounded before HTTP), `protocol` (one HTTP/1.1 connection: puts the parts together), `parsing`
(uvicorn's part of it, leaner: when it has a parser, how a small answer is written), `heads` (bounds of a head),
`body` (what is to come behind a head), `chunks` (of a chunked body), `trailers` (dropped, bounded), `unparsed` (sent
ahead of its turn), `flow` (when nothing is read), `signals` (an event of few bytes), `refusals` (written without the
application), `lingering` (a close that loses no answer).
"""
