"""The table has every XID of the catalogue; an operator's lines change it, or are refused."""

from __future__ import annotations

import pytest

from nodeagent.health.causes import (
    CauseKind,
    Condition,
    FaultClass,
    condition_cause,
    recovery_cause,
    xid_cause,
)
from nodeagent.health.policy import Policy, PolicyError, built_in_policy, overridden

BUILT_IN = built_in_policy()


def numbers(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


CATALOGUE = {
    FaultClass.APPLICATION: "8 11 13 25 31 32 39-41 45 60 68-72 75-77 80 82-86 88 89 94 96-105 "
    "126-135 139",
    FaultClass.IGNORED: "37 38 43 44 63 66 67 92 93 106 107 121 137 141 152 153 157 160 161",
    FaultClass.INFORMATIONAL: "154",
    FaultClass.UNTIL_VERIFIED: "144-150",
    FaultClass.UNTIL_RESET: "46 48 62 64 74 95 109 110 119 120 136 140 143 155 156 158",
    FaultClass.UNTIL_REBOOT: "79 151",
    FaultClass.UNTIL_PERSON: "54 142",
}


@pytest.mark.parametrize(
    ("fault_class", "xid"),
    [(each, xid) for each, text in CATALOGUE.items() for xid in numbers(text)],
)
def test_each_xid_has_its_class_and_words(fault_class: FaultClass, xid: int) -> None:
    rule = BUILT_IN.rule(xid_cause(xid))
    assert rule.fault_class is fault_class
    assert rule.what
    assert rule.action
    assert rule.ends


def test_there_is_no_other_xid_in_it() -> None:
    told = {xid for text in CATALOGUE.values() for xid in numbers(text)}
    assert {cause.xid for cause in BUILT_IN.lines if cause.xid} == told


def test_every_condition_and_every_recovery_action_has_a_line() -> None:
    assert all(BUILT_IN.knows(condition_cause(condition)) for condition in Condition)
    assert all(BUILT_IN.knows(recovery_cause(action)) for action in range(1, 8))
    assert BUILT_IN.rule(condition_cause(Condition.ROW_REMAP_FAILURE)).fault_class is (
        FaultClass.REPLACE_BOARD
    )


def test_an_unknown_xid_is_unfit_until_verified_and_said_to_be_unknown() -> None:
    rule = BUILT_IN.rule(xid_cause(999))
    assert rule.fault_class is FaultClass.UNTIL_VERIFIED
    assert "does not know" in rule.what


def test_an_unknown_recovery_action_is_unfit_until_verified_and_said_to_be_unknown() -> None:
    rule = BUILT_IN.rule(recovery_cause(42))
    assert rule.fault_class is FaultClass.UNTIL_VERIFIED
    assert rule.what == "recovery action 42, which this table does not know"


def test_a_line_changes_what_it_gives_and_nothing_else() -> None:
    policy = overridden(BUILT_IN, '[xid]\n79 = { action = "call Anna" }\n')
    before, after = BUILT_IN.rule(xid_cause(79)), policy.rule(xid_cause(79))
    assert (after.action, after.fault_class, after.what) == (
        "call Anna",
        before.fault_class,
        before.what,
    )
    assert policy.rule(xid_cause(119)) == BUILT_IN.rule(xid_cause(119))


def test_a_line_of_another_class_has_that_class_s_action() -> None:
    policy = overridden(BUILT_IN, '[xid]\n79 = { class = "until-reset" }\n')
    assert policy.rule(xid_cause(79)).action == BUILT_IN.classes[FaultClass.UNTIL_RESET].action
    assert policy.rule(xid_cause(79)).what == BUILT_IN.rule(xid_cause(79)).what


def test_a_line_adds_an_xid() -> None:
    policy = overridden(BUILT_IN, '[xid]\n999 = { class = "ignored" }\n')
    assert policy.rule(xid_cause(999)).fault_class is FaultClass.IGNORED
    assert not BUILT_IN.knows(xid_cause(999))


def test_an_empty_file_changes_nothing() -> None:
    assert overridden(BUILT_IN, "# nothing yet\n") == BUILT_IN


def test_the_dwell_is_the_operators() -> None:
    recovery = overridden(BUILT_IN, "[recovery]\ndwell_s = 5\nclean_readings = 1\n").recovery
    assert (recovery.dwell_s, recovery.clean_readings) == (5, 1)
    assert recovery.steady_s == BUILT_IN.recovery.steady_s


@pytest.mark.parametrize(
    ("relapses", "dwell"), [(0, 60), (1, 60), (2, 120), (5, 960), (7, 3600), (10_000, 3600)]
)
def test_each_relapse_doubles_the_dwell_up_to_the_longest(relapses: int, dwell: float) -> None:
    assert BUILT_IN.recovery.dwell_after(relapses) == dwell


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("[xid]\n\n13 = {class='nope'}", 3, "'nope' is no class"),
        ("[xid]\n8 = {class='ignored'}\n13 = {clas='ignored'}", 3, "'clas' is not one of"),
        ("[xid.14]\nclass='ignored'\nfoo=1", 3, "'foo' is not one of"),
        ("xid.79.class='x'", 1, "'x' is no class"),
        ("[xid]\n13 = 'ignored'", 2, "write 13 ="),
        ("[xid]\nthirteen = {class='ignored'}", 2, "'thirteen' is no xid"),
        ("[xid]\n-1 = {class='ignored'}", 2, "'-1' is no xid"),
        ("[xid]\n900 = {what='x'}", 2, "needs a class"),
        ("[xid]\n13 = {class='ignored', action=''}", 2, "action is a line of text"),
        ("[xid]\n13 = {class=7}", 2, "class is a line of text"),
        ("# mine\n[condition]\nfoo = {class='ignored'}", 3, "'foo' is not one of"),
        ("\n\n[zid]\n13 = {class='ignored'}", 3, "'zid' is not one of the tables"),
        ("xid = 3", 1, "'xid' is a table"),
        ("[recovery]\ndwell_s = -1", 2, "dwell_s is a number above 0"),
        ("[recovery]\ndwell_s = true", 2, "dwell_s is a number above 0"),
        ("[recovery]\ndwell_s = nan", 2, "dwell_s is a number above 0"),
        ("[recovery]\nclean_readings = 2.5", 2, "clean_readings is a whole number"),
        ("[recovery]\n# long\ndwell_s = 5000", 3, "longest_dwell_s is shorter"),
        ("[class]\nuntil-tea = {ends='x'}", 2, "'until-tea' is no class"),
        ("[xid]\n13 = {class='ignored'}\n14 = {", 3, "this is no TOML"),
        ("[xid]\n13 = {class='ignored'}\n13 = {class='ignored'}\n", 3, "this is no TOML"),
    ],
)
def test_a_wrong_line_is_named(text: str, line: int, problem: str) -> None:
    with pytest.raises(PolicyError, match=problem) as refused:
        overridden(BUILT_IN, text)
    assert refused.value.line == line
    assert str(refused.value).startswith(f"line {line}: ")


def test_every_kind_of_cause_can_be_changed() -> None:
    text = "[{}]\n{} = {{ class = 'until-person' }}\n"
    names = {
        CauseKind.XID: "13",
        CauseKind.CONDITION: "lost",
        CauseKind.RECOVERY_ACTION: "3",
    }
    for kind, name in names.items():
        policy: Policy = overridden(BUILT_IN, text.format(kind.value, name))
        changed = [cause for cause in policy.lines if policy.rule(cause) != BUILT_IN.rule(cause)]
        assert [(cause.kind, cause.name) for cause in changed] == [(kind.value, name)]
