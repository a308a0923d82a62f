"""What only calls itself a FIPS module is none: each shim here is compiled, loaded and refused.

The nearest product took a library of sixty lines for a validated one, by the names of its symbols.
"""

from __future__ import annotations

import ctypes
import json
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from fix_fips import BUILD_TIMEOUT_S, FipsHome, compiled, python

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import attested, install, libcrypto
from satchel_crypto.fips.attested import Attestation
from satchel_crypto.fips.mapped import loaded

pytestmark = [
    pytest.mark.timeout(BUILD_TIMEOUT_S),
    pytest.mark.skipif(not shutil.which("cc"), reason="needs the system package build-essential"),
]


SHIMS = Path(__file__).parent / "shims"


def shim(tmp_path: Path, *options: str) -> libcrypto.LibCrypto:
    path = compiled(SHIMS / "libcrypto.c", tmp_path / "libcrypto.so.3", "-w", *options)
    found = libcrypto.behind(str(path))
    assert found is not None
    assert found.path == path
    return found


def written(tmp_path: Path, source: str) -> Path:
    (tmp_path / "source.c").write_text(source)
    return tmp_path / "source.c"


def digest(data: bytes) -> bytes:
    return sha256(data).digest()


def test_a_libcrypto_that_says_yes_to_everything(tmp_path: Path) -> None:
    claims = shim(tmp_path)
    assert claims.described()["version"] == "3.1.2"
    with pytest.raises(FipsRefused, match="is not the module on record"):
        claims.prove([], digest)


def test_nor_with_the_real_module_beside_it(tmp_path: Path, home: FipsHome) -> None:
    """It loads the true module, and points into it; the functions that it lists are its own."""
    module = home.folder / "third" / "fips.so"
    claims = shim(tmp_path, f'-DMODULE="{module}"', "-ldl")
    dispatch = claims.functions["OSSL_PROVIDER_get0_dispatch"](None)
    real = loaded()[module]
    assert real.holds(dispatch)
    with pytest.raises(FipsRefused, match="takes SHA2-256 from outside of the module"):
        claims.prove([real], digest)


def test_nor_one_without_providers(tmp_path: Path) -> None:
    path = compiled(written(tmp_path, "void EVP_sha256(void) {}"), tmp_path / "libcrypto.so.1.1")
    with pytest.raises(FipsRefused, match="no OpenSSL 3"):
        libcrypto.behind(str(path))
    assert (
        libcrypto.behind(str(compiled(written(tmp_path, "int x;"), tmp_path / "libother.so")))
        is None
    )


def test_a_provider_that_forwards_to_another(built: Path, tmp_path: Path) -> None:
    """OpenSSL itself believes it: MD5 is refused, SHA-256 works, all is `fips=yes`."""
    given = tmp_path / "given"
    given.mkdir()
    compiled(SHIMS / "provider.c", given / "fips.so", "-w", "-l:libcrypto.so.3")
    shutil.copy(built / "fipsmodule.cnf", given)
    with pytest.raises(FipsRefused, match="from outside of the module"):
        install.install(given, tmp_path / "home" / "fips")
    assert not (tmp_path / "home" / "fips").exists()


def test_nor_when_the_record_was_made_to_fit(own_home: FipsHome, tmp_path: Path) -> None:
    fake = compiled(
        SHIMS / "provider.c", tmp_path / "fips.so", "-w", "-l:libcrypto.so.3"
    ).read_bytes()
    record = own_home.folder / "module.json"
    for path in (*own_home.folder.rglob("fips.so"), record):
        path.chmod(0o600)
    document = json.loads(record.read_text()) | {"sha256": sha256(fake).hexdigest()}
    record.write_text(json.dumps(document))
    for path in own_home.folder.rglob("fips.so"):
        path.write_bytes(fake)
    believed = own_home.python(
        "import _hashlib\n"
        "print(_hashlib.openssl_sha256(b'').hexdigest()[:8])\n"
        "try: _hashlib.openssl_md5()\n"
        "except ValueError: print('refused')"
    )
    assert believed.out.split() == ["e3b0c442", "refused"], believed
    refused = own_home.satchel("write", "a note")
    assert (refused.code, refused.error["code"]) == (4, "fips_refused")
    assert "from outside of the module" in refused.error["message"]


PATCHED = """
import ctypes
from satchel_crypto.fips import mode
from satchel_crypto.fips.mapped import loaded
from satchel_crypto.errors import FipsRefused
import ssl
ssl.RAND_status()
module = next(one for path, one in loaded().items() if path.name == "fips.so")
code = next(one for one in module.segments if "x" in one.rights)
libc = ctypes.CDLL(None)
page = (code.end - 4096)
assert libc.mprotect(ctypes.c_void_p(page), 4096, 7) == 0
ctypes.memset(page, 0x90, 1)
assert libc.mprotect(ctypes.c_void_p(page), 4096, 5) == 0
try:
    mode.enter()
except FipsRefused as error:
    print(error)
"""


def test_code_that_is_not_what_the_file_says(home: FipsHome) -> None:
    assert "was changed after it was loaded" in home.python(PATCHED).out


# ---- wolfCrypt ----------------------------------------------------------------------------------


def test_a_wolfssl_that_calls_itself_fips_counts_only_by_attestation(tmp_path: Path) -> None:
    path = compiled(SHIMS / "wolfssl.c", tmp_path / "libwolfssl.so.99")
    ctypes.CDLL(str(path))
    library = loaded()[path]
    right = sha256(path.read_bytes()).hexdigest()
    for wrong in (
        None,
        Attestation(sha256="", certificate="4718"),
        Attestation(sha256=right, certificate=" "),
        Attestation(sha256="0" * 64, certificate="4718"),
    ):
        with pytest.raises(FipsRefused, match="attested"):
            attested.require_library(library, wrong)
    said = Attestation(sha256=right.upper(), certificate="4718")
    attested.require_library(library, said)  # by the word of the operator, for this very file

    path.chmod(0o666)
    with pytest.raises(FipsRefused, match="can be written by others"):
        attested.require_library(library, said)
    path.chmod(0o600)
    (tmp_path / "other").write_bytes(path.read_bytes() + b"x")
    (tmp_path / "other").chmod(0o600)
    (tmp_path / "other").replace(path)
    with pytest.raises(FipsRefused, match="not the library that the operator attested"):
        attested.require_library(library, said)


def test_a_wolfssl_of_the_system_is_no_fips_build(home: FipsHome) -> None:
    wolfcrypt = pytest.importorskip("wolfcrypt", reason="needs the system package libwolfssl-dev")
    assert wolfcrypt
    found = re.search(r"/\S*libwolfssl\S*", Path("/proc/self/maps").read_text())
    sums = sha256(Path(found[0]).read_bytes()).hexdigest() if found else "0" * 64
    refused = home.satchel(
        "write", "a note", SATCHEL_CRYPTO_PROVIDER="wolfcrypt",
        SATCHEL_CRYPTO_WOLFCRYPT_SHA256=sums, SATCHEL_CRYPTO_WOLFCRYPT_CERTIFICATE="4718",
    )  # fmt: skip
    assert (refused.code, refused.error["code"]) == (4, "fips_refused")
    assert "is no FIPS build of wolfSSL" in refused.error["message"]


def test_nacl_is_refused_on_a_proved_module_too(home: FipsHome) -> None:
    refused = home.satchel("write", "a note", SATCHEL_CRYPTO_PROVIDER="nacl")
    assert (refused.code, refused.error["field"]) == (4, "crypto.provider")


def test_without_a_module_python_proves_nothing(tmp_path: Path) -> None:
    program = "from satchel_crypto.fips import mode\nmode.enter()"
    done = python(program, SATCHEL_HOME=str(tmp_path))
    assert "FipsRefused: FIPS mode was asked for, and no FIPS module is loaded" in done.err
