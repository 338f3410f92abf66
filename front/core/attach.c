/* SPDX-License-Identifier: Apache-2.0 */
/* The table of attachment counts. */
#include "front/core/attach.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/list.h"

struct attached {
    struct ga_list link;
    CUcontext context;
    unsigned more; /* attachments besides the first */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_list all = {&all, &all};

static struct attached *attached_find(CUcontext context)
{
    ga_list_each (at, following, &all) {
        struct attached *found = ga_container(at, struct attached, link);
        if (found->context == context) {
            return found;
        }
    }
    return NULL;
}

void front_attach_forget(CUcontext context)
{
    pthread_mutex_lock(&lock);
    struct attached *found = attached_find(context);
    if (found != NULL) {
        ga_list_remove(&found->link);
        free(found);
    }
    pthread_mutex_unlock(&lock);
}

bool front_attach_more(CUcontext context)
{
    pthread_mutex_lock(&lock);
    struct attached *found = attached_find(context);
    if (found == NULL && (found = calloc(1, sizeof *found)) != NULL) {
        found->context = context;
        ga_list_append(&all, &found->link);
    }
    if (found != NULL) {
        found->more++;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

bool front_attach_less(CUcontext context)
{
    pthread_mutex_lock(&lock);
    struct attached *found = attached_find(context);
    bool counted = found != NULL && found->more != 0;
    if (counted) {
        found->more--;
    }
    pthread_mutex_unlock(&lock);
    return counted;
}
