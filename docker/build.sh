#!/usr/bin/env bash
# Builds the images localhost/gpupods-controller:VERSION and localhost/gpupods-nodeagent:VERSION.
#
#   docker/build.sh [controller] [nodeagent]      both, if neither is named
#
# BUILDER     docker, podman or buildah; the first of them that works, if it is not set
# BASE_IMAGE  an Ubuntu, or another of Debian's family; ubuntu:24.04 if it is not set
# REPOSITORY  what stands before the image's name; localhost if it is not set
# VERSION     is the package's, and only printed
#
# What stands in BUILD_OPTIONS is given to the builder as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${BASE_IMAGE:-ubuntu:24.04}
repository=${REPOSITORY:-localhost}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)

find_builder() {
    # docker's command without its daemon is no builder.
    if docker version >/dev/null 2>&1; then
        echo docker
    elif command -v podman >/dev/null; then
        echo podman
    elif command -v buildah >/dev/null; then
        echo buildah
    else
        echo "no builder works here: install docker, podman or buildah" >&2
        exit 2
    fi
}

builder=${BUILDER:-$(find_builder)}
case $builder in
docker) build=(docker build) ;;
# The OCI format has no HEALTHCHECK.
podman) build=(podman build --format docker) ;;
# --layers: without it buildah begins anew each time.
buildah) build=(buildah bud --layers --format docker) ;;
*)
    echo "BUILDER is $builder: write docker, podman or buildah" >&2
    exit 2
    ;;
esac

[ $# -gt 0 ] || set -- controller nodeagent
for part in "$@"; do
    image=$repository/gpupods-$part:$version
    # shellcheck disable=SC2086 # several options, each a word
    "${build[@]}" ${BUILD_OPTIONS:-} --build-arg "BASE_IMAGE=$base" --build-arg "VERSION=$version" \
        --target "$part" --tag "$image" --file docker/Dockerfile .
    echo "built $image with $builder"
done
