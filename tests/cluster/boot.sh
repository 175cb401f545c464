#!/bin/sh
# Starts a machine of the cluster: boot.sh FOLDER CGROUP NAME
#
# The machine has namespaces and a cgroup of its own, sees its cgroup as the root of every
# cgroup tree, and finds its own folders at the standard paths. Pids are the host's, as they are
# on a real node. With the last process in its cgroup its mounts and links are gone.
set -eu
folder=$1 cgroup=$2 name=$3

if [ "${4-}" != inside ]; then
    for tree in $(cut -d: -f2 /proc/self/cgroup | sed 's/^name=//; s/^$/unified/'); do
        root=/sys/fs/cgroup/$tree
        for made in "$root${cgroup%/*}" "$root$cgroup"; do
            mkdir -p "$made"
            # In a v1 tree a new cgroup has neither CPUs nor memory, and takes no process.
            for file in cpuset.cpus cpuset.mems; do
                [ ! -e "$made/$file" ] || cat "$root/$file" >"$made/$file"
            done
        done
        echo $$ >"$root$cgroup/cgroup.procs"
    done
    exec unshare --cgroup --mount --net --uts --ipc --propagation private -- \
        sh "$0" "$folder" "$cgroup" "$name" inside
fi

hostname "$name"

# What the host has mounted for others is not to be held by this copy of it.
awk '$5 ~ "^/(etc|run|tmp|var)/" {print $5}' /proc/self/mountinfo | sort -r |
    while read -r point; do umount --lazy "$point"; done

# Trees of the host's view would be found first, were they only covered.
umount --recursive --lazy /sys
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
cut -d: -f2 /proc/self/cgroup | while read -r controllers; do
    case $controllers in
    '') type=cgroup2 options=rw tree=unified ;;
    name=*) type=cgroup options=none,$controllers tree=${controllers#name=} ;;
    *) type=cgroup options=$controllers tree=$controllers ;;
    esac
    mkdir "/sys/fs/cgroup/$tree"
    mount -t "$type" -o "$options" "$type" "/sys/fs/cgroup/$tree"
done

# What the kubelet wants these to be; the real ones are the whole machine's.
while read -r file value; do
    [ -e "/proc/sys/$file" ] || continue
    mkdir -p "$folder/sysctl/${file%/*}"
    echo "$value" >"$folder/sysctl/$file"
    mount --bind "$folder/sysctl/$file" "/proc/sys/$file"
done <<'END'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END

# An overlay takes the mount points; what is mounted there takes the files.
for top in etc var; do
    mkdir -p "$folder/overlay/$top" "$folder/overlay/work-$top"
    mount -t overlay overlay "/$top" \
        -o "lowerdir=/$top,upperdir=$folder/overlay/$top,workdir=$folder/overlay/work-$top"
done
(cd "$folder/own" && find . -name .mount) | while read -r mark; do
    path=$(dirname "${mark#.}")
    mkdir -p "$path"
    mount --bind "$folder/own$path" "$path"
done
mount --make-rshared /

ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] ||
    echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

touch "$folder/booted"
exec sleep infinity
