#!/usr/bin/env bash
# Runs canaries in control groups, which the machines of developers and of the build may not have: an emulated machine
# boots the given Linux image (6.2 or newer, with its drivers for a serial port built in) and delegates a group to the
# tests, once as root and once as an ordinary user.
#
# Needs qemu-system-x86, busybox-static, cpio and bubblewrap. Nothing is installed, and nothing outside a temporary folder
# is written.
#
# Usage: cgroups.sh KERNEL [TEST…], after `cargo test -p orchestrate-sandbox --test canaries --no-run`. Without names, the
# tests of groups, of memory and of processes that survive run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

kernel=$1
shift
tests=("$@")
[ "${#tests[@]}" != 0 ] || tests=(groups:: hoard- nothing_survives)

# The machine has as much time as an emulated processor needs for what takes a real one a minute.
patience=1800
user=1000

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
image=$stage/image

# Copies a program to a folder of the image, and its libraries to their places.
add() {
    local library
    cp -L "$1" "$image$2"
    for library in $(ldd "$1" | grep -o '/[^ ]*'); do
        mkdir -p "$image$(dirname "$library")"
        cp -L "$library" "$image$library"
    done
}

mkdir -p "$image"/{usr/bin,usr/lib,usr/lib64,proc,sys,dev,etc,root,home,run,tests,new}
ln -s usr/bin "$image/bin"
ln -s usr/bin "$image/sbin"
ln -s usr/lib "$image/lib"
ln -s usr/lib64 "$image/lib64"
add "$(command -v bwrap)" /usr/bin/bwrap
built=$(find "${CARGO_TARGET_DIR:-target}/debug/deps" -name 'canaries-*' -type f -executable -printf '%T@ %p\n')
add "$(sort -n <<<"$built" | tail -n 1 | cut -d ' ' -f 2)" /tests/canaries
cp "$(command -v busybox)" "$image/usr/bin/busybox"
"$image/usr/bin/busybox" --list | while read -r name; do
    [ -e "$image/usr/bin/$name" ] || ln -s busybox "$image/usr/bin/$name"
done
printf 'root:x:0:0::/root:/bin/sh\ntester:x:%s:%s::/home:/bin/sh\n' "$user" "$user" >"$image/etc/passwd"
printf 'root:x:0:\ntester:x:%s:\n' "$user" >"$image/etc/group"
printf '%s\n' "${tests[@]}" >"$image/tests/names"

# The first file system cannot be left as bubblewrap does, so everything moves to another one.
cat >"$image/init" <<'EOF'
#!/bin/sh
mount -t tmpfs -o size=75% tmpfs /new
for entry in /*; do [ "$entry" = /new ] || cp -a "$entry" /new/; done
exec switch_root /new /tests/boot
EOF
cat >"$image/tests/boot" <<'EOF'
#!/bin/sh
mkdir -p /proc /sys /dev /tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
# As systemd does; what a namespace delegates, it may not leave.
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
ln -s /proc/self/fd /dev/fd
ip link set lo up
chown tester /home
read -r _ _ version _ </proc/version
echo "Linux $version"
for user in root tester; do
    failed=0
    while read -r name; do
        # Each process gets another group, as a service manager would delegate it (cgroups(7)).
        group=/sys/fs/cgroup/$user-${name%%:*}
        mkdir "$group"
        chown -R "$user" "$group"
        command="exec env ORCHESTRATE_CGROUPS=all ORCHESTRATE_REQUIRE=all /tests/canaries --color never $name"
        # Only root may move a process into a delegated group.
        (
            read -r self _ </proc/self/stat
            echo "$self" >"$group/cgroup.procs"
            if [ "$user" = root ]; then exec sh -c "$command"; else exec su "$user" -c "$command"; fi
        ) </dev/null || failed=$((failed + 1))
    done </tests/names
    echo "as $user: $failed failed"
done
poweroff -f
EOF
chmod +x "$image/init" "$image/tests/boot"
(cd "$image" && find . -print0 | cpio --null --create --format=newc --quiet) | gzip -1 >"$stage/initramfs"

log=$stage/log
timeout "$patience" qemu-system-x86_64 -machine accel=tcg -cpu max -smp 2 -m 4096 -nographic -no-reboot -net none \
    -kernel "$kernel" -initrd "$stage/initramfs" -append 'console=ttyS0 quiet panic=-1' </dev/null | tee "$log"
for user in root tester; do
    grep -q "^as $user: 0 failed" "$log" || { echo "error: not all tests passed as $user" >&2; exit 1; }
done
