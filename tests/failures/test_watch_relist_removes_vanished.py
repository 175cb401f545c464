"""Objects that were deleted while nobody watched: no event will ever tell of them."""

from __future__ import annotations

from gpupods.identity import ContainerId, NodeName, PodRef
from tests.failures.kube_script import ScriptedApiServer, following, pod, refuse, until


async def test_a_list_replaces_what_was_known() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("stays"))
        await server.put(pod("goes"))
        async with following(server) as followed:
            await until(followed.reflector.synced.is_set, "the first list")
            await server.vanish()
            server.change_unseen(delete=["uid-goes"], put=[pod("comes")])
            server.next_watches.append(refuse(410, "Gone"))
            await server.listen()
            await until(lambda: followed.names() == {"stays", "comes"}, "the second list")
            assert followed.cache.pod_of_container(ContainerId("id-of-uid-goes")) is None
            assert "goes" not in followed.cache.container_map(NodeName("node-1"))


async def test_a_pod_that_was_replaced_under_its_name_is_the_new_one() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("worker-0", uid="old"))
        async with following(server) as followed:
            await until(followed.reflector.synced.is_set, "the first list")
            await server.vanish()
            server.change_unseen(delete=["old"], put=[pod("worker-0", uid="new")])
            server.next_watches.append(refuse(410, "Gone"))
            await server.listen()
            await until(lambda: not followed.knows("old"), "the second list")
            found = followed.cache.pod_by_ref(PodRef("team", "worker-0"))
            assert found is not None
            assert found.uid == "new"
            assert len(followed.cache.pods_named("worker-0")) == 1
