/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a card: the one with the address of the TCP connection, so RDMA takes the way
 * that the user and the routing table have chosen. */
#include "transport/rdma/rdma_verbs.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/socket.h"

#define LIBRARY   "libibverbs.so.1"
#define GIDS_MAX  1024u /* of a card; further ones are ignored */
#define READS_MAX 16    /* more are not faster, because each is large */

static struct rdma_verbs library;
static bool loaded;
static char load_why[256];

static void verbs_load(void)
{
    const struct {
        const char *name;
        void *at;
    } symbols[] = {
        {"ibv_get_device_list", &library.get_device_list},
        {"ibv_free_device_list", &library.free_device_list},
        {"ibv_open_device", &library.open_device},
        {"ibv_close_device", &library.close_device},
        {"_ibv_query_gid_table", &library.query_gid_table},
        {"ibv_query_device", &library.query_device},
        {"ibv_query_port", &library.query_port},
        {"ibv_alloc_pd", &library.alloc_pd},
        {"ibv_dealloc_pd", &library.dealloc_pd},
        {"ibv_reg_mr", &library.reg_mr},
        {"ibv_dereg_mr", &library.dereg_mr},
        {"ibv_create_comp_channel", &library.create_comp_channel},
        {"ibv_destroy_comp_channel", &library.destroy_comp_channel},
        {"ibv_create_cq", &library.create_cq},
        {"ibv_destroy_cq", &library.destroy_cq},
        {"ibv_get_cq_event", &library.get_cq_event},
        {"ibv_ack_cq_events", &library.ack_cq_events},
        {"ibv_create_qp", &library.create_qp},
        {"ibv_modify_qp", &library.modify_qp},
        {"ibv_destroy_qp", &library.destroy_qp},
        {"ibv_wc_status_str", &library.wc_status_str},
    };
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(load_why, sizeof load_why, "%s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (symbol == NULL) {
            snprintf(load_why, sizeof load_why, LIBRARY " has no %s: it is older than rdma-core 32",
                     symbols[i].name);
            return;
        }
        memcpy(symbols[i].at, &symbol, sizeof symbol);
    }
    loaded = true;
}

bool rdma_card_exists(void)
{
    bool found = false;
    DIR *folder = opendir("/sys/class/infiniband");
    if (folder == NULL) {
        return false;
    }
    for (struct dirent *at; !found && (at = readdir(folder)) != NULL;) {
        found = at->d_name[0] != '.';
    }
    closedir(folder);
    return found;
}

/* Gets both ends' addresses in the form that cards have them. */
static enum ga_status gids_of(int fd, struct rdma_card *card, char *why, size_t why_size)
{
    struct in6_addr here, there;
    enum ga_status status = socket_ends(fd, &here, &there);
    if (status != GA_OK) {
        snprintf(why, why_size,
                 status == GA_LOST ? "the connection is lost"
                                   : "the connection is no TCP connection");
        return GA_UNSUPPORTED;
    }
    memcpy(card->gid.raw, &here, sizeof here);
    memcpy(card->peer.raw, &there, sizeof there);
    return GA_OK;
}

/* The most RDMA READs at once. 0: the card cannot read. */
static uint8_t card_reads(struct ibv_context *context)
{
    struct ibv_device_attr device = {0};
    if (library.query_device(context, &device) != 0) {
        return 0;
    }
    int both = device.max_qp_rd_atom < device.max_qp_init_rd_atom ? device.max_qp_rd_atom
                                                                  : device.max_qp_init_rd_atom;
    return (uint8_t)(both < 0 ? 0 : both < READS_MAX ? both : READS_MAX);
}

/* Whether the card has the address, and an active link. */
static bool card_matches(struct rdma_card *card, struct ibv_gid_entry *gids)
{
    struct ibv_port_attr port = {0};
    ssize_t count =
        library.query_gid_table(card->context, gids, GIDS_MAX, 0, sizeof(struct ibv_gid_entry));
    for (ssize_t i = 0; i < count; i++) {
        if (gids[i].gid_type == IBV_GID_TYPE_ROCE_V2 && gids[i].gid_index <= UINT8_MAX &&
            memcmp(&gids[i].gid, &card->gid, sizeof card->gid) == 0 &&
            library.query_port(card->context, (uint8_t)gids[i].port_num, &port) == 0 &&
            port.state == IBV_PORT_ACTIVE) {
            card->port = (uint8_t)gids[i].port_num;
            card->gid_index = (uint8_t)gids[i].gid_index;
            card->mtu = port.active_mtu;
            card->reads = card_reads(card->context);
            return true;
        }
    }
    return false;
}

static bool card_find(struct rdma_card *card)
{
    bool found = false;
    struct ibv_gid_entry *gids = calloc(GIDS_MAX, sizeof *gids);
    struct ibv_device **list = gids != NULL ? library.get_device_list(NULL) : NULL;
    for (struct ibv_device **at = list; !found && at != NULL && *at != NULL; at++) {
        card->context = library.open_device(*at);
        found = card->context != NULL && card_matches(card, gids);
        if (card->context != NULL && !found) {
            library.close_device(card->context);
        }
    }
    if (list != NULL) {
        library.free_device_list(list);
    }
    free(gids);
    return found;
}

enum ga_status rdma_card_open(int fd, struct rdma_card *out, char *why, size_t why_size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct rdma_card card = {.verbs = &library};
    char text[INET6_ADDRSTRLEN] = "";
    GA_TRY(gids_of(fd, &card, why, why_size));
    if (!rdma_card_exists()) {
        snprintf(why, why_size, "this machine has no RDMA device");
        return GA_UNSUPPORTED;
    }
    pthread_once(&once, verbs_load);
    if (!loaded) {
        snprintf(why, why_size, "%s", load_why);
        return GA_UNSUPPORTED;
    }
    if (!card_find(&card)) {
        (void)inet_ntop(AF_INET6, card.gid.raw, text, sizeof text);
        snprintf(why, why_size,
                 "no RDMA device of this machine is active and has the address %s (RoCE v2)", text);
        return GA_UNSUPPORTED;
    }
    *out = card;
    return GA_OK;
}

void rdma_card_close(struct rdma_card *card)
{
    (void)card->verbs->close_device(card->context);
    card->context = NULL;
}
