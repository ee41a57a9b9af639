. lib/upper.sh
expect 'HELLO' "$(upper hello)"
