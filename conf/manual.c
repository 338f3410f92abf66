/* SPDX-License-Identifier: Apache-2.0 */
/* The man page gpuaasd.conf(5), written from the table of keys. */
#include <string.h>

#include "conf/key.h"

/* Escapes text for roff: hyphens can be copied, and no line looks like a request. */
static void text_write(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", out);
    }
    for (; *text != 0; text++) {
        switch (*text) {
        case '-':
            fputs("\\-", out);
            break;
        case '\\':
            fputs("\\e", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void manual_key_write(FILE *out, const struct conf_key *key)
{
    fputs(".TP\n.B ", out);
    text_write(out, key->name);
    fputc('\n', out);
    text_write(out, conf_key_help(key));
    fputs("\n.br\nAllowed: ", out);
    text_write(out, conf_key_allowed(key));
    fputs(".\n.br\n", out);
    if (key->standard == NULL) {
        fputs("Must be given.\n", out);
    } else if (*key->standard != 0) {
        fputs("Default: ", out);
        text_write(out, key->standard);
        fputs(".\n", out);
    } else {
        fputs("Default: empty.\n", out);
    }
    if (key->change == CONF_CHANGE_RELOAD) {
        fputs("A reload is enough.\n", out);
    }
    if (key->drivers == CONF_DRIVERS_SOFT) {
        fputs("Only with driver = soft.\n", out);
    } else if (key->drivers == CONF_DRIVERS_NVIDIA) {
        fputs("Only with driver = nvidia.\n", out);
    }
}

static void manual_section_write(FILE *out, enum conf_section section)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_keys[i].section == section) {
            manual_key_write(out, &conf_keys[i]);
        }
    }
}

void conf_manual_write(FILE *out)
{
    fputs(".\\\" Written by gpuaasd --config-manual.\n"
          ".TH GPUAASD.CONF 5 \"\" \"gpuaas " GPUAAS_VERSION "\" \"gpuaas\"\n"
          ".SH NAME\n"
          "gpuaasd.conf \\- configuration of gpuaasd\n"
          ".SH DESCRIPTION\n"
          "The file that\n.BR gpuaasd (8)\nis given with\n.BR \\-\\-config .\n"
          "It is an INI file: sections in brackets, lines\n.IR \"key = value\" ,\n"
          "comments behind a semicolon. It has one section\n.B [server]\n"
          "and a section\n.BR [gpu.0] ,\n.B [gpu.1]\nand so on for each GPU to serve.\n"
          "All mistakes of a file are reported at once, each with file, line, key and what is\n"
          "allowed;\n.B gpuaasd \\-\\-config FILE \\-\\-check\\-config\nonly does that, and\n"
          ".B gpuaasd \\-\\-example\\-config\nwrites a commented file to begin with.\n"
          ".PP\nA changed value needs a restart of gpuaasd, or, where it says so, a reload\n"
          "(SIGHUP): then it holds for what begins afterwards. A reload also reads the files of\n"
          "tls_cert, tls_key and tls_client_ca anew. If the file has a mistake, nothing changes.\n"
          ".SH [server]\n",
          out);
    manual_section_write(out, CONF_SECTION_SERVER);
    fputs(".SH [gpu.N]\n", out);
    manual_section_write(out, CONF_SECTION_GPU);
    fputs(".SH EXAMPLE\n.nf\n[server]\nlisten = tcp://127.0.0.1:9955\n\n[gpu.0]\ndriver = soft\n"
          "memory = 2GiB\n.fi\n.SH SEE ALSO\n.BR gpuaasd (8),\n.BR gpuaas (1)\n",
          out);
}
