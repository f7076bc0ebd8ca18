#!/usr/bin/env bash
# Builds the static programs and packs them: dist.sh DIRECTORY. The Makefile sets GO, VERSION and LDFLAGS.
set -euo pipefail
out=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
CGO_ENABLED=0 "${GO:-go}" build -trimpath -ldflags="$LDFLAGS" -o "$tmp/jalon" ./cmd/jalon # for this machine: it makes its manual page
scripts/share.sh "$tmp/jalon" "$tmp/share"
mkdir -p "$out"
for arch in ${ARCHES:-amd64 arm64}; do
	name=jalon-$VERSION-linux-$arch
	mkdir -p "$tmp/$name"
	CGO_ENABLED=0 GOARCH=$arch "${GO:-go}" build -trimpath -ldflags="$LDFLAGS" -o "$tmp/$name/jalon" ./cmd/jalon
	cp -r README.md CHANGELOG.md LICENSE docs "$tmp/share" "$tmp/$name"
	tar -C "$tmp" --owner=0 --group=0 -czf "$out/$name.tar.gz" "$name"
	command -v dpkg-deb >/dev/null || { echo "no dpkg-deb: no package for $arch" >&2; continue; }
	deb=$tmp/deb-$arch
	install -D -m 755 "$tmp/$name/jalon" "$deb/usr/bin/jalon"
	mkdir -p "$deb/usr/share/doc/jalon" "$deb/DEBIAN"
	cp -r "$tmp"/share/. "$deb/usr/share"
	mv "$deb/usr/share/zsh/site-functions" "$deb/usr/share/zsh/vendor-completions" # where Debian's zsh looks
	cp -r README.md CHANGELOG.md docs "$deb/usr/share/doc/jalon"
	cp LICENSE "$deb/usr/share/doc/jalon/copyright"
	cat >"$deb/DEBIAN/control" <<-END
		Package: jalon
		Version: $VERSION
		Architecture: $arch
		Maintainer: jalon
		Section: devel
		Priority: optional
		Description: conditional tracer for Linux
		 Puts tracepoints with conditions on lines, functions and instructions of
		 running programs, and on places of the kernel.
	END
	dpkg-deb --root-owner-group --build "$deb" "$out/jalon_${VERSION}_$arch.deb" >/dev/null
done
ls -l "$out"
