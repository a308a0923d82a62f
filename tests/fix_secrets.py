"""Secrets that look real and are not: put together at run time, so that no scanner finds them."""

from __future__ import annotations

import json
import random
import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE64 = LETTERS + "+/"
URL = LETTERS + "_-"
HEX = "0123456789abcdef"
WIF = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True)
class Fake:
    """`text` holds one secret of `kind`; nothing of `secret` may be left of it."""

    kind: str
    text: str
    secret: str


class Maker:
    """Random parts of secrets."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def of(self, alphabet: str, count: int) -> str:
        return "".join(self.chance.choice(alphabet) for _ in range(count))

    def base64(self, count: int) -> str:
        return b64encode(self.chance.randbytes(count)).decode()

    def jwt(self, head: dict[str, Any], body: bytes | None = None) -> str:
        claims = body or json.dumps({"sub": "1", "iat": 1}).encode()
        parts = [json.dumps(head).encode(), claims, self.chance.randbytes(32)]
        return ".".join(urlsafe_b64encode(one).decode().rstrip("=") for one in parts)

    def bot(self) -> str:
        number = b64encode(self.of("123456789", 18).encode()).decode()
        return f"{number}.{self.of(LETTERS, 6)}.{self.of(LETTERS, 38)}"

    def pem(self, name: str, lines: int = 12, between: str = "\n") -> str:
        body = between.join(self.of(BASE64, 64) for _ in range(lines))
        dashes = "-" * 5
        return f"{dashes}BEGIN {name}{dashes}{between}{body}{between}{dashes}END {name}{dashes}"


def token(prefix: str, alphabet: str, count: int) -> Callable[[Maker], str]:
    return lambda maker: prefix + maker.of(alphabet, count)


TOKENS: list[tuple[str, Callable[[Maker], str]]] = [
    ("private key", lambda m: m.pem("PRIVATE KEY")),
    ("private key", lambda m: m.pem("RSA PRIVATE KEY")),
    ("private key", lambda m: m.pem("EC PRIVATE KEY", 3)),
    ("private key", lambda m: m.pem("ENCRYPTED PRIVATE KEY")),
    ("private key", lambda m: m.pem("OPENSSH PRIVATE KEY")),
    ("private key", lambda m: m.pem("PGP PRIVATE KEY BLOCK", 40)),
    ("private key", lambda m: m.pem("RSA PRIVATE KEY", 200)),
    ("private key", lambda m: m.pem("PRIVATE KEY", between="\\n")),
    ("private key", lambda m: m.pem("PRIVATE KEY", between="\r\n")),
    ("private key", lambda m: m.pem("RSA PRIVATE KEY").replace(
        "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,1F2E\n\n", 1)),
    ("private key", token("AGE-SECRET-KEY-1", UPPER, 58)),
    ("JWT", lambda m: m.jwt({"alg": "HS256", "typ": "JWT"})),
    ("JWT", lambda m: m.jwt({"alg": "RSA-OAEP", "enc": "A256GCM"}, m.chance.randbytes(40))
        + "." + m.of(URL, 60) + "." + m.of(URL, 22)),
    ("AWS key", token("AKIA", UPPER, 16)),
    ("AWS key", lambda m: "ASIA" + m.of(UPPER, 8) + "7" + m.of(UPPER, 7)),
    ("AWS key", token("ABSK", BASE64, 128)),
    ("Google key", token("AIza", URL, 35)),
    ("Google client secret", token("GOCSPX-", URL, 28)),
    ("Google OAuth token", token("ya29.", URL, 120)),
    ("Google OAuth token", token("1//0", URL, 60)),
    ("Azure client secret", lambda m: m.of(LETTERS, 3) + "8Q~" + m.of(LETTERS, 34)),
    ("Vault token", lambda m: "s." + m.of(LETTERS, 18) + "a1B2c3"),
    ("DigitalOcean token", token("dop_v1_", HEX, 64)),
    ("Databricks token", token("dapi", HEX, 32)),
    ("Vault token", token("hvs.", URL, 90)),
    ("Terraform token", lambda m: m.of(LETTERS, 14) + ".atlasv1." + m.of(LETTERS, 67)),
    *[("GitHub token", token(f"gh{one}_", LETTERS, 36)) for one in "pousr"],
    ("GitHub token", lambda m: "github_pat_" + m.of(LETTERS, 22) + "_" + m.of(LETTERS, 59)),
    ("GitLab token", token("glpat-", URL, 20)),
    ("GitLab token", token("gldt-", URL, 20)),
    ("Atlassian token", token("ATATT3", URL, 180)),
    ("Bitbucket token", token("ATBB", LETTERS, 32)),
    ("Slack token", lambda m: "xoxb-" + m.of("0123456789", 12) + "-" + m.of(LETTERS, 24)),
    ("Slack token", lambda m: "xapp-1-" + m.of(UPPER, 11) + "-" + m.of(HEX, 64)),
    ("Slack token", lambda m: "xoxe.xoxp-1-" + m.of(LETTERS, 140)),
    ("Discord token", lambda m: m.bot()),
    ("Firebase key", lambda m: "AAAA" + m.of(URL, 7) + ":APA91b" + m.of(URL, 134)),
    *[("password hash", lambda m, head=head: head + m.of(LETTERS, 8) + "$" + m.of(LETTERS, 22))
      for head in ("$1$", "$apr1$")],
    ("password hash", lambda m: "$6$" + m.of(LETTERS, 16) + "$" + m.of(LETTERS, 86)),
    ("password hash", lambda m: "$5$rounds=5000$" + m.of(LETTERS, 16) + "$" + m.of(LETTERS, 43)),
    ("password hash", lambda m: "$y$j9T$" + m.of(LETTERS, 22) + "$" + m.of(LETTERS, 43)),
    ("password hash", lambda m: "$2b$12$" + m.of(LETTERS, 53)),
    ("password hash", lambda m: "$argon2id$v=19$m=65536,t=3,p=4$" + m.of(LETTERS, 22) + "$"
        + m.of(LETTERS, 43)),
    ("private key", lambda m: "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU" + m.of(BASE64, 400)),
    ("private key", lambda m: b64encode(m.pem("RSA PRIVATE KEY").encode()).decode()),
    ("Stripe key", token("sk_live_", LETTERS, 24)),
    ("Stripe key", token("rk_test_", LETTERS, 99)),
    ("Stripe webhook secret", token("whsec_", LETTERS, 32)),
    ("Twilio key", token("SK", HEX, 32)),
    ("SendGrid key", lambda m: "SG." + m.of(URL, 22) + "." + m.of(URL, 43)),
    ("Mailgun key", token("key-", HEX, 32)),
    ("Mailchimp key", lambda m: m.of(HEX, 32) + "-us12"),
    ("npm token", token("npm_", LETTERS, 36)),
    ("PyPI token", token("pypi-AgEIcHlwaS5vcmc", URL, 120)),
    ("satchel token", token("satchel_", URL, 43)),
    ("RubyGems key", token("rubygems_", HEX, 48)),
    ("Docker token", token("dckr_pat_", URL, 27)),
    ("Hugging Face token", token("hf_", LETTERS, 34)),
    ("Anthropic key", lambda m: "sk-ant-api03-" + m.of(URL, 93) + "AA"),
    ("OpenAI key", token("sk-proj-", URL, 120)),
    ("API key", token("sk-", LETTERS, 48)),
    ("API key", token("sk-or-v1-", HEX, 64)),
    ("Groq key", token("gsk_", LETTERS, 52)),
    ("xAI key", token("xai-", LETTERS, 80)),
    ("Perplexity key", token("pplx-", LETTERS, 48)),
    ("Replicate token", token("r8_", LETTERS, 37)),
    ("Notion token", token("ntn_", LETTERS, 46)),
    ("Linear key", token("lin_api_", LETTERS, 40)),
    ("Grafana token", lambda m: "glsa_" + m.of(LETTERS, 32) + "_" + m.of(HEX, 8)),
    ("New Relic key", token("NRAK-", UPPER, 27)),
    ("Sentry token", token("sntrys_", LETTERS, 120)),
    ("Shopify token", token("shpat_", HEX, 32)),
    ("Square token", token("sq0atp-", URL, 22)),
    ("Figma token", token("figd_", URL, 40)),
    ("Pulumi token", token("pul-", HEX, 40)),
    ("PlanetScale token", token("pscale_tkn_", LETTERS, 43)),
    ("Doppler token", token("dp.pt.", LETTERS, 43)),
    ("Tailscale key", token("tskey-auth-", LETTERS, 30)),
    ("Supabase token", token("sbp_", HEX, 40)),
]  # fmt: skip
"""(kind, maker) of secrets that are known by their shape alone."""

PLACED: list[tuple[str, str, Callable[[Maker], str]]] = [
    ("Google service account key", '{{"type": "service_account", "private_key": "{}"}}',
     lambda m: m.pem("PRIVATE KEY", 26, "\\n")),
    ("private key", "Private-Lines: 8\n{}\nPrivate-MAC: ab", lambda m: m.of(BASE64, 64)),
    ("private key", "{}", lambda m: m.pem("RSA PRIVATE KEY").split("-----END")[0].strip()),
    ("AWS secret key", "aws_secret_access_key = {}", token("", BASE64, 40)),
    ("AWS secret key", '"SecretAccessKey": "{}"', token("", BASE64, 40)),
    ("AWS secret key", "AWS_SECRET_ACCESS_KEY={}", token("", BASE64, 40)),
    ("AWS secret key", "the secret key is {} for now", token("", BASE64, 40)),
    ("Azure key", "AccountName=x;AccountKey={};EndpointSuffix=y", lambda m: m.base64(64)),
    ("Azure key", "SharedAccessKeyName=r;SharedAccessKey={}", lambda m: m.base64(32)),
    ("Azure signature", "https://x.blob.core.windows.net/c?sv=2024-01-01&sig={}&se=2",
     lambda m: m.of(LETTERS, 43) + "%3D"),
    ("Slack webhook", "https://hooks.slack.com/services/{}",
     lambda m: "T" + m.of(UPPER, 8) + "/B" + m.of(UPPER, 8) + "/" + m.of(LETTERS, 24)),
    ("Discord webhook", "https://discord.com/api/webhooks/123456789012345678/{}",
     token("", URL, 68)),
    ("Telegram token", "https://api.telegram.org/bot1234567890:{}/getMe",
     token("AA", URL, 33)),
    ("bearer token", "Authorization: Bearer {}", token("", LETTERS, 40)),
    ("bearer token", "curl -H 'authorization: bearer {}' x", token("", LETTERS, 12)),
    ("bearer token", "use Bearer {} there", token("", URL, 43)),
    ("basic login", "Authorization: Basic {}", lambda m: b64encode(
        f"sam:{m.of(LETTERS, 12)}".encode()).decode()),
    ("basic login", '{{"auths": {{"x": {{"auth": "{}"}}}}}}', lambda m: b64encode(
        f"sam:{m.of(LETTERS, 12)}".encode()).decode()),
    ("password in a URL", "postgresql://sam:{}@db.example:5432/x", token("", LETTERS, 9)),
    ("password in a URL", "mongodb+srv://sam:{}@c.example/x?w=1", token("", LETTERS, 9)),
    ("password in a URL", "redis://:{}@cache:6379/0", token("", LETTERS, 9)),
    ("password in a URL", "amqps://sam:{}@mq/vhost", lambda m: m.of(LETTERS, 5) + "%40x"),
    ("password in a URL", "postgres://sam:{}@db/x", lambda m: m.of(LETTERS, 5) + "@p"),
    ("password in a URL", "git clone https://x-access-token:{}@github.com/a/b",
     token("", LETTERS, 20)),
    ("token in a URL", "https://{}@git.example/a/b", lambda m: m.of(LETTERS, 19) + "a1B2c3D4"),
    ("token in a URL", "https://x.example/y?access_token={}&z=1",
     lambda m: m.of(LETTERS, 28) + "a1"),
    ("password", "host=db user=sam password={} dbname=x", lambda m: m.of("abcxyz", 9)),
    ("password", "host=db user=sam password='{}'", lambda m: m.of("abc xyz", 9) + "z"),
    ("password", "Server=tcp:x;User ID=sam;Password={};", lambda m: m.of("abcxyz", 9)),
    ("password", "password: {}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "my password is {}, do not tell", lambda m: "hunter" + m.of("123456789", 2)),
    ("password", '"db_password": "{}"', lambda m: m.of(LETTERS + "!#%", 9) + "a1"),
    ("password", "PGPASSWORD={} psql", lambda m: m.of("abcxyz", 9)),
    ("password", "DB_PASS={}", lambda m: m.of("abcxyz", 9)),
    ("password", "Passwort: {}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "contraseña: {}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "mot de passe : {}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "пароль: {}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "密码：{}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "パスワード: {}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "**Password:** {}", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", 'log: "{{\\"password\\": \\"{}\\", \\"a\\": 1}}"',
     lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "curl -u sam:{} https://x", lambda m: m.of(LETTERS, 9)),
    ("password", "machine x.example login sam password {}", lambda m: m.of(LETTERS, 9)),
    ("password", "mysql -u root -p{} shop", lambda m: m.of(LETTERS, 9)),
    ("password", "mysqldump -h db -p'{}' shop", lambda m: m.of(LETTERS, 4) + " !a1"),
    ("password", "MYSQL=1 /usr/bin/mariadb -p{}", lambda m: m.of(LETTERS, 9)),
    ("password", "sshpass -p '{}' ssh sam@x", lambda m: m.of(LETTERS, 4) + "; a1"),
    ("password", "sshpass -p{} scp a b", lambda m: m.of(LETTERS, 9)),
    ("password", "db.example.com:5432:app:sam:{}", lambda m: m.of(LETTERS, 9)),
    ("password", "# comment\n*:*:*:sam:{}\n", lambda m: m.of(LETTERS, 4) + "\\:" + "x"),
    ("password", "<password>{}</password>", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "<ns:dbPassword>\n  {}\n</ns:dbPassword>", lambda m: m.of(LETTERS, 7) + "a1"),
    ("secret", "<clientSecret>{}</clientSecret>", lambda m: m.of(LETTERS, 20) + "a1"),
    ("password", "password: |\n  {}\n", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "db_password: >-\n    {}\nuser: x", lambda m: m.of(LETTERS, 7) + "a1"),
    ("secret", "api_key: |\n  {}\n", lambda m: m.of(LETTERS, 20) + "a1"),
    ("password", "| password | {} |", lambda m: m.of(LETTERS, 7) + "a1"),
    ("password", "| **Password** | `{}` | note |", lambda m: m.of(LETTERS, 7) + "a1"),
    ("secret", "| API key | {} |", lambda m: m.of(LETTERS, 20) + "a1"),
    ("password", "bindpw {}", lambda m: m.of(LETTERS, 8) + "99"),
    ("password", 'network={{ ssid="x"\n  psk="{}"\n}}', lambda m: m.of(LETTERS, 8) + "99"),
    ("password", "wpa_psk={}", token("", HEX, 64)),
    ("password hash", "root:{}:19000:0:99999:7:::",
     lambda m: "$6$" + m.of(LETTERS, 16) + "$" + m.of(LETTERS, 86)),
    ("session cookie", "Cookie: theme=dark; session={}", lambda m: m.of(LETTERS, 38) + "a1"),
    ("session cookie", "Set-Cookie: sessionid={}; HttpOnly", lambda m: m.of(LETTERS, 30) + "a1"),
    ("session cookie", "cookie: connect.sid=s%3A{}", lambda m: m.of(LETTERS, 30) + "a1"),
    ("session cookie", "curl --cookie 'PHPSESSID={}' x", lambda m: m.of(LETTERS, 24) + "a1"),
    ("private key", "the private key 0x{} of mine", token("", HEX, 64)),
    ("private key", "bitcoin: {} (keep)", lambda m: "5K" + m.of(WIF, 49)),
    ("private key", "WIF {}", lambda m: "L1" + m.of(WIF, 50)),
    ("secret", "tool --password {}", lambda m: m.of(LETTERS, 9)),
    ("secret", "tool --api-key={}", lambda m: m.of(LETTERS, 9)),
    ("secret", "SECRET_KEY={}", lambda m: m.of(LETTERS, 48) + "a1"),
    ("secret", "SECRET_KEY = 'django-insecure-{}'", lambda m: m.of(LETTERS, 50) + "a1"),
    ("secret", "api_key: {}", lambda m: m.of(HEX, 30) + "a1"),
    ("secret", "x-api-key: {}", lambda m: m.of(LETTERS, 20) + "a1"),
    ("secret", "API key = {}", lambda m: m.of(LETTERS, 20) + "a1"),
    ("secret", '"client_secret": "{}"', lambda m: m.of(LETTERS, 30) + "a1"),
    ("secret", "export CI_TOKEN={}", lambda m: m.of(LETTERS, 30) + "a1"),
    ("secret", "//npm.example.com/:_authToken={}", lambda m: m.of(LETTERS, 34) + "a1"),
    ("secret", "TWILIO_AUTH_TOKEN={}", lambda m: m.of(HEX, 30) + "a1"),
    ("secret", "encryption_key={}", lambda m: m.of(HEX, 62) + "a1"),
    ("random token", "here is the token you asked for, {} - keep it",
     lambda m: m.of(LETTERS, 38) + "a1B2c3"),
    ("random token", "our API key for the shop ({})", lambda m: m.of(LETTERS, 38) + "a1B2c3"),
]  # fmt: skip
"""(kind, text with a place, maker) of secrets that are known by what stands around them."""


def fakes(seed: int) -> list[Fake]:
    """One of each."""
    maker = Maker(seed)
    made = [(kind, "{}", make(maker)) for kind, make in TOKENS]
    made += [(kind, text, make(maker)) for kind, text, make in PLACED]
    return [Fake(kind, text.format(secret), secret) for kind, text, secret in made]
