"""The Function library: one text of all its files."""

import re
from pathlib import Path

from psoup.storage.redis.calls import library


def test_library_is_made_of_every_file_of_its_folder():
    """A file that is not listed would never be loaded; one that is gone would end every start."""
    folder = Path(library.__file__).with_name("functions")
    assert sorted(f"{name}.lua" for name in library.FILES) == sorted(
        path.name for path in folder.iterdir()
    )


def test_library_names_itself_in_its_first_line_and_each_file_once():
    """A server takes the name from the first line alone; what two files hold, the later one would hide."""
    text = library.library_text().decode()
    assert text.startswith("#!lua name=psoup\n")
    functions = re.findall(r"^local function (\w+)", text, re.MULTILINE)
    assert len(functions) == len(set(functions)) > 0
