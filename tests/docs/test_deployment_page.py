"""docs/deployment.md: its configuration files are read by the programs they are for, where these are installed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from psoup.app.settings import ENVIRONMENT_PREFIX, SETTINGS
from tests.docs.blocks import ROOT, Block, blocks

PAGE = "docs/deployment.md"
INSTALLED = "/opt/psoup/.venv/bin/"
CERTIFICATES = "/etc/letsencrypt/live/psoup.example.com"


def block_of(language: str) -> Block:
    """Return the page's one block in a language."""
    (found,) = [block for block in blocks(PAGE) if block.language == language]
    return found


def program(name: str) -> str:
    """Return the path of a program; skip the test where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed here: what it reads was not checked")
    return path


def output_of(*command: object) -> str:
    """Return what a command says, which has to end with 0."""
    ended = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert 0 == ended.returncode, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def test_unit_is_one_that_systemd_takes(tmp_path):
    """Nothing is unknown or malformed in it; only the place of the installation differs."""
    unit = tmp_path / "psoup.service"
    here = f"{Path(sys.executable).parent}/"
    unit.write_text(block_of("ini").text.replace(INSTALLED, here))
    said = output_of(program("systemd-analyze"), "verify", unit)
    assert "psoup.service" not in said


def test_settings_of_the_page_exist():
    """Every name that begins with PSOUP_ is a setting, or what clients take."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    named = set(re.findall(rf"\b{ENVIRONMENT_PREFIX}([A-Z_]+)", text)) - {"URL", "TOKEN"}
    assert named
    assert set() == {name for name in named if name.lower() not in SETTINGS}


def test_nginx_takes_its_configuration(tmp_path):
    """`nginx -t`, with a certificate made for the test in the place of the real one."""
    nginx = program("nginx")
    output_of(
        *(program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=a"),
        *("-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"),
    )
    server = block_of("nginx").text.replace(CERTIFICATES, str(tmp_path))
    folders = "".join(
        f"{name}_temp_path {tmp_path};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{folders}{server}}}\n"
    (tmp_path / "nginx.conf").write_text(whole)
    assert "is successful" in output_of(nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf")


def test_caddy_takes_its_configuration(tmp_path):
    """`caddy adapt` makes of it one route to where psoup listens."""
    (tmp_path / "Caddyfile").write_text(block_of("caddy").text)
    said = output_of(
        *(program("caddy"), "adapt", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile")
    )
    assert '"dial":"127.0.0.1:8000"' in said


def test_compose_override_changes_services_that_exist():
    """Each service and secret that it names is one of docker-compose.yml, or its own."""
    base = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    override = yaml.safe_load(block_of("yaml").text)
    assert override["services"].keys() <= base["services"].keys()
    secrets = base["secrets"].keys() | override["secrets"].keys()
    assert set(override["services"]["api"]["secrets"]) <= secrets
