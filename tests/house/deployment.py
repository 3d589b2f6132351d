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


def copied() -> list[str]:
    """Return the files and folders of the project that the image is built from."""
    copies = [arguments.split() for name, arguments in dockerfile() if name == "COPY"]
    return [source for words in copies if "--from" not in words[0] for source in words[:-1]]


def ignored_by_docker() -> tuple[set[str], set[str]]:
    """Return the patterns of .dockerignore: of what is left out, and of what is let through all the same."""
    lines = (tree.ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = {line.rstrip("/") for line in lines if line and not line.startswith("#")}
    let_through = {one for one in patterns if one.startswith("!")}
    return patterns - let_through, {one.removeprefix("!") for one in let_through}


def compose() -> dict[str, dict[str, Any]]:
    """Return the services of docker-compose.yml."""
    page = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    services: dict[str, dict[str, Any]] = page["services"]
    return services


def psoup_services() -> dict[str, dict[str, Any]]:
    """Return the services that are processes of psoup."""
    return {name: one for name, one in compose().items() if one["command"][0] == "psoup"}
