"""The bill of materials of a kit: CycloneDX 1.6, by its own library, held against its schema.

What is compiled into a wheel (the crates of satchel-native, for one) comes from the bill that its
builder laid into it (PEP 770); of the others nobody told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from airgap.errors import KitError
from airgap.target import Target
from airgap.wheel import Wheel

FILE = "sbom.cdx.json"
PRODUCT = "satchel"
FipsPart = tuple[str, str, str]
"""Name, version and SHA-256 of a FIPS module."""


def bill(
    wheels: Sequence[Wheel], target: Target, *, made_at_s: int, fips: FipsPart | None = None
) -> str:
    """The document: every wheel, what it needs of the others, what is compiled into it.

    The same parts and time give the same document. Raises KitError where the schema refuses it.
    """
    components = {one.name: _component(one) for one in wheels}
    bom = Bom(
        components=[*components.values(), *([_fips(fips)] if fips else [])],
        metadata=BomMetaData(
            component=Component(
                name="satchel-kit",
                version=next(one.version for one in wheels if one.name == PRODUCT),
                type=ComponentType.APPLICATION,
                bom_ref="satchel-kit",
                description=f"satchel for {target.name}, Python {target.python}, without a network",
            ),
            timestamp=datetime.fromtimestamp(made_at_s, UTC),
        ),
    )
    for wheel in wheels:
        needed = sorted(_needed(wheel, target) & components.keys())
        bom.register_dependency(components[wheel.name], [components[name] for name in needed])
    assert bom.metadata.component is not None
    bom.register_dependency(bom.metadata.component, bom.components)
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    del document["serialNumber"]  # chance: the kit's sums are what names this document
    text = json.dumps(document, indent=1, ensure_ascii=False)
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise KitError(f"the bill of materials is not one that CycloneDX takes: {wrong}")
    return text + "\n"


def _component(wheel: Wheel) -> Component:
    return Component(
        name=wheel.name,
        version=wheel.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{wheel.name}@{wheel.version}",
        purl=PackageURL("pypi", name=wheel.name, version=wheel.version),
        description=wheel.summary or None,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=wheel.sha256)],
        licenses=_licences(wheel.licence),
        components=[part for one in wheel.sboms for part in _compiled_in(wheel, json.loads(one))],
    )


def _compiled_in(wheel: Wheel, document: dict[str, Any]) -> Iterable[Component]:
    """What a bill that came with a wheel names, each once: crates, or libraries of a system."""
    found = {
        (str(one["name"]), str(one.get("version", ""))): one
        for one in document.get("components", [])
    }
    for (name, version), one in found.items():
        purl = str(one.get("purl", ""))
        licences = one.get("licenses") or [{}]
        yield Component(
            name=name,
            version=version or None,
            type=ComponentType.LIBRARY,
            bom_ref=f"{wheel.name}/{name}@{version}",
            # One without a registry is part of the wheel's own sources.
            purl=PackageURL.from_string(purl) if purl and "download_url" not in purl else None,
            hashes=[
                HashType(alg=HashAlgorithm(said["alg"]), content=said["content"])
                for said in one.get("hashes", [])
            ],
            licenses=_licences(str(licences[0].get("expression", ""))),
        )


def _fips(part: FipsPart) -> Component:
    name, version, digest = part
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{name}@{version}",
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        licenses=_licences("Apache-2.0"),
    )


def _licences(said: str) -> list[Any]:
    return [LicenseFactory().make_from_string(said)] if said else []


def _needed(wheel: Wheel, target: Target) -> set[str]:
    """Names of distributions that a wheel requires on that machine, without its extras."""
    return {
        canonicalize_name(one.name)
        for one in wheel.requires
        if one.marker is None or one.marker.evaluate(target.environment)
    }
