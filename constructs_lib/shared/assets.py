"""What ships to Lambda, staged file by file: our own pure Python and the pinned service model, no CDK, no Docker."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path

__all__ = ["archive", "fingerprint", "members", "stage"]

_LIBRARY = Path(__file__).parent.parent
_PACKAGES = ("facts", "model", "rules", "runtime")
_SUFFIXES = (".py", ".json")
_SERVICE_MODELS = _LIBRARY / "runtime" / "service_models"
# Rules' readers and formats serve the linter, and alone need PyYAML.
_LEFT_OUT = (_LIBRARY / "rules" / "readers", _LIBRARY / "rules" / "formats", _SERVICE_MODELS)


def members() -> dict[str, Path]:
    """Return every file of the asset: its path inside the asset, and the file it is copied from.

    ``constructs_lib/__init__.py`` is not among them: it names the CDK constructs. Without it ``constructs_lib`` is a
    namespace package in Lambda.
    """
    code = {
        path.relative_to(_LIBRARY.parent).as_posix(): path
        for package in _PACKAGES
        for path in (_LIBRARY / package).rglob("*")
        if path.suffix in _SUFFIXES and not any(path.is_relative_to(folder) for folder in _LEFT_OUT)
    }
    models = {
        f"models/{path.relative_to(_SERVICE_MODELS).as_posix()}": path for path in _SERVICE_MODELS.rglob("*.json.gz")
    }
    return dict(sorted((code | models).items()))


def stage(folder: Path) -> None:
    """Copy the asset's files into ``folder``."""
    for name, source in members().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def fingerprint() -> str:
    """Return a hash over the names and contents of the asset's files: other code of ours does not change it."""
    digest = hashlib.sha256()
    for name, source in members().items():
        content = source.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def archive() -> tuple[Path, str]:
    """Return a zip file with the asset, made once per process and removed at its end, and the asset's hash.

    One file is staged by CDK in a millisecond, a folder of a hundred in seventy.
    """
    folder = Path(tempfile.mkdtemp(prefix="gpucap-asset-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "runtime.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        for name, source in members().items():
            entry = zipfile.ZipInfo(name)  # dated 1980, as CDK's own zip files are
            entry.external_attr = 0o644 << 16
            compression = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
            zipped.writestr(entry, source.read_bytes(), compression)
    return path, fingerprint()
