/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of the timing model under their names, MODEL_LAUNCH_NS and others: constants.def
 * has their values and sources. */
#ifndef MODEL_CONSTANTS_H
#define MODEL_CONSTANTS_H

#define MODEL_INTEGER(name, value, source) MODEL_##name = (value),
#define MODEL_REAL(name, value, source)
enum model_constant {
#include "model/constants.def"
};
#undef MODEL_INTEGER
#undef MODEL_REAL

#define MODEL_INTEGER(name, value, source)
#define MODEL_REAL(name, value, source) static const double MODEL_##name = (value);
#include "model/constants.def"
#undef MODEL_INTEGER
#undef MODEL_REAL

#define MODEL_DIGEST_BYTES 17

/* A short name for the values of all constants, and of what a GPU of each model (soft_models.def)
 * has that the timing model uses: 16 hexadecimal digits. Results with different digests must not be
 * compared. */
void model_constants_digest(char digest[MODEL_DIGEST_BYTES]);

#endif
