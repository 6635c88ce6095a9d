"""The embedded store passes the Store suite."""

from pathlib import Path
from typing import Any

from hmem.config import Config
from hmem.protocols import Store
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store_suite import StoreSuite


class TestEmbeddedStore(StoreSuite):
    def make_store(self, where: Path, **limits: Any) -> Store:
        return EmbeddedStore(Config(path=where, shards=2, **limits))
