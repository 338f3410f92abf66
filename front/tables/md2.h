/* SPDX-License-Identifier: Apache-2.0 */
/* MD2 (RFC 1319) and HMAC-MD2 (RFC 2104, block 16 bytes). Not for anything that must be secure. */
#ifndef FRONT_TABLES_MD2_H
#define FRONT_TABLES_MD2_H

#include <stddef.h>
#include <stdint.h>

#define FRONT_MD2_BYTES 16

struct front_md2 {
    uint8_t state[48];
    uint8_t checksum[16];
    uint8_t pending[16];
    size_t used; /* of pending */
};

void front_md2_begin(struct front_md2 *md2);
void front_md2_add(struct front_md2 *md2, const void *data, size_t size);
void front_md2_end(struct front_md2 *md2, uint8_t digest[FRONT_MD2_BYTES]);

/* Between begin and end, data is added by front_md2_add(&hmac.md2, ...). */
struct front_hmac {
    struct front_md2 md2;
    uint8_t outer[16];
};

void front_hmac_begin(struct front_hmac *hmac, const void *key, size_t key_size);
void front_hmac_end(struct front_hmac *hmac, uint8_t digest[FRONT_MD2_BYTES]);

#endif
