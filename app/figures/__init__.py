"""What an engine and a service measure of themselves: values, without a reader.

Reading order: `engine` (what an engine says, and how it travels to workers), `footprint` (bytes held),
`join_tally` (what joining costs and finds), `throughput` (the last 10 and 60 seconds).
"""
