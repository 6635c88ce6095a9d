"""What a test of a Store stands in: handles, other processes, and two strangers.

The strangers' rows use the very sessions, keys, names and texts that the tests use. No
call made for another user may show anything of theirs, and at the end they must be as
they were.
"""

import asyncio
import inspect
import json
import os
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import hmem
from hmem.protocols import Space, Store
from hmem.testing.store.making import (
    code,
    plan,
    put,
)
from hmem.testing.store.strangers import STRANGERS, Guarded, Secrets, strangers_accept
from hmem.testing.store.view import dump, kept

MODEL = "suite-model"


class Maker(Protocol):
    """The one thing a subclass of the suite provides."""

    def make_store(self, where: Path, **limits: Any) -> Store:
        """A new handle, not opened, on the data at `where`."""
        ...


class World:
    """One test's data, its handles and its strangers."""

    def __init__(self, suite: Maker, where: Path) -> None:
        self.suite = suite
        self.where = where
        self.store: Store = cast("Store", None)
        self.space: Space = cast("Space", None)
        self._handles: list[Store] = []
        self._limits: dict[str, Any] = {}
        self._secrets = Secrets()
        self._before: dict[str, Any] = {}

    async def reopen(self, **limits: Any) -> Store:
        """Another handle on the same data: what another process would have."""
        store = self.suite.make_store(self.where, **(self._limits | limits))
        await store.open()
        self._handles.append(store)
        return cast("Store", Guarded(store, self._secrets))

    async def start(self) -> None:
        """Open, and plant the strangers."""
        self.store = await self.reopen()
        self.space = await self.store.adopt_space(MODEL, 2)
        for user_id in STRANGERS:
            await self._plant(user_id)

    async def _plant(self, user_id: str) -> None:
        done = await self.store.accept(user_id, strangers_accept(user_id))
        view = await kept(self.store, user_id)
        seqs = list(view.memories)
        await self.store.apply(
            user_id, plan(put("memory", {(seqs[0], 0): code(user_id)}, space=1))
        )
        self._secrets.add(user_id, [done.job_id, *done.turns, *done.added])
        self._before[user_id] = await dump(self.store, user_id)

    async def finish(self) -> None:
        """Close every handle; then see from a new one that the strangers are whole."""
        for handle in self._handles:
            await handle.aclose()
        fresh = self.suite.make_store(self.where)
        await fresh.open()
        try:
            for user_id, before in self._before.items():
                assert await dump(fresh, user_id) == before, "a stranger's rows changed"
        finally:
            await fresh.aclose()

    async def second_process(self, body: str, **args: Any) -> Any:
        """Run `body` in a new process, to its end; what it returns, by way of JSON.

        It is the body of an async function: it sees `store`, opened there, `args` and
        the names of `hmem.testing.store.making`.
        """
        async with self.process(body, **args) as child:
            return await child.hear()

    @asynccontextmanager
    async def process(self, body: str, **args: Any) -> AsyncIterator["Child"]:
        """The same, while it runs: there `say(value)` and `await hear()` talk to it."""
        suite = type(self.suite)
        start = {
            "file": inspect.getfile(suite),
            "name": suite.__qualname__,
            "where": str(self.where),
            "args": args,
        }
        script = _SCRIPT + textwrap.indent(textwrap.dedent(body), "    ") + _END
        root = str(Path(hmem.__file__).parent.parent)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            script,
            json.dumps(start),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": root},
        )
        child = Child(process)
        try:
            yield child
            await asyncio.wait_for(process.wait(), 30)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()
        assert process.returncode in child.may_end_with, "the other process failed"


class Child:
    """Another process that holds the store, and how to talk with it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.may_end_with = {0}

    async def hear(self) -> Any:
        """The next value that it said, or returned."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 30)
        assert line, "the other process ended without a word"
        return json.loads(line)

    async def tell(self, value: Any) -> None:
        """Give it a value that it waits for."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value).encode() + b"\n")
        await self._process.stdin.drain()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.may_end_with = {-9, 1}
        self._process.kill()


_SCRIPT = """
import asyncio, importlib.util, json, sys, types
from pathlib import Path
from hmem.testing.store.making import *
from hmem.testing.store.strangers import STRANGERS, Guarded, Secrets, strangers_accept
from hmem.testing.store.view import dump, kept
start = json.loads(sys.argv[1])
# `make_store` is all that is needed here: not the tests, nor what they import.
light = types.ModuleType("hmem.testing.store_suite")
light.StoreSuite = type("StoreSuite", (), {})
sys.modules[light.__name__] = light
spec = importlib.util.spec_from_file_location("suite_of_another_process", start["file"])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
make_store = getattr(module, start["name"])().make_store
args = start["args"]
def say(value):
    print(json.dumps(value), flush=True)
async def hear():
    return json.loads(await asyncio.to_thread(sys.stdin.readline))
async def body(store):
"""
_END = """
async def main():
    store = make_store(Path(start["where"]))
    await store.open()
    try:
        say(await body(store))
    finally:
        await store.aclose()
asyncio.run(main())
"""
