"""The agent may not patch its Node: that is told, once in the log, and mended without a restart."""

from structlog.testing import capture_logs

from tests.reportbed import bed, reporting


async def test_missing_rights_are_named_and_noticed_when_they_are_given() -> None:
    with capture_logs() as logs:
        async with bed() as there, reporting(there) as agent:
            there.server.faults.denied.add(("patch", "nodes/status"))
            agent.read()
            agent.xid(79, 1)
            await there.until(lambda: agent.reporter.status.failed > 3)
            problem = agent.reporter.status.problem
            assert "403" in problem
            assert "list and watch of nodes and patch of nodes/status" in problem
            there.server.faults.denied.clear()
            await there.until_ids("1")
    assert len([each for each in logs if each["event"] == "report.failed"]) == 1


async def test_without_the_right_to_follow_the_node_nothing_is_written_blindly() -> None:
    async with bed() as there:
        there.server.faults.denied.add(("list", "nodes"))
        async with reporting(there) as agent:
            agent.read()
            agent.xid(79, 1)
            await there.until(lambda: "list and watch of nodes" in agent.reporter.status.problem)
            assert there.patches == 0
            there.server.faults.denied.clear()
            await there.until_ids("1")
