"""Secrets that are none: put together at run time, so that no scanner finds them in here.

Also texts that look like secrets and are harmless.
"""

import base64
import random
import string
from dataclasses import dataclass

from hmem.privacy.checks import luhn

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
URLSAFE = ALNUM + "-_"
ROLES = ("user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Fake:
    """A text with secrets in it; of `secrets` nothing may be left."""

    name: str
    text: str
    secrets: tuple[str, ...]


def fakes(seed: int = 7) -> list[Fake]:
    """At least sixty, of all kinds, the same for the same seed."""
    rng = random.Random(seed)

    def some(alphabet: str, count: int) -> str:
        """So many characters, a digit among them: nearly every real one has some."""
        picked = "".join(rng.choices(alphabet, k=count - 1))
        return picked[: count // 2] + "7" + picked[count // 2 :]

    def keyed(*parts: object) -> str:
        return "".join(p if isinstance(p, str) else some(*p) for p in parts)  # type: ignore[misc]

    found = [
        _plain(name, keyed(*parts), rng)
        for name, parts in {
            "openai": ("sk", "-", (ALNUM, 48)),
            "openai project": ("sk-", "proj-", (URLSAFE, 120)),
            "anthropic": ("sk-", "ant-", "api03-", (URLSAFE, 93), "AA"),
            "openrouter": ("sk-", "or-", "v1-", (HEX, 64)),
            "groq": ("gs", "k_", (ALNUM, 52)),
            "hugging face": ("h", "f_", (ALNUM, 34)),
            "replicate": ("r", "8_", (ALNUM, 37)),
            "xai": ("xa", "i-", (ALNUM, 80)),
            "google": ("AI", "za", (URLSAFE, 35)),
            "google client": ("GOC", "SPX-", (URLSAFE, 28)),
            "google access": ("ya", "29.", (URLSAFE, 100)),
            "stripe live": ("sk", "_live_", (ALNUM, 24)),
            "stripe restricted": ("rk", "_live_", (ALNUM, 24)),
            "stripe webhook": ("wh", "sec_", (ALNUM, 32)),
            "github": ("gh", "p_", (ALNUM, 36)),
            "github server": ("gh", "s_", (ALNUM, 36)),
            "github fine": ("github", "_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
            "gitlab": ("gl", "pat-", (URLSAFE, 20)),
            "npm": ("np", "m_", (ALNUM, 36)),
            "pypi": ("py", "pi-AgEIcHlwaS5vcmc", (URLSAFE, 120)),
            "docker": ("dckr", "_pat_", (URLSAFE, 27)),
            "slack bot": ("xo", "xb-", (string.digits, 12), "-", (ALNUM, 24)),
            "sendgrid": ("S", "G.", (URLSAFE, 22), ".", (URLSAFE, 43)),
            "mailchimp": ((HEX, 32), "-us", "14"),
            "digital ocean": ("dop", "_v1_", (HEX, 64)),
            "vault": ("hv", "s.", (ALNUM, 24)),
            "databricks": ("da", "pi", (HEX, 32)),
            "linear": ("lin", "_api_", (ALNUM, 40)),
            "shopify": ("shp", "at_", (HEX, 32)),
            "square": ("sq0", "csp-", (URLSAFE, 43)),
            "aws id": ("AK", "IA", (UPPER, 16)),
            "aws session id": ("AS", "IA", (UPPER, 16)),
            "notion": ("nt", "n_", (ALNUM, 46)),
            "postman": ("PM", "AK-", (HEX, 24), "-", (HEX, 34)),
            "telegram": ((string.digits, 9), ":A", "A", (URLSAFE, 33)),
            "discord": ("M", (ALNUM, 25), ".", (URLSAFE, 6), ".", (URLSAFE, 38)),
        }.items()
    ]
    found = [_upper(f) if f.name.startswith("aws") else f for f in found]
    return found + _told(rng, some) + _formed(rng, some)


def _plain(name: str, secret: str, rng: random.Random) -> Fake:
    said = rng.choice(
        (
            "here you go: {}",
            "I pasted {} by mistake",
            "use ({}) for it.",
            '"{}"',
            "try {}, it works",
        )
    )
    if name == "discord":
        said = "the bot runs with {} now"
    if name == "telegram":
        digits, _, rest = secret.partition(":")
        secret = "".join(c for c in digits if c.isdigit()).ljust(9, "4") + ":" + rest
    return Fake(name, said.format(secret), (secret,))


def _upper(fake: Fake) -> Fake:
    secret = fake.secrets[0]
    return Fake(fake.name, fake.text.replace(secret, secret.upper()), (secret.upper(),))


def _told(rng: random.Random, some: "object") -> list[Fake]:
    """Secrets that are told by the words around them."""
    word = f"Tr{rng.randrange(10)}ub4dor&{rng.randrange(10)}"
    plain = rng.choice(("swordfish", "marigold", "Gandalf"))
    token = some(ALNUM, 24)  # type: ignore[operator]
    secret40 = some(BASE64, 40)  # type: ignore[operator]
    pin = f"{rng.randrange(1_000, 10_000)}"
    lines = {
        "password is": (f"my password is {word}", word),
        "password of": (f"The password for the router upstairs is {word}!", word),
        "plain password": (f"our Wi-Fi password is {plain}.", plain),
        "assigned": (f"DB_PASSWORD={word}", word),
        "assigned plain": (f"password: {plain}", plain),
        "json": (f'{{"user": "bo", "password": "{word}"}}', word),
        "yaml": (f"passwd: '{word}'", word),
        "xml": (f"<password>{word}</password>", word),
        "changed": (f"I have changed my password to {word}", word),
        "reversed": (f"{word} is my password", word),
        "command": (f"login --password {word} --verbose", word),
        "curl": (f"curl -u bo:{word} https://api.example.com/v1", word),
        "url": (f"postgres://bo:{word}@db.example.com:5432/app", word),
        "redis": (f"redis://:{word}@10.0.0.5:6379/0", word),
        "connection string": (f"Server=db;User Id=sa;Password={word};Encrypt=1", word),
        "german": (f"Das Passwort ist {word}", word),
        "pair": (f"login: bo@example.com / {word}", word),
        "bearer": (f"Authorization: Bearer {token}", token),
        "api key is": (f"the api key is {token}, keep it", token),
        "token": (f"ACCESS_TOKEN = '{token}'", token),
        "header": (f"X-Api-Key: {token}", token),
        "parameter": (f"https://api.example.com/v1?q=1&key={token}", token),
        "aws secret": (f"aws_secret_access_key = {secret40}", secret40),
        "storage": (f"AccountName=x;AccountKey={secret40}==;Suffix=y", secret40),
        "pin": (f"the PIN of my card is {pin}", pin),
        "door": (f"door code: {pin}", pin),
        "cvv": ("CVV 482", "482"),
        "pass phrase": (
            "passphrase: maple anchor velvet copper",
            "maple anchor velvet",
        ),
        "seed phrase": (
            "my seed phrase is " + " ".join(["ribbon", "maple", "anchor", "that"] * 3),
            "ribbon maple anchor",
        ),
    }
    return [Fake(name, text, (secret,)) for name, (text, secret) in lines.items()]


def _formed(rng: random.Random, some: "object") -> list[Fake]:
    """Secrets that are told by their own form, and some in disguise."""

    def part(data: str) -> str:
        return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")

    jwt = ".".join(
        (part('{"alg":"HS256"}'), part('{"sub":"maya","n":1}'), some(URLSAFE, 43))  # type: ignore[operator]
    )
    body = "\n".join(some(BASE64, 64) for _ in range(4))  # type: ignore[operator]
    begin, end = (
        "-----BEGIN RSA PRIV" + "ATE KEY-----",
        "-----END RSA PRIV" + "ATE KEY-----",
    )
    visa, amex = card("4539", 16, rng), card("3714", 15, rng)
    grouped = " ".join(visa[n : n + 4] for n in range(0, 16, 4))
    dashed = f"{amex[:4]}-{amex[4:10]}-{amex[10:]}"
    basic = base64.b64encode(b"maya:" + some(ALNUM, 12).encode()).decode()  # type: ignore[operator]
    key = "sk" + "-" + some(ALNUM, 48)  # type: ignore[operator]
    github = "gh" + "p_" + some(ALNUM, 36)  # type: ignore[operator]
    access = "AK" + "IA" + some(UPPER, 16).upper()  # type: ignore[operator]
    hook = f"T0{some(UPPER, 9)}/B0{some(UPPER, 9)}/{some(ALNUM, 24)}"  # type: ignore[operator]
    return [
        Fake("jwt", f"session {jwt} ends", (jwt, jwt.split(".")[2])),
        Fake("jwt over lines", f"{jwt[:50]}\n{jwt[50:]}", (jwt[:50], jwt[50:])),
        Fake("pem", f"{begin}\n{body}\n{end}\nthanks", tuple(body.split())),
        Fake("pem cut off", f"{begin}\n{body}", tuple(body.split())),
        Fake(
            "pem escaped", begin + body.replace("\n", "\\n") + end, tuple(body.split())
        ),
        Fake("card", f"charge {visa} please", (visa,)),
        Fake("card in fours", f"Visa {grouped} 08/29", (grouped,)),
        Fake("card with dashes", f"amex: {dashed}", (dashed,)),
        Fake("basic", f"Authorization: Basic {basic}", (basic,)),
        Fake("slack hook", f"https://hooks.slack.com/services/{hook}", (hook,)),
        Fake(
            "discord hook",
            f"https://discord.com/api/webhooks/123456789012/{key[3:]}",
            (key[3:],),
        ),
        Fake("key over lines", f"{key[:30]}\n{key[30:]}", (key[:30], key[30:])),
        Fake(
            "key with blanks",
            f"{github[:14]} {github[14:28]} {github[28:]}",
            (github[5:14], github[14:28], github[28:]),
        ),
        Fake(
            "id in fours",
            " ".join(access[n : n + 4] for n in range(0, 20, 4)),
            (access[4:8], access[16:]),
        ),
        Fake("zero width", "\u200b".join(key), (key[3:9], key[40:])),
        Fake(
            "wide digits",
            visa.translate({n: n - 48 + 0xFF10 for n in range(48, 58)}),
            (visa,),
        ),
    ]


def card(prefix: str, length: int, rng: random.Random) -> str:
    """A card number of that length with the right check digit."""
    body = prefix + "".join(rng.choices(string.digits, k=length - len(prefix) - 1))
    return next(body + d for d in string.digits if luhn(body + d))


def harmless(seed: int = 11) -> list[str]:
    """At least 200 texts that look like secrets or speak of them, and hold none."""
    rng = random.Random(seed)

    def hexes(count: int) -> str:
        return "".join(rng.choices(HEX, k=count))

    found = [*TALK, *CODE, *NUMBERS]
    for n in range(12):
        uuid = f"{hexes(8)}-{hexes(4)}-4{hexes(3)}-a{hexes(3)}-{hexes(12)}"
        found += [
            f"order {uuid} was shipped",
            f"commit {hexes(40)} fixes it",
            f"see {hexes(7)}..{hexes(7)}",
            f"sha256:{hexes(64)}",
            f"order number {rng.randrange(10**15, 10**16)}",
            f"order #{rng.randrange(10**9, 10**10)} is late",
            f"IMG_20260{rng.randrange(100, 999)}_{rng.randrange(100000, 999999)}.jpg",
            f"ISBN 978-{rng.randrange(10)}-{rng.randrange(100, 999)}-{rng.randrange(10000, 99999)}-{n % 10}",
            f"it was {rng.randrange(1, 29)}.{rng.randrange(1, 13)}.2026 at {n + 8}:30",
            f"the invoice INV-2026-{rng.randrange(1000, 9999)} is {rng.randrange(1, 999)}.99 EUR",
        ]
    return found


TALK = """\
password reset is broken
The password is too short
My password is not working since Monday
I forgot my password again
password: required
Password must contain at least 12 characters
your password has been changed
The password was reset by support yesterday
we need a password policy
a strong password is important
My password is longer than 16 characters
the password is stored as a hash
password manager that I use is 1Password
I use Bitwarden as my password manager
the password is the same as before
my old password is compromised
The password field is empty
password strength is weak
password123 is a terrible choice of words for a joke
There is no API key in the build
The API key is missing
the api key is stored in the vault
our API keys expire after 90 days
token count: 4096
the token limit is 128k
tokens: 1,234
token budget: 2000
The secret ingredient is basil
my secret is that I love pop songs
Secret Santa is on Friday
the secret to good bread is time
the key is to stay calm
The key to the cottage is under the mat
a minor key, probably F sharp
press any key to continue
she is the bearer of bad news
Bearer authentication is what they use
basic understanding of physics
Basic authentication is disabled
pin the message to the top
connect pin 13 to ground
the pins are bent
PIN is required at the door
my pin code is wrong
the zip code is 90210
area code 415
error code: 50012
status code 404
country code +49
dress code: casual
the code is on GitHub
login is broken
login at 10:30
last login: 2026-05-01 10:30:22
credentials are checked twice
a mnemonic for the planets
passport renewal is in May
I passed the test with 87 points
pass: 90%
bypass the cache
the compass points north
tokenizer v2 is faster
monkey see, monkey do
keyboard shortcuts: ctrl+c
turkey sandwich
opinion piece in the paper
a passphrase is required
the passphrase was wrong, please try again
Do you know the password?
What is the wifi password?
Should the password be longer?
password protected PDF
one password for everything is a bad idea
the certificate is valid until 2027-01-01
public key cryptography
ssh keys are better than passwords
the private key never leaves the device
two-factor authentication is on
2FA code never arrived
the verification code did not come
she kept the recovery phrase in a safe
seed: 42
random seed=12345
login with Google is easier
user/pass is not supported
pwd prints the working directory
""".splitlines()

CODE = """\
apiKey: import.meta.env.KEY
api_key = os.environ["OPENAI_API_KEY"]
password = getpass.getpass()
password=${DB_PASSWORD}
password: <your password>
password: "********"
PASSWORD=$PASSWORD
token = request.headers.get("Authorization")
API_KEY=YOUR_API_KEY_HERE
secret_name: my-app
password_hash: bcrypt
def login(user, password): ...
password: str = ""
token: string;
client_secret: process.env.CLIENT_SECRET
access_token: null
export TOKEN=$(cat token.txt)
private_key = "~/.ssh/id_ed25519"
the key lives in ~/.ssh/id_rsa.pub
-----BEGIN PUBLIC KEY-----
-----BEGIN RSA PRIVATE KEY----- is the first line of such a file
https://example.com/reset-password?step=2
https://example.com/a/b/c.html?id=12345#top
git@github.com:maya/hmem.git
pip install scikit-learn==1.5.2
sk-learn is short for scikit-learn
from sk_learn_pipeline_v2 import transform
hf_transformers_tokenizer_fast
npm_config_registry=https://registry.example.com
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
the file is called report_final_v2.docx
/usr/local/lib/python3.11/site-packages
C:\\Users\\maya\\Documents\\notes.txt
version 1.2.3.4 of the driver
v10.15.7 on macOS
#ff8800 is orange
color: #1a2b3c;
rgb(12, 34, 56)
192.168.0.1 is the router
fe80::1ff:fe23:4567:890a
00:1A:2B:3C:4D:5E is its address
utf8mb4_unicode_ci
SHA256 is not encryption
base64 encoding adds a third
RS256-signed tokens
x86_64-unknown-linux-gnu
arn:aws:s3:::my-bucket
AKIA is how such ids begin
eyJ is how a JWT begins
session_id: 7f3a
max_tokens=4096
tokens_per_second: 31.5
""".splitlines()

NUMBERS = """\
I paid $1,299.00 for it
the total is 4,111.11 EUR
1234567890
call me at 5
my flight is LH1234 on 2026-03-15
2026-03-15T12:30:45Z
20260315123045
1773577845123
1773577845123456789
the population is 8336817
pi is 3.14159265358979
0.4111111111111111
years: 1999 2003 2007 2011
4021 4035 4049 4063 4077 4091 4105 4119 4133 4147
ISBN 9780306406157
EAN 4006381333931
IMEI 356938035643809
VIN WVWZZZ1JZXW000001
tracking 1Z999AA10123456784
parcel 00340434161094042557
room 4.11.1
chapter 12, page 345
between 10:30 and 11:45
12 x 34 x 56 cm
5km in 24:31
score 21-19, 15-21, 21-18
1/2 cup of sugar
the ratio is 16:9
coordinates 52.520008, 13.404954
temperature -5 to 12 degrees
""".splitlines()
