# SPDX-License-Identifier: Apache-2.0
# What all figures share: colours, fonts, names of sizes, the list of series. gnuplot runs in a folder
# that holds results.tsv, links.tsv and these scripts, and writes NAME.svg and NAME.png there. A figure
# over message size sets has_size_axis before it loads this. One with nothing to draw writes no file.
set encoding utf8
set datafile separator "\t"
set datafile columnheaders
set datafile missing NaN

# Okabe and Ito (2008): eight colours that colour-blind people tell apart; yellow last, it is pale.
array colours[8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442"]
colour(i) = colours[(i - 1) % 8 + 1]
# Seven marks, so that the ninth series has the first colour with another mark.
mark(i) = int(word("7 5 9 11 13 6 4", (i - 1) % 7 + 1))

ink = "#222222"
pale = "#d8d8d8"
set border 3 linewidth 1 linecolor rgb ink
set tics nomirror out textcolor rgb ink
set grid back linecolor rgb pale linewidth 0.7 dashtype 1
set title textcolor rgb ink
set key horizontal Left reverse textcolor rgb ink samplen 3 width 2 noenhanced

# Both forms have the same layout: the PNG is the SVG at twice its size.
svg(width, height) = sprintf("set terminal svg enhanced size %d,%d font 'DejaVu Sans,Verdana,sans-serif,13' background '#ffffff'", width, height)
png(width, height) = sprintf("set terminal pngcairo enhanced size %d,%d font 'DejaVu Sans,13' fontscale 1.9 linewidth 2 pointscale 2 background '#ffffff'", 2 * width, 2 * height)

# 4 B, 1 KiB, 64 MiB
size_name(b) = b < 1024 ? sprintf("%g B", b) : b < 1048576 ? sprintf("%g KiB", b / 1024.0) : \
    b < 1073741824 ? sprintf("%g MiB", b / 1048576.0) : sprintf("%g GiB", b / 1073741824.0)
# 5 ns, 10 µs, 1 ms: of picoseconds
span_name(ps) = ps < 1e3 ? sprintf("%g ps", ps) : ps < 1e6 ? sprintf("%g ns", ps / 1e3) : \
    ps < 1e9 ? sprintf("%g µs", ps / 1e6) : ps < 1e12 ? sprintf("%g ms", ps / 1e9) : sprintf("%g s", ps / 1e12)
positive(v) = v > 0 ? v : NaN
lesser(a, b) = a < b ? a : b
greater(a, b) = a > b ? a : b

# The names of the series in the order of the table, each in quotes: word(series, i).
series = ""
least_size = 1e30
most_size = 0
is_partial = 0
note_series(name) = strstrt(series, '"'.name.'"') ? 0 : (series = series.'"'.name.'" ', 0)
note_size(b) = (least_size = b > 0 ? lesser(least_size, b) : least_size, most_size = greater(most_size, b), 0)
note_partial(word) = (is_partial = word eq "true" ? 1 : is_partial, 0)
set table $unused
plot 'results.tsv' using (note_series(strcol("series"))):(note_size(column("size_bytes"))):(note_partial(strcol("partial"))) with table
unset table
series_count = lesser(words(series), 16)

# The legend stands below the axes and gets the room that its names need: a letter takes 8 of 900.
widest = 1
do for [i = 1 : series_count] { widest = greater(widest, strlen(word(series, i))) }
legend_columns = greater(1, lesser(series_count, floor(860.0 / (8 * widest + 70))))
legend_height = 20 * ceil(1.0 * series_count / legend_columns)
place_legend(height) = sprintf("set key at screen 0.5, %.4f center center maxcols %d; set bmargin at screen %.4f", \
    (0.5 * legend_height + 10) / height, legend_columns, (legend_height + 80.0) / height)
# A bound is a dashed line; where a series may have a single size, its ends are marked too.
bound_mark = series_count > 6 || least_size == most_size ? 2 : 0
is_series(i) = strcol("series") eq word(series, i)
# An interrupted run says so in each figure.
note = is_partial ? "  (PARTIAL: the run was interrupted)" : ""

# A logarithmic axis of message sizes; at most nine names, at powers of two that are equally far apart.
if (exists("has_size_axis") && most_size > 0) {
    set logscale x 2
    set xlabel "message size" textcolor rgb ink
    set xrange [least_size / 1.5 : most_size * 1.5]
    first_power = ceil(log(least_size) / log(2) - 1e-9)
    last_power = floor(log(most_size) / log(2) + 1e-9)
    step_power = 1
    do for [k = 1 : 5] {
        if ((last_power - first_power) / step_power > 8) { step_power = 2 * step_power }
    }
    set xtics () scale 1, 0
    do for [power = first_power : last_power : step_power] {
        set xtics add (size_name(2.0 ** power) 2.0 ** power)
    }
    if (last_power < first_power) { set xtics add (size_name(least_size) least_size) }
}
