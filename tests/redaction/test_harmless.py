"""What looks like a secret and is none is left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fix_secrets import BASE64, HEX, LETTERS, URL, Maker

from satchel.redaction import kinds, redact
from satchel.redaction.pattern import Pattern, compiled
from satchel.redaction.redact import find

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
M = Maker(7)
SHA1, SHA256, MD5 = M.of(HEX, 40), M.of(HEX, 64), M.of(HEX, 32)
UUID = "123e4567-e89b-42d3-a456-426614174000"

LOOK_ALIKE = [
    # digests and identifiers
    f"commit {SHA1} fixes the token parser",
    f"git show {SHA1[:12]} # password reset",
    f"sha256: {SHA256}",
    f"SHA256SUMS says {SHA256}  secret.txt",
    f"the token hash is {SHA256}",
    f"md5 of the key file: {MD5}",
    f"integrity sha512-{M.of(BASE64, 86)}==",
    f'ETag: "{MD5}"',
    f"content_hash={SHA256}, key={UUID}",
    f"token bucket {UUID}",
    f"session {UUID} opened",
    f"id: {UUID}",
    "01a228db-d2db-7e4d-a104-2ac2e46e8fd4",
    f"password_hash: $2b$12${M.of(LETTERS, 53)}",
    f"docker pull x@sha256:{SHA256}",
    f"next_token: {M.of(LETTERS, 40)}",
    f"?page_token={M.of(LETTERS, 40)}&limit=3",
    "idempotency_key=a1b2c3d4e5f6",
    # names, schemas, templates
    "password: required",
    "password: string, token: string | None",
    "password: <password>",
    "password: ********",
    "password: ${DB_PASSWORD}",
    "password: {{ vault.password1 }}",
    "password = %(password1)s",
    "token: your-token-here-1",
    "API_KEY=$API_KEY",
    "SECRET_KEY=<generate-one-123456>",
    "secretName: my-secret-123",
    "secret: projects/x/secrets/y/versions/2",
    "password_file=/run/secrets/db1",
    "PASSWORD_MIN_LENGTH=12345678",
    "token_limit: 1234567890",
    "tokenizer: bert-base-uncased-v2",
    "model: claude-sonnet-4-20250514-v1 (tokens)",
    "max_tokens: 4096, tokens_in=1234567890",
    "primary key: user_id_2024x",
    "public_key: MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE",
    "key: value12345",
    "keyboard: qwerty12345 layout",
    "monkey: a1b2c3d4e5f6",
    "csrf_token_name: x-csrf-1234",
    # code
    "def login(password: str, token: str | None) -> None:",
    "connect(user=user, password=password)",
    "token = tokens[0]",
    "token = make_token_v2(user_id)",
    "secret = os.environ['SECRET1']",
    "password = getpass.getpass1()",
    "self.token2 = settings.token2",
    "if token == other_token_2: pass",
    "assert password != password2",
    "const token = await getAccessTokenForUser2FromCache()",
    "AbstractTokenFactory2Bean secretKeyProvider",
    "sk-toggleable__content-arrow sk-container-fluid-with-margin",
    "task-management-and-more-words-2024",
    "risk-assessment-of-the-new-2024-process",
    "npm_config_cache npm_package_version",
    "SG.sendgrid",
    "hf_hub_download(repo_id)",
    "eyJ is how a JSON object begins in base64",
    "the prefix is ghp_ or github_pat_, then 36 characters",
    "AKIA is the prefix of access keys",
    "ASIAPACIFICREGIONSUMX",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYH\n-----END PUBLIC KEY-----",
    "a PEM file starts with -----BEGIN PRIVATE KEY----- and ends likewise",
    # places
    "/home/sam/projects/token-service/v2/handlers/auth_2024.py",
    f"/nix/store/{M.of(LETTERS.lower(), 32)}-token-1.2.3",
    "git checkout feature/token-refresh-v2-2024",
    "C:\\Users\\sam\\secrets\\token2024.txt",
    "https://example.com:8080/a@b",
    "http://localhost:8080/@scope/package",
    "https://x.example/token/list?limit=100",
    "https://user@host/path",
    "mail sam@example.com for the password",
    "pwd: /home/sam/x1",
    f"data:image/png;base64,{M.of(BASE64, 400)}",
    f"token icon: data:image/png;base64,{M.of(BASE64, 400)}",
    f"https://cdn.example/{M.of(URL, 43)}.js",
    # commands, settings, headers, tables
    "docker run --name mysql -p3306:3306 mysql:8",
    "docker run -d mysql -p 127.0.0.1:3306:3306/tcp",
    "mysql -u root -p dbname2024",
    "mysql --port=3306 -protocol tcp",
    "mysql -p$MYSQL_PWD2 shop",
    "mysqldump -ppassword shop",
    "sshpass -p password ssh x",
    "sshpass -p $SSH_PW2 ssh x",
    "sshpass -p <password1> ssh x",
    "sshpass -f /run/secrets/ssh2 ssh x",
    "*:5432:*:app:password",
    "db:5432:app:bob:${PGPASS1}",
    "ports: 127.0.0.1:5432:5432",
    "arn:aws:logs:*:123456789012:log-group:a1b2c3",
    "<password>${db.password1}</password>",
    "<password>{COQLCE6DU6GtcS5P=}</password>",
    "<password>required</password>",
    "<td>password</td><td>string12</td>",
    "<token>identifier</token> <secret>sha256</secret>",
    "<max-token>4096</max-token>",
    "password: |\n  Enter it twice, 12 characters",
    "token: >\n  string12",
    "bindpw is the password of bindDN2",
    "bindpw <password1>",
    "psk = psk2",
    "wpa_psk=${PSK_1}",
    "key_mgmt=WPA-PSK psk_file=/etc/wpa2.psk",
    "`$6$` begins a hash of SHA-512, `$2b$` one of bcrypt, `$argon2id$v=19$` one of Argon2",
    "cost $1$ or $5$ a month, $6$abc",
    f"digest: $argon2id$v=19$m=65536,t=3,p=4${M.of(LETTERS, 22)}${M.of(LETTERS, 43)}",
    "Cookie: session=deleted; Max-Age=0",
    "Set-Cookie: session=<session-id-1234>",
    "the cookie has auth_provider=google-oauth2-v1",
    f"session={M.of(LETTERS, 30).lower()} of the trainer",
    f"the hash of the private key, 0x{SHA256}",
    f"bitcoin transaction 0x{SHA256}",
    f"ethereum wallet 0x{SHA1}",
    "| password | string |",
    "| password | required, 8 to 64 characters |",
    "| token | sha256 | yes |",
    "| key | value12345 |",
    "flags = a | key | b2c3d4e5f6",
    "| token_limit | 1234567890 |",
    "password: str | other2password | None",
    "s.startswith2 and s.aVeryLongAttributeName24",
    "MTproto.server.and-a-very-long-name-of-a-python-module",
    # prose
    "The password has 12 characters and must hold a digit.",
    "password is SHA-256 hashed",
    "the token is OAuth2-based",
    "password: utf-8",
    "tests pass: 123456",
    "passed: 123456, failed: 0",
    "tokens: 1,234 of 200,000",
    "token usage: 12345 prompt",
    "password reset: 2024-11-30",
    "Passwords: see 1Password",
    "bearer authentication is used",
    "Bearer token",
    "basic authentication2",
    "the basic dXNl idea",
    "The secret of success is hard work and 10000 hours",
    "Das Passwort muss 8 Zeichen haben; das Token läuft in 24h ab",
    "Le mot de passe est obligatoire (12 caractères)",
    "La contraseña es obligatoria y tiene 8 caracteres",
    "Пароль должен содержать 8 символов",
    "密码必须包含8个字符",
    "パスワードは8文字以上",
    "비밀번호는 8자 이상",
    "Parola deve avere 8 caratteri",
    "key-value store, key-20",
    "SKATEBOARDING and SKYSCRAPERS",
    "dapi and pul-verised",
    "3.14159265358979323846264338327950288419716939937510 is no secret",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz token",
    "[redacted: GitHub token] was there, commit a1B2c3D4e5F6g7H8i9J0k1L2",
]


def test_it_is_left_alone() -> None:
    for text in LOOK_ALIKE:
        assert redact(text).text == text
        assert kinds(text) == []


def test_plain_prose_tries_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a write pays for the search: some literals are looked for, and that is all."""
    tried: list[str] = []

    def match(pattern: Pattern, text: str, at: int) -> None:
        tried.append(pattern.kind)

    monkeypatch.setattr(Pattern, "_match", match)
    assert find("The team met on Tuesday and moved the export job to another cluster. " * 8) == []
    assert find("Команда решила перенести экспорт на новый кластер, 集群已满。 " * 8) == []
    assert tried == []
    find("the secret")
    assert tried == ["AWS secret key", "secret"]


def test_text_without_a_telling_literal_compiles_no_shape() -> None:
    """Compiling all of the table takes 20 ms; a write pays for the rows that its text tells of."""
    compiled.cache_clear()
    assert find("The team met on Tuesday and moved the export job to another cluster. " * 8) == []
    assert compiled.cache_info().currsize == 0
    assert kinds("AKIA" + M.of("ABCDEFGH", 16)) == ["AWS key"]
    assert 1 <= compiled.cache_info().currsize <= 3


def test_the_table_is_loaded_without_compiling() -> None:
    program = (
        "import re\n"
        "made = []\n"
        "compile = re.compile\n"
        "re.compile = lambda shape, *more: (made.append(shape), compile(shape, *more))[1]\n"
        "import dataclasses\n"
        "del made[:]\n"
        "from satchel.redaction import redact\n"
        "redact('The team met on Tuesday.')\n"
        "print(len(made))\n"
        "redact('password: a1b2c3d4')\n"
        "print(len(made) > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["0", "True"], "")


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])


def test_the_pages_of_this_repository_raise_no_alarm() -> None:
    """What is found in them must be one of the few things that are secrets in an example."""
    found = {
        page.read_text("utf-8")[one.start : one.end]
        for page in pages()
        for one in find(page.read_text("utf-8"))
    }
    strange = {one for one in found if not (len(one) == 48 and set(one) <= set(HEX))}
    assert strange == set()  # the password that `warehouse token` shows has 48 digits


def test_the_code_of_this_repository_raises_no_alarm() -> None:
    parts = ("replica", "sync", "warehouse", "crypto", "native", "quality", "bench", "deploy")
    files = [path for part in parts for path in (ROOT / part).rglob("*.py")]
    files = [path for path in files if path.name != "selftest.py"]  # its known answers have keys
    assert len(files) > 200
    assert {str(path): kinds(path.read_text("utf-8")) for path in files if alarms(path)} == {}


def alarms(path: Path) -> list[str]:
    return kinds(path.read_text("utf-8"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="there are no conversations beside this tree")
def test_long_conversations_raise_no_alarm() -> None:
    """1.3 million characters of talk; the one finding is a token in the URL of a picture."""
    found = [
        (one.kind, path.name)
        for path in SHARED.rglob("*.json*")
        for one in find(path.read_text("utf-8"))
    ]
    assert [kind for kind, _ in found if kind != "JWT"] == []
    assert len(found) <= 3
