#!/bin/sh
# Runs a command in a machine of the cluster: enter.sh CGROUP PID COMMAND...
# PID is that of the process that `boot.sh` has become. The command is in the machine's cgroup.
set -eu
cgroup=$1 pid=$2
shift 2
for procs in /sys/fs/cgroup/*"$cgroup/cgroup.procs"; do
    echo $$ >"$procs"
done
exec nsenter --target "$pid" --cgroup --mount --uts --ipc --net -- "$@"
