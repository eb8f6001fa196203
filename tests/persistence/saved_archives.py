"""Saved models taken apart and put together again, as an attacker would."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np


def unpack(content):
    """Return the description of a saved model and its other members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def pack(description, members, compression=zipfile.ZIP_DEFLATED):
    """Return a file with these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("model.json", json.dumps(description))
        for name, part in members.items():
            archive.writestr(name, part)
    return stream.getvalue()


def array_to_bytes(array):
    """Return an array as a member of an archive, pickled if it holds objects."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def replace_field(description, path, value):
    """Set the field at a path of keys and indices to a value."""
    parent = description
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value


def with_lying_sizes(content, name, *, packed=None, unpacked=None):
    """Return an archive whose central directory declares other sizes of a member."""
    content = bytearray(content)
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(name))
    for offset, size in ((20, packed), (24, unpacked)):
        if size is not None:
            content[entry + offset : entry + offset + 4] = struct.pack("<I", size)
    return bytes(content)


def peak_memory(function, *arguments):
    """Return the largest number of bytes that a call held, and its result."""
    tracemalloc.start()
    result = function(*arguments)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, result
