"""A chart's specification as SVG that stands inside a page; nothing is fetched for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from satchel_warehouse.reports.report import Spec

VEGA_LITE = "6.4"
_DROPPED = ("width", "height", "version", "class", "aria-roledescription", "role", "aria-hidden")
_REFERENCE = re.compile(r"^url\(#(.+)\)$")
_NAMESPACE = re.compile(r"\{[^}]*\}")


def svg(spec: Spec, name: str) -> str:
    """The chart as an `<svg>` element that is as wide as it is given room, ids begin with `name`.

    It is decoration to a screen reader: the page says in words and in a table what it shows.
    """
    import vl_convert  # an extra, and 50 MB

    # No base URL is allowed: a specification cannot make the library fetch anything.
    drawn = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    root = ET.fromstring(drawn)
    width, height = root.get("width", "0"), root.get("height", "0")
    for element in root.iter():
        _plain(element, name)
    _without_nothing(root)
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    return ET.tostring(root, encoding="unicode")


def _plain(element: ET.Element, name: str) -> None:
    """Without a namespace, as HTML has it, and with ids that no other chart of the page has."""
    element.tag = _NAMESPACE.sub("", element.tag)
    for key, value in list(element.attrib.items()):
        found = _REFERENCE.match(value)
        if key in _DROPPED:
            del element.attrib[key]
        elif key == "id":
            element.set(key, f"{name}-{value}")
        elif found:
            element.set(key, f"url(#{name}-{found[1]})")


def _without_nothing(root: ET.Element) -> None:
    """Take out the paths that draw nothing, of which there are many."""
    for parent, child in list(_pairs(root)):
        if child.tag == "path" and (child.get("d") in ("", "M0,0h0v0h0Z") or child.get("display")):
            parent.remove(child)


def _pairs(root: ET.Element) -> Iterator[tuple[ET.Element, ET.Element]]:
    for parent in root.iter():
        for child in parent:
            yield parent, child
