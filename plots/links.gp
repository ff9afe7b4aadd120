# SPDX-License-Identifier: Apache-2.0
# Which direction of which cable is busy, and when?
load 'common.gp'
links = 0
cells = 0
last_ps = 0
most_busy = 0
note_link(number, to) = (links = greater(links, number + 1), last_ps = greater(last_ps, to), cells = cells + 1, 0)
note_busy(pct) = (most_busy = greater(most_busy, pct), 0)
set table $unused
plot 'links.tsv' using (note_link(column("link_number"), column("to_ps"))):(note_busy(column("busy_pct"))) with table
unset table

# When each series ran, as a name above the map and a line at its end.
begins = 0
ends = 0
note_times(i) = (begins = is_series(i) ? lesser(begins, column("began_ps")) : begins, \
    ends = is_series(i) ? greater(ends, column("ended_ps")) : ends, 0)

if (links > 0) {
    # ColorBrewer's Blues: even steps of lightness, so that it reads in grey and to the colour-blind.
    set palette defined (0 "#f7fbff", 0.25 "#c6dbef", 0.5 "#6baed6", 0.75 "#2171b5", 1 "#08306b")
    darkest = most_busy > 50 ? 100 : most_busy > 20 ? 50 : most_busy > 8 ? 20 : most_busy > 4 ? 8 : 4
    set cbrange [0 : darkest]
    set cbtics 0, darkest / 4.0, darkest format "%g %%" scale 0.5
    set colorbox user origin screen 0.905, graph 0 size screen 0.018, graph 1
    set title "Use of each direction of each cable over simulated time".note offset 0, 1
    unit_ps = last_ps < 1e9 ? 1e6 : last_ps < 1e12 ? 1e9 : 1e12
    set xlabel "simulated time, ".(unit_ps == 1e6 ? "µs" : unit_ps == 1e9 ? "ms" : "s") textcolor rgb ink
    set yrange [links - 0.5 : -0.5]
    set border 15
    unset grid
    unset key
    set rmargin at screen 0.885
    set bmargin 3.5
    set tmargin 4
    height = greater(320, 160 + 22 * lesser(links, 40))
    run_ps = 0
    do for [i = 1 : series_count] {
        begins = 1e30
        ends = 0
        set table $unused
        plot 'results.tsv' using (note_times(i)):(0) with table
        unset table
        run_ps = greater(run_ps, ends)
        if (ends > begins) {
            set arrow from ends / unit_ps, graph 0 to ends / unit_ps, graph (1 + 12.0 / height) nohead front linewidth 1 linecolor rgb ink
        }
    }
    if (run_ps <= 0) { run_ps = last_ps }
    set xrange [0 : run_ps / unit_ps]
    do for [i = 1 : series_count] {
        begins = 1e30
        ends = 0
        set table $unused
        plot 'results.tsv' using (note_times(i)):(0) with table
        unset table
        # A name needs about a hundredth of the width for each letter.
        if (ends > begins && (ends - begins) / run_ps > 0.012 * strlen(word(series, i))) {
            set label word(series, i) at (begins + ends) / 2 / unit_ps, graph 1 offset 0, 0.7 center font ",11" textcolor rgb ink noenhanced
        }
    }
    every = ceil(links / 40.0)
    set ytics scale 0 font ",11"
    mid(a, b) = (column(a) + column(b)) / 2 / unit_ps
    name(number) = int(number) % every == 0 ? strcol("link") : ""
    do for [form in "svg png"] {
        eval(form eq "svg" ? svg(900, height) : png(900, height))
        set output 'links.'.form
        if (cells <= 10000) {
            # Rectangles that overlap a little: without it their edges shine through.
            plot 'links.tsv' using (mid("from_ps", "to_ps")):(column("link_number")):(column("from_ps") / unit_ps): \
                ((1.3 * column("to_ps") - 0.3 * column("from_ps")) / unit_ps):(column("link_number") - 0.5): \
                (column("link_number") + 0.5):(column("busy_pct")):ytic(name(column("link_number"))) \
                with boxxyerror fillstyle solid 1 noborder linecolor palette
        } else {
            plot 'links.tsv' using (mid("from_ps", "to_ps")):(column("link_number")):(column("busy_pct")): \
                ytic(name(column("link_number"))) with image
        }
        set output
    }
}
