"""One module per noun of the HTTP contract: parse, call one verb, return bytes."""
