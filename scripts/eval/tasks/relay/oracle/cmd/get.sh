grep "^$1	" stock.txt | cut -f 3
