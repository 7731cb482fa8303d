/* nvrtc: a libnvrtc.so.13 that has plain kernels compiled by this machine's C++ compiler, with
 * unit/kernel_shim.h in place of CUDA. The code that it gives is the path of a shared library (fakes/cuda.c).
 * FAKE_SHIM: the shim's folder; FAKE_SPOIL: a text, and FAKE_SPOILED what stands in its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    char *text, folder[200], path[300], log[1000];
};

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

int nvrtcCreateProgram(struct program **p, const char *text, const char *name, int n, const char *const *headers, const char *const *names);
int nvrtcCreateProgram(struct program **p, const char *text, const char *name, int n, const char *const *headers, const char *const *names)
{
    (void)name;
    (void)headers;
    (void)names;
    if (n) return 1;
    *p = calloc(1, sizeof **p);
    (*p)->text = strdup(text);
    return 0;
}

static void put_text(const char *text, FILE *f)
{
    const char *spoil = getenv("FAKE_SPOIL"), *spoiled = getenv("FAKE_SPOILED"), *at = spoil ? strstr(text, spoil) : NULL;
    if (at && spoiled)
        fprintf(f, "%.*s%s%s", (int)(at - text), text, spoiled, at + strlen(spoil));
    else
        fputs(text, f);
}

/* A function that runs all threads of each kernel, and how many pointers it takes. */
static void put_loops(const char *text, FILE *f)
{
    static const char start[] = "\nKERNEL ";
    for (const char *p = text; (p = strstr(p, start));) {
        char name[200];
        p += sizeof start - 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "("), p);
        int n = 0;
        const char *end = strchr(p, ')');
        for (const char *q = p; (q = strstr(q, "void *")) && q < end; q++) n++;
        fprintf(f, "extern \"C\" { extern const int args_%s; const int args_%s = %d;\n", name, name, n);
        fprintf(f, "void run_%s(void **p, long long first, long long count) { EACH_THREAD(count, %s(", name, name);
        for (int i = 0; i < n; i++) fprintf(f, "p[%d], ", i);
        fprintf(f, "first, count)); } }\n");
    }
}

int nvrtcCompileProgram(struct program *p, int n, const char *const *options);
int nvrtcCompileProgram(struct program *p, int n, const char *const *options)
{
    char at[300], command[1500];
    const char *tmp = getenv("TMPDIR");
    if (n < 1 || strcmp(options[0], "--gpu-architecture=sm_90") != 0) return 2;
    snprintf(p->folder, sizeof p->folder, "%s/fake-nvrtc-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(p->folder)) return 3;
    snprintf(at, sizeof at, "%s/k.cc", p->folder);
    snprintf(p->path, sizeof p->path, "%s/k.so", p->folder);
    FILE *f = fopen(at, "w");
    if (!f) return 3;
    fputs("#include <cmath>\n#include \"kernel_shim.h\"\n", f);
    put_text(p->text, f);
    put_loops(p->text, f);
    fclose(f);
    snprintf(command, sizeof command, "c++ -w -std=c++17 -O1 -ffp-contract=off -shared -fPIC -I'%s' -o '%s' '%s' >&2", getenv("FAKE_SHIM"),
             p->path, at);
    if (system(command) == 0) return 0;
    snprintf(p->log, sizeof p->log, "c++ refuses %s", at);
    return 6;
}

#define GIVE(Size, Text, what)                                              \
    int Size(struct program *p, size_t *n);                                 \
    int Size(struct program *p, size_t *n) { return *n = strlen(what) + 1, 0; } \
    int Text(struct program *p, char *to);                                  \
    int Text(struct program *p, char *to) { return strcpy(to, what), 0; }
GIVE(nvrtcGetProgramLogSize, nvrtcGetProgramLog, p->log)
GIVE(nvrtcGetCUBINSize, nvrtcGetCUBIN, p->path)

int nvrtcDestroyProgram(struct program **p);
int nvrtcDestroyProgram(struct program **p)
{
    free((*p)->text);
    free(*p);
    *p = NULL;
    return 0;
}
