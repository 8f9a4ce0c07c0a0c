"""Fixtures for pytest, there as soon as the package is installed:

    def test_session(sluice_space, sluice_clock):
        client = redis.Redis.from_url(sluice_space.url)
        client.set("session", "alice", ex=1800)
        sluice_clock.advance(minutes=30)
        assert client.get("session") is None

There is one process a run, and one each worker of pytest-xdist; each test that asks gets a space of its own inside it.
When a test fails, its report shows once what the test sent, how it moved the clock, and what the server logged.

Options: --sluice-bin PROGRAM, --sluice-seed N; in pytest.ini sluice_bin, sluice_seed, sluice_options (a line each,
`name value`).
"""
from __future__ import annotations

import re
from typing import Any, Dict, Generator, Iterator, List, Optional, Tuple

import pytest

from .binary import BinaryNotFound
from .clock import Clock
from .database import Database
from .faults import Faults
from .journal import Journal, JournalMismatch
from .library import LibraryNotFound
from .server import Server, ServerError, Space

SENT_MAX = 30  # requests that a report shows
SPACE_KEY = pytest.StashKey[Space]()
LOG_KEY = pytest.StashKey[int]()
REPORTED_KEY = pytest.StashKey[bool]()
Sections = List[Tuple[str, str]]
SECTIONS_KEY = pytest.StashKey[Sections]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sluice")
    group.addoption("--sluice-bin", help="the program sluice (else SLUICE_BIN, or PATH)")
    group.addoption("--sluice-seed", help="makes what is random in the server the same in each run")
    parser.addini("sluice_bin", "the program sluice")
    parser.addini("sluice_seed", "as --sluice-seed")
    parser.addini("sluice_options", "options of the server: name value", type="linelist")


def chosen(config: pytest.Config, name: str) -> Optional[str]:
    """A word of the command line, else of the file."""
    return config.getoption(name) or config.getini(name) or None


def server_options(config: pytest.Config) -> Dict[str, str]:
    """sluice_options as a mapping."""
    lines = [line.split(None, 1) for line in config.getini("sluice_options")]
    return {line[0]: line[1] if len(line) > 1 else "" for line in lines}


@pytest.fixture(scope="session")
def sluice_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The process of this run, or of this worker."""
    seed = chosen(pytestconfig, "sluice_seed")
    try:
        server = Server(chosen(pytestconfig, "sluice_bin"), options=server_options(pytestconfig),
                        seed=None if seed is None else int(seed))
    except (BinaryNotFound, ServerError) as error:
        pytest.fail(f"sluice: {error}", pytrace=False)
    with server:
        yield server


def space_name(nodeid: str) -> str:
    """A name that tells which test it is of: no blanks, no controls, 256 bytes at most."""
    return "test:" + re.sub(r"[^!-~]", "_", nodeid)[-200:]


@pytest.fixture
def sluice_space(request: pytest.FixtureRequest, sluice_server: Server) -> Iterator[Space]:
    """A private server for this test, empty, with its journal on; gone with the test."""
    with sluice_server.space(space_name(request.node.nodeid)) as space:
        space.reset()
        space.journal.start()
        request.node.stash[SPACE_KEY] = space
        request.node.stash[LOG_KEY] = len(sluice_server.log())
        yield space
        request.node.stash[SECTIONS_KEY] = sections(space, request.node.stash[LOG_KEY])


@pytest.fixture
def sluice_url(sluice_space: Space) -> str:
    """Its URL."""
    return sluice_space.url


@pytest.fixture
def sluice_clock(sluice_space: Space) -> Clock:
    """Its clock, which stands still until the test moves it."""
    sluice_space.clock.freeze()
    return sluice_space.clock


@pytest.fixture
def sluice_faults(sluice_space: Space) -> Faults:
    """Its faults."""
    return sluice_space.faults


@pytest.fixture
def sluice_journal(sluice_space: Space) -> Journal:
    """What was sent to it."""
    return sluice_space.journal


@pytest.fixture
def sluice_redis(sluice_space: Space) -> Iterator[Any]:
    """A client of redis-py that decodes answers, closed with the test."""
    client = sluice_space.redis(decode_responses=True)
    try:
        yield client
    finally:
        client.close()
        client.connection_pool.disconnect(inuse_connections=False)


@pytest.fixture
def sluice_database() -> Iterator[Database]:
    """A database inside this process, empty, whose time stands still until the test moves it. Needs libsluice.so."""
    try:
        database = Database(time="manual")
    except LibraryNotFound as error:
        pytest.fail(f"sluice: {error}", pytrace=False)
    with database:
        yield database


try:  # pytest-asyncio, in its strict mode, wants to be told of asynchronous fixtures
    import pytest_asyncio
    asynchronous = pytest_asyncio.fixture
except ImportError:  # anyio's plugin takes them as they are
    asynchronous = pytest.fixture


@asynchronous  # type: ignore[misc]
async def sluice_redis_asyncio(sluice_space: Space) -> Any:
    """An asyncio client of redis-py that decodes answers, closed with the test: for pytest-asyncio, or anyio."""
    async with sluice_space.redis_asyncio(decode_responses=True) as client:
        yield client
        await client.connection_pool.disconnect()


def sections(space: Space, log_from: int) -> Sections:
    """What a report says of it: its requests and its clock, and the log."""
    found: Sections = []
    try:
        happened = space.history(SENT_MAX)
    except (ConnectionError, RuntimeError) as error:
        found.append(("sluice", str(error)))
        happened = []
    if happened:
        found.append((f"sluice: the last requests to {space.name}, and how the clock was moved", "\n".join(happened)))
    log = space.server.log()[log_from:]
    if log:
        found.append(("sluice: log", log))
    return found


@pytest.hookimpl(hookwrapper=True)  # type: ignore[misc]
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Generator[None, Any, None]:
    """A test that fails shows, once, what was sent to its space, how its clock was moved, and what the server said."""
    space = None if item.stash.get(REPORTED_KEY, False) else item.stash.get(SPACE_KEY, None)
    error = call.excinfo.value if call.excinfo is not None else None
    if space is not None and isinstance(error, JournalMismatch) and error.journal is space.journal:
        error.leave_out_requests()
    outcome = yield
    report = outcome.get_result()
    if space is None or not report.failed:
        return
    item.stash[REPORTED_KEY] = True
    gone = item.stash.get(SECTIONS_KEY, None)  # with the space, where a fixture fails behind the test
    report.sections += sections(space, item.stash[LOG_KEY]) if gone is None else gone
