"""The synchronous face: `Memory` and what it hands out. Each method is one line onto the
loop of a private thread, where an AsyncMemory does the work."""

from hmem.sync.admin import SyncAdmin
from hmem.sync.memory import Memory
from hmem.sync.receipt import SyncReceipt
from hmem.sync.scoped import SyncScoped

__all__ = ["Memory", "SyncAdmin", "SyncReceipt", "SyncScoped"]
