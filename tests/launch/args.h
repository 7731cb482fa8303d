/* args: a graph's arguments for check.c, whose subject.h stands before this. */
#ifndef ARGS_H
#define ARGS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = sizeof subject / sizeof *subject };

static const char *number(unsigned long x)
{
    static char text[4][32];
    static int i;
    i = (i + 1) % 4;
    snprintf(text[i], sizeof text[i], "%lu", x);
    return text[i];
}

static const char *quoted(const char *name)
{
    static char text[4][80];
    static int i;
    i = (i + 1) % 4;
    snprintf(text[i], sizeof text[i], "'%s'", name);
    return text[i];
}

/* ---- arguments: addresses are never read, so any will do ------------------------------------- */

static void set_pointer(ARGS *args, int i, uintptr_t p)
{
    void *v = (void *)p;
    memcpy((char *)args + subject[i].field, &v, sizeof v);
}

static void *get_pointer(const ARGS *args, int i)
{
    void *p;
    memcpy(&p, (const char *)args + subject[i].field, sizeof p);
    return p;
}

/* Set number k of pointers that lie apart and as aligned as is asked for, never more. */
static void *fill(ARGS *args, int k)
{
    uintptr_t at = (uintptr_t)0x100000000u * (uintptr_t)(k + 1);
    for (int i = 0; i < N; i++) {
        if (subject[i].role == SCALAR) continue;
        uintptr_t align = subject[i].align;
        at = (at + 2 * align - 1) / (2 * align) * 2 * align + align;
        set_pointer(args, i, at);
        at += subject[i].bytes + 65536; /* a gap wider than the workspace of test_workspace */
    }
    return NEEDED_WORKSPACE || fake.workspace > 0 ? (void *)((at + 511) / 512 * 512 + 256) : NULL;
}

static void set_scalar(ARGS *args, int i, double x)
{
    char *to = (char *)args + subject[i].field;
    float f = (float)x;
    int32_t w = (int32_t)x;
    int64_t l = (int64_t)x;
    switch (subject[i].kind) {
    case 'd': memcpy(to, &x, 8); break;
    case 'l': memcpy(to, &l, 8); break;
    case 'i': memcpy(to, &w, 4); break;
    default: memcpy(to, &f, 4); break;
    }
}

static double get_scalar(const ARGS *args, int i)
{
    const char *from = (const char *)args + subject[i].field;
    double d;
    float f;
    int32_t w;
    int64_t l;
    switch (subject[i].kind) {
    case 'd': memcpy(&d, from, 8); return d;
    case 'l': memcpy(&l, from, 8); return (double)l;
    case 'i': memcpy(&w, from, 4); return (double)w;
    default: memcpy(&f, from, 4); return (double)f;
    }
}

/* What cuDNN read for the scalar: numbers here are small integers and halves, exact in every type.
 */
static double read_scalar(int i)
{
    double d;
    float f;
    int32_t w;
    int64_t l;
    uint16_t h;
    uint32_t u;
    switch (subject[i].type) {
    case F64: fake_value(subject[i].uid, &d, 8); return d;
    case F32: fake_value(subject[i].uid, &f, 4); return (double)f;
    case I64: fake_value(subject[i].uid, &l, 8); return (double)l;
    case I32: fake_value(subject[i].uid, &w, 4); return (double)w;
    case BF16:
        fake_value(subject[i].uid, &h, 2);
        u = (uint32_t)h << 16;
        memcpy(&f, &u, 4);
        return (double)f;
    case F16: /* normal numbers and 0 only */
        fake_value(subject[i].uid, &h, 2);
        d = h & 0x7fff ? ldexp(1024 + (h & 1023), (h >> 10 & 31) - 25) : 0;
        return h & 0x8000 ? -d : d;
    default: return NAN;
    }
}

#endif
