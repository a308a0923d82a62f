"""No path around the module: every operation that computes is in FIPS mode approved or refused.

Cryptography enters satchel at few places, and these tests list them by reading and introspecting
the code: a place, a method or an algorithm that is new fails here until it is entered.
"""

from __future__ import annotations

import ast
import inspect
import json
from functools import cache
from pathlib import Path

import pytest
from fix_fips import BUILD_TIMEOUT_S, FipsHome

from satchel_crypto.algorithms import (
    APPROVED,
    Agreement,
    Cipher,
    Derivation,
    Hash,
    Mac,
    Signature,
)
from satchel_crypto.provider import Provider

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)

ROOT = Path(__file__).parents[2]
FOLDERS = ("crypto/satchel_crypto", "replica/satchel", "sync/satchel_sync")
LIBRARIES = ("hashlib", "hmac", "ssl", "secrets", "random", "cryptography", "nacl", "wolfcrypt")
PLACES = {
    # The openssl provider, whose every method is called below.
    "crypto/satchel_crypto/providers/openssl.py",
    "crypto/satchel_crypto/providers/openssl_keys.py",
    # Refused in FIPS mode, or attested: tests/fips/test_shims.py.
    "crypto/satchel_crypto/providers/nacl.py",
    "crypto/satchel_crypto/providers/wolfcrypt.py",
    "crypto/satchel_crypto/providers/wolfcrypt_keys.py",
    "crypto/satchel_crypto/providers/wolfcrypt_library.py",
    # DER and PEM only; it signs and verifies by the provider: fips/test_every_command `key sign`.
    "crypto/satchel_crypto/detached.py",
    # SHA-256 by hashlib, which is OpenSSL's, and in FIPS mode the module's: called below.
    "crypto/satchel_crypto/content.py",
    "crypto/satchel_crypto/plain.py",
    "sync/satchel_sync/digest.py",
    # The proof itself.
    "crypto/satchel_crypto/fips/attested.py",
    "crypto/satchel_crypto/fips/build.py",
    "crypto/satchel_crypto/fips/install.py",
    "crypto/satchel_crypto/fips/mode.py",
    "crypto/satchel_crypto/fips/proof.py",
    "crypto/satchel_crypto/fips/tls.py",
}
HASHLIB_MAY = {"sha256", "sha384", "new", "file_digest", "pbkdf2_hmac"}
"""Of hashlib; what the last three are given is looked at too."""


@cache
def sources() -> dict[str, ast.Module]:
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8"))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def imports_of(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {ast.literal_eval(one).split(".")[0] for one in node.args if is_text(one)}
    return found


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_cryptography_enters_where_it_is_listed() -> None:
    found = {path for path, tree in sources().items() if imports_of(tree) & set(LIBRARIES)}
    assert found - PLACES == set(), "a new place: enter it, with a test of it in FIPS mode"
    assert PLACES - found == set(), "a place that is gone"


def test_hashlib_gives_sha2_only() -> None:
    strange = []
    for path, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "hashlib":
                used = {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hashlib":
                used = {node.attr}
            else:
                continue
            strange += [f"{path}: hashlib.{name}" for name in used - HASHLIB_MAY]
    assert strange == []


def test_outside_of_the_crypto_package_a_hash_protects_nothing() -> None:
    """It is a content digest, and says so to OpenSSL."""
    found = [
        {word.arg: ast.unparse(word.value) for word in node.keywords}
        for path, tree in sources().items()
        if not path.startswith("crypto/") and "hashlib" in imports_of(tree)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in HASHLIB_MAY
    ]
    assert found
    assert all(words.get("usedforsecurity") == "False" for words in found), found


PROVIDER = """
import json
from satchel_crypto.algorithms import *
from satchel_crypto.algorithms import APPROVED, NONCE_BYTES
from satchel_crypto.errors import CryptoError
from satchel_crypto.registry import provider
made = provider("openssl", fips=True)
key, salt, done = bytes(range(32)), bytes(16), {}

def tried(name, algorithm, call):
    try:
        call()
        outcome = "works"
    except CryptoError as error:
        outcome = error.code
    done.setdefault(name, {})[str(algorithm)] = outcome

for name in ("name", "algorithms", "suite", "fips"):
    tried(name, "", lambda: getattr(made, name))
tried("version", "", made.version)
tried("random", "", lambda: made.random(32))
tried("same", "", lambda: made.same(key, key))
tried("mac", Mac.HMAC_SHA256, lambda: made.mac(key, b""))
tried("hkdf", Derivation.HKDF_SHA256, lambda: made.hkdf(key, salt=salt, info=b""))
tried("pbkdf2", Derivation.PBKDF2_SHA256,
      lambda: made.pbkdf2(b"password", salt=salt, iterations=1000))
tried("argon2id", Derivation.ARGON2ID,
      lambda: made.argon2id(b"p", salt=salt, passes=1, memory_kib=64))
for hashing in Hash:
    tried("digest", hashing, lambda: made.digest(hashing, b""))
for cipher in Cipher:
    nonce = bytes(NONCE_BYTES[cipher])
    tried("seal", cipher, lambda: made.seal(cipher, key, nonce, b"", b""))
    sealed = b"" if cipher not in APPROVED else made.seal(cipher, key, nonce, b"", b"")
    tried("open", cipher, lambda: made.open(cipher, key, nonce, sealed, b""))
for signature in Signature:
    tried("signing_key", signature, lambda: made.signing_key(signature))
    private, public = made.signing_key(signature) if signature in APPROVED else (key, key)
    tried("sign", signature, lambda: made.sign(signature, private, b""))
    tried("verify", signature, lambda: made.verify(signature, public, b"", bytes(64)))
    tried("public_of", signature, lambda: made.public_of(signature, private))
for agreement in Agreement:
    tried("agreement_key", agreement, lambda: made.agreement_key(agreement))
    private, public = made.agreement_key(agreement) if agreement in APPROVED else (key, key)
    tried("agree", agreement, lambda: made.agree(agreement, private, public))
    tried("public_of", agreement, lambda: made.public_of(agreement, private))
print(json.dumps({"done": done, "has": sorted(made.algorithms)}))
"""
WITHOUT_ALGORITHM = {"name", "algorithms", "suite", "fips", "version", "random", "same"}


def test_every_method_with_every_algorithm(home: FipsHome) -> None:
    told = home.python(PROVIDER)
    assert told.code == 0, told
    done = told.json["done"]
    assert set(told.json["has"]) == {str(one) for one in APPROVED}
    methods = {name for name, _ in inspect.getmembers(Provider) if not name.startswith("_")}
    assert done.keys() == methods, "a method that is new: call it above"
    called = {one for by_name in done.values() for one in by_name if one}
    every = {
        str(one) for kind in (Hash, Derivation, Mac, Cipher, Signature, Agreement) for one in kind
    }
    assert called == every, "an algorithm that is new: call it above"
    for name, outcomes in done.items():
        for algorithm, outcome in outcomes.items():
            approved = name in WITHOUT_ALGORITHM or algorithm in {str(one) for one in APPROVED}
            assert outcome == ("works" if approved else "algorithm_refused"), (name, algorithm)


BESIDE = """
import hashlib, json, sys
from pathlib import Path
from satchel_crypto.fips import mode, libcrypto
from satchel_crypto.registry import provider
from satchel_crypto import random_bytes, content_sha256
made = provider("openssl", fips=True)
drawn = []
import ssl
real = ssl.RAND_bytes
ssl.RAND_bytes = lambda count: drawn.append(count) or real(count)
random_bytes(16)
made.random(17)
from satchel_crypto.plain import PlainSealer
from satchel_sync import digest
file = Path(sys.argv[1])
file.write_bytes(b"abc")
used = type(hashlib.sha256()).__module__, type(hashlib.new("sha256")).__module__
print(json.dumps({
    "drawn": drawn, "hashes": used, "plain": PlainSealer().digest(b"abc").hex(),
    "content": content_sha256(file), "MD5": "md5" in dir(__import__("_hashlib")),
}))
"""


def test_what_is_no_provider_uses_the_module_too(home: FipsHome, tmp_path: Path) -> None:
    told = home.python(BESIDE, str(tmp_path / "file")).json
    assert told["drawn"] == [16, 17], "random bytes are the module's"
    assert set(told["hashes"]) == {"_hashlib"}, "hashlib's SHA-256 is OpenSSL's, not Python's own"
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert told["plain"] == told["content"] == known


LOCKED = """
import json
from pathlib import Path
from satchel_crypto import content_sha256, random_bytes
from satchel_crypto.algorithms import Hash
from satchel_crypto.errors import SelfTestFailed
from satchel_crypto.fips import mode
from satchel_crypto.registry import provider
made = provider("openssl", fips=True)
digest = made.digest
from satchel_crypto import selftest
from satchel_crypto.providers.openssl import OpenSsl
right = OpenSsl.mac
OpenSsl.mac = lambda self, key, data: bytes(32)
refused = []

def tried(call):
    try:
        call()
        refused.append("works")
    except SelfTestFailed as error:
        refused.append(error.exit_code)

provider.cache_clear()
tried(lambda: provider("openssl", fips=True))
OpenSsl.mac = right
tried(lambda: made.digest(Hash.SHA256, b""))
tried(lambda: digest(Hash.SHA256, b""))
tried(lambda: made.algorithms)
tried(lambda: random_bytes(1))
tried(lambda: content_sha256(Path("/etc/hostname")))
tried(lambda: provider("openssl", fips=True))
tried(lambda: provider("openssl"))
tried(lambda: mode.enter())
tried(lambda: mode.plain())
print(json.dumps([refused, mode.active()]))
"""


def test_a_failed_self_test_locks_the_process(home: FipsHome) -> None:
    assert home.python(LOCKED).json == [[4] * 10, True]


IRREVERSIBLE = """
import json, os
from satchel import config
from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import mode
from satchel_crypto.registry import provider
wanted = config.load(environ={**os.environ, "SATCHEL_FIPS": "1"})
plain = config.load(environ={**os.environ, "SATCHEL_FIPS": "0"})
wanted.require_built()
refused = []
from pathlib import Path
other = config.load(flags={"home": "/nowhere"}, environ={"SATCHEL_FIPS": "1"})
from satchel.replica import open_replica
for call in (lambda: open_replica(plain), plain.require_built, other.require_built,
             lambda: provider("openssl"), lambda: provider("nacl"),
             lambda: provider("nacl", fips=True), mode.plain):
    try:
        call()
        refused.append("works")
    except FipsRefused as error:
        refused.append(error.code)
wanted.require_built()
print(json.dumps(refused))
"""


def test_there_is_no_way_back(home: FipsHome) -> None:
    assert home.python(IRREVERSIBLE).json == ["fips_refused"] * 7


ORDER = """
import sys
for name in sys.argv[1].split():
    __import__(name)
from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import mode
try:
    print(len(mode.enter().libraries))
except FipsRefused as error:
    print("refused", error)
"""


@pytest.mark.parametrize(
    ("imports", "outcome"),
    [
        ("json", "2"),
        ("hashlib", "2"),
        ("ssl", "2"),
        ("random uuid asyncio", "2"),
        ("psycopg", "2"),
        # Both took the same copy before FIPS mode could give each its own.
        ("ssl cryptography.hazmat.bindings._rust", "refused"),
    ],
)
def test_whatever_was_imported_before(home: FipsHome, imports: str, outcome: str) -> None:
    """Either it is proved, or it is refused: never half."""
    told = home.python(ORDER, imports)
    assert told.code == 0, told
    assert told.out.split()[0] == outcome, told


def test_subprocesses_inherit_the_mode(home: FipsHome) -> None:
    program = """
    import subprocess, sys
    from satchel import config, fips_start
    environment = fips_start.environment_for(sys.argv[1:], config.environment())
    assert environment is not None
    command = [sys.executable, "-c", "import _hashlib; _hashlib.openssl_md5()"]
    print(subprocess.run(command, env=environment, capture_output=True, text=True).stderr[-60:])
    """
    told = home.python(program, SATCHEL_FIPS="1", OPENSSL_CONF="/dev/null")
    assert "unsupported" in told.out, told


def test_the_module_tests_itself_when_it_is_asked_to(home: FipsHome) -> None:
    told = home.satchel("crypto", "selftest")
    assert (told.code, told.json["ok"]) == (0, True)
    assert told.json["module"]["version"] == "3.1.2"
    tests = {row["provider"]: row["ok"] for row in told.json["items"]}
    assert tests == {"openssl": "ok", "nacl": "warn", "wolfcrypt": "warn"}
    status = json.loads(home.satchel("crypto", "status").out)
    assert {row["provider"]: row["state"] for row in status["items"]} == {
        "openssl": "in use", "nacl": "refused", "wolfcrypt": "refused"
    }  # fmt: skip
