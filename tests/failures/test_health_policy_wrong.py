"""The operator's policy is wrong: refused with its line's number, and the one in force stays."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from nodeagent.health.causes import FaultClass, xid_cause
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.policy import built_in_policy
from nodeagent.health.policy_files import PolicyFiles
from tests.healthwatch import unfit
from tests.reportbed import WELL, NodeClock, listed, xid

IGNORED = "[xid]\n79 = { class = 'ignored' }\n"


def class_of_79(files: PolicyFiles) -> FaultClass:
    return files.policy.rule(xid_cause(79)).fault_class


def changed(files: PolicyFiles) -> bool:
    """A change is heeded when it was there at two looks."""
    assert not files.refresh()
    return files.refresh()


def swapped_in(mount: Path, text: str, number: int) -> None:
    """As the kubelet changes a ConfigMap's mount: a new folder, and a link put in place of one."""
    folder = mount / f"..version-{number}"
    folder.mkdir()
    (folder / "policy.toml").write_text(text)
    (mount / "..new").symlink_to(folder.name)
    (mount / "..new").rename(mount / "..data")
    if not (mount / "policy.toml").is_symlink():
        (mount / "policy.toml").symlink_to("..data/policy.toml")


def test_it_is_refused_with_its_line_and_the_old_one_stays(tmp_path: Path) -> None:
    swapped_in(tmp_path, IGNORED, 1)
    files = PolicyFiles(tmp_path / "policy.toml")
    assert files.refresh()
    assert (class_of_79(files), files.problem) == (FaultClass.IGNORED, "")
    swapped_in(tmp_path, "[xid]\n\n79 = { class = 'until-friday' }\n", 2)
    assert changed(files)
    assert f"{tmp_path}/policy.toml, line 3: 'until-friday' is no class" in files.problem
    assert files.problem.endswith("the policy that was in force stays")
    assert class_of_79(files) is FaultClass.IGNORED
    assert not files.refresh(), "told once"


def test_when_it_is_right_again_it_is_in_force(tmp_path: Path) -> None:
    swapped_in(tmp_path, "[xid]\n79 = 3\n", 1)
    files = PolicyFiles(tmp_path / "policy.toml")
    assert files.refresh()
    assert files.policy == built_in_policy()
    swapped_in(tmp_path, IGNORED, 2)
    assert changed(files)
    assert (class_of_79(files), files.problem) == (FaultClass.IGNORED, "")


def test_one_that_is_taken_away_leaves_the_built_in_one(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(IGNORED)
    files = PolicyFiles(file)
    files.refresh()
    file.unlink()
    assert changed(files)
    assert files.policy == built_in_policy()
    assert files.problem == f"there is no {file}; the built-in policy is in force"
    assert not files.refresh(), "told once"
    file.write_text(IGNORED)
    assert changed(files)
    assert (class_of_79(files), files.problem) == (FaultClass.IGNORED, "")


@pytest.mark.parametrize("text", ["[xid]\n79 = 3\n", None])
async def test_at_the_start_it_is_logged_and_shown(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "policy.toml"
    if text is not None:
        file.write_text(text)
    monitor = HealthMonitor(policy=PolicyFiles(file))
    with capture_logs() as logged:
        await monitor.start()
    await monitor.stop()
    (problem,) = monitor.problems
    assert str(file) in problem
    assert logged == [{"event": "health.policy", "log_level": "warning", "problem": problem}]


def test_one_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    files = PolicyFiles(tmp_path)
    assert files.refresh()
    assert "cannot be read" in files.problem
    assert files.policy == built_in_policy()
    (tmp_path / "latin").write_bytes(b"# \xff\n")
    files = PolicyFiles(tmp_path / "latin")
    assert files.refresh()
    assert "cannot be read" in files.problem


STRICT = "[xid]\n13 = { class = 'until-person' }\n"


@pytest.mark.parametrize("meanwhile", [None, ""], ids=["away", "being written"])
def test_a_file_that_is_not_whole_for_a_moment_ends_no_fault(
    tmp_path: Path, meanwhile: str | None
) -> None:
    """As an editor leaves it between two of its steps."""
    file = tmp_path / "policy.toml"
    file.write_text(STRICT)
    monitor = HealthMonitor(policy=PolicyFiles(file), now=NodeClock())
    monitor._pass_time()
    monitor.tell(listed(WELL, WELL))
    monitor.tell(xid(13, 0, 1000.0))
    assert unfit(monitor.verdicts) == [0]
    file.unlink()
    if meanwhile is not None:
        file.write_text(meanwhile)
    monitor._pass_time()
    file.unlink(missing_ok=True)
    file.write_text(STRICT + "# mended\n")
    monitor._pass_time()
    monitor._pass_time()
    assert unfit(monitor.verdicts) == [0]
    assert monitor.problems == ()
