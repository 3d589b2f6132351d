"""Operations and the Log contract: the New Tuple Pool of the paper."""
