/* fault.h - one rule, one strike, one wait: shared by rules*.c and the fault_*.c files. */
#ifndef PICKLOCK_PROXY_FAULT_H
#define PICKLOCK_PROXY_FAULT_H

#include "base/bits.h"
#include "base/limits.h"
#include "base/random.h"
#include "proxy/rules.h"

enum { ARGUMENT_NOTHING = 0 };

enum { SCRIPTS_MAX = 48 }; /* rules with script=: a bit each in a request */

#define ARGUMENTS(BIT)                                                                             \
    BIT(ARGUMENT_TIME)                                                                             \
    BIT(ARGUMENT_JITTER)                                                                           \
    BIT(ARGUMENT_SIZE)                                                                             \
    BIT(ARGUMENT_RATE)                                                                             \
    BIT(ARGUMENT_CUT)                                                                              \
    BIT(ARGUMENT_BYTES)                                                                            \
    BIT(ARGUMENT_LABEL)                                                                            \
    BIT(ARGUMENT_UNTIL)                                                                            \
    BIT(ARGUMENT_BARRIER)                                                                          \
    BIT(ARGUMENT_BOUND)
BITS(argument, ARGUMENTS);

struct fault_arguments {
    unsigned given; /* enum argument */
    int64_t time_us, jitter_us, max_us;
    uint64_t size, barrier, rate; /* rate: bytes a second */
    enum proxy_cut cut;
    char label[NAME_MAX_BYTES]; /* LABEL, UNTIL */
    char *bytes;                /* BYTES; kept by the rule */
    size_t bytes_length;
};

struct strike {
    struct rules_link *link;
    struct rule *rule;
    struct proxy_request *request;
    enum point point;
};

/* A row of faults.def. strike says what the hook is to say. */
struct proxy_fault {
    const char *name, *form, *words;
    unsigned points; /* bits of enum point */
    enum point usual;
    unsigned needs, takes; /* enum argument */
    enum proxy_decision (*strike)(const struct strike *strike);
};

extern const struct proxy_fault faults[];
extern const int faults_count;

enum multi { MULTI_ANY, MULTI_INSIDE, MULTI_OUTSIDE };

struct rule_text {
    char *bytes; /* NULL: none */
    size_t length;
};

struct rule {
    char name[NAME_MAX_BYTES];
    enum point point;
    char *commands; /* ",SET,DEL,"; NULL: any */
    struct rule_text key, script, reply, client_name;
    int script_bit;  /* of request.marks: the script matched when the request came; -1: none yet */
    uint64_t client; /* 0: any */
    uint64_t nth, every, first, beyond; /* 0: not said */
    bool has_chance, is_each_client;
    uint32_t chance_ppm;
    int64_t from_us, till_us; /* since the rules were started; 0: not said */
    enum multi multi;
    const struct proxy_fault *fault;
    struct fault_arguments arguments;
    uint64_t stream;  /* of its chances: from its name */
    uint64_t matches; /* of all clients */
    uint64_t strikes;
};

struct label {
    char name[NAME_MAX_BYTES];
    bool is_open; /* released once: open for good */
};

struct rules_orders {
    struct label *labels;
    int labels_count;
    struct wait *waits;
    uint64_t scripts; /* bits of requests' marks that are taken */
    int scripts_last;
    uint16_t generation;
    int references;
};

struct rules_index;

struct rules {
    struct rule *rules;
    int count;
    struct rules_index *index;   /* once they are started */
    struct rules_orders *orders; /* once they are started, or share some */
    uv_loop_t *loop;
    uint64_t seed;
    int64_t started_us;
    int references; /* links, and whoever read them */
    struct rules_hooks hooks;
};

struct rules_link {
    struct rules *rules;
    struct proxy_link *link;
    uint64_t *matches;     /* a count a rule */
    struct wait *waits[2]; /* of the request, of the reply in hand */
};

/* Something held, and what is to happen next. One a direction of a link: what is held holds the
 * rest. */
struct wait {
    uv_timer_t timer;
    struct strike strike;
    struct wait *next, *previous;
    int64_t since_us;
    uint64_t gone;                   /* bandwidth: bytes, since then */
    void (*then)(struct wait *wait); /* when the time is over; must end or begin the wait again */
};

uint64_t names_stream(const char *name); /* which stream of random numbers belongs to a name */
/* What a rule draws at the match in hand of its link: never what its chance drew. */
struct random rules_draw(const struct rules_link *link, const struct rule *rule);
void rules_tell(const struct strike *strike, const char *words);
struct label *rules_label(struct rules *rules, const char *name); /* makes it when it is new */

/* wait.c */
struct wait *wait_new(const struct strike *strike, int64_t us, void (*then)(struct wait *wait));
void wait_again(struct wait *wait, int64_t us);
void wait_free(struct wait *wait);    /* forgets it; what was held stays held */
void wait_forward(struct wait *wait); /* ends it: what was held goes on. Takes wait */

#define FAULT(id, name, points, usual, needs, takes, form, words)                                  \
    enum proxy_decision fault_##id(const struct strike *strike);
#include "proxy/faults.def"
#undef FAULT

#endif
