check() {
  got=$(sh price.sh "$1" "$2")
  [ "$got" = "$3" ] || { echo "price.sh $1 $2: $got, want $3"; failed=1; }
}
check 1 350 350
check 10 100 1000
check 20 100 1800
exit ${failed:-0}
