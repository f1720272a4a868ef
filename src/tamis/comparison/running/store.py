"""Checkpoints of a run, each complete or absent, and a manifest of what they belong to.

Each finished task (one method, one fold) has its own file, which is written under a temporary name
and then renamed, so that a process killed at any moment leaves only complete files. A manifest
says which data, options and versions they belong to. Each file holds the name of its task and the
digest of the manifest, so that no file is taken for another, and none needs the manifest.
"""

import contextlib
import hashlib
import json
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np

from tamis.models.files import write_atomically

__all__ = ["ManifestMismatch", "Store", "other_versions"]

# No write takes this many seconds: an older temporary file is from a killed process.
_OLD = 3600.0
# Name of the array that holds the digest of the others.
_DIGEST = "sha256"
# Name of the array that holds the task, and the digest of the manifest.
_OWNER = "owner"
# Errors that a damaged file can raise when it is unpacked.
_DAMAGED = (zipfile.BadZipFile, zlib.error, RuntimeError)


class ManifestMismatch(Exception):
    """The folder holds checkpoints for different data, options or versions."""


class Store:
    """Checkpoints in a folder.

    `folder`: created if it does not exist. `manifest`: what the checkpoints belong to: plain JSON.
    `force`: whether checkpoints of another manifest are discarded. Those of the same work by
    another version always are, with a message. `tell`: called with messages for the user about
    damaged and discarded checkpoints. `was_cleared`: whether there were checkpoints of another
    manifest.
    """

    def __init__(self, folder, manifest, force=False, tell=None):
        self.folder = Path(folder).absolute()  # workers may have started in another folder
        self.manifest = manifest
        self.tell = tell
        self.folder.mkdir(parents=True, exist_ok=True)
        self.was_cleared = False
        text = json.dumps(manifest, sort_keys=True).encode()
        self.digest = hashlib.sha256(text).hexdigest()
        known = self._read_manifest()
        if known is None and self._has_others():
            differs = "its checkpoints are of other data, options or versions"
        else:
            differs = "" if known is None else differences(known, manifest)
        if differs:
            versions = None if known is None else other_versions(known, manifest)
            if not force and (versions is None or not _is_same_work(known, manifest)):
                raise ManifestMismatch(differs)
            if not force:
                self._say(
                    f"{self.folder} holds checkpoints of {versions}, which cannot be used: "
                    "everything is computed again"
                )
            self.clear()
            self.was_cleared = True
        self._sweep()
        self._write_manifest()

    def __getstate__(self):
        """Workers get no `tell`, which need not be picklable: they only save."""
        return {**vars(self), "tell": None}

    def _read_manifest(self):
        """The manifest; None if there is none, or it is damaged."""
        path = self.folder / "manifest.json"
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            known = None
        if not isinstance(known, dict):
            self._say(f"{path} is damaged: it is written again; whole checkpoints are kept")
            return None
        return known

    def _has_others(self):
        """Whether a checkpoint belongs to another manifest."""
        owners = [self._owner_of(path) for path in self.folder.glob("*.npz")]
        return any(owner is not None and owner[1] != self.digest for owner in owners)

    @staticmethod
    def _owner_of(path):
        """Task and digest of the manifest of a checkpoint; None if it cannot be read."""
        try:
            with np.load(path, allow_pickle=False) as file:
                task, digest = file[_OWNER].tobytes().decode().split("\n")
                return task, digest
        except (*_DAMAGED, ValueError, OSError, EOFError, KeyError, MemoryError):
            return None

    def _say(self, message):
        if self.tell is not None:
            self.tell(message)

    def _write_manifest(self):
        text = json.dumps(self.manifest, indent=1, sort_keys=True).encode()
        with write_atomically(self.folder / "manifest.json") as file:
            file.write(text)

    def _sweep(self):
        """Remove unfinished files of killed processes, but not those being written now."""
        for path in self.folder.glob(".*.part"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _OLD:
                    path.unlink()

    def clear(self):
        """Remove all checkpoints."""
        for path in self.folder.glob("*.npz"):
            path.unlink()
        for path in self.folder.glob(".*.part"):
            path.unlink()

    def path(self, key):
        """Path of the file for this key."""
        return self.folder / f"{key}.npz"

    def save(self, key, arrays):
        """Write a task."""
        arrays = arrays | {_OWNER: self._owner(key)}
        with write_atomically(self.path(key)) as file:
            np.savez_compressed(file, **arrays, **{_DIGEST: digest(arrays)})

    def _owner(self, key):
        return np.frombuffer(f"{key}\n{self.digest}".encode(), dtype=np.uint8)

    def load(self, key):
        """Read a task; None if it is absent, damaged, or of another task."""
        why = "is damaged"
        try:
            with np.load(self.path(key), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            if np.array_equal(arrays.pop(_DIGEST), digest(arrays)):
                if np.array_equal(arrays.pop(_OWNER), self._owner(key)):
                    return arrays
                why = "is of another task or another comparison"
        except FileNotFoundError:
            return None
        except (*_DAMAGED, ValueError, OSError, EOFError, KeyError, MemoryError):
            pass
        self.discard(key, why)
        return None

    def discard(self, key, why="is damaged"):
        """Remove a task that cannot be used, with a message that it will be computed again."""
        self.path(key).unlink(missing_ok=True)
        self._say(f"{self.path(key)} {why}: it is discarded and computed again")


def digest(arrays):
    """SHA-256 of named arrays, as an array of bytes."""
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype.str} {np.shape(arrays[name])}".encode())
        hasher.update(array.data)
    return np.frombuffer(hasher.digest(), dtype=np.uint8)


def other_versions(known, wanted):
    """Words for the versions of a manifest that are not those of another; None if all are."""
    before, now = ({"versions": one.get("versions")} for one in (known, wanted))
    if before != now:
        return f"other versions ({differences(before, now)})"
    return None if known.get("format") == wanted.get("format") else "another version of tamis"


def _is_same_work(known, wanted):
    """Whether two manifests differ in nothing but versions, and options that one does not know."""
    if known.get("format") != wanted.get("format"):
        return True  # nothing can be said about manifests of another layout
    before, now = known.get("options"), wanted.get("options")
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return False
    shared = before.keys() & now.keys()
    return known.get("data") == wanted.get("data") and all(
        before[name] == now[name] for name in shared
    )


def differences(known, wanted):
    """Describe which entries of two manifests differ."""
    names = [n for n in {**known, **wanted} if known.get(n) != wanted.get(n)]
    described = []
    for name in names[:5]:
        before, now = known.get(name, "nothing"), wanted.get(name, "nothing")
        if isinstance(before, dict) and isinstance(now, dict):
            inner = [n for n in {**before, **now} if before.get(n) != now.get(n)]
            described += [f"{n} was {before.get(n)!r}, is now {now.get(n)!r}" for n in inner[:5]]
        elif len(str(before)) < 40 and len(str(now)) < 40:
            described.append(f"{name} was {before!r}, is now {now!r}")
        else:
            described.append(f"different {name}")
    return "; ".join(described)
