"""Check digits, by which a number says that it is one. Pure."""

_LETTERS = {chr(ord("A") + n): 10 + n for n in range(26)}


def luhn(digits: str) -> bool:
    """Payment cards, Swedish and Canadian numbers: every second digit doubled, mod 10."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def mod97(text: str) -> bool:
    """IBAN: the first four characters behind, letters as numbers, mod 97 is 1."""
    rest = 0
    for char in text[4:] + text[:4]:
        value = _LETTERS.get(char)
        rest = rest * 10 + int(char) if value is None else rest * 100 + value
        rest %= 97
    return rest == 1


def weighted(digits: str, weights: tuple[int, ...]) -> int:
    """The sum of digits times weights; digits beyond the weights do not count."""
    return sum(int(d) * w for d, w in zip(digits, weights, strict=False))


def verhoeff(digits: str) -> bool:
    """Aadhaar: the dihedral group of order ten."""
    check = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        for _ in range(place % 8):
            value = _PERMUTED[value]
        check = _product(check, value)
    return check == 0


_PERMUTED = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def _product(a: int, b: int) -> int:
    """a * b among the turns (0..4) and mirrorings (5..9) of a pentagon."""
    turn = (a - b if a > 4 else a + b) % 5
    return turn + 5 * ((a > 4) != (b > 4))


# Brands by their first digits, as ranges of six digits, and the lengths they have.
_BRANDS = (
    ("400000", "499999", (16, 19)),
    ("222100", "272099", (16,)),
    ("510000", "559999", (16,)),
    ("340000", "349999", (15,)),
    ("370000", "379999", (15,)),
    ("300000", "305999", (14,)),
    ("360000", "369999", (14,)),
    ("380000", "399999", (14,)),
    ("601100", "601199", (16,)),
    ("622126", "622925", (16, 17, 18, 19)),
    ("644000", "659999", (16,)),
    ("352800", "358999", (16,)),
    ("500000", "509999", (16,)),
    ("560000", "589999", (16,)),
    ("630000", "639999", (16,)),
    ("675900", "676999", (16,)),
    ("810000", "819999", (16,)),
)


def is_card(digits: str) -> bool:
    """A brand's first digits, one of its lengths, and the check digit."""
    if len(set(digits)) < 2 or not luhn(digits):
        return False
    return any(
        low <= digits[:6] <= high and len(digits) in lengths
        for low, high, lengths in _BRANDS
    )
