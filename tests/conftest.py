"""What tests stand on: a real PostgreSQL, a database of their own, an organization, a clock they can move."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mnemon.access.organizations import create_organization
from mnemon.clock import ManualClock
from mnemon.context.pack import ContextPack, pack_layers
from mnemon.db.database import Database
from mnemon.db.migrate import migrate_database
from mnemon.layer import Layer
from support.databases import Databases, name_of, new_database
from support.loggers import loggers_as_they_were
from support.prompts import PromptFaults

pytest_plugins = ("support.soak.options",)

# A loaded machine is no failure; on CI the same examples come every time, elsewhere new ones are tried.
settings.register_profile(
    "mnemon", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("mnemon")

START = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)


@pytest.fixture(autouse=True)
def own_loggers() -> Iterator[None]:
    """Leave to the next test no logging that a server or a command inside this one set up."""
    with loggers_as_they_were():
        yield


@pytest.fixture(autouse=True)
def prompts_say_things_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Look at every prompt that the test makes: each sentence once, one value of what has one value."""
    if request.node.get_closest_marker("spliced_history") is not None:
        yield
        return
    faults = PromptFaults()

    def pack_watched(layers: Sequence[Layer], budget: int) -> ContextPack:
        made = pack_layers(layers, budget)
        faults.check(made)
        return made

    monkeypatch.setattr("mnemon.context.assemble.pack_layers", pack_watched)
    yield
    assert not faults.found, "\n".join(dict.fromkeys(faults.found))


@pytest.fixture(autouse=True, scope="session")
def no_profiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep commands from the server that whoever runs the tests is logged in to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in ("MNEMON_URL", "MNEMON_KEY", "MNEMON_PROFILE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server: the one MNEMON_TEST_DATABASE_URL names, or an embedded one for this test process."""
    named = os.environ.get("MNEMON_TEST_DATABASE_URL")
    if named:
        yield named
        return
    from support.cluster import embedded_cluster

    with embedded_cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="session")
def template(cluster_url: str) -> Iterator[str]:
    """A migrated database that others are copied from: the one MNEMON_TEST_TEMPLATE names, or a new one."""
    named = os.environ.get("MNEMON_TEST_TEMPLATE")
    if named:
        yield named
        return
    with new_database(cluster_url) as url:
        asyncio.run(migrate_database(url, START))
        yield name_of(url)


@pytest.fixture(scope="session")
def databases(cluster_url: str, template: str) -> Iterator[Databases]:
    """The databases that tests have for themselves while they run."""
    lent = Databases(cluster_url, template)
    yield lent
    lent.close()


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A migrated database of this test's own."""
    with databases.lend() as url:
        yield url


@pytest.fixture
def clock() -> ManualClock:
    """Stands still at 2026-04-12 15:22 UTC until the test moves it."""
    return ManualClock(START)


@pytest.fixture
async def db(database_url: str, clock: ManualClock) -> AsyncIterator[Database]:
    """The database of this test, open."""
    database = Database(database_url, clock)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def org(db: Database) -> str:
    """An organization in this test's database."""
    async with db.tx("acme") as tx:
        await create_organization(tx)
    return "acme"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"
