/* map: strings to pointers, in insertion order. The only file that knows uthash.
 *
 * Invariant: every allocation of a table comes from the map's arena; uthash never frees. */
#include "base/base.h"

#define uthash_malloc(size) arena_alloc(hash_arena, (size))
#define uthash_free(p, size) ((void)(p), (void)(size))
#include <uthash.h>

struct node {
    struct map_entry entry;
    UT_hash_handle hh;
};
struct map {
    struct arena *arena;
    struct node *table;
    VEC(struct node *) order;
};

struct map *map_new(struct arena *a)
{
    struct map *m = NEW(a, struct map);
    m->arena = a;
    return m;
}

static struct node *find(const struct map *m, const char *key)
{
    struct node *n;
    HASH_FIND_STR(m->table, key, n);
    return n;
}

void *map_get(const struct map *m, const char *key)
{
    struct node *n = find(m, key);
    return n ? n->entry.value : NULL;
}

bool map_put(struct map *m, const char *key, void *value)
{
    struct node *n = find(m, key);
    if (n) {
        n->entry.value = value;
        return false;
    }
    struct arena *hash_arena = m->arena; /* what uthash_malloc above takes from */
    n = NEW(m->arena, struct node);
    n->entry = (struct map_entry){key, value};
    HASH_ADD_KEYPTR(hh, m->table, n->entry.key, strlen(n->entry.key), n);
    vec_push(m->arena, &m->order, n);
    return true;
}

size_t map_count(const struct map *m)
{
    return m->order.n;
}

struct map_entry map_at(const struct map *m, size_t i)
{
    return m->order.at[i]->entry;
}
