/* Grammar of .fg, version 1. Actions only build nodes. New lines are tokens here: the filter in
 * src/ast/tokens.c decides which line ends are ends of statements. */
%require "3.8"
%expect 0
%define api.pure full
%define api.prefix {fg_}
%define api.token.prefix {TOK_}
%define api.token.raw
%define api.value.type union
%define api.location.type {struct span}
%define api.header.include {"ast/fg_parse.h"}
%define parse.error custom
%define parse.lac full
%define parse.trace
%locations
%param {struct front *front}

%code requires { #include "ast/front.h" }
%code provides { int fg_lex(FG_STYPE *value, FG_LTYPE *at, struct front *front); }
%code {
static void fg_error(const struct span *at, struct front *front, const char *message);
#define YYLLOC_DEFAULT(current, rhs, n)                                                          \
    ((current) = (n) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                              \
                     : (struct span){YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})
#define YYLOCATION_PRINT(file, at) fprintf(file, "%u-%u", (unsigned)(at)->begin, (unsigned)(at)->end)
}
%initial-action { @$ = (struct span){front->source->base, front->source->base}; }

/* statement words, names only elsewhere */
%token IMPORT "'import'" GRAPH "'graph'" FN "'fn'" EPILOGUE "'epilogue'" CONST "'const'"
%token INPUT "'input'" OUTPUT "'output'" SCALAR "'scalar'" COMPUTE "'compute'"
%token REQUIRE "'require'" RETURN "'return'"
/* reserved words */
%token AND "'and'" OR "'or'" NOT "'not'" IN "'in'" UNDERSCORE "'_'"
/* punctuation */
%token CHAIN "'|>'" ELLIPSIS "'...'" EQ "'=='" NE "'!='" LE "'<='" GE "'>='" LT "'<'" GT "'>'"
%token FLOORDIV "'//'" PLUS "'+'" MINUS "'-'" TIMES "'*'" SLASH "'/'" PERCENT "'%'"
%token ASSIGN "'='" COLON "':'" COMMA "','" DOT "'.'" LPAREN "'('" RPAREN "')'"
%token LBRACKET "'['" RBRACKET "']'" LBRACE "'{'" RBRACE "'}'" NL "end of line"
/* tokens with values */
%token <const char *> NAME "a name" STRING "a string"
%token <struct literal> INT "an integer" REAL "a real"

%nterm <struct expr *> expr or and not cmp sum term unary primary list default
%nterm <struct names *> path names targets
%nterm <struct args *> args arg_list
%nterm <struct arg> arg
%nterm <struct exprs *> exprs list_items
%nterm <struct type_expr *> type dims dim_list clauses
%nterm <struct clause> clause
%nterm <struct stmts *> body stmts
%nterm <struct stmt *> stmt
%nterm <struct params *> params param_list fparams fparam_list
%nterm <struct param> param fparam
%nterm <struct name> target
%nterm <enum ast_op> cmp_op

%printer { fprintf(yyo, "%s", $$); } NAME STRING

%%

file:
    %empty
|   file item
;

item:
    IMPORT path[p] NL                              { ast_import_path(front, @$, $p); }
|   IMPORT STRING[text] NL                         { ast_import_file(front, @$, $text); }
|   CONST NAME[n] ASSIGN expr[e] NL                { ast_const_item(front, @$, $n, @n, $e); }
|   CONST NAME[n] ASSIGN error[e] NL
    { yyerrok; ast_const_item(front, @$, $n, @n, ast_unread(front, @e)); } /* the name is known */
|   GRAPH NAME[n] LPAREN params[p] RPAREN body[b] NL
    { ast_item(front, ITEM_GRAPH, @$, $n, @n, $p, @b, $b); }
|   FN NAME[n] LPAREN fparams[p] RPAREN body[b] NL
    { ast_item(front, ITEM_FN, @$, $n, @n, $p, @b, $b); }
|   EPILOGUE NAME[n] LPAREN fparams[p] RPAREN body[b] NL
    { ast_item(front, ITEM_EPILOGUE, @$, $n, @n, $p, @b, $b); }
|   GRAPH error body NL                            { yyerrok; ast_error_item(front, @$); }
|   FN error body NL                               { yyerrok; ast_error_item(front, @$); }
|   EPILOGUE error body NL                         { yyerrok; ast_error_item(front, @$); }
|   GRAPH error NL                                 { yyerrok; ast_error_item(front, @$); }
|   FN error NL                                    { yyerrok; ast_error_item(front, @$); }
|   EPILOGUE error NL                              { yyerrok; ast_error_item(front, @$); }
|   error NL                                       { yyerrok; ast_error_item(front, @$); }
;

path:
    NAME[n]                                        { $$ = ast_name(front, NULL, $n, @n); }
|   path[p] DOT NAME[n]                            { $$ = ast_name(front, $p, $n, @n); }
;

params:
    %empty                                         { $$ = NULL; }
|   param_list
|   param_list COMMA                               { $$ = $1; }
;
param_list:
    param[p]                                       { $$ = ast_param(front, NULL, $p); }
|   param_list[l] COMMA param[p]                   { $$ = ast_param(front, $l, $p); }
;
param:
    NAME[n] default[d]                             { $$ = (struct param){{$n, @n}, $d, NULL}; }
|   NAME[n] IN list[c]                             { $$ = (struct param){{$n, @n}, NULL, $c}; }
;
fparams:
    %empty                                         { $$ = NULL; }
|   fparam_list
|   fparam_list COMMA                              { $$ = $1; }
;
fparam_list:
    fparam[p]                                      { $$ = ast_param(front, NULL, $p); }
|   fparam_list[l] COMMA fparam[p]                 { $$ = ast_param(front, $l, $p); }
;
fparam: NAME[n] default[d]                         { $$ = (struct param){{$n, @n}, $d, NULL}; } ;
default:
    %empty                                         { $$ = NULL; }
|   ASSIGN expr[e]                                 { $$ = $e; }
;

body: LBRACE stmts[s] RBRACE                       { $$ = $s; } ;
stmts:
    %empty                                         { $$ = ast_stmts(front); }
|   stmts[l] stmt[s]                               { $$ = ast_stmt_add(front, $l, $s); }
;
stmt:
    INPUT names[n] COLON type[t] NL    { $$ = ast_declare(front, STMT_INPUT, @$, $n, $t, NULL); }
|   OUTPUT names[n] COLON type[t] NL   { $$ = ast_declare(front, STMT_OUTPUT, @$, $n, $t, NULL); }
|   SCALAR names[n] COLON NAME[t] default[d] NL
    { $$ = ast_declare(front, STMT_SCALAR, @$, $n, ast_type(front, $t, @t), $d); }
|   CONST NAME[n] ASSIGN expr[e] NL
    { $$ = ast_declare(front, STMT_CONST, @$, ast_name(front, NULL, $n, @n), NULL, $e); }
|   COMPUTE NAME[n] NL
    { $$ = ast_declare(front, STMT_COMPUTE, @$, ast_name(front, NULL, $n, @n), NULL, NULL); }
|   REQUIRE expr[e] NL                 { $$ = ast_declare(front, STMT_REQUIRE, @$, NULL, NULL, $e); }
|   targets[t] ASSIGN expr[e] NL       { $$ = ast_declare(front, STMT_BIND, @$, $t, NULL, $e); }
|   NAME[n] COLON type[t] ASSIGN expr[e] NL
    { $$ = ast_declare(front, STMT_BIND, @$, ast_name(front, NULL, $n, @n), $t, $e); }
|   RETURN exprs[r] NL                 { $$ = ast_return(front, @$, $r); }
|   error NL                           { yyerrok; $$ = ast_error_stmt(front, @$); }
;
names:
    NAME[n]                                        { $$ = ast_name(front, NULL, $n, @n); }
|   names[l] COMMA NAME[n]                         { $$ = ast_name(front, $l, $n, @n); }
;
targets:
    target[t]                          { $$ = ast_name(front, NULL, $t.text, $t.span); }
|   targets[l] COMMA target[t]         { $$ = ast_name(front, $l, $t.text, $t.span); }
;
target:
    NAME[n]                                        { $$ = (struct name){$n, @n}; }
|   UNDERSCORE                                     { $$ = (struct name){front->underscore, @1}; }
;
exprs:
    expr[e]                                        { $$ = ast_expr_add(front, NULL, $e); }
|   exprs[l] COMMA expr[e]                         { $$ = ast_expr_add(front, $l, $e); }
;

type:
    NAME[n] clauses[c]
    { $$ = ast_type_end(ast_type(front, $n, @n), NULL, $c, @$); }
|   NAME[n] LBRACKET dims[d] RBRACKET clauses[c]
    { $$ = ast_type_end(ast_type(front, $n, @n), $d, $c, @$); }
;
dims:
    ELLIPSIS                                       { $$ = ast_dims_all(front); }
|   dim_list
|   dim_list COMMA                                 { $$ = $1; }
;
dim_list:
    expr[e]                                        { $$ = ast_dim(front, NULL, $e, @e); }
|   UNDERSCORE[u]                                  { $$ = ast_dim(front, NULL, NULL, @u); }
|   dim_list[l] COMMA expr[e]                      { $$ = ast_dim(front, $l, $e, @e); }
|   dim_list[l] COMMA UNDERSCORE[u]                { $$ = ast_dim(front, $l, NULL, @u); }
;
clauses:
    %empty                                         { $$ = NULL; }
|   clauses[l] clause[c]                           { $$ = ast_clause(front, $l, $c); }
;
clause:
    NAME[n]                            { $$ = ast_clause_make($n, @n, false, NULL, @$); }
|   NAME[n] LPAREN args[a] RPAREN      { $$ = ast_clause_make($n, @n, true, $a, @$); }
;

expr:
    or
|   expr[l] CHAIN[op] path[p]
    { $$ = ast_chain(front, @$, $l, @op, $p, false, NULL); }
|   expr[l] CHAIN[op] path[p] LPAREN args[a] RPAREN
    { $$ = ast_chain(front, @$, $l, @op, $p, true, $a); }
;
or:
    and
|   or[l] OR[op] and[r]                { $$ = ast_binary(front, @$, AST_OR, @op, $l, $r); }
;
and:
    not
|   and[l] AND[op] not[r]              { $$ = ast_binary(front, @$, AST_AND, @op, $l, $r); }
;
not:
    cmp
|   NOT[op] not[r]                     { $$ = ast_unary(front, @$, AST_NOT, @op, $r); }
;
cmp:
    sum
|   sum[l] cmp_op[o] sum[r]            { $$ = ast_binary(front, @$, $o, @o, $l, $r); }
|   sum[l] IN[op] list[r]              { $$ = ast_in(front, @$, @op, $l, $r); }
;
cmp_op:
    EQ { $$ = AST_EQ; } | NE { $$ = AST_NE; } | LT { $$ = AST_LT; }
|   LE { $$ = AST_LE; } | GT { $$ = AST_GT; } | GE { $$ = AST_GE; }
;
sum:
    term
|   sum[l] PLUS[op] term[r]            { $$ = ast_binary(front, @$, AST_ADD, @op, $l, $r); }
|   sum[l] MINUS[op] term[r]           { $$ = ast_binary(front, @$, AST_SUB, @op, $l, $r); }
;
term:
    unary
|   term[l] TIMES[op] unary[r]         { $$ = ast_binary(front, @$, AST_MUL, @op, $l, $r); }
|   term[l] SLASH[op] unary[r]         { $$ = ast_binary(front, @$, AST_DIV, @op, $l, $r); }
|   term[l] FLOORDIV[op] unary[r]      { $$ = ast_binary(front, @$, AST_FLOORDIV, @op, $l, $r); }
|   term[l] PERCENT[op] unary[r]       { $$ = ast_binary(front, @$, AST_MOD, @op, $l, $r); }
;
unary:
    primary
|   MINUS[op] unary[r]                 { $$ = ast_unary(front, @$, AST_NEG, @op, $r); }
;
primary:
    path[p]                            { $$ = ast_path(front, @$, $p); }
|   path[p] LPAREN args[a] RPAREN      { $$ = ast_call(front, @$, $p, $a); }
|   INT[v]                             { $$ = ast_int(front, @$, $v); }
|   REAL[v]                            { $$ = ast_real(front, @$, $v); }
|   list
|   LPAREN expr[e] RPAREN              { $$ = ast_paren(front, @$, $e); }
;
args:
    %empty                                         { $$ = NULL; }
|   arg_list
|   arg_list COMMA                                 { $$ = $1; }
;
arg_list:
    arg[a]                                         { $$ = ast_arg(front, NULL, $a); }
|   arg_list[l] COMMA arg[a]                       { $$ = ast_arg(front, $l, $a); }
;
arg:
    expr[e]                            { $$ = (struct arg){{NULL, NO_SPAN}, $e}; }
|   NAME[n] ASSIGN expr[e]             { $$ = (struct arg){{$n, @n}, $e}; }
;
list: LBRACKET list_items[i] RBRACKET              { $$ = ast_list(front, @$, $i); } ;
list_items:
    %empty                                         { $$ = NULL; }
|   exprs
|   exprs COMMA                                    { $$ = $1; }
;

%%

static void fg_error(const struct span *at, struct front *front, const char *message)
{
    (void)message; /* only "memory exhausted" comes here: the stack's limit */
    front_too_deep(front, *at);
}

static int yyreport_syntax_error(const yypcontext_t *context, struct front *front)
{
    enum { MANY = 128 };
    yysymbol_kind_t kinds[MANY];
    int expected[MANY];
    int n = yypcontext_expected_tokens(context, kinds, MANY);
    for (int i = 0; i < n; i++) expected[i] = (int)kinds[i];
    yysymbol_kind_t found = yypcontext_token(context);
    if (found != YYSYMBOL_YYEMPTY)
        front_unexpected(front, *yypcontext_location(context), (int)found, expected, (size_t)n);
    return 0;
}

const char *front_symbol_name(int symbol)
{
    return yysymbol_name((yysymbol_kind_t)symbol);
}
