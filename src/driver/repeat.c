/* repeat: the command that repeats this run, for what failed without being the text's fault.
 *
 * Printed when the world refused (exit status 3), where what was searched and found matters, and
 * when fgc itself is at fault (70): a failed assertion, a fault, no memory. A mistake in the text
 * (1) or in the command (2) has its place in the message. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/driver.h"

/* What a run depends on beside its arguments; tests/cli/repeat.py compares this with the source. */
static const char *const matters[] = {"FGC_CUDNN", "FGC_CUDA", "FGC_NO_PYTHON",
                                      "FGC_LIBEXEC", "FGC_DB", "LD_LIBRARY_PATH"};

void shell_word(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=,:+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        buf_puts(b, word);
        return;
    }
    buf_puts(b, "'");
    for (; *word; word++)
        if (*word == '\'')
            buf_puts(b, "'\\''");
        else
            buf_put(b, word, 1);
    buf_puts(b, "'");
}

/* A handler of signals is given nothing, so what it prints is kept here, made before all else. */
static struct buf line;

enum { WORD = sizeof "repeat: " - 1 };

const char *repeat_command(struct arena *a)
{
    return line.n > WORD ? arena_strndup(a, line.at + WORD, line.n - WORD - 1) : NULL;
}

static void repeat_print(void)
{
    if (line.n == 0) return;
    fflush(stderr);
    if (write(STDERR_FILENO, line.at, line.n) < 0) return; /* nobody is left to be told */
}

static void at_fault(int signal_number)
{
    static const char text[] = "fgc: error: this is a bug in fgc, which stopped; 'fgc bundle FILE.fg' packs what "
                               "repeats it\n";
    (void)signal_number;
    if (write(STDERR_FILENO, text, sizeof text - 1) > 0 && line.n)
        if (write(STDERR_FILENO, line.at, line.n) < 0) _exit(70);
    _exit(70);
}

static void at_exit(int status, void *unused)
{
    (void)unused;
    if (status == 70) repeat_print();
    buf_fini(&line);
}

/* On a stack of its own: a stack that overflowed cannot run its handler. */
static void catch_faults(void)
{
    static char stack[64 << 10];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction act = {.sa_handler = at_fault, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    size_t n = COUNT_OF(faults);
#ifdef __SANITIZE_ADDRESS__
    n = 1; /* the sanitizer tells more of the others */
#endif
    if (sigaltstack(&own, NULL) != 0) act.sa_flags &= ~SA_ONSTACK;
    for (size_t i = 0; i < n; i++) sigaction(faults[i], &act, NULL);
}

void repeat_begin(int argc, char **argv)
{
    buf_puts(&line, "repeat:");
    for (size_t i = 0; i < COUNT_OF(matters); i++) {
        const char *value = getenv(matters[i]);
        if (!value) continue;
        buf_printf(&line, " %s=", matters[i]);
        shell_word(&line, value);
    }
    for (int i = 0; i < argc; i++) {
        buf_puts(&line, " ");
        shell_word(&line, argv[i]);
    }
    buf_puts(&line, "\n");
    on_exit(at_exit, NULL);
    catch_faults();
}
