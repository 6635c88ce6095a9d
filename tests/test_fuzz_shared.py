"""Users of one store get what each would get alone: the short form of `bench.shared`."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import shared
from bench.shared import compare, made_up
from hmem.testing.fakes import HashEmbedder


@pytest.mark.timeout(180)
async def test_a_shared_store_answers_as_one_for_each(tmp_path: Path) -> None:
    conversations = made_up(seed=31, users=3, sessions=6, asked=8)
    found = await compare(conversations, tmp_path, HashEmbedder(), strangers=5, seed=31)
    assert found["examples"] == []
    assert found["compared"] == 2 * 24
    assert found["hits"] > 900


async def test_one_word_of_a_stranger_in_a_users_rows_would_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = made_up(seed=32, users=1, sessions=3, asked=4)
    plain = shared._fill

    async def fill(mem, conversations, crowd, *, seed):  # type: ignore[no-untyped-def]
        await plain(mem, conversations, crowd, seed=seed)
        await mem.add("anchor", user_id=one.id, observed_at=one.turns[0].at, wait=True)

    monkeypatch.setattr(shared, "_fill", fill)
    monkeypatch.setattr(shared, "SHARDS", (1,))
    few = replace(one, questions=one.questions[:2])
    found = await compare([few], tmp_path, HashEmbedder(), strangers=1, seed=32)
    assert found["wrong"] > 0
