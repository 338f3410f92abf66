/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of INI texts, around inih.
 *
 * inih as packaged gives its handler no line numbers and cuts long lines in two. line_give, which
 * feeds it the lines, counts them and refuses long ones. */
#include <ini.h>
#include <stdarg.h>
#include <string.h>

#include "conf/conf.h"

struct ini_use {
    struct conf_ini *ini;
    conf_ini_take *take;
    void *user;
};

void conf_ini_complain(struct conf_ini *ini, unsigned line, const char *format, ...)
{
    char text[900];
    int head = line != 0 ? snprintf(text, sizeof text, "%s:%u: ", ini->name, line)
                         : snprintf(text, sizeof text, "%s: ", ini->name);
    size_t used = head > 0 && (size_t)head < sizeof text ? (size_t)head : 0;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    ini->errors++;
    ini->complain(ini->user, text);
}

/* A section line without its closing bracket. inih would report it last, and count the keys behind
 * it to the section before. */
static bool section_is_open(const char *line, size_t length)
{
    size_t comment = 1;
    while (comment < length &&
           !(line[comment] == ';' && strchr(" \t", line[comment - 1]) != NULL)) {
        comment++;
    }
    return length != 0 && line[0] == '[' && memchr(line, ']', comment) == NULL;
}

/* Finds the errors that inih reports only at the end, so that they are told in the order of lines.
 */
static bool line_is_wrong(struct conf_ini *ini, const char *line, size_t length)
{
    int shown = (int)strcspn(line, "\r\n");
    if (length != 0 && line[0] == '[') {
        ini->skipping = section_is_open(line, length);
        ini->sections_lost |= ini->skipping;
        if (ini->skipping) {
            conf_ini_complain(ini, ini->line, "\"%.*s\": ']' is missing", shown, line);
        }
        return ini->skipping;
    }
    /* An indented line continues the one before; the first may begin with a byte order mark. */
    bool plain = shown != 0 && strchr(" \t;#\xef", line[0]) == NULL;
    bool wrong = plain && !ini->skipping && strcspn(line, "=:") >= (size_t)shown;
    if (wrong) {
        conf_ini_complain(ini, ini->line, "\"%.*s\" is neither [section] nor key = value", shown,
                          line);
    }
    return wrong;
}

/* The line reader that inih calls, with the contract of fgets. */
static char *line_give(char *to, int size, void *stream)
{
    struct conf_ini *ini = ((struct ini_use *)stream)->ini;
    if (*ini->next == 0) {
        return NULL;
    }
    size_t length = strcspn(ini->next, "\n");
    ini->line++;
    const char *line = ini->next;
    ini->next += length + (line[length] == '\n' ? 1 : 0);
    if (length + 2 > (size_t)size) {
        conf_ini_complain(ini, ini->line, "the line is longer than %d characters", size - 2);
        length = 0;
    }
    if (line_is_wrong(ini, line, length) || ini->skipping) {
        length = 0;
    }
    memcpy(to, line, length);
    to[length] = '\n';
    to[length + 1] = 0;
    return to;
}

static int entry_take(void *user, const char *section, const char *name, const char *value)
{
    const struct ini_use *use = user;
    use->take(use->user, section, name, value);
    return 1;
}

void conf_ini_read(struct conf_ini *ini, conf_ini_take *take, void *user)
{
    struct ini_use use = {ini, take, user};
    int bad_line = ini_parse_stream(line_give, &use, entry_take, &use);
    if (bad_line > 0) {
        conf_ini_complain(ini, (unsigned)bad_line, "this is neither [section] nor key = value");
    } else if (bad_line < 0) {
        conf_ini_complain(ini, 0, "no memory");
    }
}
