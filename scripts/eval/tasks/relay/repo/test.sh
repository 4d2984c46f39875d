id=$(sh stock.sh add tea) && [ -n "$id" ] || exit 1
[ "$(sh stock.sh get "$id")" = 0 ] || exit 1
sh stock.sh remove "$id"
