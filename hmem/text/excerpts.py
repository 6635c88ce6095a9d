"""The part of a text that says most about a question. Pure."""

import re
from collections.abc import Set as AbstractSet

from hmem.text import lexical

_CUT = "\u2026"
_SENTENCE = re.compile(
    r"[^.!?\u2026\n\u3002\uff01\uff1f]+[.!?\u2026\u3002\uff01\uff1f]*[\"')\]]*\s*"
)


def excerpt(text: str, terms: AbstractSet[int], *, limit: int) -> str:
    """At most about `limit` characters of `text`: the sentence that holds most of the
    question's words (`hmem.text.lexical` hashes; the first of equals), and as many of
    those after and before it as fit. An ellipsis stands where something was left out.
    """
    if len(text) <= limit:
        return text
    spans = [(m.start(), m.end()) for m in _SENTENCE.finditer(text)] or [(0, len(text))]
    held = [len(terms & set(lexical(text[a:b]).tolist())) for a, b in spans]
    first = last = max(range(len(spans)), key=lambda i: (held[i], -i))
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= limit:
        last += 1
    while first and spans[last][1] - spans[first - 1][0] <= limit:
        first -= 1
    start, end = spans[first][0], spans[last][1]
    if end - start > limit:
        end = max(
            text.rfind(" ", start + limit // 2, start + limit), start + limit // 2
        )
    before = f"{_CUT} " if text[:start].strip() else ""
    after = f" {_CUT}" if text[end:].strip() else ""
    return f"{before}{text[start:end].strip()}{after}"
