"""What an election relies on: kube-apiserver and the simulator's twin treat a Lease alike."""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator

import pytest

from controller.leader.api import ClaimRefusedError, LeaseApi
from controller.leader.lease import NOBODY, Claim, Lease
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.failures import RefusedError
from simulator.apiserver.server import SimulatedApiServer
from simulator.model import Cluster
from tests.realparts.apiserver import Apiserver

LIMIT_S = 30.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture(params=["simulated", pytest.param("kube-apiserver", marks=pytest.mark.e2e)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubeApi]:
    if request.param == "kube-apiserver":
        real: Apiserver = request.getfixturevalue("apiserver")
        api = KubeApi(KubeAccess.load(str(real.kubeconfig)))
        yield api
        await api.close()
        return
    server = SimulatedApiServer(Cluster(random.Random(1)))
    await server.start()
    api = KubeApi(KubeAccess.without_credentials(server.url))
    yield api
    await api.close()
    await server.stop()


@pytest.fixture
def leases(api: KubeApi) -> LeaseApi:
    """A lease that nobody else uses: the real server keeps what others have made."""
    return LeaseApi(api, "default", f"lease-{uuid.uuid4().hex[:8]}")


def claim(holder: str, over: Lease | None, *, duration_s: int = 3, transitions: int = 0) -> Claim:
    return Claim(holder, duration_s, transitions, anew=True, over=over)


async def test_there_is_none_at_first(leases: LeaseApi) -> None:
    assert await leases.read(LIMIT_S) is None


async def test_what_was_written_is_read(leases: LeaseApi) -> None:
    made = await leases.write(claim("a_1", None), LIMIT_S)
    assert (made.holder, made.duration_s, made.transitions) == ("a_1", 3, 0)
    assert await leases.read(LIMIT_S) == made


async def test_every_write_makes_another_version(leases: LeaseApi) -> None:
    made = await leases.write(claim("a_1", None), LIMIT_S)
    renewed = await leases.write(claim("a_1", made), LIMIT_S)
    assert renewed.version != made.version
    assert await leases.read(LIMIT_S) == renewed


async def test_of_two_who_make_it_one_is_refused(leases: LeaseApi) -> None:
    made = await leases.write(claim("a_1", None), LIMIT_S)
    with pytest.raises(ClaimRefusedError):
        await leases.write(claim("b_1", None), LIMIT_S)
    assert await leases.read(LIMIT_S) == made


async def test_a_write_over_what_is_no_longer_there_is_refused(leases: LeaseApi) -> None:
    made = await leases.write(claim("a_1", None), LIMIT_S)
    taken = await leases.write(claim("b_1", made, transitions=1), LIMIT_S)
    with pytest.raises(ClaimRefusedError):
        await leases.write(claim("a_1", made), LIMIT_S)
    assert await leases.read(LIMIT_S) == taken


async def test_a_lease_can_be_given_back(leases: LeaseApi) -> None:
    made = await leases.write(claim("a_1", None), LIMIT_S)
    await leases.write(claim(NOBODY, made, duration_s=1), LIMIT_S)
    left = await leases.read(LIMIT_S)
    assert left is not None
    assert left.holder == NOBODY


async def test_a_write_over_a_deleted_one_is_refused(api: KubeApi, leases: LeaseApi) -> None:
    made = await leases.write(claim("a_1", None), LIMIT_S)
    await api.ask("DELETE", f"{LEASES}/{made.object['metadata']['name']}", limit_s=LIMIT_S)
    with pytest.raises(ClaimRefusedError):
        await leases.write(claim("a_1", made), LIMIT_S)
    assert await leases.read(LIMIT_S) is None


async def test_a_lease_of_no_duration_is_not_accepted(leases: LeaseApi) -> None:
    with pytest.raises(RefusedError) as refused:
        await leases.write(claim("a_1", None, duration_s=0), LIMIT_S)
    assert refused.value.status == 422


async def test_what_others_have_put_there_stays(api: KubeApi, leases: LeaseApi) -> None:
    made = await leases.write(claim("a_1", None), LIMIT_S)
    name = made.object["metadata"]["name"]
    labelled = dict(made.object)
    labelled["metadata"] = made.object["metadata"] | {"labels": {"team": "a"}}
    await api.ask("PUT", f"{LEASES}/{name}", labelled, limit_s=LIMIT_S)
    seen = await leases.read(LIMIT_S)
    await leases.write(claim("a_1", seen), LIMIT_S)
    after = await api.ask("GET", f"{LEASES}/{name}", limit_s=LIMIT_S)
    assert after["metadata"]["labels"] == {"team": "a"}
