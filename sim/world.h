/* SPDX-License-Identifier: Apache-2.0 */
/* A run of the simulator from inside. Requests refer to each other by index, since their array
 * grows. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "model/flow.h"
#include "sim/app.h"
#include "sim/queue.h"
#include "sim/random.h"
#include "sim/sim.h"

#define SIM_NONE UINT32_MAX
/* Runs with more GPUs or tenants than this have no use over time, gaps, and shares of tenants. */
#define SIM_WATCHED_GPUS    256u
#define SIM_WATCHED_TENANTS 256u

enum sim_event_kind {
    SIM_EVENT_ARRIVAL, /* of a request of a stream */
    SIM_EVENT_PHASE,   /* a request's CPU phase, context or way to or from the GPU has ended */
    SIM_EVENT_REACHED, /* a request's operation has reached the GPU */
    SIM_EVENT_SUBMIT,  /* its operation passes the gate */
    SIM_EVENT_CPU,     /* of a node: a CPU phase ends */
    SIM_EVENT_SEEN,    /* the policy sees that a request's operation has ended */
    SIM_EVENT_FLOW,    /* of a GPU: its work changes */
    SIM_EVENT_AGAIN,   /* of a GPU: time for a decision */
};

enum sim_request_state {
    SIM_REQUEST_FREE,
    SIM_REQUEST_QUEUED,  /* for a server thread */
    SIM_REQUEST_HOST,    /* context, CPU, or on its way */
    SIM_REQUEST_RETURNS, /* the bytes of its copy are on their way to another node */
    SIM_REQUEST_GATE,    /* waits for the policy */
    SIM_REQUEST_GPU,     /* passing the gate, waiting for room, or on the device */
};

struct sim_request {
    uint32_t stream; /* instance */
    uint32_t number; /* in it */
    uint32_t next;   /* of the list it is in */
    uint32_t phase, round;
    uint32_t gpu, slot; /* of the GPU's scheduler */
    uint32_t state;
    const struct sim_template *template;
    uint64_t arrival_ns, begin_ns;
    uint64_t reached_ns, submitted_ns; /* its operation: the GPU, and past the gate */
    double demand_ns, seen_ns; /* of its operation: in all, and what was left when last looked at */
    uint64_t seen_at_ns;       /* when the policy sees that its operation has ended */
    uint64_t span_ns;          /* begin of the span that is open; SCHED_NEVER: none */
};

struct sim_list {
    uint32_t first, last; /* SIM_NONE: empty */
};

struct sim_stream { /* an instance */
    uint32_t section;
    uint32_t node;
    uint32_t issued;
    uint32_t tenant;
    struct sim_random random;
};

struct sim_node {
    const struct sim_node_keys *keys;
    uint32_t first_gpu, gpu_count, turn; /* GRR */
    uint32_t threads;                    /* in use */
    struct sim_list queue;               /* of requests that wait for a thread */
    /* Processors that are shared: every phase goes on at the same rate, so a phase ends when
     * `virtual_ns`, which goes on at that rate, reaches what it was at its begin + its length. */
    double virtual_ns;
    uint64_t virtual_at_ns, cpu_ns;   /* when it was computed; when SIM_EVENT_CPU is due */
    struct sim_queue cpu;             /* in virtual time */
    uint64_t link_out_ns, link_in_ns; /* the link is taken until then */
};

struct sim_gpu {
    const struct soft_device *device;
    uint32_t node;
    struct model_flow flow;
    uint64_t flow_ns, again_ns; /* when the events are due; SCHED_NEVER: none */
    struct sched *sched;        /* NULL: no policy */
    uint32_t *slots;            /* request of each slot */
    size_t slot_room;
    struct sim_list overflow; /* operations beyond what a flow holds */
    bool undecided;
    bool running; /* an engine is busy */
    uint64_t idle_from_ns;
    uint64_t seen_ns, busy_seen_ns[GPU_ENGINES]; /* of bins */
};

/* How long operations waited: a histogram whose bins grow by an eighth of a power of two. */
#define SIM_WAIT_BINS 512u
struct sim_waits {
    uint64_t bins[SIM_WAIT_BINS], count;
    double sum_ns;
};

struct sim_tenant {
    uint32_t waiting; /* requests with work for a GPU */
};

struct sim_world {
    const struct sim_scenario *scenario;
    const struct sim_options *options;
    struct sim_result *result;
    struct sim_app *apps;
    struct sim_node *nodes;
    struct sim_gpu *gpus;
    struct sim_stream *streams;
    struct sim_tenant *tenants;
    uint32_t app_count, node_count, gpu_count, stream_count, tenant_count;
    uint32_t turn; /* GRR over all GPUs */
    struct sim_request *requests;
    uint32_t request_count, free_request;
    size_t request_room;
    struct sim_queue queue;
    uint64_t now_ns;
    uint32_t *undecided; /* GPUs */
    size_t undecided_count, undecided_room;
    struct sim_random calls; /* what forwarding takes, and seeing an end */
    uint32_t contending;     /* tenants with work for a GPU */
    uint64_t contended_from_ns, contended_ns;
    bool watched;
    uint64_t live, live_seen_ns; /* requests that are there */
    uint64_t ended, planned;
    uint64_t arrivals;        /* whose events are in the queue */
    size_t *completion_rooms; /* of each section */
    struct sim_waits *waits;  /* likewise */
};

static inline void sim_list_put(struct sim_world *world, struct sim_list *list, uint32_t request)
{
    if (list->first == SIM_NONE) {
        list->first = request;
    } else {
        world->requests[list->last].next = request;
    }
    list->last = request;
    world->requests[request].next = SIM_NONE;
}
/* Takes the first of a list that is not empty. */
static inline uint32_t sim_list_take(const struct sim_world *world, struct sim_list *list)
{
    const uint32_t request = list->first;
    list->first = world->requests[request].next;
    return request;
}

/* world.c */
GA_CHECKED enum ga_status sim_world_init(struct sim_world *world,
                                         const struct sim_scenario *scenario,
                                         const struct sim_options *options,
                                         struct sim_result *result, char *why, size_t why_room);
void sim_world_fini(struct sim_world *world);

/* request.c: the life of requests. */
GA_CHECKED enum ga_status sim_request_arrive(struct sim_world *world, uint32_t stream);
GA_CHECKED enum ga_status sim_request_streams_start(struct sim_world *world);
/* Goes on with what comes after the phase that has ended. */
GA_CHECKED enum ga_status sim_request_go_on(struct sim_world *world, uint32_t request);
/* The arrival of the stream's next request after one at `now_ns`; SCHED_NEVER: there is none, or it
 * does not depend on the time. */
uint64_t sim_request_next_arrival(const struct sim_scenario *scenario, const struct sim_app *app,
                                  struct sim_stream *stream, uint64_t now_ns);

/* node.c: processors and links. */
GA_CHECKED enum ga_status sim_node_compute(struct sim_world *world, uint32_t request, uint64_t ns);
GA_CHECKED enum ga_status sim_node_step(struct sim_world *world, uint32_t node);
/* When the bytes have gone from one node to the other; the links are taken until then. */
uint64_t sim_node_send(struct sim_world *world, uint32_t from, uint32_t to, uint64_t bytes);

/* gpu.c: operations, the policy, and the device. */
GA_CHECKED enum ga_status sim_gpu_join(struct sim_world *world, uint32_t request);
void sim_gpu_leave(struct sim_world *world, uint32_t request);
GA_CHECKED enum ga_status sim_gpu_reach(struct sim_world *world, uint32_t request);
GA_CHECKED enum ga_status sim_gpu_submit(struct sim_world *world, uint32_t request);
GA_CHECKED enum ga_status sim_gpu_seen(struct sim_world *world, uint32_t request);
GA_CHECKED enum ga_status sim_gpu_step(struct sim_world *world, uint32_t gpu);
/* Asks the policies of all GPUs where something has changed. */
GA_CHECKED enum ga_status sim_gpu_decide(struct sim_world *world);
GA_CHECKED enum ga_status sim_gpu_undecided(struct sim_world *world, uint32_t gpu);

/* watch.c: what is told of GPUs over time. */
GA_CHECKED enum ga_status sim_watch_device(struct sim_world *world, uint32_t gpu);
/* Before its work is taken out of the flow. */
GA_CHECKED enum ga_status sim_watch_ended(struct sim_world *world, uint32_t request,
                                          const struct model_work *work);
void sim_watch_tenant(struct sim_world *world, uint32_t tenant, bool waits);
void sim_watch_finish(struct sim_world *world);

/* events.c: the log of events, if there is one. */
void sim_events_begin(const struct sim_world *world);
void sim_events_request(const struct sim_world *world, const struct sim_request *request,
                        const char *what);
void sim_events_reach(const struct sim_world *world, const struct sim_request *request,
                      uint32_t engine);
void sim_events_end(const struct sim_world *world, const struct sim_request *request,
                    const struct model_work *work);

/* measure.c: completion times and what follows from them. */
GA_CHECKED enum ga_status sim_measure_request(struct sim_world *world,
                                              const struct sim_request *request);
/* An operation that ends now has been there for longer than its work takes alone. */
void sim_measure_wait(struct sim_world *world, const struct sim_request *request);
void sim_measure_live(struct sim_world *world, int change);
void sim_measure_finish(struct sim_world *world);

#define SIM_PUT(world, at_ns, kind, target)                                                        \
    sim_queue_put(&(world)->queue, (at_ns), (kind), (target))

#endif
