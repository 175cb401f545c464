#!/usr/bin/env bash
# Makes the image localhost/base where no registry can be reached: a minimal Debian, from packages.
#
#   docker/localbase.sh [SUITE]      bookworm, if it is not named; needs root, debootstrap, buildah
#
# This machine's own certificate authorities go with it, so that a build works behind a proxy that
# looks into TLS. Nothing is done if the image is there already.
set -euo pipefail

suite=${1:-bookworm}
image=localhost/base
if buildah inspect --type image "$image" >/dev/null 2>&1; then
    echo "$image is there"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
debootstrap --variant=minbase "$suite" "$work/root" >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    exit 1
}
rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/*
mkdir -p "$work/root/usr/local/share/ca-certificates"
find /usr/local/share/ca-certificates -name '*.crt' \
    -exec cp -t "$work/root/usr/local/share/ca-certificates" {} + 2>/dev/null || true

container=$(buildah from scratch)
buildah add -q "$container" "$work/root" / >/dev/null
buildah config --cmd /bin/bash "$container"
buildah commit -q --rm "$container" "$image" >/dev/null
echo "made $image of Debian $suite"
