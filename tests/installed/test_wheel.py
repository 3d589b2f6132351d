"""What is in the wheel: every file of every package, and nothing else."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import PurePath, PurePosixPath

from psoup.storage.redis.calls.library import FILES
from tests.house import tree
from tests.installed.conftest import build_wheel, console_files


def test_wheel_of_the_image_holds_every_file_of_every_package(wheel):
    """Code and data alike, the store's functions and the built console among them; the rest describes the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    tops = {name.parts[0] for name in names}
    (about,) = (top for top in tops if top.endswith(".dist-info"))
    packaged = {
        _place_in_a_wheel(path.relative_to(tree.ROOT))
        for path in (*tree.project_files(), *console_files())
        if path.relative_to(tree.ROOT).parts[0] in tree.SOURCES
    }
    assert packaged == {str(name) for name in names if name.parts[0] != about}
    assert {f"psoup/storage/redis/calls/functions/{name}.lua" for name in FILES} <= packaged
    assert PurePosixPath(about, "licenses", "LICENSE") in names


def test_wheel_of_the_source_distribution_is_that_of_the_tree(wheel, tmp_path):
    """Whoever builds from the sources gets the same files, to the byte."""
    program = f"from hatchling.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    made = subprocess.run(
        [sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=True
    )
    with tarfile.open(tmp_path / made.stdout.strip()) as archive:
        archive.extractall(tmp_path / "sources", filter="data")
    (sources,) = (tmp_path / "sources").iterdir()
    build_wheel(sources)
    (other,) = (sources / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(other) as second:
        assert contents(first) == contents(second)


def contents(archive: zipfile.ZipFile) -> dict[str, int]:
    """Return the checksums of the files, by name."""
    return {one.filename: one.CRC for one in archive.infolist()}


def _place_in_a_wheel(path: PurePath) -> str:
    return (PurePath("psoup") / path if path.parts[0] in tree.ROOMS else path).as_posix()
