/* cmd_completion: what a shell offers behind `fgc`, made from the tables: commands, their options,
 * the choices of an option, operators, diagnostics, and else files. */
#include "driver/driver.h"

/* Calls put for every choice of "a|b|c"; false when the text names no choices. */
static bool choices(const char *arg, const char *separator, FILE *to)
{
    if (!arg || !strchr(arg, '|') || strpbrk(arg, "[]=.")) return false;
    for (const char *p = arg; *p; p += p[0] == '|') {
        size_t n = strcspn(p, "|");
        fprintf(to, "%s%.*s", p == arg ? "" : separator, (int)n, p);
        p += n;
    }
    return true;
}

/* The words that may stand where a command takes no file. False when it takes files. */
static bool operands(struct session *s, enum command c, const char *separator, FILE *to)
{
    const char *before = "";
    if (c == CMD_completion) return choices(options_command(c)->operands, separator, to);
    for (int i = OP_none + 1; c == CMD_ops && i < N_OPS; i++, before = separator)
        fprintf(to, "%s%s", before, ops[i].name);
    for (int i = 0; c == CMD_explain && i < N_DIAGS; i++, before = separator)
        fprintf(to, "%s%s", before, diag_name(s->arena, (enum diag_id)i));
    return *before != '\0';
}

/* ---- bash ---------------------------------------------------------------------------------- */

static void bash_values(enum command c, FILE *to)
{
    struct option_view o;
    for (size_t i = 0; options_row(c, i, &o); i++) {
        if (!o.taken || !o.arg) continue;
        fprintf(to, "    %s:--%s", options_command(c)->name, o.name);
        if (o.letter) fprintf(to, "|%s:-%c", options_command(c)->name, o.letter);
        fputs(") ", to);
        if (strchr(o.arg, '|') && !strpbrk(o.arg, "[]=.")) {
            fputs("words='", to);
            choices(o.arg, " ", to);
            fputs("'", to);
        } else {
            fputs("files=yes", to);
        }
        fputs(" ;;\n", to);
    }
}

static void bash(struct session *s, FILE *to)
{
    fputs("# bash completion of fgc; made by `fgc completion bash`\n_fgc() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=compile options= operands= words= files=\n"
          "    if [[ $word == = ]]; then\n        word=\n"
          "    elif [[ $before == = ]]; then\n        before=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n"
          "    if ((COMP_CWORD > 1)); then\n        case ${COMP_WORDS[1]} in\n        ",
          to);
    for (int c = 0; c < N_COMMANDS; c++)
        fprintf(to, "%s%s", c ? "|" : "", options_command((enum command)c)->name);
    fputs(") command=${COMP_WORDS[1]} ;;\n        esac\n    fi\n    case $command in\n", to);
    for (int c = 0; c < N_COMMANDS; c++) {
        struct option_view o;
        fprintf(to, "    %s)\n        options='", options_command((enum command)c)->name);
        const char *before = "";
        for (size_t i = 0; options_row((enum command)c, i, &o); i++) {
            if (!o.taken) continue;
            fprintf(to, "%s--%s", before, o.name);
            before = " ";
        }
        fputs("'\n        operands='", to);
        operands(s, (enum command)c, " ", to);
        fputs("' ;;\n", to);
    }
    fputs("    esac\n    case $command:$before in\n", to);
    for (int c = 0; c < N_COMMANDS; c++) bash_values((enum command)c, to);
    fputs("    *)\n        if [[ $word == -* ]]; then\n            words=$options\n"
          "        elif [[ $operands ]]; then\n            words=$operands\n"
          "        else\n            files=yes\n        fi\n"
          "        if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then\n            words='",
          to);
    for (int c = 0; c < N_COMMANDS; c++)
        fprintf(to, "%s%s", c ? " " : "", options_command((enum command)c)->name);
    fputs("'\n        fi ;;\n    esac\n    COMPREPLY=()\n"
          "    [[ $words ]] && mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
          "    [[ $files ]] && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "
          "\"$word\")\n"
          "    return 0\n}\ncomplete -o filenames -F _fgc fgc\n",
          to);
}

/* ---- zsh and fish ---------------------------------------------------------------------------- */

/* Within single quotes; `special` are put behind a backslash. */
static void quoted(const char *text, const char *special, const char *quote, FILE *to)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, to);
        else
            fprintf(to, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

static void zsh_option(const struct option_view *o, FILE *to)
{
    fprintf(to, " \\\n            '*--%s%s[", o->name, o->arg ? "=" : "");
    quoted(o->doc, "[]:\\", "'\\''", to);
    fputs("]", to);
    if (o->arg) {
        fputs(":", to);
        quoted(o->arg, "[]:\\", "'\\''", to);
        fputs(":", to);
        if (strchr(o->arg, '|') && !strpbrk(o->arg, "[]=.")) {
            fputs("(", to);
            choices(o->arg, " ", to);
            fputs(")", to);
        } else {
            fputs("_files", to);
        }
    }
    fputs("'", to);
}

static void zsh(struct session *s, FILE *to)
{
    fputs("#compdef fgc\n# made by `fgc completion zsh`\n_fgc() {\n    local command=compile\n"
          "    local -a commands\n    commands=(\n",
          to);
    for (int c = 0; c < N_COMMANDS; c++) {
        fprintf(to, "        '%s:", options_command((enum command)c)->name);
        quoted(options_command((enum command)c)->doc, ":\\", "'\\''", to);
        fputs("'\n", to);
    }
    fputs("    )\n    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
          "        _describe command commands\n        _files\n        return\n    fi\n"
          "    if [[ -n ${(M)commands:#$words[2]:*} ]]; then\n        command=$words[2]\n"
          "        shift words\n        ((CURRENT--))\n    fi\n    case $command in\n",
          to);
    for (int c = 0; c < N_COMMANDS; c++) {
        struct option_view o;
        fprintf(to, "    %s)\n        _arguments", options_command((enum command)c)->name);
        for (size_t i = 0; options_row((enum command)c, i, &o); i++)
            if (o.taken) zsh_option(&o, to);
        fputs(" \\\n            '*: :", to);
        if (c == CMD_ops || c == CMD_explain || c == CMD_completion) {
            fputs("(", to);
            operands(s, (enum command)c, " ", to);
            fputs(")' ;;\n", to);
        } else {
            fputs("_files' ;;\n", to);
        }
    }
    fputs("    esac\n}\n_fgc \"$@\"\n", to);
}

static void fish(struct session *s, FILE *to)
{
    fputs("# fish completion of fgc; made by `fgc completion fish`\nset -l commands", to);
    for (int c = 0; c < N_COMMANDS; c++) fprintf(to, " %s", options_command((enum command)c)->name);
    fputs("\n", to);
    for (int c = 0; c < N_COMMANDS; c++) {
        const struct command_view *v = options_command((enum command)c);
        struct option_view o;
        fprintf(to, "complete -c fgc -n \"not __fish_seen_subcommand_from $commands\" -a %s -d '",
                v->name);
        quoted(v->doc, "\\", "\\'", to);
        fputs("'\n", to);
        for (size_t i = 0; options_row((enum command)c, i, &o); i++) {
            if (!o.taken) continue;
            if (c == CMD_compile)
                fputs("complete -c fgc -n \"not __fish_seen_subcommand_from $commands; or "
                      "__fish_seen_subcommand_from compile\"",
                      to);
            else
                fprintf(to, "complete -c fgc -n '__fish_seen_subcommand_from %s'", v->name);
            fprintf(to, " -l %s", o.name);
            if (o.letter) fprintf(to, " -s %c", o.letter);
            if (o.arg) fputs(" -r", to);
            if (o.arg && strchr(o.arg, '|') && !strpbrk(o.arg, "[]=.")) {
                fputs(" -f -a '", to);
                choices(o.arg, " ", to);
                fputs("'", to);
            }
            fputs(" -d '", to);
            quoted(o.doc, "\\", "\\'", to);
            fputs("'\n", to);
        }
        if (c != CMD_ops && c != CMD_explain && c != CMD_completion) continue;
        fprintf(to, "complete -c fgc -n '__fish_seen_subcommand_from %s' -f -a '", v->name);
        operands(s, (enum command)c, " ", to);
        fputs("'\n", to);
    }
}

int cmd_completion(struct session *s, const struct options *o)
{
    static const struct {
        const char *name;
        void (*print)(struct session *, FILE *);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; o->operands.n == 1 && i < COUNT_OF(shells); i++)
        if (strcmp(o->operands.at[0], shells[i].name) == 0) {
            shells[i].print(s, stdout);
            return 0;
        }
    diag(s, DIAG_usage, NO_SPAN, "one shell is needed: bash, zsh or fish");
    return 0;
}
