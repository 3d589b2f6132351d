"""Every setting of psoup: its name, default, unit and one sentence. Read once, at the start.

A setting comes from the command line, else from the environment (`PSOUP_` and its name in capitals),
else from its default. Numbers that protect the service have a hard ceiling as well.
"""

import dataclasses
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.errors import SettingError
from engine import limits
from engine.store_address import StoreAddress, StoreUrlError, read_store_address

ENVIRONMENT_PREFIX: Final = "PSOUP_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a service is started with; `SETTINGS` describes each, `check_settings` judges the values."""

    store: str | None = dataclasses.field(default=None, repr=False)  # may hold a password
    store_password_file: Path | None = None
    data: Path = Path("psoup-data")
    host: str = "127.0.0.1"
    port: int = 8000
    open_bind: bool = False
    docs: bool = True
    cors_origins: tuple[str, ...] = ()
    keys_file: Path | None = None
    page_key_file: Path | None = None
    log_level: str = "info"
    log_format: str = "console"
    ingest_deadline_s: float = limits.INGEST_DEADLINE_S
    register_deadline_s: float = limits.REGISTER_DEADLINE_S
    invoke_deadline_s: float = limits.INVOKE_DEADLINE_S
    request_s: float = limits.REQUEST_SECONDS_MAX
    request_grace_s: float = 5.0
    request_bytes_per_s_min: int = limits.REQUEST_BYTES_PER_SECOND_MIN
    connections: int = limits.CONNECTIONS_MAX
    connections_per_address: int = limits.CONNECTIONS_PER_ADDRESS_MAX
    requests_in_flight: int = limits.REQUESTS_IN_FLIGHT_MAX
    appends_in_flight: int = limits.APPENDS_IN_FLIGHT_MAX
    keep_alive_s: int = 75
    shutdown_s: int = 10
    lease_s: float = limits.LEASE_S
    workers: int = 1
    spark: str | None = None
    spark_pairs_min: int = limits.SCALED_PAIRS_MIN


def _optional_text(given: str) -> str | None:
    return given or None


def _optional_path(given: str) -> Path | None:
    return Path(given) if given else None


def _flag(given: str) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True}
    words |= {"0": False, "false": False, "off": False, "no": False}
    return words[given.lower()]


def _origins(given: str) -> tuple[str, ...]:
    return tuple(origin.strip() for origin in given.split(",") if origin.strip())


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table of settings: unit, sentence, and what values are taken."""

    unit: str
    text: str
    parse: Callable[[str], Any]
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()


SETTINGS: Final[Mapping[str, Setting]] = {
    "store": Setting("URL", "memory:// or redis://host:port/db; empty: embedded.", _optional_text),
    "store_password_file": Setting(
        "file",
        "Password of the store's user, in its first line; read for each connection.",
        _optional_path,
    ),
    "data": Setting("folder", "Where the embedded store keeps its files.", Path),
    "host": Setting("address", "Where to listen; beyond loopback only with keys.", str),
    "port": Setting("port", "Where to listen; 0 lets the system choose.", int, (0, 65_535)),
    "open_bind": Setting(
        "on or off",
        "Listen beyond loopback without keys: for a container behind a proxy that asks for them.",
        _flag,
    ),
    "docs": Setting("on or off", "Serve the API pages under /docs.", _flag),
    "cors_origins": Setting("origins", "Browser origins that may call, with commas.", _origins),
    "keys_file": Setting("file", "Keys and scopes, one JSON object per line.", _optional_path),
    "page_key_file": Setting(
        "file",
        "Secret that signs page tokens; empty: one that the store keeps for all processes.",
        _optional_path,
    ),
    "log_level": Setting(
        "level",
        "Least severe level that is logged.",
        str,
        choices=("debug", "info", "warning", "error"),
    ),
    "log_format": Setting("format", "How log lines look.", str, choices=("console", "json")),
    "ingest_deadline_s": Setting(
        "seconds", "A batch not applied by then is answered 202.", float, (0, 60)
    ),
    "register_deadline_s": Setting(
        "seconds",
        "A query, stream or removal not applied by then is answered 202.",
        float,
        (0, 120),
    ),
    "invoke_deadline_s": Setting(
        "seconds", "How long an invocation waits for its turn and for min_seq.", float, (0, 30)
    ),
    "request_s": Setting("seconds", "A whole request arrives within it.", float, (0.1, 600)),
    "request_grace_s": Setting(
        "seconds", "So long may a body arrive slower than the least rate.", float, (0.1, 60)
    ),
    "request_bytes_per_s_min": Setting(
        "bytes/second", "The least rate at which a body arrives.", int, (0, limits.MIB)
    ),
    "connections": Setting(
        "connections",
        "Open at once at one process, as far as its limit of open files goes; more are answered 503 and closed.",
        int,
        (1, 100_000),
    ),
    "connections_per_address": Setting(
        "connections", "Open at once from one address; loopback is not counted.", int, (1, 10_000)
    ),
    "requests_in_flight": Setting(
        "requests", "Worked on at once; more are answered 503.", int, (1, 1_024)
    ),
    "appends_in_flight": Setting(
        "operations", "On their way into the log; more are answered 503.", int, (1, 256)
    ),
    "keep_alive_s": Setting("seconds", "An idle connection is kept this long.", int, (1, 600)),
    "shutdown_s": Setting("seconds", "Running requests get this long to end.", int, (0, 300)),
    "lease_s": Setting(
        "seconds", "So long after an engine's last sign of life a standby waits.", float, (0.2, 600)
    ),
    "workers": Setting(
        "processes",
        "That answer, of `psoup api`; limits on connections and requests hold for each.",
        int,
        (1, limits.API_WORKERS_MAX),
    ),
    "spark": Setting(
        "master",
        "Of the Spark whose executors match for `psoup engine`: local[2], spark://host:port; empty: none.",
        _optional_text,
    ),
    "spark_pairs_min": Setting(
        "chunks times clauses",
        "Of one run of operations, for which a job of these executors is worth it.",
        int,
        (0, 1_000_000_000),
    ),
}
"""Described in the order of the fields of `Settings`."""


def load_settings(environment: Mapping[str, str], **given: object) -> Settings:
    """Return the settings of this start.

    Args:
        environment: usually `os.environ`. An unknown name that starts with PSOUP_ is refused.
        given: what the command line said, by name; None = it said nothing.

    Raises:
        SettingError: an unknown name, a value that does not parse or lies outside its bounds, or a password on the
            command line.
    """
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if name not in SETTINGS:
            raise SettingError(f"{variable} is in the environment, and psoup has no such setting.")
        try:
            values[name] = SETTINGS[name].parse(text)
        except (ValueError, KeyError) as error:
            expected = SETTINGS[name].unit
            raise SettingError(f"{variable} is {text!r}: expected {expected}.") from error
    values |= {name: value for name, value in given.items() if value is not None}
    settings = Settings(**values)
    check_settings(settings)
    address = store_address(settings)
    if given.get("store") is not None and address is not None and address.password is not None:
        raise SettingError(
            f"--store {address} was given with a password: everybody on this machine can read a command line. Give"
            " the password with --store-password-file, or the whole address as PSOUP_STORE."
        )
    return settings


def check_settings(settings: Settings) -> None:
    """Refuse values outside their bounds, and an open door nobody asked for.

    Raises:
        SettingError: names the setting, the value and what is accepted.
    """
    for one in dataclasses.fields(settings):
        value, setting = getattr(settings, one.name), SETTINGS[one.name]
        if setting.choices and value not in setting.choices:
            accepted = ", ".join(setting.choices)
            raise SettingError(f"{one.name} is {value!r}: expected one of {accepted}.")
        if setting.bounds is not None:
            least, most = setting.bounds
            if not least <= value <= most:
                raise SettingError(
                    f"{one.name} is {value}: expected {least} to {most} {setting.unit}."
                )
    if store_address(settings) is None and settings.store_password_file is not None:
        raise SettingError("store_password_file is given, and no store that asks for a password.")
    if settings.keys_file is None and not settings.open_bind and not is_loopback(settings.host):
        raise SettingError(
            f"host is {settings.host!r}, reachable from elsewhere, and there are no keys: give"
            " keys_file, or open_bind where a proxy in front asks for them."
        )


def store_address(settings: Settings) -> StoreAddress | None:
    """Return the parts of the store's address; None = the embedded store.

    Raises:
        SettingError: it cannot be read.
    """
    try:
        return None if settings.store is None else read_store_address(settings.store)
    except StoreUrlError as error:
        raise SettingError(f"store: {error.detail}") from error


def shared_store(settings: Settings) -> str:
    """Return the address of a store that several processes can share.

    Raises:
        SettingError: there is none, or it is one process's memory, or of no kind that psoup knows.
    """
    url, address = settings.store, store_address(settings)
    if url is None or address is None or not address.is_shared:
        raise SettingError(
            f"store is {'not given' if address is None else address}: processes apart share a server of yours."
            " Give redis://host:6379/0, rediss://host:6379/0 or unix:///path/to/socket, the same to all of them."
        )
    return url


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
