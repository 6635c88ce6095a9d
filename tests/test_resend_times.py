"""A resent history is recognised; the same words said at another time are another turn."""

from pathlib import Path
from typing import Any

from hmem import AsyncMemory, Config
from hmem.testing.fakes import HashEmbedder


def said(text: str, hour: int, role: str = "user") -> dict[str, Any]:
    return {
        "role": role,
        "content": text,
        "timestamp": f"2026-03-01T{hour:02}:00:00+00:00",
    }


async def test_repeated_words_with_their_own_times_are_kept(tmp_path: Path) -> None:
    config = Config(path=tmp_path / "m", durability="normal")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:

        async def add(*messages: dict[str, Any]) -> int:
            await mem.add(list(messages), user_id="u", session_id="s", wait=True)
            return len(await mem.get_all(user_id="u"))

        first = [said("yes", 9), said("ok", 9, "assistant")]
        again = [said("yes", 10), said("ok", 10, "assistant")]
        assert await add(*first) == 2
        assert await add(*first) == 2, "a retry is not a repetition"
        assert await add(*again) == 4
        assert await add(*first, *again, said("bye", 11)) == 5
        assert await add(said("bye", 12)) == 6
        turns = await mem.get_all(user_id="u")
        assert [turn.text for turn in turns] == ["yes", "ok", "yes", "ok", "bye", "bye"]
