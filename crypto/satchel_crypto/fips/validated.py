"""By whom a provider is validated, said exactly: satchel is ready for it, and is not validated.

CMVP is NIST's and CCCS's programme; its certificates are of modules: sources built by the named
steps, run as a security policy says. Certificate 4985 (FIPS 140-3, level 1, 2025-03) is of the
OpenSSL FIPS Provider whose source OpenSSL 3.1.2 carries.
"""

from __future__ import annotations

from satchel_crypto.fips.module import Module

CERTIFICATE = "4985"
VERSION = "3.1.2"


def of_module(module: Module) -> str:
    """Of the module of FIPS mode."""
    if module.version == VERSION and module.source:
        return (
            f"ready, not validated: CMVP certificate {CERTIFICATE} is of OpenSSL {VERSION}'s FIPS"
            " provider, built and used as its security policy says; this one was built here from"
            f" the same source ({module.source.get('crate', '')}), by other steps"
        )
    if module.version == VERSION:
        return (
            "ready, not validated by satchel: this module was given as it is. CMVP certificate"
            f" {CERTIFICATE} is of OpenSSL {VERSION}'s FIPS provider, built and used as its"
            " security policy says; whether this one was is for who built it to say"
        )
    return (
        f"ready, not validated by satchel: {module.name} {module.version} was given as it is;"
        " which certificate it has, if any, is for who built it to say"
    )


def outside_of_fips(name: str) -> str:
    """Of a provider that is used without FIPS mode."""
    match name:
        case "openssl":
            return "by nobody: outside of FIPS mode OpenSSL computes without a validated module"
        case "nacl":
            return "by nobody: libsodium has no validated module"
        case _:
            return (
                "by nobody: only wolfSSL's own FIPS builds have CMVP certificates, and only one"
                " that the operator attested counts in FIPS mode"
            )


def of_attested(certificate: str) -> str:
    """Of a wolfCrypt that the operator attested."""
    return (
        f"by the word of the operator: certificate {certificate} for the file whose SHA-256 is in"
        " the config; satchel has checked the file, not the certificate"
    )
