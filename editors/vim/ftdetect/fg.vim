" .fg files are graph specifications.
autocmd BufNewFile,BufRead *.fg setfiletype fg
