"""What psoup's processes need of a store, whichever it is: its address, its condition, its contracts.

Reading order:
    address: where a store is, read from a URL.
    condition: what an engine sees of its store now and then: settings, disk, clock, loss.
    errors: what a store adds to the engine's errors.
    archive_answers: the contract for answers whose windows reach past memory, which a job computes.
    contract: the store of the process that folds, and that of an API worker.
"""
