"""What a user installs: the wheel, built without a network, brings the fixtures and the types by itself."""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import sluice

SOURCE = pathlib.Path(__file__).resolve().parents[1]
TEST = """
def test_it(sluice_redis, sluice_clock):
    sluice_redis.set("k", "v", ex=60)
    sluice_clock.advance(minutes=1)
    assert sluice_redis.get("k") is None
"""


def test_wheel(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist"))
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", source],
                   check=True, stdout=subprocess.DEVNULL)
    wheel, = (tmp_path / "dist").iterdir()
    assert wheel.name == f"sluice-{sluice.__version__}-py3-none-any.whl"
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        assert {"sluice/py.typed", "sluice/asyncio/locks.py"} <= set(archive.namelist())
        archive.extractall(installed)
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path,
                           tmp_path / "test_it.py"], check=False, cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(installed)})
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_types():
    """The package is checked strictly, if mypy is there."""
    if shutil.which("mypy", path="/usr/bin") is None:
        return
    done = subprocess.run(["/usr/bin/mypy", "--cache-dir", os.devnull], cwd=SOURCE, check=False,
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
