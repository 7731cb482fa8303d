" Indentation of the fg graph language: four columns in a body, and again in what a statement goes on with.
if exists('b:did_indent')
  finish
endif
let b:did_indent = 1

setlocal indentexpr=FgIndent(v:lnum) indentkeys=0},0),0],!^F,o,O
let b:undo_indent = 'setlocal indentexpr< indentkeys<'
if exists('*FgIndent')
  finish
endif

function! s:Code(lnum) abort
  return substitute(getline(a:lnum), '\s*\%(#.*\)\?$', '', '')
endfunction

" Brackets that a line leaves open.
function! s:Opens(text) abort
  return len(substitute(a:text, '[^[({]', '', 'g')) - len(substitute(a:text, '[^])}]', '', 'g'))
endfunction

function! FgIndent(lnum) abort
  let l:before = prevnonblank(a:lnum - 1)
  while l:before > 0 && s:Code(l:before) ==# ''
    let l:before = prevnonblank(l:before - 1)
  endwhile
  if l:before == 0
    return 0
  endif
  let l:text = s:Code(l:before)
  let l:indent = indent(l:before)
  let l:opens = s:Opens(substitute(l:text, '^\s*[])}]', '', ''))
  if l:opens > 0
    let l:indent += shiftwidth()
  elseif l:opens < 0 || l:text =~# '^\s*\%(|>\|[-+*/%<>]\)'
    let l:indent = max([l:indent - shiftwidth(), 0])
  endif
  if getline(a:lnum) =~# '^\s*[])}]'
    let l:indent = l:opens > 0 ? indent(l:before) : max([l:indent - shiftwidth(), 0])
  elseif getline(a:lnum) =~# '^\s*|>' && l:text !~# '^\s*|>'
    let l:indent += shiftwidth()
  elseif getline(a:lnum) =~# '^\s*|>'
    let l:indent = indent(l:before)
  endif
  return l:indent
endfunction
