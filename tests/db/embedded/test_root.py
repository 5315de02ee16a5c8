"""As root: no user is made, no directory is opened, and PostgreSQL has no more than it needs."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mnemon.db.embedded.cluster import ensure_running
from support.processes import end_servers

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="about what root does"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]
CAP_DAC_READ_SEARCH = 1 << 2


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def modes(path: Path) -> list[tuple[str, int, int]]:
    return [(str(one), one.stat().st_mode, one.stat().st_uid) for one in (path, *path.parents)]


async def test_closed_parents_stay_closed_and_one_reading_capability_gets_through(
    data_dir: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    before = modes(data_dir), Path("/etc/passwd").read_text()
    cluster = await ensure_running(data_dir)
    found = status(cluster.pid)
    with psycopg.connect(cluster.url) as connection:
        assert connection.execute("SELECT word FROM kept").fetchone() == ("before",)
    await cluster.stop()
    assert found["Uid"].split()[0] != "0"
    assert int(found["CapEff"], 16) == int(found["CapPrm"], 16) == CAP_DAC_READ_SEARCH
    assert (modes(data_dir), Path("/etc/passwd").read_text()) == before


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can get into; pytest's own are closed."""
    folder = Path(tempfile.mkdtemp(prefix="mnemon-test-", dir="/var/tmp"))
    folder.chmod(0o777)
    yield folder
    end_servers(folder / "data")
    shutil.rmtree(folder, ignore_errors=True)


async def test_where_the_way_is_open_no_capability_is_kept(made: Path, open_folder: Path) -> None:
    data_dir = open_folder / "data"
    subprocess.run(["cp", "-a", str(made), str(data_dir)], check=True)
    data_dir.chmod(0o755)
    cluster = await ensure_running(data_dir, bin_dir=_open_binaries(open_folder))
    found = status(cluster.pid)
    await cluster.stop()
    assert int(found["CapEff"], 16) == int(found["CapPrm"], 16) == 0


def _open_binaries(home: Path) -> Path:
    from mnemon.db.embedded.programs import wheel_folder

    wheel = wheel_folder().parent.parent
    for part in (wheel, wheel.with_name(f"{wheel.name}.libs")):
        subprocess.run(["cp", "-a", str(part), str(home / part.name)], check=True)
    return home / wheel.name / wheel_folder().parent.name / "bin"


async def test_a_directory_of_an_ordinary_user_stays_that_users(new_dir: Path) -> None:
    new_dir.mkdir(mode=0o700)
    os.chown(new_dir, 1, 1)
    cluster = await ensure_running(new_dir)
    assert status(cluster.pid)["Uid"].split()[0] == "1"
    await cluster.stop()
    assert {path.stat().st_uid for path in (new_dir, *new_dir.iterdir())} == {1}


def test_an_ordinary_user_starts_it_too_and_is_told_whose_a_foreign_one_is(open_folder: Path) -> None:
    python = _python_for_everybody()
    script = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from mnemon.db.embedded.cluster import ensure_running\nfrom mnemon.errors import MnemonError\n"
        "async def main():\n"
        "    try:\n        cluster = await ensure_running(Path(sys.argv[1]))\n        await cluster.stop()\n"
        "        print('ran')\n"
        "    except MnemonError as error:\n        print(error.detail)\n"
        "asyncio.run(main())\n"
    )

    def as_daemon(data_dir: Path) -> str:
        done = subprocess.run(
            [python, "-c", script, str(data_dir)],
            user=1,
            group=1,
            extra_groups=[],
            capture_output=True,
            text=True,
            cwd="/",
            env={"PYTHONPATH": os.pathsep.join(_import_paths()), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.defpath},
        )
        return done.stdout + done.stderr

    assert as_daemon(open_folder / "data") == "ran\n"
    foreign = open_folder / "foreign"
    (foreign / "postgres").mkdir(parents=True)
    foreign.chmod(0o777)
    os.chown(foreign / "postgres", 65534, 65534)
    assert "belongs to user id 65534, and this is user id 1" in as_daemon(foreign)


def _import_paths() -> list[str]:
    import psycopg as installed

    import mnemon

    return [str(Path(module.__file__ or "").parent.parent) for module in (mnemon, installed)]


IN_A_CONTAINER = """
import asyncio, ctypes, os, sys
from pathlib import Path
if len(sys.argv) == 2:
    libc = ctypes.CDLL(None)
    for capability in range(64):
        if capability not in (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31):  # what a container leaves to root
            libc.prctl(24, capability, 0, 0, 0)
    os.execv(sys.executable, [sys.executable, sys.argv[0], sys.argv[1], "dropped"])
from mnemon.db.embedded.cluster import ensure_running
async def main():
    one, two = await ensure_running(Path(sys.argv[1])), await ensure_running(Path(sys.argv[1]))
    assert one.pid == two.pid
    os.kill(one.pid, 9)
    status = Path(f"/proc/{one.pid}/status")  # a kill takes a moment
    while status.exists() and "State:\\tZ" not in status.read_text():
        await asyncio.sleep(0.01)
    three = await ensure_running(Path(sys.argv[1]))
    print(three.pid != one.pid, [line for line in open(f"/proc/{three.pid}/status") if "CapEff" in line])
    for cluster in (one, two, three):
        await cluster.stop()
asyncio.run(main())
"""


def test_with_the_few_capabilities_of_a_container_it_runs_too(data_dir: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    script = tmp_path / "script.py"
    script.write_text(IN_A_CONTAINER)
    done = subprocess.run([sys.executable, str(script), str(data_dir)], capture_output=True, text=True, timeout=240)
    assert done.stderr == ""
    assert done.stdout == "True ['CapEff:\\t0000000000000002\\n']\n"
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def _python_for_everybody() -> str:
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run(
                [python, "-c", "import sys; print(sys.version_info[:2])"],
                user=1,
                group=1,
                extra_groups=[],
                capture_output=True,
                text=True,
                cwd="/",
            )
        except OSError:
            continue
        if done.stdout.strip() == str(tuple(sys.version_info[:2])):
            return python
    pytest.skip("no Python of this version that an ordinary user may run")
