"""Values: dataclasses that nobody changes once they are made.

A dataclass frozen at run time sets each field through `object.__setattr__`, which makes it three to four
times as dear to build, and a query text or an operation passes through many small values on its way.
So these are frozen for the type checker, which reads all of the code, and plain at run time.
"""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

Made = TypeVar("Made")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_type(cls: type[Made]) -> type[Made]:
    """Return the class as a slotted dataclass, equal and hashed by its fields, immutable by type.

    `dataclasses.replace` takes it; assigning to a field is an error of types.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
