"""A fact that its turns do not bear out is kept, marked, and found after one that they do."""

from pathlib import Path

import pytest

from hmem import AsyncMemory, Config
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM, fact, facts


@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["words", "vectors"])
async def test_what_is_not_borne_out_is_ranked_down_and_counted(
    tmp_path: Path, embedder: HashEmbedder | None
) -> None:
    config = Config(path=tmp_path / "m", shards=1, embed="none")
    llm = ScriptedLLM(
        [
            facts(
                fact("Maya owns 7 boats in Ostend", turns=[0]),
                fact("Maya owns 3 boats in Ostend", turns=[0]),
            )
        ]
    )
    async with AsyncMemory(config, llm=llm, embedder=embedder) as mem:
        said = {"role": "user", "name": "Maya", "content": "I own 3 boats in Ostend."}
        await mem.add(said, user_id="maya", wait=True)
        found = await mem.search(
            "boats in Ostend", user_id="maya", kinds="memory", explain=True
        )
        assert [(h.memory is not None and h.memory.verified) for h in found] == [
            True,
            False,
        ]
        for hit in found:
            assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-5)
        assert found.hits[1].explain["unverified"] < 0
        stats = await mem.admin.stats()
        assert stats["decisions"] == {"add": 2, "unverified": 1}
