/* ---- the plan beside the program ------------------------------------------------------------ */

#define FGC_ROTATE(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

/* SHA-256 (FIPS 180-4) of one 64-byte block. */
static void fgc_sha256_block(uint32_t h[8], const unsigned char *p)
{
    static const uint32_t k[64] = {
        0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u,
        0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu,
        0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu,
        0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u,
        0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu,
        0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
        0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u,
        0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
        0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u,
        0xc67178f2u};
    uint32_t w[64], a[8];
    int i;
    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | (uint32_t)p[4 * i + 3];
    for (; i < 64; i++) {
        uint32_t s0 = FGC_ROTATE(w[i - 15], 7) ^ FGC_ROTATE(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t s1 = FGC_ROTATE(w[i - 2], 17) ^ FGC_ROTATE(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(a, h, sizeof a);
    for (i = 0; i < 64; i++) {
        uint32_t s1 = FGC_ROTATE(a[4], 6) ^ FGC_ROTATE(a[4], 11) ^ FGC_ROTATE(a[4], 25);
        uint32_t t1 = a[7] + s1 + ((a[4] & a[5]) ^ (~a[4] & a[6])) + k[i] + w[i];
        uint32_t s0 = FGC_ROTATE(a[0], 2) ^ FGC_ROTATE(a[0], 13) ^ FGC_ROTATE(a[0], 22);
        uint32_t t2 = s0 + ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));
        memmove(a + 1, a, 7 * sizeof a[0]);
        a[4] += t1;
        a[0] = t1 + t2;
    }
    for (i = 0; i < 8; i++) h[i] += a[i];
}

static void fgc_sha256(const unsigned char *p, size_t n, char out[65])
{
    uint32_t h[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                     0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    unsigned char last[128];
    size_t whole = n / 64 * 64, rest = n - whole, size = rest < 56 ? 64 : 128, i;
    for (i = 0; i < whole; i += 64) fgc_sha256_block(h, p + i);
    memset(last, 0, sizeof last);
    memcpy(last, p + whole, rest);
    last[rest] = 0x80;
    for (i = 0; i < 8; i++) last[size - 1 - i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    for (i = 0; i < size; i += 64) fgc_sha256_block(h, last + i);
    for (i = 0; i < 8; i++) snprintf(out + 8 * i, 9, "%08lx", (unsigned long)h[i]);
}

static unsigned char *fgc_plan_from_file(struct fgc_object *m, const struct fgc_step *s)
{
    unsigned char *bytes = (unsigned char *)malloc(s->plan_bytes + 1);
    FILE *f = fopen(m->family->plan_file, "rb");
    char digest[65];
    size_t got = 0;
    if (f && bytes && fseek(f, (long)s->plan_at, SEEK_SET) == 0)
        got = fread(bytes, 1, s->plan_bytes, f);
    if (f) fclose(f);
    if (!f || !bytes || got != s->plan_bytes) {
        fgc_fail(m, FGC_ERROR_PLAN, "the plan file '%s' %s", m->family->plan_file,
                 f ? "is too short" : "cannot be opened");
        free(bytes);
        return NULL;
    }
    fgc_sha256(bytes, s->plan_bytes, digest);
    if (strcmp(digest, s->plan_sha256) != 0) {
        fgc_fail(m, FGC_ERROR_PLAN, "the plan file '%s' is not the one this program was made for",
                 m->family->plan_file);
        free(bytes);
        return NULL;
    }
    return bytes;
}
