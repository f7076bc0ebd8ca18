#!/usr/bin/env bash
# Finds the Debian kernels that the guest tests boot, and downloads what is
# missing. Nothing is installed on this machine: only the needed files of a package
# are unpacked.
#
#   kernel.sh image 6.12 [ARCH]   prints the path of a bootable kernel of that series
#                          (ARCH: amd64, or arm64, whose package lists are kept in the cache)
#   kernel.sh debug 6.1    prints two lines, for env(1): JALON_VMLINUX=, the kernel
#                          with its DWARF, and JALON_VMLINUX_KERNEL=, the bootable
#                          image of the same build (a download of about 300 MB)
#
# The cache is $XDG_CACHE_HOME/jalon/kernels: a directory for each package, with
# the files and `sums`, their lines of the package's list of checksums. A cached file
# is used if it agrees with `sums`. Packages' names change with time, so the argument
# is a series and not a name.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/jalon/kernels

fail() {
	echo "kernel.sh: $*" >&2
	exit 1
}

# newest SERIES [SUFFIX]: the newest package of the series in Debian's lists,
# e.g. linux-image-6.12.117+deb12-cloud-amd64. The cloud flavour is the
# smallest that has BTF, kprobes, ftrace and a serial console.
newest() {
	apt-cache "${apt[@]}" --names-only search "^linux-image-${1//./\\.}\\..*-cloud-$arch${2:-}\$" |
		cut -d' ' -f1 | grep -E "^linux-image-${1//./\\.}\\.[^-]*(-[0-9]+)?-cloud-$arch${2:-}\$" |
		sort -V | tail -n1 || true
}

# update fetches Debian's lists; those of this machine need root.
update() {
	local sudo=
	if [ "$(id -u)" -ne 0 ] && [ ${#apt[@]} -eq 0 ]; then
		command -v sudo >/dev/null || return 1
		sudo=sudo
	fi
	$sudo apt-get "${apt[@]}" update -qq >&2
}

# unpack PACKAGE FILE NAME KEEP: downloads the package, extracts FILE (a path
# in it without the leading slash) as NAME, and checks both. With KEEP = keep the
# package itself stays in the cache.
unpack() (
	pkg=$1 file=$2 name=$3 keep=$4
	new=$(mktemp -d "$cache/new.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	cd "$new" || exit 1 # errexit is off in a function that is a condition
	# apt checks the signed lists; the sum is compared here again because a proxy
	# may have cached the file.
	echo "downloading $pkg" >&2
	apt-get "${apt[@]}" download -qq -o APT::Sandbox::User=root "$pkg" >&2 || exit 1
	deb=$(echo ./*.deb)
	sum=$(apt-cache "${apt[@]}" show --no-all-versions "$pkg" | sed -n 's/^SHA256: //p')
	[ "$(sha256sum <"$deb")" = "$sum  -" ] || fail "$pkg: the checksum of the download is not the one of Debian's lists"
	dpkg-deb --fsys-tarfile "$deb" | tar -x --to-stdout "./$file" >"$name"
	dpkg-deb --ctrl-tarfile "$deb" | tar -x --to-stdout ./md5sums |
		awk -v f="$file" -v n="$name" '$2 == f { print $1 "  " n }' >sums
	[ -s sums ] || fail "$pkg: no checksum for $file in the package"
	md5sum --quiet --strict -c sums >&2 || fail "$pkg: $file is damaged"
	[ "$keep" = keep ] || rm "$deb"
	rm -rf "${cache:?}/$pkg"
	mv "$new" "$cache/$pkg" || exit 1
)

# have PACKAGE NAME: succeeds if the cache has an undamaged NAME of the package.
have() {
	[ -s "$cache/$1/sums" ] && (cd "$cache/$1" && md5sum --status --strict -c sums && [ -s "$2" ])
}

# cached SERIES SUFFIX NAME: the newest package of the series in the cache.
cached() {
	local dir
	for dir in $(cd "$cache" && printf '%s\n' linux-image-"$1".*-cloud-"$arch$2" | sort -rV); do
		have "$dir" "$3" && echo "$dir" && return 0
	done
	return 1
}

# find SERIES SUFFIX PREFIX NAME KEEP: the cached package of the series, else the
# newest one, downloaded. PREFIX+version is the path in the package.
find() {
	local series=$1 suffix=$2 prefix=$3 name=$4 keep=$5 pkg
	cached "$series" "$suffix" "$name" && return 0
	for attempt in lists fresh-lists; do
		if [ "$attempt" = fresh-lists ]; then
			update || break
		fi
		pkg=$(newest "$series" "$suffix")
		[ -n "$pkg" ] || continue
		version=${pkg#linux-image-}
		unpack "$pkg" "$prefix${version%"$suffix"}" "$name" "$keep" && echo "$pkg" && return 0
	done
	fail "no kernel $series: none in $cache, and none could be downloaded" \
		"(wanted: Debian package linux-image-$series.*-cloud-$arch$suffix, which apt-get finds" \
		"in bookworm or bookworm-security after apt-get update, with the network up)"
}

[ $# -eq 2 ] || [ $# -eq 3 ] || fail "usage: kernel.sh image|debug SERIES [ARCH]"
arch=${3:-amd64}
for tool in apt-get apt-cache dpkg-deb; do
	command -v $tool >/dev/null || [ -d "$cache" ] || fail "$tool is missing: guest kernels are Debian packages"
done
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # the tests of several packages may run this at once

# Packages of another processor: with lists of their own, nothing changes on this machine.
apt=()
if [ "$arch" != amd64 ]; then
	mkdir -p "$cache/apt-$arch/lists/partial" "$cache/apt-$arch/archives/partial"
	apt=(-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State::Lists=$cache/apt-$arch/lists"
		-o "Dir::Cache=$cache/apt-$arch" -o APT::Sandbox::User=root)
fi

case $1 in
image)
	pkg=$(find "$2" '' boot/vmlinuz- vmlinuz keep)
	echo "$cache/$pkg/vmlinuz"
	;;
debug)
	debug=$(find "$2" -dbg usr/lib/debug/boot/vmlinux- vmlinux drop)
	# The image must be of the same build, not a newer one of the series.
	image=${debug%-dbg}
	have "$image" vmlinuz || unpack "$image" "boot/vmlinuz-${image#linux-image-}" vmlinuz keep ||
		fail "$image could not be downloaded; remove $cache/$debug to start with a newer one"
	echo "JALON_VMLINUX=$cache/$debug/vmlinux"
	echo "JALON_VMLINUX_KERNEL=$cache/$image/vmlinuz"
	;;
*) fail "usage: kernel.sh image|debug SERIES [ARCH]" ;;
esac
