"""How a CSV is written: delimiters, comments, encodings, decimal commas; and Zeek's logs."""

import pytest

from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.readers import csv_rows
from tests.pipeline.files.conftest import inferred


@pytest.mark.parametrize(
    ("name", "content", "types", "note"),
    [
        ("a.csv", "a;b\n1;2,5\n", ["a", "b"], "a semicolon separates the fields"),
        ("a.csv", "a;b, c\n1;2\n", ["a", "b, c"], "a semicolon separates the fields"),
        ("a.txt", "a\tb\n1\t2\n", ["a", "b"], "a tab separates the fields"),
        ("a.csv", "a|b\n1|2\n", ["a", "b"], "a bar separates the fields"),
        ("a.tsv", "a,b\n1,2\n", ["a", "b"], "a comma separates the fields"),
        ("a.csv", "a,b\nx;y,z;w\n", ["a", "b"], ""),
        ("a.csv", "a\nx;y\nz;w\n", ["a"], ""),
        ("a.csv", "# a,b\n1,2\n", ["a", "b"], "the first column is called 'a'"),
        ("a.csv", "a;b\n1\n2;3\n", ["a;b"], "pass --delimiter ';'"),
    ],
)
def test_delimiter_and_header_are_told_by_the_first_records(write, name, content, types, note):
    """The one that makes records of equal length; a note where it is not the usual one."""
    found = inferred(write(name, content))
    assert types == list(found.types)
    assert note in " ".join(found.notes)


def test_wrong_delimiter_is_refused_with_the_remedy(write):
    """Asked for a comma, a file of semicolons with decimal commas does not fit."""
    path = write("a.csv", "a;b\n1;2,5\n")
    with pytest.raises(DataFileError, match="Pass the --delimiter"):
        inferred(path, delimiter=",")


def test_decimal_commas_are_hinted_at_and_read(write):
    """Numbers with commas stay text with a note, and become numbers by the option; points are none of them then."""
    path = write("a.csv", "x;y\n2,5;1.5\n-3;2.5\n")
    found = inferred(path)
    assert {"x": "string", "y": "float64"} == found.types
    assert any("--decimal-comma reads such numbers" in note for note in found.notes)
    found = inferred(path, decimal_comma=True)
    assert ({"x": "float64", "y": "string"}, 2.5) == (found.types, found.rows[0][0])


@pytest.mark.parametrize("end", ["", "\n"])
def test_quote_that_never_closes_is_refused_with_its_line(write, end):
    """It would make one field of all lines behind it; an inch sign within a field opens nothing."""
    with pytest.raises(DataFileError, match="never closes") as caught:
        inferred(write("a.csv", f'a,b\n1,5"\n2,"x\n3,y{end}'))
    assert 3 == caught.value.line
    assert [(1, '5"'), (2, "x")] == inferred(write("b.csv", f'a,b\n1,5"\n2,"x"{end}')).rows


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("block_bytes", [48, 1 << 20])
def test_comments_are_left_out_and_quotes_in_them_mean_nothing(
    write, monkeypatch, line_end, block_bytes
):
    """Before the header, between records, at the end; within quotes a line is a value. Lines are still counted."""
    monkeypatch.setattr(csv_rows, "BLOCK_BYTES", block_bytes)
    lines = ['# made "by x', "a,b", "# one", '1,"x', "# kept", 'y"', '# two "', "2,#z", "# end"]
    found = inferred(write("a.csv", line_end.join(lines)), comment="#")
    assert [(1, f"x{line_end}# kept{line_end}y"), (2, "#z")] == found.rows
    path = write("b.csv", line_end.join([*lines, "3"]))
    with pytest.raises(DataFileError, match="expected 2 fields") as caught:
        inferred(path, comment="#")
    assert 10 == caught.value.line
    with pytest.raises(DataFileError, match="--comment '#'"):
        inferred(write("c.csv", "# made by x\na,b\n1,2\n"))


@pytest.mark.parametrize(
    ("encoding", "charset"),
    [("utf-8-sig", None), ("utf-16", None), ("latin-1", "latin-1"), ("utf-16-le", "utf-16-le")],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.ndjson", "a.json"])
def test_encodings_are_read_as_marked_or_as_asked(write, name, encoding, charset):
    """The first name has no mark in it, letters outside ASCII come out."""
    content = "né,b\né,2\n" if "csv" in name else '{"né":"é","b":2}\n'
    found = inferred(write(name, content.encode(encoding)), charset=charset)
    assert ({"né": "string", "b": "int64"}, [("é", 2)]) == (found.types, found.rows)


def test_encoding_that_is_not_the_files_is_refused(write):
    """Latin-1 without the option, and UTF-16 that ends within a character."""
    path = write("a.csv", "a\né\n".encode("latin-1"))
    with pytest.raises(DataFileError, match="UTF-8") as caught:
        inferred(path)
    assert (2, True) == (caught.value.line, "--charset" in caught.value.hint)
    with pytest.raises(DataFileError, match="not utf-16"):
        inferred(write("b.csv", "a\n1\n".encode("utf-16")[:-1]))


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_line_without_an_end_does_not_fill_the_memory(write, name):
    """Refused after a megabyte or so, as the first line and as a later one."""
    begin = "a,b\n1,2\n" if name == "a.csv" else '{"a":1}\n'
    for front, line in (("", 1), (begin, begin.count("\n") + 1)):
        with pytest.raises(DataFileError, match="is longer than") as caught:
            inferred(write(name, front + "x" * (3 << 20)))
        assert line == caught.value.line


ZEEK = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tx\n"
    "#fields\tts\tid.orig_h\tport\tok\trtt\tnote\n#types\ttime\taddr\tport\tbool\tinterval\tstring\n"
    '1521911720.615923\t10.0.0.1\t443\tT\t0.5\t"quoted\n'
    "1521911721.000001\t-\t-\tF\t-\t(empty)\n"
    "#close\t2018\n"
)


def test_log_of_zeek_says_its_types_itself(write):
    """Fields, types, NULLs and epoch come from the header; quotes mean nothing, and the last line is no row."""
    found = inferred(write("dns.log.gz", ZEEK), time="ts")
    assert {
        "ts": "timestamp",
        "id.orig_h": "string",
        "port": "int64",
        "ok": "bool",
        "rtt": "float64",
        "note": "string",
    } == found.types
    assert [
        ("2018-03-24 17:15:20.615923Z", "10.0.0.1", 443, True, 0.5, '"quoted'),
        ("2018-03-24 17:15:21.000001Z", None, None, False, None, "(empty)"),
    ] == found.rows
    with pytest.raises(DataFileError, match="no header of Zeek"):
        inferred(write("other.log", "a line\n"))
