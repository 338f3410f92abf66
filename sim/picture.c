/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a run: who used which engine when (Gantt), and how much each was used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/timeline.h"
#include "sim/output.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static char letter_of(uint32_t stream)
{
    return stream < strlen(LETTERS) ? LETTERS[stream] : '?';
}

static const enum model_engine rows[SIM_ENGINES] = {MODEL_COMPUTE, MODEL_H2D, MODEL_D2H};

/* The stream that has most of each column; '*' where that is less than half of the column. */
static void picture_row_fill(char *row, double *most, uint32_t columns,
                             const struct sim_result *result, uint32_t gpu, uint32_t engine,
                             uint64_t from_ns, double column_ns)
{
    for (size_t i = 0; i < result->span_count; i++) {
        const struct sim_span *span = &result->spans[i];
        if (span->gpu != gpu || span->engine != engine || span->to_ns <= from_ns) {
            continue;
        }
        double from = ((double)span->from_ns - (double)from_ns) / column_ns;
        double to = ((double)span->to_ns - (double)from_ns) / column_ns;
        from = fmax(from, 0);
        for (uint32_t c = (uint32_t)from; c < columns && c < to; c++) {
            double part = fmin(to, c + 1) - fmax(from, c);
            if (part > most[c]) {
                most[c] = part;
                row[c] = letter_of(span->stream);
            }
        }
    }
}

void sim_picture_text(FILE *out, const struct sim_result *result, uint64_t from_ns, uint64_t to_ns,
                      uint32_t columns)
{
    char row[1024];
    double most[sizeof row];
    columns = columns < sizeof row ? columns : (uint32_t)sizeof row - 1;
    const double column_ns = (double)(to_ns - from_ns) / columns;
    fprintf(out, "\nfrom %.6f s to %.6f s, a column is %.6f s:", (double)from_ns / 1e9,
            (double)to_ns / 1e9, column_ns / 1e9);
    for (uint32_t i = 0; i < result->stream_count; i++) {
        fprintf(out, " %c %s", letter_of(i), result->streams[i].keys->name);
    }
    fputc('\n', out);
    for (uint32_t g = 0; g < result->gpu_count && result->bin_ns != 0; g++) {
        for (int e = 0; e < SIM_ENGINES; e++) {
            memset(row, '.', columns);
            row[columns] = 0;
            memset(most, 0, sizeof most);
            picture_row_fill(row, most, columns, result, g, rows[e], from_ns, column_ns);
            fprintf(out, "gpu %-3u %-8s %s\n", g, sim_engine_names[rows[e]], row);
        }
    }
}

/* ---- SVG */

#define SVG_LEFT   110
#define SVG_WIDTH  900
#define SVG_ROW    18
#define SVG_CURVES 70

/* Colours that differ in hue by the golden angle. */
static void colour_write(FILE *out, uint32_t stream)
{
    fprintf(out, "hsl(%.0f,65%%,%d%%)", fmod(210 + 137.508 * stream, 360),
            stream % 2 == 0 ? 45 : 60);
}

static void svg_text(FILE *out, double x, double y, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, text);
}

static void svg_spans(FILE *out, const struct sim_result *result, uint32_t gpu, uint32_t engine,
                      double y, uint64_t from_ns, uint64_t to_ns)
{
    const double scale = SVG_WIDTH / (double)(to_ns - from_ns);
    for (size_t i = 0; i < result->span_count; i++) {
        const struct sim_span *span = &result->spans[i];
        if (span->gpu != gpu || span->engine != engine || span->to_ns <= from_ns ||
            span->from_ns >= to_ns) {
            continue;
        }
        const uint64_t from = span->from_ns > from_ns ? span->from_ns : from_ns;
        const uint64_t to = span->to_ns < to_ns ? span->to_ns : to_ns;
        fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"",
                SVG_LEFT + (double)(from - from_ns) * scale, y,
                fmax((double)(to - from) * scale, 0.2), SVG_ROW - 4);
        colour_write(out, span->stream);
        fputs("\"/>\n", out);
    }
}

static void svg_curve(FILE *out, const struct sim_result *result, const struct sim_gpu_result *gpu,
                      uint32_t engine, double y)
{
    static const char *const colours[SIM_ENGINES] = {
        [MODEL_H2D] = "#1f77b4", [MODEL_D2H] = "#2ca02c", [MODEL_COMPUTE] = "#d62728"};
    const double step = SVG_WIDTH / (double)result->bin_count;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colours[engine]);
    for (uint32_t b = 0; b < result->bin_count; b++) {
        const double top = y + (SVG_CURVES - 10) * (1 - (double)gpu->use[b * SIM_ENGINES + engine]);
        fprintf(out, "%.1f,%.1f %.1f,%.1f ", SVG_LEFT + b * step, top, SVG_LEFT + (b + 1) * step,
                top);
    }
    fputs("\"/>\n", out);
}

void sim_picture_svg(FILE *out, const struct sim_scenario *scenario,
                     const struct sim_result *result, uint64_t from_ns, uint64_t to_ns)
{
    char text[200];
    const uint32_t gpus = result->bin_ns != 0 ? result->gpu_count : 0;
    const uint32_t height = 50 + gpus * (SIM_ENGINES * SVG_ROW + SVG_CURVES + 20);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            SVG_LEFT + SVG_WIDTH + 20, height);
    snprintf(text, sizeof text,
             "policy %.64s, isolation %s; engines from %.6f s to %.6f s; use of "
             "each engine over %.3f s",
             scenario->run.policy,
             scenario->run.isolation == SIM_ISOLATION_PACKED ? "packed" : "app",
             (double)from_ns / 1e9, (double)to_ns / 1e9, (double)result->end_ns / 1e9);
    svg_text(out, 10, 16, text);
    double x = 10;
    for (uint32_t i = 0; i < result->stream_count && i < 24; i++) {
        fprintf(out, "<rect x=\"%.1f\" y=\"24\" width=\"10\" height=\"10\" fill=\"", x);
        colour_write(out, i);
        fputs("\"/>\n", out);
        svg_text(out, x + 14, 33, result->streams[i].keys->name);
        x += 30 + 7.0 * (double)strlen(result->streams[i].keys->name);
    }
    double y = 44;
    for (uint32_t g = 0; g < gpus; g++) {
        for (int e = 0; e < SIM_ENGINES; e++) {
            snprintf(text, sizeof text, "gpu %u %s", g, sim_engine_names[rows[e]]);
            svg_text(out, 10, y + 11, text);
            svg_spans(out, result, g, rows[e], y, from_ns, to_ns);
            y += SVG_ROW;
        }
        svg_text(out, 10, y + 14, "100 %");
        svg_text(out, 10, y + SVG_CURVES - 10, "0 %");
        fprintf(out,
                "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"none\" "
                "stroke=\"#999\"/>\n",
                SVG_LEFT, y + 4, SVG_WIDTH, SVG_CURVES - 10);
        for (uint32_t e = 0; e < SIM_ENGINES && result->bin_count != 0; e++) {
            svg_curve(out, result, &result->gpus[g], e, y + 4);
        }
        y += SVG_CURVES + 20;
    }
    fputs("</svg>\n", out);
}
