"""The kernels that runs are executed in, so that an interrupted sweep can end them."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from typing import Any
from uuid import uuid4

from jupyter_client.manager import AsyncKernelManager


class Kernels:
    """Every kernel started through `manager_class`; after `kill` none of them lives, and none is started."""

    def __init__(self) -> None:
        self.killed = False
        self._live: set[AsyncKernelManager] = set()
        self._lock = threading.Lock()

    @property
    def manager_class(self) -> type[AsyncKernelManager]:
        """A kernel manager, for nbclient to make, that tells us of its kernel."""
        kernels = self

        class Known(AsyncKernelManager):
            def __init__(self, **kwargs: Any) -> None:
                super().__init__(**kwargs)
                if os.name == "posix":
                    # No ports: nobody else on the machine can listen, and many kernels starting at once can't clash.
                    # A name of its own, since a socket's path may have no more than about a hundred characters.
                    self.transport, self.ip = (
                        "ipc",
                        os.path.join(tempfile.gettempdir(), f"mlk-{uuid4().hex[:12]}"),
                    )

            async def _async_post_start_kernel(self, **kwargs: Any) -> None:
                await super()._async_post_start_kernel(**kwargs)
                kernels._started(self)

            async def _async_cleanup_resources(self, restart: bool = False) -> None:
                kernels._ended(self)
                await super()._async_cleanup_resources(restart)

            cleanup_resources = _async_cleanup_resources

        return Known

    def kill(self) -> None:
        """End every kernel at once. The runs in them fail; whoever called this knows not to keep them."""
        with self._lock:
            self.killed = True
            for manager in self._live:
                _kill(manager)

    def _started(self, manager: AsyncKernelManager) -> None:
        with self._lock:
            self._live.add(manager)
            if self.killed:
                _kill(manager)

    def _ended(self, manager: AsyncKernelManager) -> None:
        with self._lock:
            self._live.discard(manager)


def _kill(manager: AsyncKernelManager) -> None:
    pid = getattr(manager.provisioner, "pid", None)
    if manager.provisioner is not None and manager.provisioner.has_process and pid:
        os.kill(pid, signal.SIGKILL)
