"""The README tells one to type only what is there. That its blocks run is in tests/docs/test_pages.py."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_names_only_make_targets_and_commands_that_exist():
    """What the README tells one to type is there."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile
    helped = subprocess.run(
        [sys.executable, "-m", "psoup", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in ("serve", "load", "query", "streams", "queries", "status", "invoke", "remove"):
        assert command in README
        assert command in helped
