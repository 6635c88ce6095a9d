"""The synchronous face: the same verbs, from any thread, whatever interrupts them."""

import asyncio
import contextlib
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hmem import (
    AsyncMemory,
    ClosedError,
    Config,
    DeadlineError,
    EmbedderError,
    ForkedError,
    HmemError,
    InputError,
    LifecycleError,
    Memory,
    NotOpenError,
    Receipt,
    Scoped,
    StoreError,
    SyncReceipt,
    SyncScoped,
    WrongLoopError,
)
from hmem.admin import Admin
from hmem.running.opening import DRAIN
from hmem.sync import SyncAdmin
from hmem.testing.fakes import FailingEmbedder, FrozenClock, HashEmbedder

TWINS: dict[type, type] = {
    AsyncMemory: Memory,
    Scoped: SyncScoped,
    Admin: SyncAdmin,
    Receipt: SyncReceipt,
}
RENAMED = {"aclose": "close"}
HANDED_OUT = {"receipt", "add"}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
def mem(config: Config) -> Iterator[Memory]:
    with Memory(config, embedder=HashEmbedder()) as opened:
        yield opened


class SlowEmbedder(HashEmbedder):
    """Waits until it is let go, whichever loop it is on. Queries wait, too."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.waits = threading.Event()

    async def embed(self, texts: Any, *, purpose: Any = "passage") -> Any:
        self.waits.set()
        while not self.go.is_set():  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.005)
        return await super().embed(texts, purpose=purpose)


def our_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "hmem-memory"]


def verbs(mem: Memory) -> dict[str, Callable[[], object]]:
    u = {"user_id": "u"}
    scoped = mem.scoped(**u)
    return {
        "add": lambda: mem.add("hi", **u),
        "search": lambda: mem.search("hi", **u),
        "context": lambda: mem.context("hi", **u),
        "get": lambda: mem.get("x", **u),
        "get_all": lambda: mem.get_all(**u),
        "update": lambda: mem.update("x", text="y", **u),
        "delete": lambda: mem.delete("x", **u),
        "history": lambda: mem.history("x", **u),
        "receipt": lambda: mem.receipt("x", **u),
        "flush": lambda: mem.flush(),
        "delete_user": lambda: mem.delete_user("u"),
        "erase": lambda: mem.erase("x", **u),
        "stats": lambda: mem.admin.stats(),
        "health": lambda: mem.admin.health(),
        "queued": lambda: mem.admin.queued(),
        "jobs": lambda: mem.admin.jobs(),
        "retry": lambda: mem.admin.retry("x", **u),
        "scoped.search": lambda: scoped.search("hi"),
    }


# ------------------------------------------------------------------------ no drift


def public(cls: type) -> dict[str, Any]:
    """What a caller sees of a class, under the names of the synchronous face."""
    return {
        RENAMED.get(name, name): inspect.getattr_static(cls, name)
        for name in dir(cls)
        if not name.startswith("_")
        and not inspect.ismemberdescriptor(inspect.getattr_static(cls, name))
    }


def translated(annotation: object) -> object:
    """An annotation of the asynchronous face, as the synchronous one would have it."""
    return (
        TWINS.get(annotation, annotation) if inspect.isclass(annotation) else annotation
    )


def shape(member: Any) -> object:
    """What of a member must be the same in both faces."""
    if isinstance(member, property):
        return (
            "property",
            translated(inspect.signature(member.fget).return_annotation),
        )
    signature = inspect.signature(member)
    parameters = [
        (p.name, p.kind, p.default, translated(p.annotation))
        for p in signature.parameters.values()
    ]
    return (parameters, translated(signature.return_annotation))


@pytest.mark.parametrize("cls", TWINS, ids=lambda cls: cls.__name__)
def test_both_faces_have_the_same_methods_with_the_same_signatures(cls: type) -> None:
    asked, given = public(cls), public(TWINS[cls])
    given.pop("config", None)  # an attribute there, a property here
    if cls is Receipt:  # attributes there
        del given["id"], given["user_id"], given["repeated"]
    assert sorted(given) == sorted(asked), (
        f"{TWINS[cls].__name__} must have one line for each verb of {cls.__name__}"
    )
    for name, member in asked.items():
        assert shape(given[name]) == shape(member), f"{TWINS[cls].__name__}.{name}"
    constructors = [inspect.signature(one.__init__) for one in (cls, TWINS[cls])]
    if cls is AsyncMemory:
        assert constructors[0] == constructors[1]


@pytest.mark.parametrize("cls", TWINS, ids=lambda cls: cls.__name__)
def test_no_synchronous_method_is_a_coroutine_and_each_has_a_docstring(
    cls: type,
) -> None:
    for name, member in public(TWINS[cls]).items():
        assert not inspect.iscoroutinefunction(member), name
        assert inspect.getdoc(member), name


class Told:
    """Stands where the asynchronous object would; tells what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answer = object()

    def __getattr__(self, name: str) -> Any:
        async def method(*args: Any, **named: Any) -> object:
            self.calls.append((name, args, named))
            return self.answer

        return method

    @property
    def admin(self) -> "Told":
        return self


class Here:
    """A loop thread that runs what it is given at once."""

    forgotten = False

    def run(self, make: Callable[[], Any]) -> Any:
        return asyncio.run(make())


SPOKEN = [
    (cls, name)
    for cls in (Memory, SyncAdmin)
    for name, member in public(cls).items()
    if inspect.isfunction(member) and name not in ("open", "close", "scoped")
]


@pytest.mark.parametrize(
    ("cls", "name"), SPOKEN, ids=[f"{cls.__name__}.{name}" for cls, name in SPOKEN]
)
def test_every_argument_is_passed_on_under_its_name(cls: type, name: str) -> None:
    told = Told()
    face: Any = object.__new__(cls)
    face._inner, face._loop = told, Here()
    method = getattr(face, name)
    parameters = inspect.signature(method).parameters.values()
    places = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = {p.name: object() for p in parameters if p.kind is p.KEYWORD_ONLY}
    args = tuple(object() for _ in places)
    answer = method(*args, **named)
    assert told.calls == [(name, args, named)]
    if name in HANDED_OUT:
        assert isinstance(answer, SyncReceipt)
        assert answer._inner is told.answer
    elif name != "flush":
        assert answer is told.answer


SCOPED = [n for n, m in public(SyncScoped).items() if inspect.isfunction(m)]


@pytest.mark.parametrize("name", SCOPED)
def test_a_scoped_memory_adds_its_scope_to_what_the_verb_takes(
    name: str, mem: Memory
) -> None:
    scope = mem.scoped(user_id="ana", agent_id="a1", session_id="s1").scope
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    class Noted:
        def __getattr__(self, verb: str) -> Any:
            return lambda *args, **named: calls.append((verb, args, named))

    method = getattr(SyncScoped(Noted(), scope), name)  # type: ignore[arg-type]
    parameters = inspect.signature(method).parameters.values()
    args = tuple(object() for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
    named = {p.name: object() for p in parameters if p.kind is p.KEYWORD_ONLY}
    method(*args, **named)
    ((verb, got, more),) = calls
    assert verb == name
    takes = inspect.signature(getattr(Memory, name)).parameters
    labels = {"user_id": "ana", "agent_id": "a1", "session_id": "s1"}
    bound = {key: labels[key] for key in labels if key in takes}
    if name == "delete_user":
        assert (got, more) == (("ana",), {})
    else:
        assert got == args
        assert more == named | bound


# ----------------------------------------------------------------------- what it does


def test_what_is_added_is_found_updated_traced_and_closed(mem: Memory) -> None:
    receipt = mem.add("The kiln fires at 1,240 degrees.", user_id="ana", infer=False)
    result = receipt.result(timeout=20)
    assert (result.status, receipt.status, receipt.done) == ("done", "done", True)
    assert (receipt.user_id, receipt.refresh()) == ("ana", "done")
    (fact,) = result.added
    new = mem.update(fact, user_id="ana", text="The kiln fires at 1,260 degrees.")
    assert [hit.id for hit in mem.search("kiln", user_id="ana")] == [new.id]
    assert "1,260" in mem.context("kiln", user_id="ana", max_tokens=100).text
    assert mem.history(new.id, user_id="ana")[0].id == fact
    assert mem.delete(new.id, user_id="ana") is True
    assert list(mem.get_all(user_id="ana")) == []
    old = mem.get(fact, user_id="ana")
    assert old is not None
    assert old.text == "The kiln fires at 1,240 degrees."
    assert mem.admin.stats()["memories"] == 2
    assert mem.admin.health()["ok"] is True
    assert mem.admin.queued() == 0
    assert mem.delete_user("ana").total > 0
    assert mem.get(fact, user_id="ana") is None


def test_a_scope_is_bound_and_checked(mem: Memory) -> None:
    ana = mem.scoped(user_id="ana", session_id="s1")
    ana.add(["hello", "again"], wait=True)
    rows = ana.get_all().rows
    assert [(row.user_id, row.session_id) for row in rows] == [("ana", "s1")] * 2
    assert len(mem.search("hello", user_id="ben")) == 0
    with pytest.raises(InputError):
        mem.scoped(user_id=" ")


def test_the_receipt_of_an_earlier_add_is_found_by_its_id(config: Config) -> None:
    with Memory(config, embedder=HashEmbedder()) as mem:
        job = mem.add("hi", user_id="ana").id
    with Memory(config, embedder=HashEmbedder()) as mem:
        assert mem.receipt(job, user_id="ana").result(timeout=20).status == "done"
        with pytest.raises(InputError, match="no such receipt"):
            mem.receipt(job, user_id="ben")


def test_a_result_that_was_seen_is_told_after_closing(config: Config) -> None:
    with Memory(config, embedder=HashEmbedder()) as mem:
        seen = mem.add("hi", user_id="ana", wait=True)
        empty = mem.add([], user_id="ana")
    assert seen.seen is not None
    assert seen.result().turns == seen.seen.turns != ()
    assert (seen.refresh(), empty.result().status) == ("done", "done")
    assert repr(seen) == f"<SyncReceipt {seen.id} done>"


def test_a_result_that_was_not_seen_cannot_be_told_after_closing(
    config: Config,
) -> None:
    embedder = SlowEmbedder()
    mem = Memory(config, embedder=embedder).open()
    waiting = mem.add("hi", user_id="ana")
    mem.close(timeout=0)
    assert (waiting.status, waiting.seen) == ("queued", None)
    for look in (waiting.result, waiting.refresh):
        with pytest.raises(ClosedError):
            look()


def test_a_deadline_leaves_the_job_and_the_memory_going_on(config: Config) -> None:
    embedder = SlowEmbedder()
    with Memory(config, embedder=embedder) as mem:
        receipt = mem.add("hi", user_id="ana")
        with pytest.raises(DeadlineError):
            receipt.result(timeout=0.05)
        with pytest.raises(DeadlineError):
            mem.flush(timeout=0.05)
        embedder.go.set()
        assert receipt.result(timeout=20).status == "done"
        mem.flush(timeout=20)


def test_errors_are_those_of_the_asynchronous_face(config: Config) -> None:
    embedder = FailingEmbedder(times=0)
    with Memory(config, embedder=embedder) as mem:
        with pytest.raises(InputError, match="user_id"):
            mem.add("hi", user_id="")
        with pytest.raises(InputError):
            mem.search("", user_id="ana")
        fact = mem.add("hi", user_id="ana", infer=False, wait=True).result().added[0]
        embedder.times = None
        with pytest.raises(EmbedderError, match="told to fail"):
            mem.update(fact, user_id="ana", text="hello")
        assert [row.text for row in mem.get_all(user_id="ana")] == ["hi"]


def test_parts_and_the_clock_are_handed_in(config: Config) -> None:
    clock = FrozenClock()
    with Memory(config, embedder=HashEmbedder(), clock=clock) as mem:
        assert mem.config is config
        mem.add("hi", user_id="ana", wait=True)
        (row,) = mem.get_all(user_id="ana")
        assert row.recorded_at == clock.now


def test_without_a_config_the_environment_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HMEM_PATH", "/somewhere")
    assert Memory().config.path == "/somewhere"


# --------------------------------------------------------------------------- threads


def test_many_threads_share_one_memory(mem: Memory) -> None:
    failed: list[BaseException] = []

    def work(n: int) -> None:
        try:
            mine = mem.scoped(user_id=f"u{n % 3}")
            receipts = [mine.add(f"thread {n} says {turn}") for turn in range(20)]
            mine.search(f"thread {n}", k=5)
            assert {r.result(timeout=20).status for r in receipts} == {"done"}
        except BaseException as e:  # noqa: BLE001
            failed.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failed == []
    rows = [len(mem.get_all(user_id=f"u{n}", limit=1_000)) for n in range(3)]
    assert rows == [80, 80, 80]


def test_threads_that_open_at_once_open_one(config: Config) -> None:
    mem = Memory(config, embedder=HashEmbedder())
    before = len(our_threads())
    opened: list[Memory] = []
    threads = [
        threading.Thread(target=lambda: opened.append(mem.open())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert opened == [mem] * 8
    assert len(our_threads()) == before + 1
    mem.close()
    assert len(our_threads()) == before


def test_calls_that_run_while_it_closes_end(config: Config) -> None:
    mem = Memory(config, embedder=HashEmbedder()).open()
    ended: list[type[BaseException] | None] = []
    started = threading.Barrier(9)

    def work(n: int) -> None:
        started.wait()
        try:
            for turn in range(10_000):
                mem.add(f"{n} {turn}", user_id=f"u{n}")
                mem.search("hi", user_id=f"u{n}", k=1)
        except HmemError as e:
            ended.append(type(e))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    started.wait()
    time.sleep(0.1)
    mem.close()
    for thread in threads:
        thread.join(10)
    assert ended == [ClosedError] * 8


def test_what_still_waits_when_the_thread_ends_is_told(config: Config) -> None:
    """A call that a part keeps for ever must not keep its caller for ever."""

    class Deaf(HashEmbedder):
        async def embed(self, texts: Any, *, purpose: Any = "passage") -> Any:
            await asyncio.Event().wait()

    mem = Memory(config, embedder=Deaf()).open()
    receipt = mem.add("hi", user_id="ana")
    told: list[type[BaseException]] = []

    def wait() -> None:
        try:
            receipt.result()
        except LifecycleError as e:
            told.append(type(e))

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    mem.close(timeout=0)
    for thread in threads:
        thread.join(5)
    assert told == [ClosedError] * 3


# ------------------------------------------------------------------------- life cycle


def test_before_opening_and_after_closing_each_verb_says_so(config: Config) -> None:
    mem = Memory(config, embedder=HashEmbedder())
    for verb in verbs(mem).values():
        with pytest.raises(NotOpenError, match="with Memory"):
            verb()
    assert not config.folder.exists()
    assert mem.open() is mem.open() is mem
    mem.close()
    mem.close()
    for verb in verbs(mem).values():
        with pytest.raises(ClosedError, match="this Memory was closed"):
            verb()
    with pytest.raises(ClosedError):
        mem.open()


def test_one_that_was_closed_before_it_was_opened_stays_closed(config: Config) -> None:
    mem = Memory(config)
    mem.close()
    with pytest.raises(ClosedError):
        mem.open()
    assert not config.folder.exists()


def test_a_failed_open_leaves_no_thread_and_can_be_repeated(config: Config) -> None:
    before = len(our_threads())
    config.folder.mkdir()
    note = config.folder / "notes.txt"
    note.write_text("mine")
    mem = Memory(config, embedder=HashEmbedder())
    with pytest.raises(StoreError):
        mem.open()
    assert len(our_threads()) == before
    with pytest.raises(NotOpenError):
        mem.search("x", user_id="u")
    note.unlink()
    with mem:
        mem.add("hi", user_id="u", wait=True)
    assert len(our_threads()) == before


def test_closing_works_off_what_was_accepted(config: Config) -> None:
    with Memory(config, embedder=HashEmbedder()) as mem:
        jobs = [mem.add(f"hi {n}", user_id="ana").id for n in range(30)]
    with Memory(config, embedder=HashEmbedder()) as mem:
        assert {mem.receipt(j, user_id="ana").status for j in jobs} == {"done"}


def test_an_exception_in_the_body_closes_at_once_and_passes(config: Config) -> None:
    def fail() -> None:
        with Memory(config, embedder=SlowEmbedder()) as mem:
            mem.add("hi", user_id="u")
            raise LookupError("mine")

    started = time.monotonic()
    with pytest.raises(LookupError, match="mine"):
        fail()
    assert time.monotonic() - started < DRAIN  # which a closing without one may take


def test_a_timeout_that_cannot_be_read_closes_nothing(mem: Memory) -> None:
    with pytest.raises(InputError):
        mem.close(timeout=-1)
    mem.add("hi", user_id="ana", wait=True)


def test_one_that_is_forgotten_warns_and_is_closed(config: Config) -> None:
    before = len(our_threads())
    forgotten = [Memory(config, embedder=HashEmbedder()).open()]
    receipt = forgotten[0].add("hi", user_id="ana")
    with pytest.warns(ResourceWarning, match="a Memory was not closed"):
        forgotten.clear()
    deadline = time.monotonic() + 10
    while len(our_threads()) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(our_threads()) == before
    with contextlib.suppress(ClosedError):  # it may have been seen to end
        assert receipt.result().status == "done"
    with Memory(config, embedder=HashEmbedder()) as again:
        assert len(again.get_all(user_id="ana")) == 1


@pytest.mark.parametrize("state", ["new", "closed"])
def test_one_that_is_not_open_is_dropped_without_a_warning(
    config: Config, state: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mem = Memory(config)
        if state == "closed":
            mem.open()
            mem.close()
        del mem
        gc.collect()


def test_an_interpreter_whose_user_forgot_to_close_ends(config: Config) -> None:
    code = (
        "import sys\nfrom hmem import Config, Memory\n"
        "from hmem.testing.fakes import HangingEmbedder, HashEmbedder\n"
        "mem = Memory(Config(path=sys.argv[1], embed='none'), embedder=HashEmbedder())\n"
        "mem.open()\nprint(mem.add('kept', user_id='ana', wait=True).status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(config.folder)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    with Memory(config, embedder=HashEmbedder()) as again:
        assert [row.text for row in again.get_all(user_id="ana")] == ["kept"]


# --------------------------------------------------------------------- interruptions


@contextlib.contextmanager
def interrupted_once(waits: threading.Event) -> Iterator[None]:
    """Ctrl-C, once, when the event is set."""

    def strike() -> None:
        waits.wait(10)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield
    finally:
        thread.join(10)


def test_a_wait_that_is_interrupted_keeps_the_job_and_the_memory(
    config: Config,
) -> None:
    embedder = SlowEmbedder()
    with Memory(config, embedder=embedder) as mem:
        receipt = mem.add("hi", user_id="ana")
        with pytest.raises(KeyboardInterrupt), interrupted_once(embedder.waits):
            receipt.result()
        embedder.go.set()
        assert receipt.result(timeout=20).status == "done"
        assert len(mem.search("hi", user_id="ana")) == 1


def test_a_search_that_is_interrupted_is_cancelled_alone(tmp_path: Path) -> None:
    cancelled = threading.Event()

    class Asked(SlowEmbedder):
        async def embed(self, texts: Any, *, purpose: Any = "passage") -> Any:
            if purpose == "passage":
                return await HashEmbedder.embed(self, texts, purpose=purpose)
            try:
                return await super().embed(texts, purpose=purpose)
            except asyncio.CancelledError:
                cancelled.set()
                raise

    embedder = Asked()
    config = Config(path=tmp_path / "m", embed="none", query_embed_timeout=60.0)
    with Memory(config, embedder=embedder) as mem:
        mem.add("hi", user_id="ana", wait=True)
        with pytest.raises(KeyboardInterrupt), interrupted_once(embedder.waits):
            mem.search("hi", user_id="ana")
        assert cancelled.wait(5)
        embedder.go.set()
        assert len(mem.search("hi there", user_id="ana")) == 1


def test_a_closing_that_is_interrupted_goes_on(config: Config) -> None:
    before = len(our_threads())
    embedder = SlowEmbedder()
    mem = Memory(config, embedder=embedder).open()
    mem.add("hi", user_id="ana")
    with pytest.raises(KeyboardInterrupt), interrupted_once(embedder.waits):
        mem.close(timeout=30)
    assert len(our_threads()) == before + 1
    embedder.go.set()
    mem.close()
    assert len(our_threads()) == before
    with Memory(config, embedder=HashEmbedder()) as again:
        assert again.admin.stats()["jobs"]["done"] == 1


def test_an_opening_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    before = len(our_threads())
    opening = threading.Event()

    class SlowStore:
        async def open(self) -> None:
            opening.set()
            await asyncio.sleep(60)

        async def aclose(self) -> None:
            closed.append(True)

    closed: list[bool] = []
    mem = Memory(Config(path=tmp_path), store=SlowStore())  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt), interrupted_once(opening):
        mem.open()
    deadline = time.monotonic() + 10
    while len(our_threads()) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(our_threads()) == before
    with pytest.raises(ClosedError):
        mem.open()


# -------------------------------------------------------------------- loops and forks


async def test_where_a_loop_runs_it_names_the_asynchronous_face(
    config: Config,
) -> None:
    mem = Memory(config, embedder=HashEmbedder())
    with pytest.raises(WrongLoopError, match="use AsyncMemory"):
        mem.open()
    await asyncio.to_thread(mem.open)
    try:
        for verb in verbs(mem).values():
            with pytest.raises(LifecycleError, match="use AsyncMemory"):
                verb()
        with pytest.raises(WrongLoopError):
            mem.close()
        receipt = await asyncio.to_thread(mem.add, "hi", user_id="u")
        with pytest.raises(WrongLoopError):
            receipt.refresh()
        assert (await asyncio.to_thread(receipt.result)).status == "done"
        assert receipt.result().status == "done"  # seen: nothing is waited for
    finally:
        await asyncio.to_thread(mem.close)


def test_an_event_sink_that_calls_back_is_told_instead_of_hanging(
    tmp_path: Path,
) -> None:
    raised: list[BaseException] = []

    def sink(name: str, facts: Any) -> None:
        if name == "accepted":
            try:
                mem.search("hi", user_id="ana")
            except LifecycleError as e:
                raised.append(e)

    config = Config(path=tmp_path / "m", embed="none", on_event=sink)
    with Memory(config) as mem:
        mem.add("hi", user_id="ana")
    assert [type(e) for e in raised] == [WrongLoopError]


def test_a_forked_child_is_told_to_open_its_own(config: Config) -> None:
    with Memory(config, embedder=HashEmbedder()) as mem:
        receipt = mem.add("hi", user_id="u")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of threads
            child = os.fork()
        if child == 0:
            os._exit(_in_the_child(mem, receipt, config))
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        mem.add("still here", user_id="u", wait=True)
        texts = [row.text for row in mem.get_all(user_id="u")]
        assert texts == ["hi", "from the child", "still here"]


def _in_the_child(mem: Memory, receipt: SyncReceipt, config: Config) -> int:
    try:
        for verb in (*verbs(mem).values(), mem.open):
            try:
                verb()
            except ForkedError:
                continue
            return 2
        mem.close()  # nothing of it is here
        with Memory(config, embedder=HashEmbedder()) as own:
            own.add("from the child", user_id="u", wait=True)
    except BaseException:  # noqa: BLE001
        return 3
    return 0


def test_the_caller_s_context_reaches_the_parts(config: Config) -> None:
    """Tracing and the like ride on context variables."""
    from contextvars import ContextVar

    request: ContextVar[str] = ContextVar("request", default="none")
    seen: list[str] = []

    class Watching(HashEmbedder):
        async def embed(self, texts: Any, *, purpose: Any = "passage") -> Any:
            if purpose == "query":
                seen.append(request.get())
            return await super().embed(texts, purpose=purpose)

    with Memory(config, embedder=Watching()) as mem:
        mem.add("hi", user_id="ana", wait=True)
        request.set("r-17")
        mem.search("hi", user_id="ana")
    assert seen == ["r-17"]
