tr "\t" , <stock.txt
