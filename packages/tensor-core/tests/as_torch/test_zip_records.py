"""Archives of checkpoints that programs write and read record by record."""
from __future__ import annotations

import subprocess
import sys

import pytest
from test_alias import lines

WRITE = """
    import sys, torch
    writer = torch._C.PyTorchFileWriter(sys.argv[1])
    numbers = torch.arange(5.0).untyped_storage()
    writer.write_record("data.pkl", b"abcde", 3)
    writer.write_record("data/0", numbers, numbers.nbytes())
    writer.write_record("data/1", numbers.data_ptr(), 8)
    writer.write_record("text", "words", 5)
    for name, data, size in (("text", "again", 5), ("short", b"a", 2)):
        try:
            writer.write_record(name, data, size)
        except (RuntimeError, ValueError) as error:
            print(type(error).__name__)
    print(writer.archive_name(), sorted(writer.get_all_written_records()))
    writer.write_end_of_file()
"""
READ = """
    import sys, torch
    reader = torch._C.PyTorchFileReader(sys.argv[1])
    print(reader.get_all_records())
    print(reader.get_record("data.pkl"), reader.has_record("nothing"))
    whole = reader.get_storage_from_record("data/0", 5, torch.float32)
    print(whole.untyped_storage().nbytes(), torch.frombuffer(
        bytearray(reader.get_record("data/0")), dtype=torch.float32).tolist())
    with open(sys.argv[1], "rb") as file:
        file.seek(reader.get_record_offset("text"))
        print(file.read(5), reader.get_record_offset("data/1") % 64, len(reader.serialization_id()))
        file.seek(0)
        print(torch.PyTorchFileReader(file).get_record("data/1").hex())
    for call in (lambda: reader.get_record("nothing"), lambda: torch._C.PyTorchFileReader("none")):
        try:
            call()
        except RuntimeError as error:
            print(type(error).__name__)
"""
SEEN = ["['data.pkl', 'data/0', 'data/1', 'text', 'version', 'byteorder', "
        "'.data/serialization_id']", "b'abc' False", "20 [0.0, 1.0, 2.0, 3.0, 4.0]",
        "b'words' 0 40", "000000000000803f", "RuntimeError", "RuntimeError"]


def test_records_come_back(tmp_path):
    path = str(tmp_path / "one.two.pt")
    assert lines(WRITE, path) == ["RuntimeError", "ValueError",
                                  "one.two ['data.pkl', 'data/0', 'data/1', 'text']"]
    assert lines(READ, path) == SEEN


@pytest.mark.oracle
def test_pytorch_reads_what_is_written_here(tmp_path):
    import textwrap

    path = str(tmp_path / "x.pt")
    lines(WRITE, path)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(READ), path], text=True,
                          capture_output=True, check=True, env={"FLAMBEAU_AS_TORCH": "0"})
    assert done.stdout.splitlines() == SEEN


def test_checkpoints_are_archives_of_records(tmp_path):
    path = str(tmp_path / "x.pt")
    assert lines("""
        import io, sys, torch
        torch.save({"a": torch.ones(3)}, sys.argv[1])
        reader = torch._C.PyTorchFileReader(sys.argv[1])
        print(reader.get_all_records(), len(reader.get_record("data/0")))
        file = io.BytesIO()
        with torch.serialization._open_zipfile_writer(file) as writer:
            for name in reader.get_all_records():
                raw = reader.get_record(name)
                writer.write_record(name, raw, len(raw))
        file.seek(0)
        print(torch.serialization._is_zipfile(file), torch.load(file))
        with open(sys.argv[1], "wb") as file:
            file.write(b"words")
        try:
            torch._C.PyTorchFileReader(sys.argv[1])
        except RuntimeError as error:
            print(str(error)[:44])
    """, path) == ["['data.pkl', 'byteorder', 'data/0', 'version'] 12",
                   "True {'a': tensor([1., 1., 1.])}",
                   "PytorchStreamReader failed reading zip archi"]
