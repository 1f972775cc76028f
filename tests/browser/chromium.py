"""Chromium without a window, driven by the DevTools protocol over a pair of pipes.

Commands and answers are JSON, each followed by a NUL; the browser reads them from its descriptor 3
and writes to 4, so that no port is open and nothing but the standard library is needed here.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 60.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    # Without it, no root user and few containers can start a browser; the pages are our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    # Whatever asks for a host gets none.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
# Moves the pipes to 3 and 4 and becomes the browser.
LAUNCH = (
    "import os, sys\n"
    "os.dup2(int(sys.argv[1]), 3)\n"
    "os.dup2(int(sys.argv[2]), 4)\n"
    "os.execv(sys.argv[3], sys.argv[3:])\n"
)
CHECKS = Path(__file__).with_name("checks.js").read_text(encoding="utf-8")


def program() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "Chromium must be installed for the checks of pages; run `make chromium`"
    return found


@dataclass
class Browser:
    """A running browser. Each page is a tab with a session of its own."""

    to: int
    back: int
    number: int = 0
    unread: bytes = b""
    events: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, session: str | None = None, /, **parameters: Any) -> dict[str, Any]:
        """Ask for something, and wait for the answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        number = self.number
        answer = self._next(lambda one: one.get("id") == number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def wait(self, method: str, session: str) -> dict[str, Any]:
        """The first event of that kind, seen already or still to come."""

        def wanted(one: dict[str, Any]) -> bool:
            return one.get("method") == method and one.get("sessionId") == session

        return next(filter(wanted, self.events), None) or self._next(wanted)

    def _next(self, wanted: Any) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while True:
            one = self._message(end)
            if "id" not in one:
                self.events.append(one)
            if wanted(one):
                return one

    def _message(self, end: float) -> dict[str, Any]:
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.back], [], [], max(0.0, end - time.monotonic()))
            assert ready, "Chromium must answer in time, and did not"
            more = os.read(self.back, 1 << 16)
            assert more, "Chromium must run until it is closed, and has ended"
            self.unread += more
        one, _, self.unread = self.unread.partition(b"\0")
        return json.loads(one)


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with its profile in an empty folder; its processes end with the block."""
    (theirs, to), (back, answers) = _pipe(), _pipe()
    argv = [sys.executable, "-c", LAUNCH, str(theirs), str(answers), program(), *FLAGS]
    process = subprocess.Popen(
        [*argv, f"--user-data-dir={folder}"],
        pass_fds=(theirs, answers),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(answers)
    try:
        found = Browser(to, back)
        yield found
        found.call("Browser.close")
        process.wait(PATIENCE)
    finally:
        # Its helpers are in the session that was started for it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(to)
        os.close(back)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are neither 3 nor 4, which the browser's are moved to."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


@dataclass(frozen=True)
class Tab:
    """A page as it is shown: what it asked for, what it complained of, and what is in it."""

    browser: Browser
    target: str
    session: str
    width: int
    url: str

    def requests(self) -> list[str]:
        return [
            event["params"]["request"]["url"] for event in self._events("Network.requestWillBeSent")
        ]

    def complaints(self) -> list[str]:
        """Errors and warnings of the browser and of scripts."""
        found = [
            event["params"]["entry"]["text"]
            for event in self._events("Log.entryAdded")
            if event["params"]["entry"]["level"] in ("error", "warning")
        ]
        return found + [str(e["params"]) for e in self._events("Runtime.exceptionThrown")]

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page; `checks` has what the tests look for."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def accessible(self) -> list[tuple[str, str, str]]:
        """What a screen reader is told: role, name and description of all that has a role."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]

        def of(node: dict[str, Any], key: str) -> str:
            return str(node.get(key, {}).get("value", ""))

        return [
            (of(node, "role"), of(node, "name"), of(node, "description"))
            for node in nodes
            if not node["ignored"]
        ]

    def picture(self) -> bytes:
        """The whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": self.width, "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def _events(self, method: str) -> list[dict[str, Any]]:
        # What was sent before this answer has been read by then.
        self.call("Runtime.evaluate", expression="0")
        return [
            event
            for event in self.browser.events
            if event.get("method") == method and event.get("sessionId") == self.session
        ]


@contextlib.contextmanager
def opened(browser: Browser, page: Path, width: int, *, dark: bool = False) -> Iterator[Tab]:
    """The page in a tab so many pixels wide; a narrow one is a phone's."""
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
    tab = Tab(browser, target, attached["sessionId"], width, page.resolve().as_uri())
    for domain in ("Network", "Log", "Runtime", "Page", "Accessibility"):
        tab.call(f"{domain}.enable")
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    tab.call("Emulation.setDeviceMetricsOverride", **metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    tab.call("Emulation.setEmulatedMedia", features=[scheme])
    tab.call("Page.navigate", url=tab.url)
    browser.wait("Page.loadEventFired", tab.session)
    tab.ask(CHECKS)
    try:
        yield tab
    finally:
        browser.call("Target.closeTarget", targetId=target)
