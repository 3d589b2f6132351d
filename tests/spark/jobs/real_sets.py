"""The real data sets as backfills: where each lies, how it is mapped, and the same rows as DuckDB reads them.

DuckDB's side is written out by hand: it shares nothing with Spark's but the file.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RealSet:
    """One stream: its files, what `psoup pipeline backfill` is told, and SELECT over `{file}` for DuckDB."""

    stream: str
    files: str
    oracle: str
    map: tuple[str, ...] = ()
    where: str | None = None
    time: str | None = None
    options: tuple[str, ...] = ()
    schema: str | None = None
    format: str = "csv"


NA = ("nullValue=NA",)
_FLIGHT = "make_timestamp(year, month, day, 0, 0, 0)"
_LATE = "hour * 60 + minute - dep_delay < 0"
_ZEEK = ("sep=\t", "comment=#", "header=false", "quote=", "nullValue=-")


def zeek(name: str, fields: str) -> RealSet:
    """Return a Zeek log, all its fields but the time as texts."""
    names = fields.split()
    taken = [name.replace(".", "_") for name in names[1:]]
    columns = ", ".join(f"'{one}': 'VARCHAR'" for one in ("ts", *taken))
    return RealSet(
        stream=f"zeek_{name}",
        files=f"network-zeek/{name}.log.gz",
        schema=", ".join(f"`{one}` STRING" for one in ("ts", *taken)),
        map=("*", "ts = timestamp_micros(CAST(CAST(ts AS DECIMAL(20, 6)) * 1000000 AS BIGINT))"),
        time="ts",
        options=_ZEEK,
        oracle="SELECT make_timestamptz(CAST(CAST(ts AS DECIMAL(20, 6)) * 1000000 AS BIGINT)) AS ts,"
        f" * EXCLUDE (ts) FROM read_csv('{{file}}', delim='\\t', comment='#', header=false, auto_detect=false, quote='',"
        f" escape='', nullstr='-', columns={{{{{columns}}}}})",
    )


ENDPOINTS = "ts uid id.orig_h id.orig_p id.resp_h id.resp_p"
ZEEK = (
    zeek("analyzer", "ts cause analyzer_kind analyzer_name uid fuid id.orig_h id.orig_p id.resp_h id.resp_p failure_reason failure_data"),
    zeek("dns", f"{ENDPOINTS} proto trans_id rtt query qclass qclass_name qtype qtype_name rcode rcode_name AA TC RD RA Z answers TTLs rejected"),
    zeek("known_services", "ts host port_num port_proto service"),
    zeek("ntlm", f"{ENDPOINTS} username hostname domainname server_nb_computer_name server_dns_computer_name server_tree_name success"),
    zeek("rdp", f"{ENDPOINTS} cookie result security_protocol client_channels keyboard_layout client_build client_name client_dig_product_id desktop_width desktop_height requested_color_depth cert_type cert_count cert_permanent encryption_level encryption_method"),
    zeek("ssh", f"{ENDPOINTS} version auth_success auth_attempts direction client server cipher_alg mac_alg compression_alg kex_alg host_key_alg host_key remote_location.country_code remote_location.region remote_location.city remote_location.latitude remote_location.longitude"),
    zeek("ssl", f"{ENDPOINTS} version cipher curve server_name resumed last_alert next_protocol established ssl_history cert_chain_fps client_cert_chain_fps sni_matches_cert validation_status"),
    zeek("syslog", f"{ENDPOINTS} proto facility severity message"),
    zeek("x509", "ts fingerprint certificate.version certificate.serial certificate.subject certificate.issuer certificate.not_valid_before certificate.not_valid_after certificate.key_alg certificate.sig_alg certificate.key_type certificate.key_length certificate.exponent certificate.curve san.dns san.uri san.email san.ip basic_constraints.ca basic_constraints.path_len host_cert client_cert"),
    zeek("weird", f"{ENDPOINTS} name addl notice peer source"),
)  # fmt: skip

SETS = (
    RealSet(
        stream="flights",
        files="flights-weather/flights-*.csv.gz",
        where="dep_time IS NOT NULL",
        map=(
            f"ts = timestamp_seconds(unix_seconds({_FLIGHT}) + (hour * 60 + minute) * 60 + if({_LATE}, 86400, 0))",
            *("origin", "dest", "carrier", "flight", "tailnum", "hour"),
            "dep_delay = double(dep_delay)",
        ),
        time="ts",
        options=NA,
        oracle=f"SELECT ({_FLIGHT} + to_minutes(hour * 60 + minute) + CASE WHEN {_LATE} THEN to_days(1) ELSE to_days(0) END)"
        " AT TIME ZONE 'UTC' AS ts, origin, dest, carrier, flight, tailnum, hour, CAST(dep_delay AS DOUBLE) AS dep_delay"
        " FROM read_csv('{file}', nullstr='NA') WHERE dep_time IS NOT NULL",
    ),
    RealSet(
        stream="weather",
        files="flights-weather/weather-*.csv.gz",
        map=("ts = date", "origin", "hour", "temp", "visib = double(visib)", "pressure"),
        time="ts",
        options=NA,
        oracle="SELECT date AT TIME ZONE 'UTC' AS ts, origin, hour, CAST(temp AS DOUBLE) AS temp, CAST(visib AS DOUBLE) AS visib,"
        " CAST(pressure AS DOUBLE) AS pressure FROM read_csv('{file}', nullstr='NA')",
    ),
    *(
        RealSet(
            stream=name,
            files=f"flights-weather/{name}.csv*",
            options=NA,
            map=("*", "seats = CAST(seats AS BIGINT)") if name == "planes" else (),
            schema=None,
            oracle="SELECT * FROM read_csv('{file}', nullstr='NA')",
        )
        for name in ("airlines", "planes", "airports")
    ),
    RealSet(
        stream="sp500",
        files="stocks-sp500/*.csv.xz",
        map=("*",),
        time="date",
        oracle="SELECT CAST(date AS TIMESTAMP) AT TIME ZONE 'UTC' AS date, open, high, low, close, volume, Name FROM read_csv('{file}')",
    ),
    RealSet(
        stream="daily",
        files="stocks-us-bulk/*.csv.xz",
        map=(
            "ts = Date",
            "symbol = Symbol",
            "open = Open",
            "high = High",
            "low = Low",
            "close = Close",
            "volume = Volume",
        ),
        time="ts",
        oracle="SELECT CAST(Date AS TIMESTAMP) AT TIME ZONE 'UTC' AS ts, Symbol AS symbol, Open AS open, High AS high, Low AS low,"
        " Close AS close, Volume AS volume FROM read_csv('{file}')",
    ),
    RealSet(
        stream="office",
        files="office-occupancy/*.txt.gz",
        schema="n STRING, date STRING, temperature DOUBLE, humidity DOUBLE, light DOUBLE, co2 DOUBLE, ratio DOUBLE, occupied INT",
        map=("ts = date", "temperature", "humidity", "light", "co2", "occupied"),
        time="ts",
        options=("enforceSchema=true",),
        oracle="SELECT CAST(date AS TIMESTAMP) AT TIME ZONE 'UTC' AS ts, temperature, humidity, light, co2, occupied FROM"
        " read_csv('{file}', header=false, skip=1, columns={{'n': 'VARCHAR', 'date': 'VARCHAR', 'temperature': 'DOUBLE',"
        " 'humidity': 'DOUBLE', 'light': 'DOUBLE', 'co2': 'DOUBLE', 'ratio': 'DOUBLE', 'occupied': 'BIGINT'}})",
    ),
    RealSet(
        stream="air",
        files="air-quality-beijing/*.csv.xz",
        map=(
            "ts = make_timestamp(year, month, day, hour, 0, 0)",
            *(
                "station",
                "wd",
                "pm25 = double(`PM2.5`)",
                "so2 = try_cast(SO2 AS DOUBLE)",
                "co = double(CO)",
            ),
        ),
        time="ts",
        options=NA,
        oracle="SELECT make_timestamp(year, month, day, hour, 0, 0) AT TIME ZONE 'UTC' AS ts, station, wd, CAST(\"PM2.5\" AS DOUBLE)"
        " AS pm25, TRY_CAST(SO2 AS DOUBLE) AS so2, CAST(CO AS DOUBLE) AS co FROM read_csv('{file}', nullstr='NA', sample_size=-1)",
    ),
    RealSet(
        stream="quakes",
        files="earthquakes/*.csv.gz",
        map=(
            "ts = time",
            "updated",
            "id",
            "lat = latitude",
            "lon = longitude",
            "mag",
            "place",
            "type",
            "status",
        ),
        time="ts",
        oracle="SELECT time AS ts, updated, id, latitude AS lat, longitude AS lon, mag, place, type, status FROM read_csv('{file}',"
        " types={{'time': 'TIMESTAMPTZ', 'updated': 'TIMESTAMPTZ'}})",
    ),
    *ZEEK,
    RealSet(
        stream="zeek_notice",
        files="network-zeek/notice.ndjson.gz",
        format="json",
        map=("ts", "uid", "orig_h = `id.orig_h`", "note", "msg"),
        time="ts",
        oracle='SELECT CAST(ts AS TIMESTAMPTZ) AS ts, uid, "id.orig_h" AS orig_h, note, msg FROM'
        " read_json('{file}', format='newline_delimited', columns={{'ts': 'VARCHAR', 'uid': 'VARCHAR', 'id.orig_h': 'VARCHAR',"
        " 'note': 'VARCHAR', 'msg': 'VARCHAR'}})",
    ),
    *(
        RealSet(
            stream=name,
            files=f"phone-calls/{name}-*.csv.gz",
            map=("*", "timestamp = timestamp_seconds(timestamp)"),
            time="timestamp",
            oracle="SELECT make_timestamptz(timestamp * 1000000) AS timestamp, * EXCLUDE (timestamp) FROM read_csv('{file}')",
        )
        for name in ("calls", "sms")
    ),
    RealSet(
        stream="friends",
        files="phone-calls/fb_friends.csv",
        map=("user_a = `# user_a`", "user_b"),
        oracle="SELECT \"# user_a\" AS user_a, user_b FROM read_csv('{file}', header=true, comment='')",
    ),
    RealSet(
        stream="genders",
        files="phone-calls/genders.csv",
        map=("user = `# user`", "female"),
        oracle="SELECT \"# user\" AS user, female FROM read_csv('{file}', header=true, comment='')",
    ),
    *(
        RealSet(
            stream=f"metrics_{name}",
            files=f"ops-metrics/{folder}/*.csv.gz",
            map=(
                "ts = timestamp",
                "series = regexp_extract(_metadata.file_name, '^[^.]*', 0)",
                "value = double(value)",
            ),
            time="ts",
            oracle="SELECT timestamp AT TIME ZONE 'UTC' AS ts, regexp_extract(filename, '([^/.]*)[.]csv[.]gz$', 1) AS series,"
            " CAST(value AS DOUBLE) AS value FROM read_csv('{file}', filename=true)",
        )
        for name, folder in (
            ("cloud", "realAWSCloudwatch"),
            ("road", "realTraffic"),
            ("tweets", "realTweets"),
        )
    ),
    RealSet(
        stream="lines",
        files="online-retail/*.csv.xz",
        map=(
            "ts = InvoiceDate",
            *(
                "invoice = InvoiceNo",
                "stock = StockCode",
                "description = Description",
                "quantity = Quantity",
            ),
            *("price = UnitPrice", "customer = CAST(CustomerID AS BIGINT)", "country = Country"),
        ),
        time="ts",
        oracle="SELECT CAST(InvoiceDate AS TIMESTAMP) AT TIME ZONE 'UTC' AS ts, InvoiceNo AS invoice, StockCode AS stock,"
        " Description AS description, Quantity AS quantity, UnitPrice AS price, CAST(CustomerID AS BIGINT) AS customer,"
        " Country AS country FROM read_csv('{file}', types={{'InvoiceNo': 'VARCHAR', 'StockCode': 'VARCHAR'}})",
    ),
    RealSet(
        stream="trips",
        files="bike-share/trips-*.csv.xz",
        map=(
            "ts = start_date",
            "trip_id",
            "bike_id",
            "station = start_terminal",
            "kind = subscription_type",
            "zip = zip_code",
        ),
        time="ts",
        oracle="SELECT start_date AS ts, trip_id, bike_id, start_terminal AS station, subscription_type AS kind, zip_code AS zip"
        " FROM read_csv('{file}', types={{'zip_code': 'VARCHAR', 'start_date': 'TIMESTAMPTZ'}})",
    ),
    RealSet(
        stream="stations",
        files="bike-share/stations.csv",
        map=("*", "install_date = timestamp(install_date)"),
        oracle="SELECT * REPLACE (CAST(install_date AS TIMESTAMP) AT TIME ZONE 'UTC' AS install_date) FROM read_csv('{file}')",
    ),
    RealSet(
        stream="day_weather",
        files="bike-share/weather-*.csv.gz",
        map=("ts = date", "zip = string(zip_code)", "mean_temp_f", "events", "precipitation_in"),
        time="ts",
        oracle="SELECT CAST(date AS TIMESTAMP) AT TIME ZONE 'UTC' AS ts, zip_code AS zip, mean_temp_f, events, precipitation_in"
        " FROM read_csv('{file}', types={{'zip_code': 'VARCHAR', 'precipitation_in': 'VARCHAR'}})",
    ),
)
