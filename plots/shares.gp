# SPDX-License-Identifier: Apache-2.0
# Where does the time go? One panel a series, one bar a size.
load 'common.gp'
panels = lesser(series_count, 6)
parts = "wire copy reduce software credit handoff"
part_names = '"wire" "staging copies" "reduction" "posts and polls" "waiting for credit" "GPU and storage"'
pct(part) = column("share_".word(parts, part)."_pct")
# Upper edge of a part: what lies below it is drawn over it.
edge(part) = part == 1 ? pct(1) : part == 6 ? 100 : edge(part - 1) + pct(part)

# A bar's place: the how-manieth finished row of its series it is.
place = 0
is_bar(i) = is_series(i) && column("samples") > 0
bar(i) = (place = column(0) == 0 ? 0 : place, is_bar(i) ? (place = place + 1) : NaN)
names = ""
note_name(i) = (names = is_bar(i) ? names.'"'.size_name(column("size_bytes")).'" ' : names, 0)

if (panels > 0) {
    panel = 185
    legend = 50
    height = panel * panels + legend
    set style fill solid 1 noborder
    set boxwidth 0.84
    set yrange [0 : 100]
    do for [form in "svg png"] {
        eval(form eq "svg" ? svg(900, height) : png(900, height))
        set output 'shares.'.form
        set multiplot
        set lmargin 8
        set rmargin 3
        set tmargin 2
        set bmargin 2
        do for [i = 1 : panels] {
            names = ""
            set table $unused
            plot 'results.tsv' using (note_name(i)):(0) with table
            unset table
            set border 3 linewidth 1 linecolor rgb ink
            set ytics 0, 50, 100 format "%g %%" scale 1, 0 nomirror out textcolor rgb ink
            set xtics () scale 0 nomirror offset 0, 0.3 font ",11" textcolor rgb ink
            set xrange [0.4 : greater(words(names), 6) + 0.6]
            do for [k = 1 : words(names) : 1 + (words(names) - 1) / 14] {
                set xtics add (word(names, k) k)
            }
            set title word(series, i).": share of the median latency".(i == 1 ? note : "") offset 0, -0.5 noenhanced
            set origin 0, (legend + 1.0 * panel * (panels - i)) / height
            set size 1, 1.0 * panel / height
            unset key
            unset grid
            plot for [part = 6 : 1 : -1] 'results.tsv' using (bar(i)):(edge(part)) with boxes linecolor rgb colour(part) notitle
        }
        # The legend is a panel without axes.
        set origin 0, 0
        set size 1, 1.0 * legend / height
        unset title
        unset border
        unset tics
        set xrange [0 : 1]
        set lmargin 0
        set rmargin 0
        set tmargin 0
        set bmargin 0
        set key at screen 0.5, 0.5 * legend / height center center horizontal Left reverse samplen 1 width 1 font ",12"
        plot for [part = 1 : 6] NaN with boxes linecolor rgb colour(part) title word(part_names, part)
        unset multiplot
        set output
    }
}
