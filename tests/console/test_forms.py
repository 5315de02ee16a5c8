"""A form knows what was typed into it, and which field a fault belongs to."""

import pytest

from mnemon.console.forms import FormState, check_fields, field_of, form_refusal
from mnemon.errors import Conflict, FieldFault, Invalid


@pytest.mark.parametrize(
    ("pointer", "field"),
    [("/name", "name"), ("/cardType", "card_type"), ("/team/0", "team"), ("/adapterConfig/model", "model"), ("", "")],
)
def test_a_pointer_names_a_field(pointer: str, field: str) -> None:
    assert field_of(pointer) == field


def test_a_fresh_form_shows_what_the_page_holds() -> None:
    sheet = FormState("/agents", None)
    assert sheet.value("name", "Kestrel") == "Kestrel"
    assert sheet.value("note", None) == ""
    assert sheet.ticked("memoryEnabled", True)
    assert sheet.marks("name") == sheet.fault("name") == ""


def test_a_refused_form_shows_what_was_typed_and_says_what_is_wrong_there() -> None:
    wrong = Invalid(
        "Both.", faults=(FieldFault(pointer="/name", detail="<Too long>"), FieldFault(pointer="/team/1", detail="No."))
    )
    sheet = FormState("/agents", form_refusal("/agents", {"name": "x", "schedule": ""}, wrong))
    assert sheet.value("name", "Kestrel") == "x"
    assert sheet.value("schedule", "0 7 * * *") == ""  # emptied by hand, so it stays empty
    assert not sheet.ticked("memoryEnabled", True)  # a box that was cleared is not sent
    assert sheet.fault("name") == '<span class="fault">&lt;Too long&gt;</span>'
    assert "autofocus" in sheet.marks("team")
    assert FormState("/elsewhere", form_refusal("/agents", {"name": "x"}, wrong)).value("name", "y") == "y"


def test_what_names_no_field_is_said_beside_the_one_it_is_about() -> None:
    sheet = FormState("/x", form_refusal("/x", {}, Conflict("Not now."), "outcome"))
    assert sheet.fault("outcome") == '<span class="fault">Not now.</span>'
    assert form_refusal("/x", {}, Conflict("Not now.")).faults == {}


def test_every_field_is_checked_before_the_form_is_refused() -> None:
    check_fields(name="", days="")
    with pytest.raises(Invalid) as refused:
        check_fields(name="Give a name.", days="Count days.", user="")
    assert [fault.pointer for fault in refused.value.faults] == ["/name", "/days"]
