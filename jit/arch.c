/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc takes -arch=sm_75, --gpu-architecture=sm_75, and both in two words. */
#include "jit/arch.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"--gpu-architecture", "-arch", "--arch"};

/* The architecture within the option; NULL: this option names none. */
static const char *arch_value(const char *option, bool *in_next)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(option, names[i], length) == 0) {
            if (option[length] == '=') {
                return option + length + 1;
            }
            *in_next = *in_next || option[length] == '\0';
        }
    }
    return NULL;
}

const char **jit_arch_for_ptx(const char *const *options, size_t count, bool *machine)
{
    size_t bytes = (count + 1) * sizeof(char *);
    for (size_t i = 0; i < count; i++) {
        bytes += strlen(options[i]) + sizeof "compute_";
    }
    const char **made = malloc(bytes);
    if (made == NULL) {
        return NULL;
    }
    char *text = (char *)(made + count + 1);
    bool here = false;
    *machine = false;
    for (size_t i = 0; i < count; i++) {
        bool next = false;
        const char *value = arch_value(options[i], &next);
        if (here) {
            value = options[i];
        }
        here = next;
        made[i] = text;
        if (value != NULL && strncmp(value, "sm_", 3) == 0) {
            size_t before = (size_t)(value - options[i]);
            memcpy(text, options[i], before);
            text = stpcpy(stpcpy(text + before, "compute_"), value + 3) + 1;
            *machine = true;
        } else {
            text = stpcpy(text, options[i]) + 1;
        }
    }
    made[count] = NULL;
    return made;
}
