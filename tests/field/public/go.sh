# A Go module with its dependency vendored. It is made here: the registries of cargo, pip and npm have none.
dependency=vendor/example.invalid/doubling
mkdir -p "$dependency"
printf 'module example.invalid/area\n\ngo 1.19\n\nrequire example.invalid/doubling v1.0.0\n' >go.mod
printf '# example.invalid/doubling v1.0.0\n## explicit; go 1.19\nexample.invalid/doubling\n' >vendor/modules.txt
printf 'package doubling\n\nfunc Double(number int) int { return 2 * number }\n' >"$dependency/doubling.go"
cat >area.go <<'END'
package area

import "example.invalid/doubling"

func Perimeter(width, height int) int { return doubling.Double(width + height) }
END
cat >area_test.go <<'END'
package area

import "testing"

func TestPerimeter(t *testing.T) {
	if found := Perimeter(3, 4); found != 14 {
		t.Fatalf("found %d", found)
	}
}
END
go vet ./...
