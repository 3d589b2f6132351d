"""Operations and the Log contract: the New Tuple Pool of the paper.

Reading order:
    operation: everything that changes anything, as a value; one operation is one entry is one seq.
    contract: the Log: append, read, trim.
    groups: operations that become visible together.
"""
