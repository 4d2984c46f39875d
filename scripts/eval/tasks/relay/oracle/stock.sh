cd "$(dirname "$0")" || exit 1
name=$1
shift
touch stock.txt
[ -f "cmd/$name.sh" ] || { echo "no command $name" >&2; exit 2; }
. "./cmd/$name.sh"
