"""What the files that deploy psoup say: the Dockerfile's instructions, the services of docker-compose.yml."""

import re
from typing import Any

import yaml

from tests.house import tree

DOCKERFILE = tree.ROOT / "Dockerfile"
COMPOSE = tree.ROOT / "docker-compose.yml"


def dockerfile() -> list[tuple[str, str]]:
    """Return (instruction, arguments) of each instruction of the Dockerfile, continuations joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    parts = (line.strip().partition(" ") for line in lines if line.strip())
    return [(name.upper(), arguments.strip()) for name, _, arguments in parts]


def compose() -> dict[str, dict[str, Any]]:
    """Return the services of docker-compose.yml."""
    page = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    services: dict[str, dict[str, Any]] = page["services"]
    return services


def psoup_services() -> dict[str, dict[str, Any]]:
    """Return the services that are processes of psoup."""
    return {name: one for name, one in compose().items() if one["command"][0] == "psoup"}
