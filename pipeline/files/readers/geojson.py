"""A GeoJSON feature as a row: its properties, its id and its geometry."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from psoup.pipeline.files.opening import ByteCount, open_text
from psoup.pipeline.files.options import FileFormat

_HEAD_BYTES: Final = 65_536
_COLLECTION: Final = re.compile(rb'\s*\{.*"type"\s*:\s*"FeatureCollection"', re.DOTALL)

WHOLE: Final = "geometry"
"""The member that stays an object and is not flattened."""
_AXES: Final = ("lon", "lat", "depth")


def format_of_json(path: Path, charset: str | None) -> FileFormat:
    """Return whether a file of JSON is GeoJSON: its front says that it is a FeatureCollection.

    Raises:
        DataFileError: the file cannot be read, or is damaged.
    """
    with open_text(path, ByteCount(), charset) as plain:
        head = plain.read(_HEAD_BYTES)
    return FileFormat.GEOJSON if _COLLECTION.match(head) else FileFormat.JSON


def feature_row(feature: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a feature.

    A point becomes `lon`, `lat` and, where it has a third coordinate, `depth`; any other shape stays JSON in
    `geometry`. A property of a name that is taken so is called `properties_NAME`.

    Raises:
        ValueError: it is not a feature; says what is missing.
    """
    if feature.get("type") != "Feature":
        msg = 'a feature has "type": "Feature"'
        raise ValueError(msg)
    row: dict[str, Any] = {}
    if feature.get("id") is not None:
        row["id"] = feature["id"]
    place = _place(feature.get("geometry"))
    for name, value in (feature.get("properties") or {}).items():
        row[f"properties_{name}" if name in row or name in place else name] = value
    return {**row, **place}


def _place(geometry: object) -> dict[str, Any]:
    """Return the columns of a feature's position; none if it has no geometry."""
    if not isinstance(geometry, dict):
        return {}
    coordinates = geometry.get("coordinates")
    if geometry.get("type") == "Point" and isinstance(coordinates, list) and len(coordinates) > 1:
        return dict(zip(_AXES, coordinates, strict=False))
    return {WHOLE: geometry}
