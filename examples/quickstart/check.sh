# Runs every check, or the one that is named.
set -u
failed=0

expect() {
    if [ "$1" != "$2" ]; then
        printf 'FAILED %s: expected "%s", got "%s"\n' "$test" "$1" "$2"
        failed=1
    fi
}

for test in tests/${1:-*}.sh; do
    . "./$test"
done
if [ "$failed" = 0 ]; then
    echo 'all checks passed'
fi
exit "$failed"
