"""What is in the wheel: every file of every package, and nothing else."""

import zipfile
from pathlib import PurePosixPath

from tests.house import tree


def test_wheel_of_the_image_holds_every_file_of_every_package(wheel):
    """Code and data alike, the store's functions among them; the rest is what describes the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    tops = {name.parts[0] for name in names}
    (about,) = (top for top in tops if top.endswith(".dist-info"))
    folders = [tree.ROOT / package for package in tree.PACKAGES]
    packaged = {
        path.relative_to(tree.ROOT).as_posix()
        for path in tree.project_files()
        if any(path.is_relative_to(folder) for folder in folders)
    }
    assert packaged == {str(name) for name in names if name.parts[0] != about}
    assert "storage/functions.lua" in packaged
    assert PurePosixPath(about, "licenses", "LICENSE") in names
