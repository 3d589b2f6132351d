"""Operations, records and results as bytes, and back.

Read it in this order:

- `checksums`: what tells a damaged value;
- `records`: operations and records;
- `record_cache`: records checked, and decoded once for as long as they are asked for;
- `hits`: pages and match blocks;
- `composites`: pages of composite tuples;
- `histories`: records and parts of histories.
"""
