/* SPDX-License-Identifier: Apache-2.0 */
/* The store of images: device code that clients have sent, by owner and name (SHA-256), so that it
 * travels once. The bytes lie in frozen memory, of which backend processes have a descriptor.
 *
 * An owner finds the images that it has sent itself and nothing else: an image that it has not
 * sent, and one that only others have, are the same to it, in the answer and in the cost. The name
 * is computed by the owner's own backend process from the bytes that came; one that lied would harm
 * this owner alone.
 *
 * The store is bounded. When it is full, the owner that has most in it loses what it has not used
 * for longest: one that has no more than an equal share loses nothing to others, and an image for
 * which that makes no room is not kept. An image counts as at least a part of the store in
 * IMAGES_MAX, so there are no more descriptors than that. */
#ifndef SERVER_PROCESSES_IMAGES_H
#define SERVER_PROCESSES_IMAGES_H

#include "base/list.h"
#include "base/status.h"
#include "server/channel.h"
#include "server/processes/owner.h"

#define IMAGES_MAX 512u /* at once: each is a descriptor */

struct images {
    struct ga_list holders; /* struct images_holder: owners with an image */
    uint64_t most, held;    /* bytes; 0: nothing is kept */
    unsigned count_most;    /* images */
};

void images_init(struct images *images, uint64_t most);
/* There are no more descriptors for it than so many (at least one). */
void images_bound(struct images *images, unsigned count_most);
void images_fini(struct images *images);

/* Keeps an image for its owner. Takes the descriptor if it answers GA_OK. GA_INVALID: it is no
 * frozen memory of this size. GA_NO_MEMORY: there is no room for it, or no memory. */
GA_CHECKED enum ga_status images_keep(struct images *images, const struct owner *owner,
                                      const uint8_t *name, uint64_t size, int fd);
/* The descriptor of an image of the owner, which stays the store's; -1: it has sent none such. */
int images_find(struct images *images, const struct owner *owner, const uint8_t *name,
                uint64_t size);
/* Drops all images of an owner. */
void images_forget(struct images *images, const struct owner *owner);

/* Carries out a request of a backend process for an owner; NULL: for one whose application has
 * ended, who has nothing. `*fd` as in sharing_answer. False: it has no answer. */
bool images_answer(struct images *images, const struct owner *owner, struct channel_request *packet,
                   int *fd);

#endif
