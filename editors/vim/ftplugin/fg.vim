" Settings for the fg graph language: the formatter's indentation and width; gq formats a whole file.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal expandtab shiftwidth=4 softtabstop=4 textwidth=100
setlocal comments=:# commentstring=#\ %s
setlocal formatoptions-=t formatoptions+=croql
setlocal include=^\\s*import\\s\\+\" suffixesadd=.fg
if executable('fgc')
  let &l:makeprg = 'fgc check %:S'
  setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%f:%l:%c:\ %tote:\ %m,%-G%.%#
endif

let b:undo_ftplugin = 'setlocal expandtab< shiftwidth< softtabstop< textwidth< comments< commentstring<'
      \ . ' formatoptions< include< suffixesadd< makeprg< errorformat<'
