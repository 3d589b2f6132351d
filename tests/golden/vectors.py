"""What the papers say a selection or a window has to answer, with the place where they say it.

Days are trading days, numbered from 1 as TelegraphCQ does; day n is dated n - 1 days after 1 January
2000, midnight UTC. Each vector was read in the paper and checked by hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from psoup.engine.limits import DAY_US, SECOND_US
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

FIRST_DAY_US = 946_684_800 * SECOND_US


def day_us(day: int) -> int:
    """Return the instant of trading day `day`."""
    return FIRST_DAY_US + (day - 1) * DAY_US


# TelegraphCQ (CIDR 2003), 4.1.1: ClosingStockPrices(timestamp, stockSymbol, closingPrice), and a time.
CLOSING_STOCK_PRICES = StreamSchema(
    "ClosingStockPrices",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("timestamp", ColumnType.INT64, nullable=False),
        ColumnSchema("stockSymbol", ColumnType.STRING, nullable=False),
        ColumnSchema("closingPrice", ColumnType.FLOAT64, nullable=False),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)


def closing_price(symbol: str, day: int) -> float:
    """Return a price around 50 that is above, at and below it on different days; exact in binary."""
    return 48.0 + (day % 9) / 2 if symbol == "MSFT" else 40.0 + day % 20


def stock_rows(days: range) -> list[Mapping[str, int | float | str]]:
    """Return the closings of two companies, day by day."""
    return [
        {
            "ts": day_us(day),
            "timestamp": day,
            "stockSymbol": symbol,
            "closingPrice": closing_price(symbol, day),
        }
        for day in days
        for symbol in ("MSFT", "ORCL")
    ]


@dataclass(frozen=True, slots=True)
class LoopVector:
    """A for-loop of TelegraphCQ 4.1.1 as BEGIN-END: one invocation for each t, each a window of days.

    `window` holds day numbers in braces, `first` and `last` give the window's ends at t.
    """

    source: str
    where: str
    window: str
    loop: range
    windows_count: int
    """`papers` count of windows, loop bounds taken literally."""
    first_moves: bool
    reach: int
    """first day = t - reach where it moves, else `reach` itself."""
    last: int | None
    """The last day where it is constant; None = t."""
    above: float | None = None

    def days(self, t: int) -> list[int]:
        """Return the days the window holds at t, both ends inclusive."""
        first = t - self.reach if self.first_moves else self.reach
        last = t if self.last is None else self.last
        return [
            day
            for day in range(max(first, 1), last + 1)
            if self.above is None or closing_price("MSFT", day) > self.above
        ]


START_DAY = 30
"""ST of the sliding loops: the day a query starts. Any day after the fourth will do."""

MSFT = "stockSymbol = 'MSFT'"

LOOPS = {
    "snapshot": LoopVector(
        "TelegraphCQ 4.1.1, example 1: for (; t==0; t=-1) WindowIs(ClosingStockPrices, 1, 5)",
        MSFT,
        "BEGIN ({1}) END ({5})",
        loop=range(60, 61),
        windows_count=1,
        first_moves=False,
        reach=1,
        last=5,
    ),
    "landmark": LoopVector(
        "TelegraphCQ 4.1.1, example 2: for (t=101; t<=1000; t++) WindowIs(..., 101, t); its prose says"
        " a thousand days, its loop runs 900",
        f"{MSFT} AND closingPrice > 50.00",
        "BEGIN ({101}) END (NOW)",
        loop=range(101, 1001),
        windows_count=900,
        first_moves=False,
        reach=101,
        last=None,
        above=50.0,
    ),
    "sliding": LoopVector(
        "TelegraphCQ 4.1.1, example 3: for (t=ST; t<ST+50; t+=5) WindowIs(..., t - 4, t): five days",
        MSFT,
        "BEGIN (NOW - INTERVAL '4' DAY) END (NOW)",
        loop=range(START_DAY, START_DAY + 50, 5),
        windows_count=10,
        first_moves=True,
        reach=4,
        last=None,
    ),
    "band": LoopVector(
        "TelegraphCQ 4.1.1, example 4: for (t=ST; t<ST+20; t++) WindowIs(c1, t - 4, t), the side c1",
        MSFT,
        "BEGIN (NOW - INTERVAL '4' DAY) END (NOW)",
        loop=range(START_DAY, START_DAY + 20),
        windows_count=20,
        first_moves=True,
        reach=4,
        last=None,
    ),
}
