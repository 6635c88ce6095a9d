"""The embedded store passes the Store suite."""

import os
from pathlib import Path
from typing import Any

from hmem.config import Config
from hmem.protocols import Store
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store_suite import StoreSuite


class TestEmbeddedStore(StoreSuite):
    # Not by `tests.forms`: other processes load this file, and need no pytest.
    machine_examples = 15 if os.environ.get("HMEM_LONG") else 6

    def make_store(self, where: Path, **limits: Any) -> Store:
        return EmbeddedStore(
            Config(path=where, shards=2, durability="normal", **limits)
        )
