# SPDX-License-Identifier: Apache-2.0
# How long does one operation take, and how far is it from the lower bound?
has_size_axis = 1
load 'common.gp'

least_ps = 1e30
most_ps = 0
note_least(ps) = (least_ps = ps > 0 ? lesser(least_ps, ps) : least_ps, 0)
note_most(ps) = (most_ps = greater(most_ps, ps), 0)
set table $unused
plot 'results.tsv' using (note_least(column("latency_min_ps"))):(note_least(column("bound_ps"))): \
    (note_most(column("latency_p99_ps"))) with table
unset table

if (most_size > 0 && most_ps > 0) {
    set title "Latency: median, with the range from minimum to 99th percentile; dashed: lower bound".note
    set logscale y 10
    set yrange [least_ps / 1.6 : most_ps * 1.6]
    set ylabel "latency" textcolor rgb ink
    set ytics () scale 1, 0
    # Within less than two decades, 2 and 5 are named too; within less than one, all digits.
    do for [power = 0 : 14] {
        do for [digit = 1 : 9] {
            named = digit == 1 || (digit == 2 || digit == 5) && most_ps / least_ps < 100 || most_ps / least_ps < 4
            if (named) { set ytics add (span_name(digit * 10.0 ** power) digit * 10.0 ** power) }
        }
    }
    height = 520 + legend_height
    eval(place_legend(height))
    set bars 0.4
    do for [form in "svg png"] {
        eval(form eq "svg" ? svg(900, height) : png(900, height))
        set output 'latency.'.form
        plot for [i = 1 : series_count] 'results.tsv' \
                using (is_series(i) ? column("size_bytes") : NaN):(positive(column("bound_ps"))) \
                with linespoints linewidth 1.5 linecolor rgb colour(i) dashtype (8, 6) pointtype bound_mark pointsize 0.6 notitle, \
            for [i = 1 : series_count] 'results.tsv' \
                using (is_series(i) ? column("size_bytes") : NaN):(positive(column("latency_median_ps"))): \
                (positive(column("latency_min_ps"))):(positive(column("latency_p99_ps"))) \
                with yerrorbars linewidth 1.5 linecolor rgb colour(i) pointtype 0 notitle, \
            for [i = 1 : series_count] 'results.tsv' \
                using (is_series(i) ? column("size_bytes") : NaN):(positive(column("latency_median_ps"))) \
                with linespoints linewidth 2 linecolor rgb colour(i) pointtype mark(i) pointsize 0.7 \
                title word(series, i)
        set output
    }
}
