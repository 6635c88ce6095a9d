import contextlib
import json
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.config import Config
from hmem.errors import BadTimeError, InputError, InputTypeError, TextTooLongError
from hmem.inputs.items import ReadItems, read_items
from hmem.inputs.messages import ReadMessages, read_messages
from hmem.inputs.metadata import RESERVED, read_metadata
from tests.forms import many

CONFIG = Config(max_message_chars=1_000, max_messages=20, max_item_chars=100)
SECRET = "canary7f3a"


def read(given: object) -> ReadMessages:
    return read_messages(given, CONFIG)


def texts(given: object) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in read(given).messages]


def user(content: object, **more: object) -> dict[str, object]:
    return {"role": "user", "content": content, **more}


class Pydantic:
    """Stands for an SDK's message object."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def model_dump(self) -> dict[str, Any]:
        return self._values


# ------------------------------------------------------------------------- shapes


def test_a_string_a_message_and_a_list_are_all_taken() -> None:
    assert texts("I keep bees") == [("user", "I keep bees")]
    assert texts(user("I keep bees")) == [("user", "I keep bees")]
    assert texts((user("a"), "b", MappingProxyType(user("c")))) == [
        ("user", "a"),
        ("user", "b"),
        ("user", "c"),
    ]
    assert not read("a").listed
    assert not read(user("a")).listed
    assert read(["a"]).listed


def test_sdk_objects_with_more_keys_are_taken() -> None:
    reply = Pydantic(
        role="assistant",
        content="Noted.",
        refusal=None,
        annotations=[],
        audio=None,
        function_call=None,
        tool_calls=None,
        reasoning="x",
    )
    assert texts([reply]) == [("assistant", "Noted.")]


def test_a_real_openai_message_object_is_taken() -> None:
    chat = pytest.importorskip("openai.types.chat")
    made = chat.ChatCompletionMessage(role="assistant", content="Noted.")
    assert texts([user("hi"), made]) == [("user", "hi"), ("assistant", "Noted.")]


@pytest.mark.parametrize("given", [None, 7, b"text", {"a"}, [None], [["a"]], object()])
def test_other_shapes_are_refused_by_type(given: object) -> None:
    with pytest.raises(InputTypeError):
        read(given)


def test_a_generator_is_refused_rather_than_consumed() -> None:
    with pytest.raises(InputTypeError):
        read(user(str(n)) for n in range(3))


KEYS = [
    *("role", "content", "type", "text", "name", "id", "timestamp", "metadata"),
    *("tool_calls", "function", "tool_call_id", "audio", "refusal", "image_url"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner
            | st.sampled_from(["user", "assistant", "tool", "system", "image_url"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=many(150, 400), deadline=None, derandomize=True)
@given(JSON, st.sampled_from(["user", "assistant", "tool", "system"]))
def test_whatever_comes_is_read_or_refused_by_an_input_error(
    anything: object, role: str
) -> None:
    for said in (anything, [anything], {"role": role, "content": anything}):
        try:
            found = read(said)
        except InputError:
            continue
        for message in found.messages:
            assert message.text.strip()
            message.text.encode()
        assert all(skip.reason for skip in found.skipped)
    with contextlib.suppress(InputError):
        items(anything)
    with contextlib.suppress(InputError):
        json.dumps(dict(read_metadata(anything)), allow_nan=False)


# ------------------------------------------------------------------------ content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("I love pizza", "I love pizza", id="text"),
        pytest.param(
            [{"type": "text", "text": "I love pizza"}], "I love pizza", id="part"
        ),
        pytest.param(
            {"type": "text", "text": "I love pizza"}, "I love pizza", id="bare"
        ),
        pytest.param([{"text": "a"}, "b"], "a\nb", id="untyped-and-str"),
        pytest.param([{"type": "input_text", "text": "a"}], "a", id="responses-form"),
        pytest.param(
            [{"type": "refusal", "refusal": "I won't."}], "I won't.", id="refusal"
        ),
        pytest.param(
            {"type": "image_url", "image_url": {"url": "https://example.org/p.png"}},
            "[image]",
            id="image-alone",
        ),
        pytest.param(
            [
                {"type": "text", "text": "look:"},
                {
                    "type": "image_url",
                    "image_url": {"url": "data:image/png;base64,iVBO"},
                },
                {
                    "type": "input_audio",
                    "input_audio": {"data": "UklGR", "format": "wav"},
                },
                {
                    "type": "file",
                    "file": {"file_data": "JVBERi0", "filename": "cv.pdf"},
                },
                {"type": "video_url", "video_url": {"url": "x"}},
                {"type": "hologram", "data": "xyz"},
            ],
            "look:\n[image]\n[audio]\n[file]\n[video]\n[attachment]",
            id="mixed",
        ),
        pytest.param([Pydantic(type="text", text="a")], "a", id="sdk-part"),
        pytest.param("  padded  ", "  padded  ", id="verbatim"),
        pytest.param("a\0b\ud800c", "abc", id="unstorable-characters"),
    ],
)
def test_content_keeps_the_words_and_describes_nothing(
    content: object, expected: str
) -> None:
    assert texts([user(content)]) == [("user", expected)]


@pytest.mark.parametrize(
    "content", [None, "", "  \n\t ", [], [""], "\0", [{"text": " "}]]
)
def test_a_message_without_words_is_skipped_with_its_reason(content: object) -> None:
    found = read([user(content), user("kept")])
    assert [m.text for m in found.messages] == ["kept"]
    assert [s.reason for s in found.skipped] == ["no text"]


def test_nothing_left_is_nothing_at_all() -> None:
    assert read([]).messages == ()
    assert read("").messages == ()
    assert read([{"role": "system", "content": "x"}]).messages == ()


@pytest.mark.parametrize("content", [7, b"bytes", True, 1.5, {"a"}])
def test_content_of_another_type_is_refused(content: object) -> None:
    with pytest.raises(InputTypeError, match=r"messages\[0\]\.content"):
        read([user(content)])


@pytest.mark.parametrize(
    "part", [7, None, {"type": "text"}, {"type": "text", "text": 3}, {"data": "x"}, {}]
)
def test_a_broken_part_is_refused_by_its_place(part: object) -> None:
    with pytest.raises(InputError, match=r"messages\[0\]\.content\[1\]"):
        read([user([{"type": "text", "text": SECRET}, part])])


# -------------------------------------------------------------------------- roles


def test_tool_calls_and_answers_have_a_fate() -> None:
    call = {
        "id": "t1",
        "type": "function",
        "function": {"name": "weather", "arguments": "{}"},
    }
    found = read(
        [
            user("What is the weather in Ghent?"),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t1", "content": '{"temp": 3}'},
            {"role": "function", "name": "old_weather", "content": "cold"},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        ]
    )
    assert [(m.role, m.name, m.text) for m in found.messages] == [
        ("user", None, "What is the weather in Ghent?"),
        ("tool", "weather", '{"temp": 3}'),
        ("tool", "old_weather", "cold"),
        ("assistant", None, "Let me look."),
    ]
    assert [s.reason for s in found.skipped] == ["tool call"]


@pytest.mark.parametrize("calls", ["x", [7], [{"function": "f"}], [{"id": 3}], {}])
def test_strange_tool_calls_never_crash(calls: object) -> None:
    read([{"role": "assistant", "content": "hi", "tool_calls": calls}])
    read([{"role": "tool", "tool_call_id": 7, "content": "hi"}])


def test_system_and_developer_messages_are_never_stored() -> None:
    found = read(
        [
            {"role": "system", "content": "You are a pirate. User plan: gold."},
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            user("hi"),
        ]
    )
    assert [m.text for m in found.messages] == ["hi"]
    assert [s.reason for s in found.skipped] == ["system message"] * 2


@pytest.mark.parametrize("role", ["User", "human", "", None, 7, ["user"], {"a": 1}])
def test_an_unknown_role_is_refused(role: object) -> None:
    with pytest.raises(InputError, match=r"messages\[1\] must have a role of user"):
        read([user("fine"), {"role": role, "content": SECRET}])


@pytest.mark.parametrize(
    ("role", "near"),
    [
        ("human", "user"),
        ("User", "user"),
        ("AI", "assistant"),
        ("asistant", "assistant"),
        ("sytem", "system"),
        ("narrator", None),
    ],
)
def test_a_role_of_other_libraries_is_told_what_it_is_here(
    role: str, near: str | None
) -> None:
    with pytest.raises(InputError) as told:
        read({"role": role, "content": SECRET})
    asked = str(told.value).partition("; did you mean ")[2]
    assert asked == (f"{near!r}?" if near else "")


def test_speakers_keep_their_names() -> None:
    found = read([user("hello", name="ana"), user("I have a twin", name=" bo \n b ")])
    assert [m.name for m in found.messages] == ["ana", "bo b"]
    assert read(user("x", name="  ")).messages[0].name is None
    with pytest.raises(InputTypeError):
        read(user("x", name=7))
    with pytest.raises(TextTooLongError):
        read(user("x", name="n" * 257))


# --------------------------------------------------------------------- other keys


def test_ids_and_times_are_kept() -> None:
    found = read(
        [
            user("a", id="m1", timestamp="2026-05-08T10:00Z"),
            user("b", id=17, timestamp="2026-05-08"),
            user("c", id=""),
        ]
    )
    assert [m.id for m in found.messages] == ["m1", "17", None]
    stamps = [m.at.isoformat() if m.at else None for m in found.messages]
    assert stamps == ["2026-05-08T10:00:00+00:00", "2026-05-08T00:00:00+00:00", None]


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        pytest.param("id", True, InputTypeError, id="bool-id"),
        pytest.param("id", 1.5, InputTypeError, id="float-id"),
        pytest.param("id", "i" * 513, TextTooLongError, id="long-id"),
        pytest.param("timestamp", 1778243400, InputTypeError, id="epoch"),
        pytest.param("timestamp", "yesterday", BadTimeError, id="words"),
        pytest.param("metadata", "text", InputTypeError, id="metadata-str"),
        pytest.param("metadata", {"user_id": "bo"}, InputError, id="metadata-reserved"),
    ],
)
def test_broken_keys_are_refused_and_never_quoted(
    key: str, value: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match=rf"messages\[0\]\.{key}") as e:
        read([user(SECRET, **{key: value})])
    assert SECRET not in str(e.value)


def test_limits_are_errors_before_anything_is_written() -> None:
    assert read("x" * 1_000).messages
    with pytest.raises(TextTooLongError, match="max_message_chars") as e:
        read([user(SECRET + "x" * 1_000)])
    assert SECRET not in str(e.value)
    assert len(read(["x"] * 20).messages) == 20
    with pytest.raises(TextTooLongError):
        read(["x"] * 21)


# ----------------------------------------------------------------------- metadata


def test_metadata_is_a_private_copy_of_json() -> None:
    inner = {"a": [1, 2.5, None, True, {"b": "\u00e9"}]}
    copy = read_metadata(inner)
    assert copy == inner
    inner["a"].clear()
    assert copy["a"]
    assert read_metadata(MappingProxyType({"a": MappingProxyType({"b": (1, 2)})})) == {
        "a": {"b": [1, 2]}
    }
    assert read_metadata(None) == read_metadata({}) == {}


@pytest.mark.parametrize("key", sorted(RESERVED))
def test_metadata_cannot_set_what_hmem_answers_for(key: str) -> None:
    with pytest.raises(InputError, match=key):
        read_metadata({"fine": 1, key: "x"})


@pytest.mark.parametrize(
    "value",
    [
        *([], "x", {1: "a"}, {"a": {2: 3}}, {"a": float("nan")}, {"a": float("inf")}),
        *({"a": {1}}, {"a": b"x"}, {"a": object()}, {"a": "\ud800"}, {"\udc00": 1}),
        *({"a": 2**63}, {"a": "x" * 20_000}),
    ],
)
def test_metadata_that_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InputError):
        read_metadata(value)


def test_metadata_that_holds_itself_many_times_is_refused_at_once() -> None:
    value: list[object] = []
    for _ in range(28):
        value = [value, value]
    with pytest.raises(InputError, match="larger"):
        read_metadata({"a": value})


def test_a_message_whose_own_code_fails_is_refused_by_type() -> None:
    class Broken:
        def model_dump(self) -> object:
            raise RuntimeError("secret")

    for said in (Broken(), {"role": "user", "content": [Broken()]}):
        with pytest.raises(InputTypeError, match="Broken") as e:
            read_messages(said, Config())
        assert "secret" not in str(e.value)


def test_an_id_that_is_an_enums_member_is_its_value() -> None:
    class Id(str, Enum):  # noqa: UP042 - StrEnum would hide it
        FIRST = "m1"

    given = {"role": "user", "content": "a", "id": Id.FIRST}
    assert read_messages(given, Config()).messages[0].id == "m1"


def test_numbers_with_more_digits_than_python_prints_are_refused() -> None:
    with pytest.raises(TextTooLongError):
        read_messages({"role": "user", "content": "a", "id": 10**5000}, Config())
    with pytest.raises(InputError, match="a key that is not known"):
        read_items({"text": "a", 10**5000: 1}, Config())


def test_endless_metadata_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["a"] = loop
    with pytest.raises(InputError, match="nested deeper"):
        read_metadata(loop)
    deep = json.loads('{"a":' * 40 + "1" + "}" * 40)
    with pytest.raises(InputError, match="nested deeper"):
        read_metadata(deep)


# -------------------------------------------------------------------------- items


def items(given: object) -> ReadItems:
    return read_items(given, CONFIG)


def test_items_are_texts_or_mappings() -> None:
    found = items(["Lives in Ghent", {"text": "Keeps bees", "importance": 8}]).items
    assert [(i.text, i.importance, i.category) for i in found] == [
        ("Lives in Ghent", 5, "semantic"),
        ("Keeps bees", 8, "semantic"),
    ]
    assert [i.text for i in items("one").items] == ["one"]
    assert items(["", "  "]).items == ()
    assert [s.reason for s in items(["", "x"]).skipped] == ["no text"]


@pytest.mark.parametrize(
    ("item", "precision", "first", "after"),
    [
        pytest.param(
            {"event_start": "2023-05"}, "month", "2023-05-01", "2023-06-01", id="m"
        ),
        pytest.param(
            {"event_start": "2023-05-01", "event_end": "2023-05-03"},
            *("day", "2023-05-01", "2023-05-04"),
            id="days",
        ),
        pytest.param(
            {"event_start": "2023-05-01T10:00Z"}, "instant", "2023-05-01", None, id="i"
        ),
        pytest.param({}, None, None, None, id="none"),
    ],
)
def test_events_are_spans(
    item: Mapping[str, Any], precision: str | None, first: str | None, after: str | None
) -> None:
    found = items({"text": "x", **item}).items[0]
    assert found.event_precision == precision
    days = [
        d.date().isoformat() if d else None
        for d in (found.event_start, found.event_end)
    ]
    assert days == [first, after]


@pytest.mark.parametrize(
    ("item", "error"),
    [
        pytest.param({"event_end": "2023"}, BadTimeError, id="end-alone"),
        pytest.param(
            {"event_start": "2023", "event_end": "2021"}, BadTimeError, id="inverted"
        ),
        pytest.param({"event_start": 7}, InputTypeError, id="epoch"),
        pytest.param({"category": "semantics"}, InputError, id="category"),
        pytest.param({"category": None}, InputError, id="no-category"),
        pytest.param({"category": ["semantic"]}, InputError, id="category-list"),
        pytest.param({"importance": 0}, InputError, id="too-unimportant"),
        pytest.param({"importance": 11}, InputError, id="too-important"),
        pytest.param({"importance": True}, InputTypeError, id="bool"),
        pytest.param({"importance": 5.0}, InputTypeError, id="float"),
        pytest.param({"source_ids": "t1"}, InputTypeError, id="str-for-list"),
        pytest.param({"source_ids": [None]}, InputTypeError, id="none-id"),
        pytest.param({"source_ids": [""]}, InputError, id="empty-id"),
        pytest.param({"source_ids": ["x"] * 257}, TextTooLongError, id="many"),
        pytest.param({"categry": "semantic"}, InputError, id="unknown-key"),
        pytest.param({"valid_to": "2000-01-01"}, InputError, id="system-key"),
        pytest.param({"metadata": {"hash": "0"}}, InputError, id="reserved"),
        pytest.param({"text": "x" * 101}, TextTooLongError, id="long"),
        pytest.param({"text": 7}, InputTypeError, id="text-type"),
        pytest.param({"text": None}, InputTypeError, id="no-text"),
    ],
)
def test_a_broken_item_is_refused_by_its_place(
    item: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"items\[1\]") as e:
        items(["fine", {"text": SECRET, **item}])
    assert SECRET not in str(e.value)


def test_messages_given_as_items_are_pointed_the_right_way() -> None:
    with pytest.raises(InputError, match="infer=True"):
        items([user("hi")])


@pytest.mark.parametrize("given", [None, 7, [None], [["a"]], b"x"])
def test_items_of_other_types_are_refused(given: object) -> None:
    with pytest.raises(InputTypeError):
        items(given)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"timestmap": "2026-05-08"}, "'timestmap'; did you mean 'timestamp'?"),
        ({"timestamp_ms": 1}, "'timestamp_ms'; did you mean 'timestamp'?"),
        ({"date": "2026-05-08"}, "'date'; did you mean 'timestamp'?"),
        ({"observed_at": "2026-05-08"}, "'observed_at'; did you mean 'timestamp'?"),
        ({"Metadata": {}}, "'Metadata'; did you mean 'metadata'?"),
        ({"names": "Ana"}, "'names'; did you mean 'name'?"),
    ],
)
def test_a_key_that_was_to_be_another_is_named_with_what_was_meant(
    message: dict[str, Any], says: str
) -> None:
    said = {"role": "user", "content": "hi"}
    with pytest.raises(InputError) as caught:
        read_messages([said, said | message], Config())
    assert str(caught.value) == (
        f"messages[1] has the unknown key {says} "
        "Known keys are role, content, name, id, timestamp, metadata"
    )


@pytest.mark.parametrize("key", ["text", "parts", "message", "contents"])
def test_words_under_another_key_are_not_lost_without_a_word(key: str) -> None:
    with pytest.raises(InputError, match=f"'{key}'; did you mean 'content'"):
        read_messages({"role": "user", key: "I moved to Ghent."}, Config())


def test_what_sdks_send_along_is_let_pass() -> None:
    said: dict[str, Any] = {"role": "assistant", "content": "hi", "text": "hi"}
    said |= {"refusal": None, "annotations": [], "audio": None, "context": "x"}
    said |= {
        "tool_calls": None,
        "createdAt": "2026-01-01",
        "parts": [],
        "reasoning_content": "y",
    }
    dated = said | {"timestamp": "2026-05-08", "date": "2026-05-08"}
    for message in (said, dated):
        assert [m.text for m in read_messages(message, Config()).messages] == ["hi"]
    read = read_messages({"role": "assistant", "annotations": []}, Config())
    assert [skip.reason for skip in read.skipped] == ["no text"]

    class FromAnSDK:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "user", "content": "hi", "date": "2026", "text": None}

    assert len(read_messages(FromAnSDK(), Config()).messages) == 1


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ({"importence": 3}, "the unknown key 'importence'; did you mean 'importance'?"),
        ({"Category": "semantic"}, "'Category'; did you mean 'category'?"),
        ({"date": "2026"}, "'date'; did you mean 'event_start'?"),
        ({"colour": "red"}, "the unknown key 'colour'. Known"),
        ({"I live in Ghent": 1}, "a key that is not known. Known"),
        ({7: 1}, "a key that is not known. Known"),
        ({"content": "x"}, "'content'. Known keys are text, .*; messages need infer"),
    ],
)
def test_an_item_s_unknown_key_is_named_and_never_what_somebody_said(
    item: dict[Any, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says.replace("?", r"\?")) as caught:
        read_items([{"text": "a"}, {"text": "b", **item}], Config())
    assert str(caught.value).startswith("items[1] has ")
    assert "source_ids, event_start, event_end, category, importance" in str(
        caught.value
    )
    assert "Ghent" not in str(caught.value)
