/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a policy, and the state that it sees. For sched/ alone.
 *
 * A policy decides from the state here; sched.c keeps it: who is ready, what has been attained, and
 * who has waited. State of its own, for each session, tenant and GPU, it asks for by its size
 * (struct sched_policy) and finds by sched_own. */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "sched/cap.h"
#include "sched/sched.h"

#define SCHED_NONE UINT32_MAX

struct sched_session {
    struct sched_request request;
    bool joined;
    bool ready;             /* it has work, waiting or running, and its tenant may use the GPU */
    bool awake;             /* by the last decision */
    bool woken;             /* by the decision that is being made: sched_wake */
    bool capped;            /* its tenant has used up a cap or throttle for now */
    uint32_t tenant;        /* index */
    uint32_t passed;        /* turns of others that have begun since it has been ready in vain */
    uint32_t passed_before; /* and before passed_at, the time of the last one */
    uint64_t passed_at;
    uint64_t order;         /* its last turn, as a number that grows; a join counts as one */
    uint64_t joined_order;  /* its join, as such a number */
    uint64_t place;         /* its last turn; before it, the last of its tenant; 0: none */
    uint64_t idle_since;    /* it has had no work since then; SCHED_NEVER: it has */
    uint64_t waiting_since; /* it is ready in vain since then; SCHED_NEVER: it is not */
    uint64_t turn_began;    /* if it is awake */
    uint64_t waited_ns, turns;
    /* The engine it has worked on last, and its pauses after work on each, of late; 0: not known.
     */
    enum gpu_engine worked;
    double pauses_ns[GPU_ENGINES];
    uint64_t attained_ns[GPU_ENGINES];
    double gs, cgs; /* in this quantum; as of its beginning (history.h) */
};

struct sched_tenant {
    uint64_t number;
    uint32_t weight;
    uint32_t sessions; /* that are here; 0: another tenant may take the row (absent.h) */
    /* Its debts, ns: for turns of its own that were too long, and those that sessions have left to
     * the next one. It stays if the policy changes, and while the tenant is absent. */
    double debt, debt_left;
    uint32_t working;    /* sessions that have work */
    uint64_t idle_since; /* none has since then; SCHED_NEVER: one has, or none has had any yet */
    double pause_ns;     /* how long that lasts of late; 0: not known */
    double work_ns;      /* and what it uses of the GPU between two of these */
    double used_ns;      /* since the last of them */
    double gs, cgs;      /* of all its sessions, as theirs */
    double recent_ns;    /* likewise, but it fades evenly */
    uint64_t order;      /* of the last turn of any of them */
    struct sched_bucket cap, throttle;
};

/* The turn of policies that wake one session at a time (turn.h). */
struct sched_turn {
    uint32_t slot; /* SCHED_NONE: nobody's */
    bool over;     /* what runs is waited for */
    bool alone;    /* nobody else was ready at some time of it */
    uint64_t
        wanted_since; /* others want it, or are about to, since then; SCHED_NEVER: nobody does */
    uint64_t began;
    double length; /* it may take */
    double used;   /* GPU time that it has taken */
};

struct sched_absent;

/* The state of policies themselves: an array with so many bytes for each. */
struct sched_own {
    char *of;
    size_t bytes;
};

struct sched {
    const struct sched_policy *policy;
    const struct sched_policy *acting; /* the same, but for auto */
    struct sched_settings settings;
    struct sched_gpu gpu;
    struct sched_session *sessions;
    uint32_t session_count, session_room; /* slots in use are below the count */
    struct sched_tenant *tenants;
    uint32_t tenant_count, tenant_room;
    struct sched_absent *absent;
    uint32_t absent_count, absent_room;
    struct sched_awake *awake; /* session_room of them */
    uint32_t awake_count;
    uint64_t again;
    uint64_t order;       /* of the last turn */
    uint64_t quantum_end; /* of the history (history.h) */
    /* The quantum of tenants has begun then; the longest operation in it, and in the one before. */
    uint64_t tenants_since, longest_ns, longest_before_ns;
    /* The service of tenants has faded until then; the longest operation of late. */
    uint64_t faded_at;
    double recent_longest_ns;
    struct sched_turn turn;
    uint32_t kept_tenant; /* whose row no other tenant gets, for a policy has it to account for */
    struct sched_own own_sessions, own_tenants, own_gpu; /* session_room, tenant_room, 1 */
};

/* The bits of `uses`. */
enum sched_used {
#define SCHED_SETTING(id, ...) SCHED_USED_##id,
#define SCHED_LIMIT(id, name)  SCHED_USED_##id,
#include "sched/settings.def"
};
#define SCHED_USES(id) (1u << SCHED_USED_##id)
/* Turns are held, for a twentieth of an epoch at most if pauses are long. */
#define SCHED_USES_HOLD (SCHED_USES(HOLD) | SCHED_USES(EPOCH))
#define SCHED_USES_LAS                                                                             \
    (SCHED_USES_HOLD | SCHED_USES(SLICE) | SCHED_USES(QUANTUM) | SCHED_USES(LAS_PASSED_MAX) |      \
     SCHED_USES(SHARE))
#define SCHED_USES_LATENCY                                                                         \
    (SCHED_USES_HOLD | SCHED_USES(SLICE) | SCHED_USES(BATCH_PERCENT) | SCHED_USES(LATENCY_GOAL))

struct sched_policy {
    const char *name, *summary;
    unsigned uses; /* bits of enum sched_used */
    /* Its own state (own.h), for each session, tenant and GPU. */
    size_t session_bytes, tenant_bytes, gpu_bytes;
    /* A session that has had work less than hold_ns ago counts as one that has some: its turn
     * begins, and waits for it. */
    bool anticipates;
    /* Turns are held only in pauses that are mostly short. */
    bool holds_little;
    /* NULL: it works with all settings that fit each other, on every GPU. */
    enum ga_status (*check)(const struct sched_settings *settings, const struct sched_gpu *gpu,
                            char *why, size_t why_room);
    /* It becomes the policy: its state of earlier times means nothing. May be NULL. */
    void (*begin)(struct sched *sched, uint64_t now);
    /* Wakes sessions with sched_wake, and sets `again`, which is SCHED_NEVER before. */
    void (*decide)(struct sched *sched, uint64_t now);
    /* Service has been attained; may be NULL. */
    void (*charge)(struct sched *sched, uint32_t slot, enum gpu_engine engine, uint64_t used_ns,
                   uint64_t now);
    /* A session has joined, or was there when the policy began; may be NULL. */
    void (*join)(struct sched *sched, uint32_t slot);
    /* A session leaves, still as it was, or another policy begins; may be NULL. */
    void (*leave)(struct sched *sched, uint32_t slot, uint64_t now);
};

/* The policy's own state of a session, of a row of the tenants, of the GPU. */
static inline void *sched_own_session(const struct sched *sched, uint32_t slot)
{
    return sched->own_sessions.of + slot * sched->own_sessions.bytes;
}
static inline void *sched_own_tenant(const struct sched *sched, uint32_t row)
{
    return sched->own_tenants.of + row * sched->own_tenants.bytes;
}
static inline void *sched_own_gpu(const struct sched *sched)
{
    return sched->own_gpu.of;
}

/* Wakes a session until then. */
void sched_wake(struct sched *sched, uint32_t slot, uint64_t until, uint32_t rank);
/* A turn of the session begins, whether it was awake or not: all others that are ready and not
 * woken by this decision have been passed over once more. Call it behind all sched_wake. */
void sched_turn_begins(struct sched *sched, uint32_t slot, uint64_t now);
/* Decide again then, if not before. */
static inline void sched_again(struct sched *sched, uint64_t at)
{
    sched->again = at < sched->again ? at : sched->again;
}

/* Turns that have passed the session, without those that begin now: a decision would not be the
 * same if it were asked for again. */
static inline uint32_t sched_passed(const struct sched_session *session, uint64_t now)
{
    return session->passed_at == now ? session->passed_before : session->passed;
}

/* The session has no work, but has had some less than hold_ns ago. */
static inline bool sched_held(const struct sched *sched, uint32_t slot, uint64_t now)
{
    const struct sched_session *session = &sched->sessions[slot];
    return session->idle_since != SCHED_NEVER && !session->capped &&
           now - session->idle_since < sched_hold_ns(sched, slot);
}

/* Over the slots of sessions that are here. */
#define sched_each(sched, slot)                                                                    \
    for (uint32_t slot = 0; slot < (sched)->session_count; slot++)                                 \
        if ((sched)->sessions[slot].joined)

#endif
