cut -f 2 stock.txt
