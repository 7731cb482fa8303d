#!/bin/sh
# Every case of the tests, and mixtures of them, are parsed without a crash; what parses is printed and
# read again as the same tree, with the same comments.
set -eu
program=${FGC_BUILD_DIR:-.}/fuzz/parse
top=${srcdir:-.}
seed=$(date +%s)
echo "seed $seed"
"$program" -n 20000 -s "$seed" "$top"/examples/*/*.fg "$top"/tests/*/*.fg
