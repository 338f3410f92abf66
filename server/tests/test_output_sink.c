/* SPDX-License-Identifier: Apache-2.0 */
/* Whose is what drivers print: as long as they do not say so, one application's. */
#include <criterion/criterion.h>

#include "server/session/kernel_output.h"

static struct output_redirection output = {.lock = PTHREAD_MUTEX_INITIALIZER, .pipe = -1};

Test(kernel_output, a_process_with_output_has_one_application)
{
    struct kernel_output one = {.taken = true}, other = {.taken = true};
    cr_assert_eq(output_attach(&output, &one), GA_OK);
    cr_assert_eq(output_attach(&output, &other), GA_DENIED);
    output_detach(&output, &other);
    cr_assert_eq(output.sink, &one, "it was not the other's to give up");
    output_detach(&output, &one);
    cr_assert_eq(output_attach(&output, &other), GA_OK);
}

Test(kernel_output, where_nothing_is_redirected_anyone_may)
{
    struct kernel_output one = {.taken = true}, other = {.taken = true};
    cr_assert_eq(output_attach(NULL, &one), GA_OK);
    cr_assert_eq(output_attach(NULL, &other), GA_OK);
    output_detach(NULL, &one);
}
