cut -f 3 stock.txt | awk '{ n += $1 } END { print n + 0 }'
