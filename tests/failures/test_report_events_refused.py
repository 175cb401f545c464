"""Events cannot be written: the Node carries its report all the same, and no sooner or later."""

from tests.reportbed import bed, reporting


async def test_a_missing_right_costs_the_event_alone() -> None:
    async with bed() as there, reporting(there) as agent:
        there.server.faults.denied.add(("create", "events"))
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        await there.until(lambda: agent.reporter.status.events_lost == 1)
        assert agent.reporter.status.problem == ""
        there.server.faults.denied.clear()
        agent.xid(79, 0)
        await there.until(lambda: len(there.events) == 1)


async def test_one_that_fails_for_a_while_is_there_once() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        there.server.faults.refuse_next(503, "ServiceUnavailable")
        agent.xid(79, 0)
        await there.until_ids("0,1")
        await there.until(lambda: len(there.events) == 2)
        await there.settled()
        assert [each["reason"] for each in there.events] == ["GpuUnfit", "GpuUnfit"]
