" Vim syntax of the fg graph language. Made by tools/make-editors: edit that.
if exists('b:current_syntax')
  finish
endif

syn keyword fgOperator conv matmul sdpa transpose reshape slice copy reduce add sub mul div mod pow
syn keyword fgOperator min max atan2 add_square neg abs exp log sqrt rsqrt reciprocal sin cos tan erf
syn keyword fgOperator ceil floor relu leaky_relu elu gelu gelu_tanh sigmoid silu swish softplus tanh
syn keyword fgOperator relu_bwd elu_bwd gelu_bwd gelu_tanh_bwd sigmoid_bwd swish_bwd softplus_bwd
syn keyword fgOperator tanh_bwd eq ne lt le gt ge logical_and logical_or logical_not select gen_index
syn keyword fgOperator cast
syn keyword fgType f64 f32 f16 bf16 e4m3 e5m2 e8m0 e2m1 i64 i32 i8 u8 bool tf32
syn keyword fgLayout row_major channels_last col_major order strides align
syn keyword fgConstant true false inf sm cudnn fgc
syn keyword fgFunction dim rank type version
syn keyword fgLogic and or not in
syn match fgAttribute /\<\h\w*\ze=\%([^=]\|$\)/ contained
syn match fgChoice /=\@1<=\%(add\|all\|bottom_right\|causal\|max\|max_abs\|mean\|min\|mul\|mul_no_zeros\|norm1\|norm2\|top_left\)\>/ contained
syn region fgCall matchgroup=fgDelimiter start=/(/ end=/)/ transparent contains=ALLBUT,fgItem,fgStatement,fgVersion,fgTodo
syn match fgItem /^\s*\zs\%(import\|const\|graph\|fn\|epilogue\)\ze\s\+["A-Za-z_]/
syn match fgStatement /^\s\+\zs\%(input\|scalar\|output\|const\|compute\|require\|return\)\ze\s\+[^=,: ]/
syn match fgVersion /\%^\%(\%ufeff\)\?fg\s\+\d\+/
syn match fgSign /|>\|==\|!=\|<=\|>=\|\/\/\|[-+*\/%<>=]/
syn match fgNumber /\<\%(0[xX][0-9a-fA-F_]\+\|\d[0-9_]*\%(\.\d\+\)\?\%([eE][-+]\?\d\+\)\?\)\>/
syn region fgString start=/"/ skip=/\\["\\]/ end=/"\|$/ oneline
syn keyword fgTodo TODO FIXME XXX contained
syn match fgComment /#.*$/ contains=fgTodo,@Spell

hi def link fgOperator Function
hi def link fgType Type
hi def link fgLayout StorageClass
hi def link fgConstant Constant
hi def link fgFunction Function
hi def link fgLogic Operator
hi def link fgAttribute Identifier
hi def link fgChoice Constant
hi def link fgItem Keyword
hi def link fgStatement Keyword
hi def link fgVersion PreProc
hi def link fgSign Operator
hi def link fgNumber Number
hi def link fgString String
hi def link fgTodo Todo
hi def link fgComment Comment

let b:current_syntax = 'fg'
