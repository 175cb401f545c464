"""`helm install`, upgrade, rollback and uninstall of the chart, on a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.manifests.helm import CHART, RELEASE, HelmError, values_flags
from tests.manifests.rendering import (
    NAMESPACE,
    kustomize,
    objects,
    one,
    pod_template,
    variants,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.manifests.admitting import AdmittingApiserver
    from tests.manifests.helm import Helm
    from tests.realparts.objects import Json

pytestmark = pytest.mark.e2e

# Helm's record of the release, and what the server makes of a Service.
_NOT_OF_THE_CHART = ("Secret/", "IPAddress/")


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left(cluster: AdmittingApiserver) -> Iterator[None]:
    before = cluster.everything()
    yield
    assert cluster.everything() == before


@pytest.fixture(autouse=True)
def _uninstalled(cluster: AdmittingApiserver, helm_there: Helm) -> Iterator[None]:
    yield
    helm_there.uninstall("--ignore-not-found")
    cluster.forget_namespace()  # Helm makes it and leaves it


def test_it_installs_what_kustomize_applies_and_takes_it_away(
    cluster: AdmittingApiserver, helm_there: Helm
) -> None:
    before = cluster.everything()
    helm_there.install()
    made = cluster.everything() - before
    expected = {
        f"{each['kind']}/{each['metadata'].get('namespace', '')}/{each['metadata']['name']}"
        for each in objects(kustomize(variants()[0].folder))
    }
    assert {each for each in made if not each.startswith(_NOT_OF_THE_CHART)} == expected
    helm_there.uninstall()
    assert cluster.everything() - before == {f"Namespace//{NAMESPACE}"}


def test_one_kind_of_cluster_is_upgraded_to_another(
    cluster: AdmittingApiserver, helm_there: Helm
) -> None:
    base, *others = variants()
    helm_there.install()
    for variant in (*others, base):
        helm_there.upgrade(*values_flags(*variant.values), "--reset-values")
        wanted = one(objects(kustomize(variant.folder)), "DaemonSet", "gpupods-nodeagent")
        assert _as_set(_get(cluster, "daemonsets/gpupods-nodeagent")) == _as_set(wanted), variant


def test_what_it_renders_is_valid_to_the_last_field(
    cluster: AdmittingApiserver, helm_there: Helm
) -> None:
    cluster.kubectl("create", "namespace", NAMESPACE)
    for variant in variants():
        rendered = helm_there.template(*values_flags(*variant.values))
        words = ("apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors")
        lines = cluster.kubectl(*words, "-f", "-", stdin=rendered).splitlines()
        assert len(lines) == len(objects(rendered))


def test_every_value_can_be_set_at_once(cluster: AdmittingApiserver, helm_there: Helm) -> None:
    cluster.kubectl("create", "namespace", NAMESPACE)
    rendered = helm_there.template(f"--values={CHART.parent / 'chart' / 'values.yaml'}", *_MANY)
    words = ("apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors")
    assert cluster.kubectl(*words, "-f", "-", stdin=rendered)
    daemonset = next(each for each in objects(rendered) if each["kind"] == "DaemonSet")
    deployment = next(each for each in objects(rendered) if each["kind"] == "Deployment")
    agent = daemonset["spec"]["template"]["spec"]["containers"][0]
    controller = deployment["spec"]["template"]["spec"]["containers"][0]
    assert agent["image"] == "registry.example/agent:9"
    assert agent["ports"] == [{"name": "grpc", "containerPort": 50051, "hostPort": 7000}]
    assert controller["env"] == [
        {"name": "GPUPODS_CONTROLLER_LEADER_ELECT", "value": "true"},
        {"name": "GPUPODS_CONTROLLER_AGENT_PORT", "value": "7000"},
        {"name": "GPUPODS_CONTROLLER_LOG_LEVEL", "value": "debug"},
    ]


_MANY = (
    "--set=imagePullSecrets[0].name=pull",
    "--set=priorityClass.create=false",
    "--set=priorityClass.name=system-cluster-critical",
    "--set=controller.env.GPUPODS_CONTROLLER_LOG_LEVEL=debug",
    "--set=controller.service.type=NodePort",
    "--set=controller.service.annotations.team=gpu",
    "--set=controller.podAnnotations.team=gpu",
    "--set=controller.tolerations[0].operator=Exists",
    "--set=nodeagent.image.repository=registry.example/agent",
    "--set-string=nodeagent.image.tag=9",
    "--set=nodeagent.image.pullPolicy=Never",
    "--set=nodeagent.hostPort=7000",
    "--set=nodeagent.env.LD_LIBRARY_PATH=/driver",
    "--set=nodeagent.callers[0].ipBlock.cidr=10.0.0.0/8",
    "--set=nodeagent.extraVolumes[0].name=driver",
    "--set=nodeagent.extraVolumes[0].hostPath.path=/driver",
    "--set=nodeagent.extraVolumeMounts[0].name=driver",
    "--set=nodeagent.extraVolumeMounts[0].mountPath=/driver",
)


def test_on_the_host_s_network_the_agent_listens_at_the_node_s_port(helm: Helm) -> None:
    flags = ("--set=nodeagent.hostNetwork=true", "--set=nodeagent.hostPort=7000")
    rendered = objects(helm.template(*flags))
    daemonset = next(each for each in rendered if each["kind"] == "DaemonSet")
    (agent,) = daemonset["spec"]["template"]["spec"]["containers"]
    listen = {"name": "GPUPODS_NODEAGENT_GRPC_LISTEN", "value": "[::]:7000"}
    assert agent["ports"] == [{"name": "grpc", "containerPort": 7000, "hostPort": 7000}]
    assert listen in agent["env"]
    assert agent["livenessProbe"]["grpc"] == agent["readinessProbe"]["grpc"] == {"port": 7000}


def test_an_upgrade_changes_what_was_set_and_a_rollback_takes_it_back(
    cluster: AdmittingApiserver, helm_there: Helm
) -> None:
    helm_there.install()
    helm_there.upgrade("--set=controller.replicas=3", "--set=nodeagent.runtimeClassName=nvidia")
    assert _replicas(cluster) == 3
    helm_there.run("rollback", RELEASE, "1", f"--namespace={NAMESPACE}")
    assert _replicas(cluster) == 2


def test_a_namespace_that_would_refuse_the_agents_stops_the_installation(
    cluster: AdmittingApiserver, helm_there: Helm
) -> None:
    cluster.kubectl("create", "namespace", NAMESPACE)
    enforce = "pod-security.kubernetes.io/enforce"
    cluster.kubectl("label", "namespace", NAMESPACE, f"{enforce}=baseline")
    with pytest.raises(HelmError, match=f"kubectl label namespace {NAMESPACE} {enforce}=privileg"):
        helm_there.install()


def _as_set(daemonset: Json) -> Json:
    """What the overlays differ in, of an agent's pod."""
    spec = pod_template(daemonset)["spec"]
    names = ("runtimeClassName", "hostNetwork", "volumes", "securityContext")
    (agent,) = spec["containers"]
    return {**{name: spec.get(name) for name in names}, "container": agent["securityContext"]}


def _replicas(cluster: AdmittingApiserver) -> int:
    found: int = _get(cluster, "deployments/gpupods-controller")["spec"]["replicas"]
    return found


def _get(cluster: AdmittingApiserver, path: str) -> Json:
    return cluster.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/{path}")
