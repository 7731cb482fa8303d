/* main: picks the subcommand and turns what was recorded into an exit status. */
#include "driver/driver.h"

#include <stdlib.h>
#include <unistd.h>

static int (*const commands[N_COMMANDS])(struct session *, const struct options *) = {
#define COMMAND(name, operands, doc) [CMD_##name] = cmd_##name,
#define OPTION(...)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
};

static bool wants_colour(const struct options *o)
{
    if (o->colour && strcmp(o->colour, "always") == 0) return true;
    if (o->colour && strcmp(o->colour, "never") == 0) return false;
    return isatty(STDERR_FILENO) && !getenv("NO_COLOR");
}

static bool wants_form(struct session *s, const struct options *o)
{
    static const char *const forms[] = {
        [DIAG_FORM_text] = "text", [DIAG_FORM_json] = "json", [DIAG_FORM_sarif] = "sarif"};
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (!o->diagnostics || strcmp(o->diagnostics, forms[i]) == 0) {
            s->form = (enum diag_form)i;
            return true;
        }
    diag(s, DIAG_usage, NO_SPAN, "--diagnostics is text, json or sarif, not '%s'", o->diagnostics);
    return false;
}

static int run(struct session *s, int argc, char **argv, enum command *command)
{
    struct options o;
    bool ok = options_parse(s, argc, argv, &o);
    *command = o.command;
    s->colour = wants_colour(&o);
    s->werror = o.werror;
    ok = wants_form(s, &o) && ok;
    if (!ok) return 0;
    if (o.version) {
        printf("fgc %s\n", PACKAGE_VERSION);
        return 0;
    }
    if (o.help) {
        options_help(o.command, o.command == CMD_compile, stdout);
        return 0;
    }
    if (argc == 1) {
        options_help(CMD_compile, true, stderr);
        return 2;
    }
    return commands[o.command](s, &o);
}

int main(int argc, char **argv)
{
    repeat_begin(argc, argv);
    struct session *s = session_new();
    enum command command;
    int status = run(s, argc, argv, &command);
    int recorded = session_exit_status(s);
    /* What check refuses has its place in the text, and nothing was searched or built. */
    diag_finish(s, stderr, recorded == 3 && command != CMD_check ? repeat_command(s->arena) : NULL);
    session_free(s);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "fgc: error: cannot write standard output\n");
        return 3;
    }
    return recorded ? recorded : status;
}
