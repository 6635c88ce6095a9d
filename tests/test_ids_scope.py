import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config, InputError, InputTypeError, ScopeError
from hmem.inputs.scope import read_id, scope_of
from hmem.testing.fakes import HashEmbedder


@pytest.fixture
async def mem(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    config = Config(path=tmp_path / "m", shards=2)
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


class Named(StrEnum):
    MAYA = "maya"


SOME_UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("maya", "maya", id="str"),
        pytest.param(" a b ", " a b ", id="blanks-inside-and-around"),
        pytest.param(7, "7", id="int"),
        pytest.param(-7, "-7", id="negative"),
        pytest.param(SOME_UUID, str(SOME_UUID), id="uuid"),
        pytest.param(Named.MAYA, "maya", id="str-enum"),
        pytest.param("../..", "../..", id="path"),
        pytest.param("x' OR '1'='1", "x' OR '1'='1", id="sql"),
        pytest.param("\u00e9" * 256, "\u00e9" * 256, id="512-bytes"),
    ],
)
def test_an_id_is_taken_byte_for_byte(value: object, expected: str) -> None:
    found = read_id(value, "user_id")
    assert found == expected
    assert type(found) is str


@pytest.mark.parametrize("value", [None, True, 7.0, b"7", ["maya"], {"a": 1}, object()])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(InputTypeError, match="user_id"):
        read_id(value, "user_id")


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "\t\n", "a\0b", "a\nb", "a\x7f", "a\x85", "\ud800", "a" * 513),
        *("\u00e9" * 257, pytest.param(10**5000, id="huge-int")),
    ],
)
def test_ids_that_cannot_be_stored_are_refused(value: object) -> None:
    with pytest.raises(ScopeError) as e:
        read_id(value, "agent_id")
    assert "agent_id" in str(e.value)


def test_labels_are_optional_and_the_user_is_not() -> None:
    scope = scope_of(user_id="u")
    assert (scope.agent_id, scope.session_id) == (None, None)
    with pytest.raises(InputTypeError):
        scope_of(user_id=None)
    with pytest.raises(ScopeError, match="session_id"):
        scope_of(user_id="u", session_id="")


LOOKALIKES = [
    "..",
    ".",
    "a@b",
    "a_b",
    "a b",
    "A@B",
    "\u00e9",
    "e\u0301",
    "7",
    "07",
    "a/b",
    "a\\b",
]


async def test_ids_that_look_alike_share_nothing(mem: AsyncMemory) -> None:
    for n, user in enumerate(LOOKALIKES):
        await mem.add(f"my number is q{n}q", user_id=user)
    for n, user in enumerate(LOOKALIKES):
        rows = (await mem.get_all(user_id=user)).rows
        assert [row.text for row in rows] == [f"my number is q{n}q"]
        found = await mem.search("my number", user_id=user)
        assert [hit.text for hit in found] == [f"my number is q{n}q"]


def files_under(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


async def test_no_file_is_named_by_an_id(mem: AsyncMemory, tmp_path: Path) -> None:
    for user in ("../../evil", "..", "shard-99", "a\\b", "C:evil", "*"):
        await mem.add("hello there", user_id=user, session_id="../s", agent_id="../a")
    names = {str(p.relative_to(tmp_path)) for p in files_under(tmp_path)}
    assert all(n.split("/")[0] == "m" for n in names)
    assert not any("evil" in n or ".." in n or "99" in n for n in names)


async def test_an_int_and_its_text_are_one_user(mem: AsyncMemory) -> None:
    await mem.add("I keep bees", user_id=7)
    assert len(await mem.get_all(user_id="7")) == 1
    await mem.add("I keep hens", user_id=SOME_UUID)
    assert len(await mem.get_all(user_id=str(SOME_UUID))) == 1


async def test_a_foreign_id_is_an_unknown_id(mem: AsyncMemory) -> None:
    receipt = await mem.add(["Bo keeps bees"], user_id="bo", infer=False, wait=True)
    said = await (await mem.add("I am Bo", user_id="bo", wait=True))
    theirs, turn = (await receipt).added[0], said.turns[0]
    await mem.add("I am Ana", user_id="ana", wait=True)
    unknown = "01890000-0000-7000-8000-000000000000"
    for one in (theirs, turn, unknown, "", "x' OR '1'='1", "a\0b", "\ud800"):
        assert await mem.get(one, user_id="ana") is None
        assert await mem.history(one, user_id="ana") == []
        assert await mem.delete(one, user_id="ana") is False
        with pytest.raises(InputError, match="no open memory of this user"):
            await mem.update(one, user_id="ana", text="Ana keeps bees")
    messages = []
    for one in (receipt.id, unknown, theirs, "", "a\0b", "\ud800"):
        with pytest.raises(InputError) as e:
            await mem.receipt(one, user_id="ana")
        messages.append(str(e.value))
    assert len(set(messages)) == 1
    kept = await mem.get(theirs, user_id="bo")
    assert kept is not None
    assert kept.text == "Bo keeps bees"
    assert (await mem.get_all(user_id="ana")).rows[0].text == "I am Ana"


async def test_another_users_rows_change_no_score(mem: AsyncMemory) -> None:
    await mem.add(["Apple is my cat", "Pears are green"], user_id="ana", infer=False)
    await mem.flush(timeout=10)
    before = await mem.search(
        "Apple", user_id="ana", explain=True, asked_at="2030-01-01"
    )
    await mem.add(["Apple is my employer"], user_id="bo", infer=False)
    await mem.add([f"Apple number {n}" for n in range(30)], user_id="bo", infer=False)
    await mem.flush(timeout=10)
    after = await mem.search(
        "Apple", user_id="ana", explain=True, asked_at="2030-01-01"
    )
    assert before.hits
    assert before.hits == after.hits


BAD = {"user_id": "bo", "agent_id": "b1", "valid_to": "2000-01-01", "hash": "0"}


@pytest.mark.parametrize(
    ("said", "more"),
    [
        pytest.param("x", {"metadata": BAD}, id="call"),
        pytest.param(
            [{"role": "user", "content": "x", "metadata": BAD}], {}, id="message"
        ),
        pytest.param([{"text": "x", "metadata": BAD}], {"infer": False}, id="item"),
    ],
)
async def test_metadata_cannot_move_a_row(
    mem: AsyncMemory, said: object, more: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="agent_id, hash, user_id, valid_to"):
        await mem.add(said, user_id="ana", **more)
    assert len(await mem.get_all(user_id="ana")) == 0


async def test_labels_filter(mem: AsyncMemory) -> None:
    await mem.add(
        "bees for support", user_id="ana", agent_id="support", session_id="s1"
    )
    await mem.add("bees for sales", user_id="ana", agent_id="sales", session_id="s2")
    both = await mem.search("bees", user_id="ana")
    one = await mem.search("bees", user_id="ana", agent_id="sales")
    other = await mem.search("bees", user_id="ana", session_id="s1")
    assert len(both) == 2
    assert [hit.text for hit in one] == ["bees for sales"]
    assert [hit.text for hit in other] == ["bees for support"]
    assert len(await mem.search("bees", user_id="ana", agent_id="nobody")) == 0


def test_a_user_is_found_again_whatever_the_hash_seed(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from hmem import AsyncMemory, Config\n"
        "async def main():\n"
        "    config = Config(path=sys.argv[1], embed='none')\n"
        "    async with AsyncMemory(config) as mem:\n"
        "        if sys.argv[2] == 'write':\n"
        "            for n in range(8): await mem.add('I keep bees', user_id=f'u{n}')\n"
        "        found = [len(await mem.get_all(user_id=f'u{n}')) for n in range(8)]\n"
        "        print(sum(found))\n"
        "asyncio.run(main())\n"
    )
    for seed, mode in (("1", "write"), ("2", "read")):
        ran = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "m"), mode],
            env={
                "PYTHONHASHSEED": seed,
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
            },
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        assert ran.stdout.strip() == "8"
