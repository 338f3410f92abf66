/* SPDX-License-Identifier: Apache-2.0 */
/* Ids and hashes, which tokens and certificates have in common. */
#ifndef AUTH_TOKEN_H
#define AUTH_TOKEN_H

#include "auth/auth.h"

#define TOKEN_ID_CHARS 12u /* 62 bits */

/* A random id of a credential. False: the machine has no random numbers. */
bool token_id_make(char id[STORE_ID_MAX + 1]);
/* SHA-256. False: no memory. */
bool token_hash(const void *bytes, size_t size, uint8_t hash[AUTH_HASH_BYTES]);

#endif
