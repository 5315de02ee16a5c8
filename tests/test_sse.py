"""Events come out of bytes the same, however the network cut them."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from mnemon_client.sse import LineSplitter, SseEvent, SseParser

ENDS = [b"\n", b"\r\n", b"\r"]
datas = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1, max_size=12).map(str.encode)
noise = st.sampled_from([b": keep-alive", b":", b"event: message", b"id: 7", b"retry: 10", b"datum: x"])


def heard(pieces: list[bytes]) -> tuple[list[bytes], bytes]:
    events = SseParser()
    return [event.data for piece in pieces for event in events.feed(piece)], events.remaining_data()


def cut(whole: bytes, places: list[int]) -> list[bytes]:
    at = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return [whole[a:b] for a, b in pairwise(at)]


@given(
    st.lists(st.tuples(st.lists(datas, min_size=1, max_size=3), st.lists(noise, max_size=2)), max_size=4),
    st.sampled_from(ENDS),
    st.lists(st.integers(0, 500), max_size=12),
)
def test_every_event_is_given_once_and_whole(
    told: list[tuple[list[bytes], list[bytes]]], end: bytes, places: list[int]
) -> None:
    whole = b"".join(
        b"".join(line + end for line in (*others, *(b"data: " + data for data in lines))) + end
        for lines, others in told
    )
    assert heard(cut(whole, places)) == ([b"\n".join(lines) for lines, _ in told], b"")


@given(
    st.lists(st.sampled_from([*ENDS, b"data: ", b"data:", b"\xc3", b"\xbc", b":", b"x", b" "]), max_size=30),
    st.lists(st.integers(0, 100), max_size=20),
)
@example([b"data: x", b"\r", b"\n", b"\r", b"\n"], [8, 10])
@example([b"data:", b"\r\n", b"\n"], [6, 7])
def test_any_cutting_of_any_bytes_gives_the_same(parts: list[bytes], places: list[int]) -> None:
    whole = b"".join(parts)
    assert heard(cut(whole, places)) == heard([whole])
    assert heard([whole[n : n + 1] for n in range(len(whole))]) == heard([whole])


def test_a_line_end_is_not_waited_for_twice() -> None:
    events = SseParser()
    assert events.feed(b"data: x\r\n\r") == [SseEvent(data=b"x")]
    assert events.feed(b"\ndata: y\r\r") == [SseEvent(data=b"y")]


def test_an_event_that_was_never_completed_can_be_looked_at() -> None:
    events = SseParser()
    assert events.feed(b"data: [DONE]") == []
    assert events.remaining_data() == b"[DONE]"
    assert heard([b"data: a\n\n: bye\n"]) == ([b"a"], b"")


def test_a_name_holds_for_one_event_and_an_id_until_the_next_one() -> None:
    text = b"event: turn\nid: 1\ndata: a\n\nevent: lost\n\ndata: b\n\nid: 2\nevent: done\ndata: c\n\n"
    assert SseParser().feed(text) == [
        SseEvent(data=b"a", name="turn", id="1"),
        SseEvent(data=b"b", id="1"),
        SseEvent(data=b"c", name="done", id="2"),
    ]


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=12), max_size=5),
    st.integers(1, 9),
)
@example(["a\u2028b\u2029c\x85d\x0be\x1cf"], 1)
def test_lines_end_at_line_feeds_alone(lines: list[str], size: int) -> None:
    splitter, whole = LineSplitter(), "".join(f"{line}\n" for line in lines).encode()
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert [line.decode() for piece in pieces for line in splitter.feed(piece)] == lines
    assert splitter.remaining_line() == b""
