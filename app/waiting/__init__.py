"""The waiting room: clients that wait for the answer of a query to change, and what wakes them.

A long poll, a stream of events and a sync that waits are all the same thing here: somebody who has seen an answer, and
wants to know when there is another one. Nothing ticks. The room is told of every applied position, looks once for each
query that somebody waits for, and wakes those whose answer has changed; what changes by the clock alone has a timer of
its own.

Reading order: `standing` (where an answer stood that a client has seen), `watch` (those who wait for one query),
`alarms` (instants at which an answer changes by the clock alone), `lookout` (whether answers have changed: off the
event loop), `room` (puts them together), `audience` (those who are told the same bytes), `pace` (whether anybody may
wait, and when to come back where not), `single_flight` (what many ask for at once is computed once), `opening` (the
room of a running service).
"""
