/* bits.h - enums of flag bits of which no two can share a bit.
 *
 * Bits are listed by name, once each, and their places are counted. A field that keeps them is held
 * to be wide enough for all of them:
 *
 *     #define CAKE_BITS(BIT)                    \
 *         BIT(CAKE_BAKED)                       \
 *         BIT(CAKE_EATEN) (what that is to mean)
 *     BITS(cake_bit, CAKE_BITS);                enum cake_bit { CAKE_BAKED, CAKE_EATEN }
 *     BITS_FIT(CAKE_BITS, struct cake, flags);
 *
 * CAKE_BITS_WIDTH is how many there are, CAKE_BITS_ALL all of them. An enum of literal 1, 2, 4, ...
 * is refused by the test of the layers. */
#ifndef PICKLOCK_BASE_BITS_H
#define PICKLOCK_BASE_BITS_H

#define BITS_PLACE(name) name##_PLACE,
#define BITS_VALUE(name) name = 1 << name##_PLACE,

#define BITS(tag, LIST)                                                                            \
    enum { LIST(BITS_PLACE) LIST##_WIDTH };                                                        \
    _Static_assert(LIST##_WIDTH < 31, #tag ": too many bits for an enum");                         \
    enum { LIST##_ALL = (1 << LIST##_WIDTH) - 1 };                                                 \
    enum tag { LIST(BITS_VALUE) }

/* So many bits, all of the list or an index each, have room in that member. */
#define BITS_FIT(LIST, type, member) BITS_FIT_COUNT(LIST##_WIDTH, type, member)
#define BITS_FIT_COUNT(count, type, member)                                                        \
    _Static_assert((count) <= 8 * sizeof((type *)0)->member, #member ": too narrow for its bits")

static inline int bits_count(unsigned bits)
{
    int count = 0;
    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

#endif
