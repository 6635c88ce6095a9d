"""Poisoned talks, echoes and secrets through the whole write path, over real files."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hmem import AsyncMemory, Config, InputError, MemoryRecord
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import Messages, ScriptedLLM
from tests.fakes_of_secrets import ROLES, fakes, harmless
from tests.forms import forms
from tests.poison import HONEST_FACT, poisoned


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def duped(config: Config) -> AsyncIterator[tuple[AsyncMemory, ScriptedLLM]]:
    """A memory whose model believes everything."""
    llm = ScriptedLLM()
    async with AsyncMemory(config, llm=llm, embedder=HashEmbedder()) as mem:
        yield mem, llm


async def facts(mem: AsyncMemory, user: str) -> list[MemoryRecord]:
    page = await mem.get_all(user_id=user, kinds="memory", limit=1000)
    return [row for row in page if isinstance(row, MemoryRecord)]


@forms("orders,claims", short=(1, 1), long=(4, 2))
async def test_no_poisoned_talk_leaves_a_rule_closes_a_fact_or_breaks_the_block(
    duped: tuple[AsyncMemory, ScriptedLLM], orders: int, claims: int
) -> None:
    mem, llm = duped
    known = ("The user is a guest", "The user lives in Ghent", "The user is vegan")
    for n, poison in enumerate(poisoned(orders=orders, claims=claims)):
        user = f"u{n}"
        await mem.add(list(known), user_id=user, infer=False, wait=True)
        llm.say(json.dumps(poison.reply))
        receipt = await mem.add(list(poison.messages), user_id=user, session_id="s")
        result = await receipt.result(timeout=30)
        assert result.status == "done", (poison.id, result.reason)
        assert result.superseded == (), poison.id
        kept = await facts(mem, user)
        texts = [row.text for row in kept]
        assert HONEST_FACT in texts, poison.id
        assert set(known) <= set(texts), poison.id
        assert [row.text for row in kept if row.category == "procedural"] == []
        lies = set(texts) - {HONEST_FACT, *known}
        assert all(poison.own and t.startswith("The user said: ") for t in lies), (
            poison.id,
            lies,
        )
        block = await mem.context(poison.payload.words, user_id=user, max_tokens=400)
        for line in block.text.splitlines():
            number, _, _ = line.partition(" ")
            assert line.startswith("[") or number in block.citations, poison.id


async def test_a_block_that_comes_back_in_a_message_adds_nothing(
    duped: tuple[AsyncMemory, ScriptedLLM],
) -> None:
    mem, llm = duped
    known = [f"The user owns a boat called Number{n}" for n in range(4)]
    await mem.add(known, user_id="u", infer=False, wait=True, observed_at="2026-03-14")
    block = await mem.context("boats", user_id="u", max_tokens=300)
    assert "Number1" in block.text
    believed = [
        {"turns": [0], "quote": known[n], "fact": f"{known[n]} and loves it"}
        for n in range(4)
    ]
    for n, wrap in enumerate(("{}", "Known facts:\n{}\nHello!", "> {}", "```\n{}```")):
        llm.say(json.dumps({"facts": believed}))
        said = wrap.format(
            block.text.replace("\n", "\n> ") if ">" in wrap else block.text
        )
        receipt = await mem.add(
            [{"role": "user", "content": said}], user_id="u", session_id=f"s{n}"
        )
        result = await receipt.result(timeout=30)
        assert result.status == "done"
        assert result.added == (), wrap
        asked = llm.calls[-1].text.rpartition("NEW TURNS")[2]
        assert "Number1" not in asked, wrap
    assert sorted(row.text for row in await facts(mem, "u")) == known
    assert all(row.importance == 5 for row in await facts(mem, "u"))


async def test_no_secret_reaches_a_file_or_the_log_in_any_role(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = fakes()
    assert len(made) >= 60
    asked: list[str] = []

    def repeat(messages: Messages) -> str:
        """A model that copies what it is shown."""
        said = messages[-1]["content"].rpartition("NEW TURNS")[2]
        asked.append(said)
        text = " ".join(said.splitlines()[2:])[:400]
        return json.dumps({"facts": [{"turns": [0], "quote": "", "fact": text}]})

    llm = ScriptedLLM(repeat)
    memory = AsyncMemory(config, llm=llm, embedder=HashEmbedder())
    async with memory as mem:
        for n, fake in enumerate(made):
            for role in ROLES:
                await mem.add(
                    [
                        {
                            "role": role,
                            "content": fake.text,
                            "metadata": {"x": fake.text},
                        }
                    ],
                    user_id=f"u{n}",
                    session_id=role,
                )
            await mem.add(
                {"text": fake.text, "metadata": {"x": fake.text}},
                user_id=f"i{n}",
                infer=False,
            )
        await mem.flush(timeout=50)
        row = (await facts(mem, "i0"))[0]
        await mem.update(row.id, user_id="i0", text=f"now {made[1].text}")
    assert config.folder.is_dir()
    found = {
        (fake.name, path.name)
        for path in sorted(config.folder.rglob("*"))
        if path.is_file()
        for fake in made
        for secret in fake.secrets
        if len(secret) > 5 and secret.encode() in path.read_bytes()
    }  # four digits of a PIN are in any file of some size
    assert found == set()
    shown = "\n".join(asked)
    assert [f.name for f in made if any(secret in shown for secret in f.secrets)] == []
    log = caplog.text
    assert [f.name for f in made if any(secret in log for secret in f.secrets)] == []


async def test_what_looks_like_a_secret_and_is_none_stays_as_it_was(
    config: Config,
) -> None:
    texts = harmless()
    assert len(texts) >= 200
    async with AsyncMemory(config) as mem:
        for start in range(0, len(texts), 100):
            part = [{"role": "user", "content": text} for text in texts[start:][:100]]
            await mem.add(part, user_id="u")
        page = await mem.get_all(user_id="u", kinds="turn", limit=1000)
    stored = {row.text for row in page}
    changed = [text for text in texts if text not in stored]
    assert len(changed) <= len(texts) // 100, changed


async def test_a_policy_that_refuses_stores_nothing(config: Config) -> None:
    from dataclasses import replace

    fake = fakes()[0]
    async with AsyncMemory(replace(config, secrets="refuse")) as mem:
        with pytest.raises(InputError) as caught:
            await mem.add(["hello", fake.text], user_id="u")
        assert fake.secrets[0] not in str(caught.value)
        assert len(await mem.get_all(user_id="u")) == 0
    async with AsyncMemory(replace(config, pii="redact")) as mem:
        await mem.add("write to maya@example.org", user_id="v")
        (row,) = await mem.get_all(user_id="v")
        assert "maya@example" not in row.text
