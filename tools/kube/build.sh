#!/bin/sh
# Builds kube-apiserver, kube-controller-manager, kube-scheduler, etcd and helm from the modules that go.mod and
# ../helm/go.mod name, into a folder of the user's cache named after those files, so that clones share it. Prints the
# folder, last.
set -eu
cd "$(dirname "$0")"
GO="${GO:-$(command -v go || echo /usr/local/go/bin/go)}"
PROGRAMS="etcd kube-apiserver kube-controller-manager kube-scheduler helm"

folder="$(python3 where.py)"
complete() { for program in $PROGRAMS; do test -x "$1/$program" || return 1; done; }
if complete "$folder"; then echo "$folder"; exit 0; fi

"$GO" version >/dev/null 2>&1 || { echo "make kube needs Go: install it, or say where it is with GO=/path/to/go" >&2; exit 1; }
version="$("$GO" list -m -f '{{.Version}}' k8s.io/kubernetes)"
minor="$(echo "$version" | cut -d. -f2)"
says="k8s.io/component-base/version"
partial="$folder.partial.$$"
trap 'rm -rf "$partial"' EXIT
mkdir -p "$partial"
echo "building Kubernetes $version and etcd: about ten minutes of two cores the first time" >&2
CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -o "$partial/" \
    -ldflags "-s -w -X $says.gitVersion=$version -X $says.gitMajor=1 -X $says.gitMinor=$minor" \
    go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/kube-apiserver \
    k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kube-scheduler
mv "$partial/server" "$partial/etcd"
CGO_ENABLED=0 "$GO" -C ../helm build -trimpath -buildvcs=false -o "$partial/" \
    -ldflags "-s -w -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=$minor" \
    helm.sh/helm/v3/cmd/helm
rm -rf "$folder"
mv "$partial" "$folder"
echo "$folder"
