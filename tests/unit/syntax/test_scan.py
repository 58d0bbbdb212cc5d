import pytest

from service.policy.syntax.scan import language_of, numerals


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("c", "int a1 = 10; // 20\n/* 30 */ float b = 1.5e-3f;", ["10", "1.5e-3"]),
        ("c", 'char *s = "4 \\" 5"; x = y - 6; z = -7;', ["6", "-7"]),
        ("c", "x = 0xFF + .5 - a.b;", ["0xFF", ".5"]),
        ("rust", "for i in 0..10 { t.0 += 2u32; }", ["0", "10", "2"]),
        ("ruby", "3.times { |i| puts i } # 4", ["3"]),
        ("lua", "local x = 1 -- 2\n--[[ 3\n4 ]] y = 5", ["1", "5"]),
        ("fortran", "x = 1.0 ! 2.0", ["1.0"]),
        ("scheme", "(define x 1) ; 2", ["1"]),
        ("matlab", "x = [1 2]; % 3", ["1", "2"]),
        ("javascript", "let a = `1 ${2}`; let b = 3;", ["3"]),
        ("klingon", "x = 1 # 2\ny = 3 // 4", ["1", "3"]),
        ("python", "x = '''1\n2''' + 3  # 4", ["3"]),
    ],
)
def test_numerals_stand_outside_strings_comments_and_names(language: str, text: str, found: list[str]) -> None:
    assert [numeral.text for numeral in numerals(text, language)] == found
    assert [text[numeral.start : numeral.end] for numeral in numerals(text, language)] == found


def test_numerals_know_the_brackets_around_them() -> None:
    first, second, third = numerals("f(1, [2, 3])", "c")
    assert first.groups == (1,)
    assert second.groups == third.groups == (1, 5)


def test_prose_is_left_alone_and_a_suffix_says_the_language() -> None:
    assert language_of("README.md", "python") is None
    assert language_of("kernel.cu", "python") == "cuda"
    assert language_of("main", "Rust") == "rust"
