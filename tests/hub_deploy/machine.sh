#!/bin/bash
# A machine for one test, from inside its new namespaces: a copy-on-write root, /dev, /run and /tmp
# of its own, PostgreSQL and satchel as a hub has them, then systemd. Nothing of the real machine
# can be written.
# Arguments: FOLDER for what changes, BASE of Python and its PROGRAM, its SITE packages, our SOURCE.
set -euo pipefail
folder=$1 base=$2 program=$3 site=$4 source=$5

mount -t tmpfs -o size=2g,mode=755 none "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" none "$folder/root"
root=$folder/root

# What systemd expects of whoever starts it in a container.
mount -t proc -o nosuid,nodev,noexec none "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro none "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 none "$root/dev"
mkdir "$root"/dev/{pts,shm}
for name in null zero full random urandom tty; do
  touch "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 none "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 none "$root/dev/shm"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount -t tmpfs -o mode=755 none "$root/run"
mkdir -p "$root/run/lock" "$root/run/units/none"
install -d -o postgres -g postgres -m 2775 "$root/run/postgresql"

# satchel in /opt/satchel, as pip would have put it there; its sources and its Python lie elsewhere.
opt=$root/opt/satchel-test
mkdir -p "$opt"/{base,site,source} "$root/opt/satchel/bin"
mount --bind "$base" "$opt/base"
mount --bind "$site" "$opt/site"
mount --bind "$source" "$opt/source"
version=$("$program" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
packages=$root/opt/satchel/lib/$version/site-packages
mkdir -p "$packages"
printf '%s\n' /opt/satchel-test/site /opt/satchel-test/source/{replica,sync,warehouse,crypto} \
  >"$packages/satchel.pth"
printf 'home = /opt/satchel-test/base/bin\n' >"$root/opt/satchel/pyvenv.cfg"
ln -s "/opt/satchel-test/base/bin/$version" "$root/opt/satchel/bin/python"
printf '#!/opt/satchel/bin/python\nfrom satchel.cli.main import run\nrun()\n' \
  >"$root/opt/satchel/bin/satchel"
chmod 755 "$root/opt/satchel/bin/satchel"

# Its name and address: neither is this machine's own, so a DSN that names it is a remote one.
ip link set lo up
ip address add 192.0.2.10/32 dev lo
echo hub >"$root/etc/hostname"
echo '192.0.2.10 hub.example.org' >>"$root/etc/hosts"

# Only units that are named here exist: none that would set up a real machine.
units=$root/run/units
for target in sysinit basic timers sockets network multi-user shutdown umount; do
  printf '[Unit]\nDescription=%s\n' "$target" >"$units/$target.target"
done
cp /lib/systemd/system/systemd-journald{.service,.socket,-dev-log.socket} "$units"
cp /lib/systemd/system/postgresql*.service "$units"
printf '[Unit]\nRequires=systemd-journald.service timers.target multi-user.target\n' \
  >"$units/hub.target"

cp -r "$source/deploy/hub" "$root/srv/hub"
rm -rf "$root"/etc/postgresql/* "$root"/var/lib/postgresql/*
mkdir "$root/old"
cd "$root"
pivot_root . old
umount -l old
version=$(ls /usr/lib/postgresql | sort -n | tail -n 1)
pg_createcluster "$version" main >/dev/null # as the package does
# A shared libpython is looked for where Python was built: not everybody may be able to go there.
echo /opt/satchel-test/base/lib >/etc/ld.so.conf.d/000-satchel-test.conf
ldconfig
useradd --create-home --shell /bin/bash ann
export SYSTEMD_UNIT_PATH=/etc/systemd/system:/run/systemd/transient:/run/units
export SYSTEMD_GENERATOR_PATH=/run/units/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/run/units/none
export container=satchel-test
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec /lib/systemd/systemd --system --unit=hub.target --log-target=journal --show-status=0
