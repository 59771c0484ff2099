"""Encodings: detected, given, and wrong."""

import codecs
import io
import random

import polars as pl
import pytest
from tests.every import every

import shoal.io.charset as module
from shoal.errors import DataError, ParameterError
from shoal.io.charset import to_utf8

WEST = "name,city\nJosé,Málaga\nJürgen,Gießen\nSøren,Århus\nZoë,“l’été” – 5 €\n"  # noqa: RUF001


def utf8(data, encoding=None):
    return to_utf8(data, encoding=encoding, source="it").decode()


@every("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_detected(encoding):
    assert utf8(WEST.encode(encoding)) == WEST


@every("text", ["a\ncafé\n", "a\n¿Qué?\n", "a\nÅse\nÆble\n", "a\n12 m², 5 £\n", "a\nÉmile\n"])
def test_short_western_text_in_latin_1(text):
    assert utf8(text.encode("latin-1")) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("имя,город\nИван,Москва\nАнна,Казань\nОльга,Нижний Новгород\n", "cp1251"),  # noqa: RUF001
        ("imię,miasto\nŁukasz,Łódź\nŻaneta,Kraków\nMałgorzata,Białystok\n", "cp1250"),
        ("名前,都市\n田中,東京\n鈴木,大阪\n", "shift_jis"),
    ],
)
def test_other_scripts(text, encoding):
    assert utf8(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("氏名,病名\n田中太郎,胃潰瘍\n鈴木花子,糖尿病\nﾔﾏﾀﾞ ﾀﾛｳ,ｲﾝﾌﾙｴﾝｻﾞ\n", "cp932"),
        ("氏名,病名\n田中太郎,胃潰瘍\n鈴木はな,高血圧のうたがい\nタロウ,インフルエンザ\n", "euc_jp"),
        ("氏名,病名\n田中太郎,胃潰瘍\n", "iso2022_jp"),
        ("姓名,城市\n张伟,北京\n王芳,上海\n李娜,广州\n", "gb18030"),
        ("姓名,城市\n張偉,臺北\n王芳,高雄\n", "big5"),
        ("jméno,město\nJiří,Plzeň\nLenka,Brno\nTomáš,Ústí nad Labem\n", "cp1250"),
        ("név,város\nÁrpád,Győr\nÖdön,Szűrös\n", "cp1250"),
        ("isim,şehir\nAyşe,İstanbul\nÇağlar,Eskişehir\n", "cp1254"),
        ("όνομα,πόλη\nΓιώργος,Αθήνα\nΜαρία,Θεσσαλονίκη\n", "cp1253"),  # noqa: RUF001
        ("nom,ville\nRenée,Orléans\nFrançois,Nîmes\n", "cp850"),
        ("Name,Stadt\nMüller,Köln\nGroß,Düsseldorf\n", "mac_roman"),
        ("имя,город\nИван,Москва\nАнна,Казань\nОльга,Нижний Новгород\n", "koi8_r"),  # noqa: RUF001
    ],
)
def test_what_is_not_utf_8_is_read_rightly_and_said(text, encoding, caplog):
    assert utf8(text.encode(encoding)) == text
    assert "it is not UTF-8; it is read as" in caplog.text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("name,city\nA,東京\nB,Osaka\n", "shift_jis"),
        ("name,city\nA,东京\n", "gb18030"),
        ("name,city\nA,Москва\n", "cp1251"),
        ("name,city\nA,Москва\n", "koi8_r"),
    ],
)
def test_who_is_not_sure_refuses(text, encoding):
    with pytest.raises(DataError, match=r"line 2 is the first.*Name it, as in") as raised:
        utf8(text.encode(encoding))
    assert "name" not in str(raised.value)
    assert utf8(text.encode(encoding), encoding) == text


@pytest.mark.parametrize("lines", [b"caf\xc3\xa9\nx\xe9y\n", b"x\xe9y\n" + b"-\n" * 50_000 + "é\n".encode()])
def test_a_lone_bad_byte_of_utf_8_is_an_error_with_its_line(lines):
    line = lines[: lines.index(b"x\xe9")].count(b"\n") + 2
    with pytest.raises(DataError, match=f"Line {line} of it is not valid utf-8"):
        utf8(b"a\n" + lines)


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE), ("utf-8", codecs.BOM_UTF8)],
)
def test_a_mark_is_no_part_of_the_text(encoding, mark):
    assert utf8(mark + WEST.encode(encoding), encoding) == WEST
    assert utf8(mark + WEST.encode(encoding)) == WEST


@every("encoding", ["utf-16-le", "cp1251", "latin-1", "UTF8", "ascii"])
def test_given(encoding):
    text = "a\nplain\n"
    assert utf8(text.encode(encoding), encoding) == text


@pytest.mark.parametrize(
    ("data", "encoding", "line"),
    [
        (b"a\nb\nSECRET\xff\n", "utf-8", 3),
        ("a\nSECRET é\n".encode(), "ascii", 2),
        (b"a\n\x81SECRET\n", "cp1252", 2),
        ("a\nb\n".encode("utf-16") + b"\x00\xdc", "utf-16", 3),
    ],
)
def test_bytes_that_are_no_text_of_the_given_encoding(data, encoding, line):
    with pytest.raises(DataError, match=rf"Line {line} of it is not valid") as raised:
        utf8(data, encoding)
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize("unknown", ["no-such", "rot13", "base64", ""])
def test_unknown_encodings(unknown):
    with pytest.raises(ParameterError, match="'encoding' parameter of read must be"):
        utf8(b"a\nb\n", unknown)


def test_damaged_utf_8_is_not_taken_for_another_encoding():
    data = WEST.encode() * 3 + b"x\xe9y\n"
    with pytest.raises(DataError, match="Line 16 of it is not valid utf-8"):
        utf8(data)


def test_the_odd_byte_is_found_across_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 5)
    chance = random.Random(3)
    for _ in range(200):
        text = "".join(chance.choice("aé€😀\n") for _ in range(20)).encode()
        at = chance.randrange(len(text) + 1)
        data = text[:at] + b"\xff" + text[at:]
        with pytest.raises(UnicodeDecodeError) as whole:
            data.decode()
        with pytest.raises(UnicodeDecodeError) as blockwise:
            module._check_utf8(data, "utf-8")
        assert blockwise.value.start == whole.value.start
        module._check_utf8(text, "utf-8")


def test_a_renamed_binary_file_is_no_text_of_another_continent(caplog):
    written = io.BytesIO()
    pl.DataFrame({"sex": ["f", "m"] * 20, "disease": ["flu", "gout", "asthma", "flu"] * 10}).write_parquet(written)
    with pytest.raises(DataError, match="is a binary file"):
        utf8(written.getvalue())
    assert not caplog.text
    assert utf8("name\nJos\u00e9\0, M\u00e1laga\n".encode("cp1252") + b"x" * 200).count("\0") == 1
