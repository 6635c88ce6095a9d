"""Processes that ask a chat model: killed in the middle, two at once, and beside others that
have none. Real processes, a real endpoint; what was answered is not asked again."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hmem import AsyncMemory, Config, Receipt
from hmem.testing.chat_endpoint import Body, ChatEndpoint
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import fact, facts
from hmem.testing.yard import eventually

pytestmark = pytest.mark.timeout(
    120
)  # starting a process takes seconds on a busy machine
WORKER = """
import asyncio, os, signal, sys
from hmem import Config, register_embedder, run_worker
from hmem.testing.fakes import HashEmbedder
folder, url, deadly = sys.argv[1:]
class Embedder(HashEmbedder):
    async def embed(self, texts, *, purpose="passage"):
        if deadly and any(deadly in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().embed(texts, purpose=purpose)
def make(config):
    return Embedder()
register_embedder("here", "__main__:make")
def tell(name, data):
    print(name, flush=True)
asyncio.run(run_worker(Config(
    path=folder, embed="here", llm="any" if url else None, base_url=url or None,
    lease=1.5, users_in_parallel=2, extract_input_tokens=500, on_event=tell,
)))
"""


@pytest.fixture(scope="module")
def running() -> Iterator[ChatEndpoint]:
    with ChatEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(running: ChatEndpoint) -> ChatEndpoint:
    """Its facts say which turns they were read from."""
    running.reset()
    running.answer = lambda body: running.reply(facts(*said(body)))
    return running


def said(body: Body) -> list[dict[str, object]]:
    new = body["messages"][-1]["content"].split("NEW TURNS")[-1]
    words = [word for word in new.split() if word.startswith("bee")]
    return [fact(f"Somebody said {word}") for word in dict.fromkeys(words)]


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    """Takes turns in, and has no model."""
    config = Config(path=tmp_path / "m", shards=2, durability="normal", mode="append")
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder()
    ) as memory:
        yield memory


Process = asyncio.subprocess.Process
Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def start(front: AsyncMemory, endpoint: ChatEndpoint) -> AsyncIterator[Start]:
    """Starts a worker; `deadly` is a text that kills it when it is to be embedded."""
    async with AsyncExitStack() as stack:

        async def run(*, deadly: str = "", model: bool = True) -> Process:
            url = endpoint.url if model else ""
            return await stack.enter_async_context(
                _process(front.config.folder, url, deadly)
            )

        yield run


@asynccontextmanager
async def _process(folder: Path, url: str, deadly: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, str(folder), url, deadly),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def texts(front: AsyncMemory, user: str) -> list[str]:
    page = await front.get_all(user_id=user, kinds="memory", limit=1_000)
    return [row.text for row in page]


async def test_a_worker_killed_while_the_model_answers_leaves_the_job_to_the_next(
    front: AsyncMemory, endpoint: ChatEndpoint, start: Start
) -> None:
    well, endpoint.answer = endpoint.answer, endpoint.hang
    receipt = await front.add("bee1 is said", user_id="u")
    process = await start()
    await eventually(lambda: len(endpoint.bodies) == 1, 40)
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    endpoint.answer = well
    await start()
    result = await receipt.result(timeout=40)
    assert (result.status, len(result.added)) == ("done", 1)
    assert await texts(front, "u") == ["Somebody said bee1"]
    assert len(endpoint.bodies) == 2


async def test_a_worker_killed_after_the_reply_was_kept_leaves_it_to_the_next(
    front: AsyncMemory, endpoint: ChatEndpoint, start: Start
) -> None:
    filler = "many words to fill the room " * 60
    turns = [f"bee1 {filler}", f"bee2 {filler}"]
    receipt = await front.add(turns, user_id="u")
    for word in ("bee1", "bee2"):
        process = await start(deadly=f"Somebody said {word}")
        async with asyncio.timeout(40):
            assert await process.wait() == -signal.SIGKILL
    assert len(endpoint.bodies) == 2
    await start()
    result = await receipt.result(timeout=40)
    assert (result.status, len(result.added)) == ("done", 2)
    assert result.usage.llm_calls == 2
    assert await texts(front, "u") == ["Somebody said bee1", "Somebody said bee2"]
    assert len(endpoint.bodies) == 2  # none was asked again


async def test_two_workers_on_one_folder_ask_about_each_turn_once(
    front: AsyncMemory, endpoint: ChatEndpoint, start: Start
) -> None:
    well = endpoint.answer

    async def slowly(body: Body) -> object:
        await asyncio.sleep(0.03)
        return well(body)

    endpoint.answer = slowly
    workers = [await start(), await start()]
    receipts: dict[str, list[Receipt]] = {}
    for n in range(3):
        for user in (f"u{n}" for n in range(8)):
            receipt = await front.add(
                f"bee{n} is said", user_id=user, session_id=f"s{n}"
            )
            receipts.setdefault(user, []).append(receipt)
    for user, theirs in receipts.items():
        for receipt in theirs:
            assert (await receipt.result(timeout=40)).status == "done"
        assert await texts(front, user) == [f"Somebody said bee{n}" for n in range(3)]
    assert len(endpoint.bodies) == 24
    for worker in workers:
        worker.terminate()
    told = [(await worker.communicate())[0] for worker in workers]
    ended = [out.count(b"job_done") for out in told]
    assert sum(ended) == 24
    assert min(ended) > 0


async def test_turns_go_to_the_process_with_the_model_past_one_without(
    front: AsyncMemory, endpoint: ChatEndpoint, start: Start
) -> None:
    bare = await start(model=False)
    receipts = [await front.add(f"bee{n} is said", user_id=f"u{n}") for n in range(4)]
    assert bare.stdout is not None
    async with asyncio.timeout(40):
        while await bare.stdout.readline() != b"jobs_deferred\n":
            pass
    await start()
    for receipt in receipts:
        # Whoever loses the race for a job tries again: soon at first, then less often.
        assert (await receipt.result(timeout=40)).status == "done"
    assert len(endpoint.bodies) == len(receipts)
