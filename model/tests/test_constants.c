/* SPDX-License-Identifier: Apache-2.0 */
/* The model's constants do not change by mistake: recorded results hold for them alone. */
#include <criterion/criterion.h>

#include "model/constants.h"

Test(constants, are_frozen)
{
    char digest[MODEL_DIGEST_BYTES];
    model_constants_digest(digest);
    cr_assert_str_eq(digest, "cf5df780f522ed06",
                     "the digest is %s: a constant or a GPU's model has changed, so recorded "
                     "results hold no more; measure them anew, then write the digest here",
                     digest);
}
