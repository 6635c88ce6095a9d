"""Wrote vector_chunks.json: one stored chunk of format 1 for each codec.

    python tests/data/make_vector_chunks.py

The chunks must open for ever, so the file is never made anew: a codec or a chunk format
that comes later adds its own entries. This script adds what is missing and changes nothing.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from hmem.stores.chunks import VECTOR, Row, extend
from hmem.vectors import CODECS, codec

FILE = Path(__file__).with_name("vector_chunks.json")
DIM, SPACE = 20, 7
KEYS = [(1, 0), (2, 0), (2, 1), (5, 0), (70_000, 3)]


def rows() -> np.ndarray:
    """Five vectors of whole numbers that no generator can change."""
    drawn = hashlib.shake_256(b"vector chunks").digest(len(KEYS) * DIM)
    return np.frombuffer(drawn, np.int8).reshape(-1, DIM).astype(np.float32)


def main() -> None:
    """Add the codecs that have no chunk yet."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in sorted(set(CODECS) - set(found)):
        codes = codec(name).encode(rows())
        stored = [
            Row(*key, code.tobytes()) for key, code in zip(KEYS, codes, strict=True)
        ]
        found[name] = [
            blob.hex() for _, _, blob in extend(None, stored, VECTOR, SPACE, name)
        ]
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
