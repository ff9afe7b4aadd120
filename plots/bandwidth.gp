# SPDX-License-Identifier: Apache-2.0
# How much of the cables does an operation use as messages grow?
has_size_axis = 1
load 'common.gp'
if (most_size > 0) {
    set title "Bus bandwidth; dashed: what the lower bound would allow".note
    set ylabel "bus bandwidth, GB/s" textcolor rgb ink
    set yrange [0 : *]
    height = 520 + legend_height
    eval(place_legend(height))
    do for [form in "svg png"] {
        eval(form eq "svg" ? svg(900, height) : png(900, height))
        set output 'bandwidth.'.form
        plot for [i = 1 : series_count] 'results.tsv' \
                using (is_series(i) ? column("size_bytes") : NaN):(positive(column("bound_busbw_bps")) / 8e9) \
                with linespoints linewidth 1.5 linecolor rgb colour(i) dashtype (8, 6) pointtype bound_mark pointsize 0.6 notitle, \
            for [i = 1 : series_count] 'results.tsv' \
                using (is_series(i) ? column("size_bytes") : NaN):(positive(column("busbw_bps")) / 8e9) \
                with linespoints linewidth 2 linecolor rgb colour(i) pointtype mark(i) pointsize 0.7 \
                title word(series, i)
        set output
    }
}
