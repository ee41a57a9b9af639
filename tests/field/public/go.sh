# A Go module: the part of a public one that needs no other module, and a dependency that is vendored. The registries of
# cargo, pip and npm were searched for one that vendors its own; as none was found, that dependency is made here.
python3 -m venv "$fetched/venv"
requirements=$fetched/requirements.txt
pip="$fetched/venv/bin/python -m pip --quiet --disable-pip-version-check"
echo 'setuptools==75.8.0 --hash=sha256:e3982f444617239225d675215d51f6ba05f845d4eec313da4418fdbb56fb27e3' >"$requirements"
$pip install --require-hashes -r "$requirements"
echo 'gojsonnet==0.20.0 --hash=sha256:9aede3b5734dee1c99dbec75dee3b086baaae92bd262d93f9217e21bf19c9682' >"$requirements"
$pip download --no-deps --no-binary :all: --no-build-isolation --require-hashes -r "$requirements" -d "$fetched"
part=gojsonnet-0.20.0
tar xzf "$fetched/$part.tar.gz" --strip-components 1 "$part/LICENSE" "$part/ast" "$part/internal"
# It compares texts with a module of its own.
rm -r internal/testutils
dependency=vendor/example.invalid/doubling
mkdir -p "$dependency" area
printf 'module github.com/google/go-jsonnet\n\ngo 1.17\n\nrequire example.invalid/doubling v1.0.0\n' >go.mod
printf '# example.invalid/doubling v1.0.0\n## explicit; go 1.17\nexample.invalid/doubling\n' >vendor/modules.txt
printf 'package doubling\n\nfunc Double(number int) int { return 2 * number }\n' >"$dependency/doubling.go"
cat >area/area.go <<'END'
package area

import "example.invalid/doubling"

func Perimeter(width, height int) int { return doubling.Double(width + height) }
END
cat >area/area_test.go <<'END'
package area

import "testing"

func TestPerimeter(t *testing.T) {
	if found := Perimeter(3, 4); found != 14 {
		t.Fatalf("found %d", found)
	}
}
END
go vet ./...
