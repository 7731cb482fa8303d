/* number: reading reals without regard to the locale. */
#include "base/base.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

bool real_parse(const char *s, double *out)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return false;
    char *end;
    errno = 0;
    *out = strtod_l(s, &end, c);
    freelocale(c);
    if (end == s || *end) return false;
    if (isinf(*out) && errno == ERANGE) return false;
    if (*out == 0) /* a digit other than 0 before the exponent means that it vanished */
        for (const char *p = s; *p && *p != 'e' && *p != 'E'; p++)
            if (*p >= '1' && *p <= '9') return false;
    return true;
}
