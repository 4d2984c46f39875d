case "$1$2" in '' | *[!0-9]*) exit 2 ;; esac
[ "$1" ] && [ "$2" ] || exit 2
total=$(($1 * $2))
[ "$1" -lt 11 ] || total=$(((total * 9 + 5) / 10))
echo "$total"
