"""The files that install and start psoup say what psoup has: Dockerfile, compose, Makefile, CI."""

import json
import re
import shlex
import subprocess

import pytest
import yaml

from tests.house import tree
from tests.house.deployment import (
    COMPOSE,
    DOCKERFILE,
    compose,
    copied,
    dockerfile,
    ignored_by_docker,
    psoup_services,
)

MAKEFILE = tree.ROOT / "Makefile"
CI = tree.ROOT / ".ci" / "run"
USER_ID_MIN = 10_001

OF_ONE_MACHINE = frozenset({"daemonize", "port", "unixsocketperm"})
"""Settings of the embedded server that say how it is reached and run, not what it keeps."""


def psoup_commands() -> dict[str, list[str]]:
    """Return the arguments of every `psoup ...` in the deployment files, by where it stands."""
    found = {
        f"Dockerfile {name}": json.loads(arguments)
        for name, arguments in dockerfile()
        if name in {"CMD", "ENTRYPOINT"}
    }
    for name, service in compose().items():
        if isinstance(service.get("command"), list):
            found[f"compose {name}"] = service["command"]
    for match in re.finditer(r"\$\(BIN\)/(psoup .*)", MAKEFILE.read_text(encoding="utf-8")):
        found[f"Makefile {match[1]}"] = shlex.split(match[1])
    return {place: words[1:] for place, words in found.items() if words[0] == "psoup"}


@pytest.mark.parametrize("place", psoup_commands())
def test_command_in_a_deployment_file_is_one_the_cli_takes(place):
    """Each subcommand exists and knows the options it is given: asked for help as well, it helps."""
    from typer.testing import CliRunner

    from psoup.app.cli import application as cli

    answer = CliRunner().invoke(cli.application, [*psoup_commands()[place], "--help"])
    assert 0 == answer.exit_code, answer.output


def test_dockerfile_runs_as_a_user_of_no_rights():
    """The last stage ends as a fixed user and group far from the system's, both by number."""
    users = [arguments for name, arguments in dockerfile() if name == "USER"]
    assert users, "the image runs as root"
    user, group = (int(part) for part in users[-1].split(":"))
    assert min(user, group) >= USER_ID_MIN


def test_dockerfile_checks_its_health_without_a_shell():
    """The health probe asks /healthz, in exec form, at the port the service is told to listen on."""
    instructions = dict(dockerfile())
    form, _, arguments = instructions["HEALTHCHECK"].partition(" CMD ")
    assert form, "the probe has an interval and a timeout"
    probe = json.loads(arguments)
    command = json.loads(instructions["CMD"])
    port = command[command.index("--port") + 1]
    assert "python" == probe[0]
    assert f"http://127.0.0.1:{port}/healthz" in probe[-1]
    assert port == instructions["EXPOSE"]


def test_dockerfile_copies_what_is_there_and_not_ignored():
    """What the build copies exists, and .dockerignore lets that through and nothing else."""
    left_out, let_through = ignored_by_docker()
    assert {"*", "**/__pycache__", "**/node_modules", "app/console/built*"} == left_out
    assert let_through == set(copied())
    assert [] == [source for source in copied() if not (tree.ROOT / source).exists()]


def test_dockerfile_copies_every_package():
    """Hatchling says nothing of a package that is missing: its wheel lacks it."""
    assert set() == set(tree.SOURCES) - set(copied())


def test_dockerfile_writes_below_its_volume_alone():
    """The data folder of the command is the volume, so the root file system may be read-only."""
    instructions = dict(dockerfile())
    command = json.loads(instructions["CMD"])
    assert [command[command.index("--data") + 1]] == json.loads(instructions["VOLUME"])
    assert "PYTHONDONTWRITEBYTECODE=1" in instructions["ENV"]


def test_dockerfile_names_versions_and_fetches_nothing_else():
    """Images have a version, nothing is added from elsewhere, and stages end in what they need alone."""
    images = [arguments.split()[0] for name, arguments in dockerfile() if name == "FROM"]
    assert len(images) > 1, "built in one stage, run in another"
    assert [] == [image for image in images if not re.search(r":\d", image)]
    assert "ADD" not in {name for name, _ in dockerfile()}
    for name, arguments in dockerfile():
        if name in {"CMD", "ENTRYPOINT"}:
            assert json.loads(arguments), "in exec form, so that signals reach psoup"
    last = [name for name, _ in dockerfile()]
    stage = dockerfile()[len(last) - last[::-1].index("FROM") :]
    assert [] == [arguments for name, arguments in stage if name == "RUN" and "pip" in arguments]


@pytest.mark.parametrize("name", compose())
def test_compose_processes_have_no_rights(name):
    """Each may write in its volume and /tmp alone, gains no rights, and is started again when it ends."""
    service = compose()[name]
    assert service["read_only"]
    assert ["ALL"] == service["cap_drop"]
    assert ["no-new-privileges:true"] == service["security_opt"]
    assert ["/tmp"] == service["tmpfs"]
    assert "unless-stopped" == service["restart"]
    assert 0 < service["pids_limit"] <= 1_024


@pytest.mark.parametrize("name", compose())
def test_compose_processes_have_a_bound_on_memory(name):
    """One that grows is ended, and not the machine; the store has room for its rewriting beside what it keeps."""
    (bound,) = _in_bytes({"mem_limit": compose()[name]["mem_limit"]}).values()
    assert int(bound) > 0
    if name == "redis":
        given = _store_settings()
        kept = int(_in_bytes(given)["maxmemory"]) + int(_in_bytes(given)["maxmemory-clients"])
        assert 1.5 * kept <= int(bound)


def test_compose_store_asks_for_a_password_that_nobody_sees():
    """It comes from a file, goes to the store by a file that it alone reads, and to psoup by the file's name."""
    page = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    (secret,) = page["secrets"]
    assert list(page["secrets"][secret]) == ["file"]
    script = compose()["redis"]["entrypoint"][-1]
    assert script.index("umask 077") < script.index("requirepass")
    assert f"/run/secrets/{secret}" in script
    assert "requirepass" not in _store_settings()
    assert "valkey-cli ping" in compose()["redis"]["healthcheck"]["test"][1]
    for service in compose().values():
        place = service.get("environment", {}).get("PSOUP_STORE_PASSWORD_FILE")
        assert (place == f"/run/secrets/{secret}") == (
            "PSOUP_STORE" in service.get("environment", {})
        )
        assert ([secret] == service["secrets"]) == (place is not None or "entrypoint" in service)


@pytest.mark.parametrize("name", psoup_services())
def test_compose_processes_answer_the_health_probe(name):
    """Each listens where the image's probe asks, or has none."""
    service = psoup_services()[name]
    probed = f"--port={dict(dockerfile())['EXPOSE']}" in service["command"]
    assert probed != service.get("healthcheck", {}).get("disable", False)


def test_compose_engines_have_a_folder_each():
    """Two engines with one folder would be one that takes itself for its former life."""
    engines = [one for one in psoup_services().values() if one["command"][1] == "engine"]
    folders = [volume for one in engines for volume in one["volumes"]]
    assert len(engines) == len(set(folders)) == 2
    (data,) = json.loads(dict(dockerfile())["VOLUME"])
    for engine in engines:
        assert f"--data={data}" in engine["command"]
        assert engine["volumes"][0].endswith(f":{data}")


def test_compose_publishes_a_port_for_each_api():
    """As many ports of the machine as there are containers that listen."""
    api = compose()["api"]
    (ports,) = api["ports"]
    found = re.fullmatch(r"127\.0\.0\.1:(\d+)-(\d+):8000", ports)
    assert found is not None
    assert api["deploy"]["replicas"] == int(found[2]) - int(found[1]) + 1 == 2


def test_compose_services_depend_on_services_that_exist():
    """Names, volumes and published ports fit together; nothing is reachable from elsewhere."""
    services = compose()
    for service in services.values():
        depends = service.get("depends_on", {})
        assert isinstance(depends, dict)
        assert set(depends) <= set(services)
        ports = service.get("ports", [])
        assert isinstance(ports, list)
        assert [] == [port for port in ports if not str(port).startswith("127.0.0.1:")]


def test_compose_store_is_set_as_psoup_sets_its_own():
    """The store in compose has the settings of the embedded server, so it keeps the same promises."""
    from psoup.storage.embedded.server import CONFIGURATION
    from psoup.storage.redis.settings import REQUIRED

    given = _store_settings()
    own = {name: value for name, value in CONFIGURATION.items() if name not in OF_ONE_MACHINE}
    required = {name: value for name, (value, _) in REQUIRED.items()}
    expected = {**own, **required, "appendfsync": "always"}
    assert _in_bytes(expected) == _in_bytes(given)


def test_compose_environment_names_settings_that_exist():
    """Every PSOUP_ variable in compose and Dockerfile is a setting."""
    from psoup.app.settings import ENVIRONMENT_PREFIX, SETTINGS

    known = {f"{ENVIRONMENT_PREFIX}{name.upper()}" for name in SETTINGS}
    files = [DOCKERFILE, COMPOSE]
    named = {
        name
        for path in files
        for name in re.findall(rf"{ENVIRONMENT_PREFIX}[A-Z_]+", path.read_text(encoding="utf-8"))
    }
    assert set() == named - known


def test_makefile_lists_each_target_it_describes():
    """`make help`, the default, prints every target that has a sentence, and no target lacks one."""
    text = MAKEFILE.read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert phony is not None
    described = set(re.findall(r"^([a-z-]+):.*## ", text, flags=re.MULTILINE))
    assert set(phony[1].split()) == described
    run = subprocess.run(
        ["make", "--no-print-directory"], cwd=tree.ROOT, capture_output=True, text=True, check=True
    )
    assert described == {line.split()[1] for line in run.stdout.splitlines()}


def test_ci_calls_targets_that_exist():
    """What CI runs is what a developer runs: an executable script, targets of the Makefile."""
    text = CI.read_text(encoding="utf-8")
    called = set(re.findall(r"^make ([a-z]+)", text, flags=re.MULTILINE))
    assert {"check", "test"} == called
    assert "set -euo pipefail" in text
    assert CI.stat().st_mode & 0o111, ".ci/run is not executable"


def _store_settings() -> dict[str, str]:
    """Return the settings that compose gives the store, by name."""
    command = compose()["redis"]["command"]
    return dict(shlex.split(words.removeprefix("--")) for words in command[1:])


def _in_bytes(settings: dict[str, str]) -> dict[str, str]:
    """Return `settings` with sizes such as 512mb as numbers."""
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    sizes = {name: re.fullmatch(r"(\d+)([kmg])b?", value) for name, value in settings.items()}
    return settings | {
        name: str(int(size[1]) * units[size[2]]) for name, size in sizes.items() if size is not None
    }
