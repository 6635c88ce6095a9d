"""The embedded store passes the Store suite."""

from pathlib import Path
from typing import Any

from hmem.config import Config
from hmem.protocols import Store
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store_suite import StoreSuite
from tests.forms import many


class TestEmbeddedStore(StoreSuite):
    machine_examples = many(6, 15)

    def make_store(self, where: Path, **limits: Any) -> Store:
        return EmbeddedStore(
            Config(path=where, shards=2, durability="normal", **limits)
        )
