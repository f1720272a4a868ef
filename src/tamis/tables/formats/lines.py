"""Text files as bytes and lines: unpacked, decoded, and with lines of bounded length.

A file is opened once; later passes rewind it.
"""

import codecs
import io
import re
from collections.abc import Iterator
from threading import Lock
from typing import Any

from tamis.tables.errors import InputError
from tamis.tables.formats.source import Source, packing_of, unpacked

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_HEAD = 1 << 16  # bytes from which the encoding is detected
_BLANKS = re.compile(r"[^\S\n\r]+")
_BLANKS_AT_ENDS = re.compile(r"^ | $", re.MULTILINE)


class _Bounded(io.RawIOBase):
    """A file that rejects overlong lines, so that a small compressed file cannot fill memory."""

    def __init__(self, source, most=None):
        self.file = open(source.path, "rb")  # noqa: SIM115 - closed by `close`
        self.packing = packing_of(self.file.read(4))
        self.budget = source.budget
        self.most = most
        self.rewind()

    def rewind(self):
        """Go back to the first byte."""
        self.file.seek(0)
        self.content = unpacked(self.file, self.packing)
        self.n_read = self.n_open = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        """Read a block, and count the bytes since the last end of a line."""
        block = self.content.read(len(buffer))
        n = len(block)
        buffer[:n] = block
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self.n_open = n - 1 - end if end >= 0 else self.n_open + n
        self.n_read += n
        if self.n_open > self.budget.longest_line:
            self.budget.refuse_line()
        if self.most is not None and self.n_read > self.most:
            self.budget.spend(self.budget.limit + 1)
        return n

    def close(self):
        self.file.close()
        super().close()


class _Kept(_Bounded):
    """A file that its readers leave open, for another pass; `end` closes it."""

    def close(self):
        pass

    def end(self):
        super().close()


def bounded_file(source: Source, most: int | None = None) -> io.BufferedReader:
    """Open a file that may be compressed; lines beyond its budget raise an error.

    `source`: the file. `most`: largest size of the unpacked content in bytes; None: unlimited.
    """
    return io.BufferedReader(_Bounded(source, most), 1 << 18)


def unpacking(source: Source) -> float:
    """How many bytes a byte of a compressed file becomes, from its beginning."""
    with open(source.path, "rb") as file:
        packing = packing_of(file.read(4))
        file.seek(0)
        if packing is None:
            return 1.0
        n_bytes = len(unpacked(file, packing).read(1 << 22))
        return n_bytes / max(1, min(file.tell(), source.path.stat().st_size))


class Utf8Stream(io.RawIOBase):
    """The content of a text file as UTF-8, for pyarrow."""

    def __init__(self, file: Any, encoding: str, is_blank: bool = False):
        self.n_quotes = 0
        self._file = file
        self._lock = Lock()
        self._is_stopped = False
        self._is_blank = is_blank
        self._rest = ""
        is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
        self._decoder = None
        if is_blank or not is_utf8:
            self._decoder = codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        """True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read about `size` bytes; nothing only at the end."""
        while True:
            with self._lock:
                block = b"" if self._is_stopped else self._file.read(size)
            data = block if self._decoder is None else self._decoded(block)
            if data or not block:
                self.n_quotes += data.count(b'"')
                return data

    def stop(self) -> None:
        """Read nothing more: pyarrow reads ahead in a thread, also when nobody waits for it."""
        with self._lock:
            self._is_stopped = True

    def _decoded(self, block):
        text = self._decoder.decode(block, final=not block)
        if self._is_blank:
            text = self._rest + text
            end = text.rfind("\n") + 1 if block else len(text)
            text, self._rest = text[:end], text[end:]
            text = _BLANKS_AT_ENDS.sub("", _BLANKS.sub(" ", text.replace("\r\n", "\n")))
        return text.encode("utf-8")


class TextLines:
    """Lines of a text file, without their ends.

    `source`: the file. `encoding`: its encoding; None: UTF-8, or what its byte order mark says.
    """

    def __init__(self, source: Source, encoding: str | None = None):
        self.source = source
        self.encoding = encoding
        self._file: _Kept | None = None
        self._stream: Utf8Stream | None = None
        self._first: list[str] = []
        self._rest: Iterator[str] | None = None

    def __iter__(self):
        """All lines."""
        self._first, self._rest = [], None
        return self._read()

    def preview(self) -> Iterator[str]:
        """Lines from the first on, which are kept for the next preview."""
        if self._rest is None:
            self._rest = self._read()
        yield from self._first
        for line in self._rest:
            self._first.append(line)
            yield line

    def stream(self, is_blank: bool = False) -> Utf8Stream:
        """The whole content as UTF-8; fields may be separated by runs of blanks."""
        self._first, self._rest = [], None
        file = self._rewound()
        encoding = self._detect_encoding(file.peek(_HEAD)[:_HEAD])
        self._stream = Utf8Stream(file, encoding, is_blank)
        return self._stream

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed; known after the first pass has begun."""
        return self._file is not None and self._file.packing is not None

    def close(self) -> None:
        """Close the file; another pass would open it again."""
        self._stop()
        if self._file is not None:
            self._file.end()
        self._file = None

    def _stop(self):
        if self._stream is not None:
            self._stream.stop()
        self._stream = None

    def _rewound(self):
        self._stop()
        if self._file is None:
            self._file = _Kept(self.source)
        else:
            self._file.rewind()
        return io.BufferedReader(self._file, 1 << 18)

    def _read(self):
        encoding = self.encoding
        try:
            file = self._rewound()
            encoding = self._detect_encoding(file.peek(_HEAD)[:_HEAD])
            for line in io.TextIOWrapper(file, encoding=encoding):
                yield line[:-1] if line.endswith("\n") else line
        except (UnicodeError, LookupError) as error:
            self._refuse(error, encoding)

    def _refuse(self, error, encoding):
        """Raise InputError about an encoding that does not fit the file."""
        name = self.source.name
        if isinstance(error, UnicodeDecodeError):
            byte = error.object[error.start]
            raise InputError(
                f"{name} is not {encoding} (byte 0x{byte:02x}): try --encoding latin-1"
            ) from error
        if isinstance(error, UnicodeError):
            raise InputError(f"{name} is not {encoding}: try another --encoding") from error
        raise InputError(f"no encoding {encoding!r}: try utf-8 or latin-1") from error

    def _detect_encoding(self, head):
        encoding = self.encoding
        for mark, name in _BYTE_ORDER_MARKS:
            if head.startswith(mark):
                # With encoding="utf-8", the mark is still not part of the first name.
                return name if encoding is None or "utf" in encoding.lower() else encoding
        if b"\0" in head and not (encoding and "16" in encoding):
            raise InputError(
                f"{self.source.name} is not text (it contains zero bytes): specify --format, one"
                f" of {', '.join(self.source.formats)}"
            )
        return encoding or "utf-8"
