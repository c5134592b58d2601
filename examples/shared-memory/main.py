"""Frames of a publisher process, zero-copy in its memory.

Run by `cargo xtask example shared-memory`, with the path of the publisher. Each check ends the
program if it fails.
"""

import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import dlpack_frames

ROWS, COLUMNS = 48, 64
# More than the number of slots of the publisher.
MANY = 20
# A subscriber that keeps a frame until it is killed.
SECOND_SUBSCRIBER = """
import sys
import dlpack_frames

subscriber = dlpack_frames.Subscriber(*sys.argv[1:])
print("ready", flush=True)
sys.stdin.readline()
frame = subscriber.receive()
print(frame.address, flush=True)
sys.stdin.readline()
"""


class Publisher:
    """The other process."""

    def __init__(self, program: Path, folder: str, service: str):
        arguments = [program, folder, service, str(ROWS), str(COLUMNS)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True)

    def publish(self) -> tuple[int, int]:
        """Publishes a frame; its number, and its address in the publisher."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        number, address = self.process.stdout.readline().split()
        return int(number), int(address)

    def end(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


class Place(NamedTuple):
    """An address in a mapped file."""

    file: tuple[str, int]
    offset: int
    path: str
    permissions: str


def place_of(process: int | str, address: int) -> Place:
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        addresses, permissions, offset, device, inode, *path = line.split()
        first, end = (int(part, 16) for part in addresses.split("-"))
        if first <= address < end:
            offset = int(offset, 16) + address - first
            return Place((device, int(inode)), offset, " ".join(path), permissions)
    raise AssertionError(f"{address:#x} is not mapped")


def address_of(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def expected(number: int) -> np.ndarray:
    elements = np.arange(number, number + ROWS * COLUMNS, dtype=np.float32)
    return elements.reshape(ROWS, COLUMNS)


def receive(publisher: Publisher, subscriber: dlpack_frames.Subscriber) -> dlpack_frames.Frame:
    """Publishes a frame and receives it."""
    number, address = publisher.publish()
    frame = subscriber.receive()
    assert frame is not None, "the frame was not received"
    assert (frame.number, frame.address) == (number, address)
    return frame


def addresses(publisher: Publisher, subscriber: dlpack_frames.Subscriber) -> set[int]:
    """The addresses of many frames, each released before the next one is published."""
    return {receive(publisher, subscriber).address for _ in range(MANY)}


def same_pages(publisher: Publisher, frame: dlpack_frames.Frame) -> None:
    array, tensor = np.from_dlpack(frame), torch.from_dlpack(frame)
    assert address_of(array) == tensor.data_ptr()
    assert address_of(array) % 64 == 0
    ours = place_of("self", address_of(array))
    theirs = place_of(publisher.process.pid, frame.address)
    assert (ours.file, ours.offset) == (theirs.file, theirs.offset), "a copy"
    assert ours.path.startswith("/dev/shm/"), ours.path
    assert (ours.permissions, theirs.permissions) == ("r--s", "rw-s")
    assert np.array_equal(array, expected(frame.number))
    assert torch.equal(tensor, torch.from_numpy(expected(frame.number)))
    print(f"  byte {ours.offset} of {ours.path}: publisher, NumPy and PyTorch")


def last_deleter_releases(publisher: Publisher, subscriber: dlpack_frames.Subscriber) -> None:
    frame = receive(publisher, subscriber)
    number, address = frame.number, frame.address
    array, tensor = np.from_dlpack(frame), torch.from_dlpack(frame)
    row = tensor[3]
    assert address not in addresses(publisher, subscriber), "reused while the frame exists"
    del frame
    assert address not in addresses(publisher, subscriber), "reused while an array exists"
    assert np.array_equal(array, expected(number))
    del array, tensor
    assert address not in addresses(publisher, subscriber), "reused while a row exists"
    assert row.tolist() == expected(number)[3].tolist()
    del row
    assert address in addresses(publisher, subscriber), "not reused after the last view"
    print("  the publisher reuses the slot after the last view is deleted, and not before")


def frames_are_limited(publisher: Publisher, subscriber: dlpack_frames.Subscriber) -> None:
    limit = dlpack_frames.MAX_FRAMES
    arrays = [np.from_dlpack(receive(publisher, subscriber)) for _ in range(limit)]
    publisher.publish()
    try:
        subscriber.receive()
    except RuntimeError as error:
        print(f"  {limit + 1} frames at once: {error}")
    else:
        raise AssertionError("more frames than the limit")
    arrays.pop()
    assert subscriber.receive() is not None, "a released frame makes room"


def writes_are_rejected(publisher: Publisher, subscriber: dlpack_frames.Subscriber) -> None:
    frame = receive(publisher, subscriber)
    array, tensor = np.from_dlpack(frame), torch.from_dlpack(frame)
    assert not array.flags.writeable
    # PyTorch has no read-only tensors. The write is in a child, which it ends.
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        tensor[0, 0] = -1.0
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGSEGV, "the write was permitted"
    assert np.array_equal(array, expected(frame.number))
    print("  NumPy's array is not writeable, and a write through PyTorch ends the process")


def writes_of_others_are_visible(
    publisher: Publisher, subscriber: dlpack_frames.Subscriber
) -> None:
    """A process that does not obey iceoryx2's rules: it writes a frame that is in use."""
    frame = receive(publisher, subscriber)
    array = np.from_dlpack(frame)
    assert frame.mean() == array.mean(dtype=np.float64)
    place = place_of("self", address_of(array))
    with open(place.path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[place.offset : place.offset + array.nbytes] = np.full_like(array, 7.0).tobytes()
    assert (array == 7.0).all()
    assert frame.mean() == 7.0
    print("  a write of another process is visible in arrays, and in Rust")


def survives_the_publisher(
    publisher: Publisher, subscriber: dlpack_frames.Subscriber
) -> np.ndarray:
    array = np.from_dlpack(receive(publisher, subscriber))
    kept = array.copy()
    publisher.process.kill()
    assert publisher.process.wait(timeout=60) == -signal.SIGKILL
    assert np.array_equal(array, kept)
    print("  the publisher was killed, and NumPy still reads its frame")
    return array


def frees_slots_of_a_dead_subscriber(publisher: Publisher, folder: str, service: str) -> None:
    pipe = subprocess.PIPE
    arguments = [sys.executable, "-c", SECOND_SUBSCRIBER, folder, service]
    used = set()
    for _ in range(MANY):
        with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            _, address = publisher.publish()
            process.stdin.write("\n")
            process.stdin.flush()
            assert int(process.stdout.readline()) == address
            process.kill()
        assert process.returncode == -signal.SIGKILL
        used.add(address)
    print(f"  {MANY} subscribers were killed with a frame, in {len(used)} slots")
    assert len(used) < MANY


def main(program: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        service = f"frames of {os.getpid()}"
        subscriber = dlpack_frames.Subscriber(folder, service)
        publisher = Publisher(program, folder, service)
        same_pages(publisher, receive(publisher, subscriber))
        last_deleter_releases(publisher, subscriber)
        frames_are_limited(publisher, subscriber)
        writes_are_rejected(publisher, subscriber)
        writes_of_others_are_visible(publisher, subscriber)
        orphan = survives_the_publisher(publisher, subscriber)

        # A new publisher removes what the dead one left, and the old frame stays.
        kept = orphan.copy()
        segment = Path(place_of("self", address_of(orphan)).path)
        assert segment.exists()
        publisher = Publisher(program, folder, service)
        addresses(publisher, subscriber)
        assert not segment.exists(), "the memory of the dead publisher is still a file"
        assert np.array_equal(orphan, kept)

        # A frame outlives its subscriber.
        array = np.from_dlpack(receive(publisher, subscriber))
        kept = array.copy()
        del subscriber
        publisher.publish()
        assert np.array_equal(array, kept)
        del array, orphan
        print("  a new publisher, and frames that outlive the publisher and the subscriber")

        frees_slots_of_a_dead_subscriber(publisher, folder, service)
        publisher.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
