"""Every setting of psoup: its name, default, unit and one sentence. Read once, at the start.

A setting comes from the command line, else from the environment (`PSOUP_` and its name in capitals),
else from its default. Numbers that protect the service have a hard ceiling as well.
"""

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psoup.app.errors import SettingError
from psoup.app.hosts import is_host, is_loopback
from psoup.engine import limits
from psoup.engine.store.address import StoreAddress, StoreUrlError, read_store_address

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
    behind_proxy: bool = False
    hosts: tuple[str, ...] = ()
    docs: bool = True
    console: bool = True
    cors_origins: tuple[str, ...] = ()
    keys_file: Path | None = None
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    page_key_file: Path | None = None
    log_level: str = "info"
    log_format: str = "console"
    access_log: bool = False
    slow_request_s: float = limits.SLOW_REQUEST_S
    ingest_deadline_s: float = limits.INGEST_DEADLINE_S
    register_deadline_s: float = limits.REGISTER_DEADLINE_S
    invoke_deadline_s: float = limits.INVOKE_DEADLINE_S
    request_s: float = limits.REQUEST_SECONDS_MAX
    request_grace_s: float = 5.0
    request_bytes_per_s_min: int = limits.REQUEST_BYTES_PER_SECOND_MIN
    connections: int = limits.CONNECTIONS_MAX
    connections_per_address: int = limits.CONNECTIONS_PER_ADDRESS_MAX
    requests_in_flight: int = limits.REQUESTS_IN_FLIGHT_MAX
    requests_reading: int = limits.REQUESTS_READING_MAX
    requests_waiting: int = limits.REQUESTS_WAITING_MAX
    requests_watching: int = limits.REQUESTS_WATCHING_MAX
    answer_stall_s: float = limits.ANSWER_STALL_S
    appends_in_flight: int = limits.APPENDS_IN_FLIGHT_MAX
    keep_alive_s: int = 75
    shutdown_s: int = 10
    streams: int = limits.STREAMS_COUNT_MAX
    lease_s: float = limits.LEASE_S
    disk_full_percent: float = limits.DISK_FULL_PERCENT
    workers: int = 1
    match_threads: int = 0
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


def _listed(given: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in given.split(",") if one.strip())


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
        "Listen beyond loopback without keys: what is in front keeps strangers out.",
        _flag,
    ),
    "behind_proxy": Setting(
        "on or off",
        "Listen beyond loopback with keys and without TLS: a proxy in front ends TLS, and names clients in"
        " X-Forwarded-For.",
        _flag,
    ),
    "hosts": Setting(
        "names",
        "Further names and addresses that clients call the service by, with commas, without ports: without keys"
        " no other Host is answered.",
        _listed,
    ),
    "docs": Setting("on or off", "Serve the API pages under /docs.", _flag),
    "console": Setting("on or off", "Serve the console under /console.", _flag),
    "cors_origins": Setting("origins", "Browser origins that may call, with commas.", _listed),
    "keys_file": Setting("file", "Keys and scopes, one JSON object per line.", _optional_path),
    "tls_cert_file": Setting(
        "file", "Certificate and what it is signed by, in PEM: answer by TLS.", _optional_path
    ),
    "tls_key_file": Setting(
        "file", "Private key of the certificate, in PEM, without a passphrase.", _optional_path
    ),
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
    "access_log": Setting(
        "on or off",
        "Log each request; else those that fail or are slow, a bounded number a second.",
        _flag,
    ),
    "slow_request_s": Setting(
        "seconds", "A request that takes so long is logged.", float, (0.001, 600)
    ),
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
        "seconds",
        "An answer is there by then, with all it waits for, or refused with 503.",
        float,
        (0, 30),
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
    "requests_reading": Setting(
        "requests",
        "Whose bodies are on their way, beside those; no client has more than three quarters of them.",
        int,
        (1, 4_096),
    ),
    "requests_waiting": Setting(
        "requests",
        "That wait for an operation to be applied, beside those; a client's share is the same.",
        int,
        (1, 4_096),
    ),
    "requests_watching": Setting(
        "requests",
        "That wait for an answer to change, and streams of events, beside those; a client's share is the same.",
        int,
        (1, 100_000),
    ),
    "answer_stall_s": Setting(
        "seconds",
        "A client that takes less than the least rate of its answer for so long is cut off.",
        float,
        (0.1, 600),
    ),
    "appends_in_flight": Setting(
        "operations", "On their way into the log; more are answered 503.", int, (1, 256)
    ),
    "keep_alive_s": Setting("seconds", "An idle connection is kept this long.", int, (1, 600)),
    "shutdown_s": Setting("seconds", "Running requests get this long to end.", int, (0, 300)),
    "streams": Setting(
        "streams",
        "Declared at once at most; another one is refused. Where there are more already they stay.",
        int,
        (1, limits.STREAMS_COUNT_CEILING),
    ),
    "lease_s": Setting(
        "seconds", "So long after an engine's last sign of life a standby waits.", float, (0.2, 600)
    ),
    "disk_full_percent": Setting(
        "percent",
        "Of the disk under the embedded store, or one at a unix socket: from here on nothing is added.",
        float,
        (0, 100),
    ),
    "workers": Setting(
        "processes",
        "That answer, of `psoup api`; limits on connections and requests hold for each.",
        int,
        (1, limits.API_WORKERS_MAX),
    ),
    "match_threads": Setting(
        "threads",
        "That match the tuples of a large batch, the fold's own among them; 0: one fewer than there are cores.",
        int,
        (0, limits.MATCH_THREADS_MAX),
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
            near = difflib.get_close_matches(name, SETTINGS, n=1)
            meant = f" Did you mean {ENVIRONMENT_PREFIX}{near[0].upper()}?" if near else ""
            raise SettingError(
                f"{variable} is in the environment, and psoup has no such setting.{meant}"
            )
        try:
            values[name] = SETTINGS[name].parse(text)
        except (ValueError, KeyError) as error:
            setting = SETTINGS[name]
            within = "" if setting.bounds is None else " from {} to {}".format(*setting.bounds)
            raise SettingError(
                f"{variable} is {text!r}: expected {setting.unit}{within}."
            ) from error
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
                    f"{one.name} is {value}: expected {setting.unit} from {least} to {most}."
                )
    wrong = [name for name in settings.hosts if not is_host(name)]
    if wrong:
        raise SettingError(
            f"hosts has {wrong[0]!r}: expected names or addresses without scheme and port, with commas."
        )
    address = store_address(settings)
    asks = address is not None and address.is_shared
    if settings.store_password_file is not None and not asks:
        raise SettingError("store_password_file is given, and no store that asks for a password.")
    if settings.tls_key_file is not None and settings.tls_cert_file is None:
        raise SettingError("tls_key_file is given, and tls_cert_file is not: TLS takes both.")
    if not is_loopback(settings.host):
        _check_door(settings)


def _check_door(settings: Settings) -> None:
    """Refuse to listen beyond loopback where what protects a service is missing, and nobody has said what does.

    Raises:
        SettingError: no keys, or keys that would travel readable; names what to give.
    """
    if settings.keys_file is None:
        if not settings.open_bind:
            raise SettingError(
                f"host is {settings.host!r}, reachable from elsewhere, and there are no keys: give"
                " --keys-file (PSOUP_KEYS_FILE), or --open-bind (PSOUP_OPEN_BIND=on) where a proxy in front asks for them."
            )
    elif settings.tls_cert_file is None and not settings.behind_proxy:
        raise SettingError(
            f"host is {settings.host!r}, reachable from elsewhere, and keys would travel there unencrypted:"
            " give --tls-cert-file and --tls-key-file, or --behind-proxy (PSOUP_BEHIND_PROXY=on) where a proxy in front ends TLS."
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
