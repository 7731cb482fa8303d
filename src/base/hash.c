/* hash: SHA-256 by libcrypto, base64 by RFC 4648. */
#include "base/base.h"

#include <openssl/evp.h>
#include <stdlib.h>

void sha256_hex(const void *bytes, size_t n, char out[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    if (!EVP_Digest(bytes, n, digest, &len, EVP_sha256(), NULL) || len != 32) {
        fputs("fgc: internal error, please report: SHA-256 is not available\n", stderr);
        exit(70);
    }
    for (unsigned int i = 0; i < len; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(struct arena *a, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    char *out = arena_alloc(a, (n + 2) / 3 * 4 + 1), *q = out;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16;
        if (i + 1 < n) v |= (uint32_t)p[i + 1] << 8;
        if (i + 2 < n) v |= p[i + 2];
        *q++ = digits[v >> 18];
        *q++ = digits[v >> 12 & 63];
        *q++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *q++ = i + 2 < n ? digits[v & 63] : '=';
    }
    return out;
}

bool base64_decode(struct arena *a, const char *text, size_t len, unsigned char **bytes, size_t *n)
{
    if (len % 4) return false;
    unsigned char *out = arena_alloc(a, len / 4 * 3 + 1);
    size_t pad = len && text[len - 1] == '=' ? 1 + (text[len - 2] == '=') : 0;
    *n = 0;
    for (size_t i = 0; i < len; i += 4) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            bool padding = i + 4 == len && k >= 4 - pad;
            const char *d = padding ? digits : memchr(digits, text[i + k], 64);
            if (!d) return false;
            v = v << 6 | (uint32_t)(d - digits);
        }
        size_t here = i + 4 == len ? 3 - pad : 3;
        if ((pad == 1 && here == 2 && v & 0xff) || (pad == 2 && here == 1 && v & 0xffff))
            return false;
        for (size_t k = 0; k < here; k++) out[(*n)++] = (unsigned char)(v >> (16 - 8 * k));
    }
    *bytes = out;
    return true;
}
