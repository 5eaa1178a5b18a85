//! GHC's time and allocation report (`.prof`): owns its layout, and nothing else.
//!
//! [`Report`] holds plain facts (cost centres, cost-centre stacks and their individual costs);
//! [`Report::render`] turns them into the text that GHC 9 writes, so that every reader of GHC reports
//! reads ours. This module never opens a file, never reads a clock and never looks at the profiler.
//!
//! # The file
//!
//! ```text
//! report   := TAB date " Time and Allocation Profiling Report  (Final)" NL NL
//!             TAB "   " program " +RTS" {" " rts-arg} " -RTS" {" " arg} NL NL
//!             TAB "total time  = " secs " secs   (" ticks " ticks @ " us " us, " n " processor" ["s"] ")" NL
//!             TAB "total alloc = " bytes " bytes  (excludes profiling overheads)" NL NL
//!             top-head NL NL {top-row NL} NL NL
//!             tree-head-1 NL tree-head-2 NL NL {tree-row NL}
//! top-row  := label module src %time %alloc [ticks bytes]
//! tree-row := indent label module src no. entries individual(%time %alloc) inherited(%time %alloc) [ticks bytes]
//! ```
//!
//! There is no footer. An example (a tab is shown as four blanks), as written by a program with two cost centres:
//!
//! ```text
//!     Mon Nov  3 16:23 2026 Time and Allocation Profiling Report  (Final)
//!
//!        nest +RTS -p -RTS
//!
//!     total time  =        0.02 secs   (20 ticks @ 1000 us, 1 processor)
//!     total alloc =       4,096 bytes  (excludes profiling overheads)
//!
//! COST CENTRE MODULE SRC            %time %alloc
//!
//! parse       app    src/main.rs:7   75.0  100.0
//! main        app    src/main.rs:3   25.0    0.0
//!
//!
//!                                                     individual      inherited
//! COST CENTRE MODULE SRC           no.     entries  %time %alloc   %time %alloc
//!
//! MAIN        MAIN   <built-in>      1           0    0.0    0.0   100.0  100.0
//!  main       app    src/main.rs:3   2           1   25.0    0.0   100.0  100.0
//!   parse     app    src/main.rs:7   3           5   75.0  100.0    75.0  100.0
//! ```
//!
//! # The rules
//!
//! * Totals are the sums over all stacks that are not hidden. Sums are taken in 128 bits: they never wrap.
//! * First table, one row per cost centre: the individual costs of all stacks with that centre on top. A row is
//!   shown if its ticks or its bytes exceed one hundredth of the total, *the hundredth rounded down*; so below
//!   100 ticks one tick is enough. Order: ticks, most first; then the centre registered last. Percentages are
//!   computed in single precision.
//! * Second table, the tree of stacks: siblings by entries, most first; then label by bytes; then the newest.
//!   Stacks without entries, ticks and bytes go, unless a stack below them stays. Percentages are computed in
//!   double precision. Inherited costs are the individual costs of a stack and of all stacks below it.
//! * Hidden stacks count in no total and are not shown, but their names still widen the columns.
//! * Widths count Unicode code points.
//!
//! GHC counts words of eight bytes and we count bytes, yet both rules above agree on GHC's own figures. With a
//! total of `100 q + r` words, a row of `w` words is shown if `w > q`; in bytes the test reads
//! `8 w > 8 q + floor(8 r / 100)` and the last term is at most 7. Ratios do not change when both sides are scaled
//! by a power of two.
//!
//! # Where we differ from GHC, and why
//!
//! * Names are escaped by [`escape_label`]: blanks inside a name break every reader. `;` becomes `^3B` as
//!   well, since it ends a frame in folded stacks; module and source keep their `/`, which separates nothing here.
//! * The first table always has a row, if need be the biggest centre: an empty table is a parse error to some.
//! * A figure wider than its column widens the column, its head included; GHC lets it push the rest of the row to
//!   the right, and readers of fixed columns then read a wrong figure. [`Report::ghc_exact`] restores that.
//!
//! [`escape_label`]: crate::hp::escape_label

use std::cmp::Reverse;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io;
use std::ops::AddAssign;

use crate::hp::escape_label;

/// Appends formatted text to a string, which cannot fail.
macro_rules! push {
    ($line:expr, $($format:tt)*) => {{
        let _ = write!($line, $($format)*);
    }};
}

/// How much a report shows; the order is that of GHC's options, each showing more than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Percentages and entries (`-p`).
    #[default]
    Summary,
    /// The same rows with ticks and bytes (`-P`).
    Detailed,
    /// Every cost centre and every stack, the hidden ones too, with ticks and bytes (`-pa`). The totals then
    /// include the hidden stacks, so they are not those of the other levels.
    All,
}

/// A cost centre: one row of the first table, if its costs are large enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Centre {
    /// Name, as given by the user; escaped when written.
    pub label: String,
    /// Module path.
    pub module: String,
    /// Source place such as `src/main.rs:7`, or `<built-in>`.
    pub src: String,
}

/// A cost-centre stack with its individual costs: one row of the second table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Number of the stack, in order of creation; the `no.` column.
    pub id: u32,
    /// The centre on top: an index into [`Report::centres`]. An index out of range is shown as `?`.
    pub centre: usize,
    /// The stack below the top: an index into [`Report::stacks`], smaller than this stack's own, since a stack is
    /// created after its parent. Anything else, and `None`, makes this stack a root.
    pub parent: Option<usize>,
    /// How often the centre on top was entered.
    pub entries: u64,
    /// Ticks while this was the current stack, over all processors.
    pub ticks: u64,
    /// Bytes allocated while this was the current stack.
    pub bytes: u64,
    /// Costs of the profiler itself and the like: in no total and not shown, except at [`Level::All`]. The stacks
    /// below are not hidden by it and take its place in the tree. A root is never hidden.
    pub hidden: bool,
}

/// The facts of a time and allocation report.
///
/// # Example: one cost centre below MAIN
///
/// ```
/// use heapprof::prof::{Centre, Report, Stack};
///
/// let centre = |label: &str, module: &str, src: &str| Centre {
///     label: label.into(),
///     module: module.into(),
///     src: src.into(),
/// };
/// let report = Report {
///     program: "demo".into(),
///     date: "Mon Nov 30 16:23 2026".into(),
///     tick_us: 1000,
///     processors: 1,
///     centres: vec![centre("MAIN", "MAIN", "<built-in>"), centre("read line", "app", "src/main.rs:7")],
///     stacks: vec![
///         Stack { id: 1, ticks: 1, ..Stack::default() },
///         Stack { id: 2, centre: 1, parent: Some(0), entries: 5, ticks: 3, bytes: 64, ..Stack::default() },
///     ],
///     ..Report::default()
/// };
/// let text = report.render();
/// assert!(text.contains("total time  =        0.00 secs   (4 ticks @ 1000 us, 1 processor)\n"));
/// assert!(text.ends_with(
///     "MAIN        MAIN   <built-in>      1           0   25.0    0.0   100.0  100.0\n \
///      read~line  app    src/main.rs:7   2           5   75.0  100.0    75.0  100.0\n"
/// ));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Name of the program.
    pub program: String,
    /// The profiler's options, as they stand between `+RTS` and `-RTS`; may be empty.
    pub rts_args: String,
    /// The program's arguments, separated by blanks; may be empty.
    pub args: String,
    /// Local time of the report in the manner of C's `ctime`, without seconds: `Mon Nov  3 16:23 2026`. Readers
    /// take no other form.
    pub date: String,
    /// Length of a tick in microseconds.
    pub tick_us: u64,
    /// Processors that took ticks; the total time is the sum of ticks divided by this. Zero counts as one.
    pub processors: u32,
    /// Cost centres in order of registration.
    pub centres: Vec<Centre>,
    /// Stacks in order of creation, the root (MAIN) first. If there is none, an idle MAIN is shown.
    pub stacks: Vec<Stack>,
    /// How much is shown.
    pub level: Level,
    /// Lets figures overflow their columns as GHC does, instead of widening the columns.
    pub ghc_exact: bool,
}

/// Ticks and bytes together. Wide enough for the sum of any number of stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// Ticks, over all processors.
    pub ticks: u128,
    /// Allocated bytes.
    pub bytes: u128,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.ticks += other.ticks;
        self.bytes += other.bytes;
    }
}

impl Cost {
    /// True if this exceeds one hundredth of `total`, rounded down, in ticks or in bytes.
    fn exceeds_a_hundredth_of(self, total: Cost) -> bool {
        self.ticks > total.ticks / 100 || self.bytes > total.bytes / 100
    }
}

impl Report {
    /// Writes the report to a string.
    ///
    /// A row is as long as the deepest indentation plus the longest names, so the text of a very deep tree is
    /// large: [`write_to`](Self::write_to) keeps only one line of it in memory.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        let Ok(()) = self.for_each_line(&mut |line| {
            text.push_str(line);
            Ok::<(), Infallible>(())
        });
        text
    }

    /// Writes the report to `out`, buffered, and flushes it.
    ///
    /// # Errors
    ///
    /// The first error of `out`.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// let report = heapprof::prof::Report::default();
    /// let mut file = Vec::new();
    /// report.write_to(&mut file)?;
    /// assert_eq!(file, report.render().as_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        self.for_each_line(&mut |line| io::Write::write_all(&mut out, line.as_bytes()))?;
        io::Write::flush(&mut out)
    }

    /// The totals of the report: the costs of all stacks that are not hidden.
    ///
    /// ```
    /// use heapprof::prof::{Cost, Report, Stack};
    ///
    /// let main = Stack { ticks: 2, bytes: 8, ..Stack::default() };
    /// let overhead = Stack { parent: Some(0), bytes: 9, hidden: true, ..Stack::default() };
    /// let report = Report { stacks: vec![main, overhead], ..Report::default() };
    /// assert_eq!(report.totals(), Cost { ticks: 2, bytes: 8 });
    /// ```
    #[must_use]
    pub fn totals(&self) -> Cost {
        totals(&self.nodes())
    }

    /// All passes in order; hands every line, with its newline, to `out`.
    fn for_each_line<E>(&self, out: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let nodes = self.nodes();
        let names = self.names(&nodes);
        let totals = totals(&nodes);
        out(&self.heading(totals))?;
        let candidates = self.candidates(&nodes, names.len(), totals);
        self.write_top(&candidates, &names, totals, out)?;
        let inherited = inherited(&nodes);
        let kept = kept(&nodes, self.level);
        let rows = printing_order(&nodes, &kept, &names);
        self.write_tree(&Tree { nodes, inherited, rows }, &names, totals, out)
    }

    /// The lines above the tables.
    fn heading(&self, totals: Cost) -> String {
        let processors = self.processors.max(1);
        let seconds = totals.ticks as f64 * self.tick_us as f64 / (1e6 * f64::from(processors));
        let mut rts_args = one_line(&self.rts_args);
        let mut args = one_line(&self.args);
        for words in [&mut rts_args, &mut args] {
            if !words.is_empty() {
                words.insert(0, ' ');
            }
        }
        format!(
            "\t{} Time and Allocation Profiling Report  (Final)\n\n\
             \t   {} +RTS{rts_args} -RTS{args}\n\n\
             \ttotal time  = {seconds:11.2} secs   ({} ticks @ {} us, {processors} processor{})\n\
             \ttotal alloc = {:>11} bytes  (excludes profiling overheads)\n\n",
            one_line(&self.date),
            place(&self.program),
            totals.ticks,
            self.tick_us,
            if processors > 1 { "s" } else { "" },
            with_commas(totals.bytes),
        )
    }

    /// The stacks, checked: a parent comes before its children, roots are not hidden, centres are in range (one
    /// past the last stands for all others), and there is at least one stack.
    fn nodes(&self) -> Vec<Node> {
        if self.stacks.is_empty() {
            return vec![Node::default()];
        }
        let node = |(index, stack): (usize, &Stack)| {
            let parent = stack.parent.filter(|&parent| parent < index);
            Node {
                id: stack.id,
                centre: stack.centre.min(self.centres.len()),
                parent,
                entries: stack.entries,
                own: Cost { ticks: stack.ticks.into(), bytes: stack.bytes.into() },
                hidden: stack.hidden && parent.is_some() && self.level < Level::All,
            }
        };
        self.stacks.iter().enumerate().map(node).collect()
    }

    /// The printed names, by centre index; with one more at the end if a stack refers past the last centre.
    fn names(&self, nodes: &[Node]) -> Vec<Name> {
        let mut names: Vec<Name> =
            self.centres.iter().map(|centre| Name::new(&centre.label, &centre.module, &centre.src)).collect();
        if nodes.iter().any(|node| node.centre == names.len()) {
            names.push(match self.stacks.is_empty() {
                true => Name::new("MAIN", "MAIN", "<built-in>"),
                false => Name::new("?", "?", "?"),
            });
        }
        names
    }

    /// The cost centres whose costs are large enough for the first table, in printing order, the hidden ones
    /// included. At least one is not hidden.
    fn candidates(&self, nodes: &[Node], centres: usize, totals: Cost) -> Vec<TopRow> {
        let all = per_centre(nodes, centres);
        // The order of registration, newest first, is what GHC's list of centres has; the sort is stable.
        let mut rows: Vec<TopRow> = all
            .iter()
            .rev()
            .filter(|row| self.level == Level::All || row.own.exceeds_a_hundredth_of(totals))
            .copied()
            .collect();
        rows.sort_by_key(|row| Reverse(row.own.ticks));
        if rows.iter().all(|row| row.hidden) {
            rows.extend(all.iter().filter(|row| row.used && !row.hidden).max_by_key(|row| row.own));
        }
        rows
    }

    fn write_top<E>(
        &self,
        candidates: &[TopRow],
        names: &[Name],
        totals: Cost,
        out: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut columns = Columns::new();
        candidates.iter().for_each(|row| columns.fit_name(0, &names[row.centre]));
        let shown: Vec<&TopRow> = candidates.iter().filter(|row| !row.hidden).collect();
        if !self.ghc_exact {
            shown.iter().for_each(|row| columns.fit_cost(row.own));
        }
        let mut line = String::new();
        columns.push_names(&mut line, 0, &HEAD);
        line.push_str("  %time %alloc");
        self.push_cost(&mut line, &columns, "ticks", "bytes");
        line.push_str("\n\n");
        out(&line)?;
        for row in shown {
            line.clear();
            columns.push_names(&mut line, 0, &names[row.centre].cells());
            push!(line, " {:6.1}", percent_single(row.own.ticks, totals.ticks));
            push!(line, " {:6.1}", percent_single(row.own.bytes, totals.bytes));
            self.push_cost(&mut line, &columns, row.own.ticks, row.own.bytes);
            line.push('\n');
            out(&line)?;
        }
        out("\n\n")
    }

    fn write_tree<E>(
        &self,
        tree: &Tree,
        names: &[Name],
        totals: Cost,
        out: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = self.tree_columns(tree, names);
        out(&self.tree_head(&columns))?;
        let mut line = String::new();
        for &Row { stack, depth } in &tree.rows {
            let Node { id, entries, own, centre, hidden, .. } = tree.nodes[stack];
            if hidden {
                continue;
            }
            let all = tree.inherited[stack];
            line.clear();
            columns.push_names(&mut line, depth, &names[centre].cells());
            push!(line, " {id:>w$} {entries:>e$}", w = columns.id, e = columns.entries);
            for (cost, gap) in [(own, "  "), (all, "   ")] {
                push!(line, "{gap}{:5.1}", percent(cost.ticks, totals.ticks));
                push!(line, "  {:5.1}", percent(cost.bytes, totals.bytes));
            }
            self.push_cost(&mut line, &columns, own.ticks, own.bytes);
            line.push('\n');
            out(&line)?;
        }
        Ok(())
    }

    /// The widths of the tree; the names of hidden rows count, their figures do not.
    fn tree_columns(&self, tree: &Tree, names: &[Name]) -> Columns {
        let mut columns = Columns::new();
        for &Row { stack, depth } in &tree.rows {
            let node = &tree.nodes[stack];
            columns.fit_name(depth, &names[node.centre]);
            columns.id = columns.id.max(digits(node.id.into()));
            if !self.ghc_exact && !node.hidden {
                columns.entries = columns.entries.max(digits(node.entries.into()));
                columns.fit_cost(node.own);
            }
        }
        columns
    }

    /// The two lines above the tree and the empty one.
    fn tree_head(&self, columns: &Columns) -> String {
        let (mut line, e) = (String::new(), columns.entries);
        columns.push_names(&mut line, 0, &[("", 0); 3]);
        push!(line, " {:w$} {:>e$}  {:>12}   {:>12}\n", "", "", "individual", "inherited", w = columns.id);
        columns.push_names(&mut line, 0, &HEAD);
        push!(line, " {:w$} {:>e$}  %time %alloc   %time %alloc", "no.", "entries", w = columns.id);
        self.push_cost(&mut line, columns, "ticks", "bytes");
        line.push_str("\n\n");
        line
    }

    /// The two columns that only the higher levels have.
    fn push_cost<T: std::fmt::Display>(&self, line: &mut String, columns: &Columns, ticks: T, bytes: T) {
        if self.level >= Level::Detailed {
            push!(line, "  {ticks:>t$} {bytes:>b$}", t = columns.ticks, b = columns.bytes);
        }
    }
}

/// A stack, checked (see [`Report::nodes`]).
#[derive(Clone, Copy, Default)]
struct Node {
    id: u32,
    /// Index into the names.
    centre: usize,
    /// Index of a node before this one.
    parent: Option<usize>,
    entries: u64,
    /// Individual costs.
    own: Cost,
    /// Already false at the level that hides nothing.
    hidden: bool,
}

/// A cost centre on its way into the first table.
#[derive(Clone, Copy)]
struct TopRow {
    centre: usize,
    /// Sum over its stacks: those not hidden, or, if all are hidden, over all.
    own: Cost,
    /// All its stacks are hidden.
    hidden: bool,
    /// It has a stack.
    used: bool,
}

/// A stack on its way into the second table.
#[derive(Clone, Copy)]
struct Row {
    stack: usize,
    /// Stacks above it in the tree, hidden ones left out, so that an indentation level is never skipped.
    depth: usize,
}

/// What the second table is written from.
struct Tree {
    nodes: Vec<Node>,
    /// Inherited costs, by index of node.
    inherited: Vec<Cost>,
    /// In printing order, hidden ones included.
    rows: Vec<Row>,
}

/// The printed cells of a cost centre with their lengths in code points.
struct Name([(String, usize); 3]);

impl Name {
    fn new(label: &str, module: &str, src: &str) -> Name {
        Name([cell(label), place(module), place(src)].map(|text| {
            let chars = text.chars().count();
            (text, chars)
        }))
    }

    fn label(&self) -> &str {
        &self.0[0].0
    }

    fn cells(&self) -> [(&str, usize); 3] {
        self.0.each_ref().map(|(text, chars)| (text.as_str(), *chars))
    }
}

/// The heads of the name columns, which are also their smallest widths.
const HEAD: [(&str, usize); 3] = [("COST CENTRE", 11), ("MODULE", 6), ("SRC", 3)];

/// Widths of the columns that may grow, in code points.
struct Columns {
    names: [usize; 3],
    id: usize,
    entries: usize,
    ticks: usize,
    bytes: usize,
}

impl Columns {
    /// The smallest widths, GHC's.
    fn new() -> Columns {
        Columns { names: HEAD.map(|(_, chars)| chars), id: 3, entries: 11, ticks: 5, bytes: 9 }
    }

    fn fit_name(&mut self, depth: usize, name: &Name) {
        for (column, (width, (_, chars))) in self.names.iter_mut().zip(name.cells()).enumerate() {
            *width = (*width).max(chars + if column == 0 { depth } else { 0 });
        }
    }

    fn fit_cost(&mut self, cost: Cost) {
        self.ticks = self.ticks.max(digits(cost.ticks));
        self.bytes = self.bytes.max(digits(cost.bytes));
    }

    /// Appends the name columns, the first indented, one blank between them. Padding is done here because the
    /// width of a format argument ends at 65,535.
    fn push_names(&self, line: &mut String, depth: usize, cells: &[(&str, usize); 3]) {
        push_blanks(line, depth);
        for (column, (width, (text, chars))) in self.names.iter().zip(cells).enumerate() {
            let (indent, gap) = if column == 0 { (depth, 0) } else { (0, 1) };
            push_blanks(line, gap);
            line.push_str(text);
            push_blanks(line, width.saturating_sub(chars + indent));
        }
    }
}

/// Appends `count` blanks, many at a time: most of a deep tree's text is indentation.
fn push_blanks(line: &mut String, mut count: usize) {
    const BLANKS: &str = "                                                                ";
    while count > 0 {
        let some = count.min(BLANKS.len());
        line.push_str(&BLANKS[..some]);
        count -= some;
    }
}

fn totals(nodes: &[Node]) -> Cost {
    let mut totals = Cost::default();
    nodes.iter().filter(|node| !node.hidden).for_each(|node| totals += node.own);
    totals
}

/// The costs of every centre, by its index.
fn per_centre(nodes: &[Node], centres: usize) -> Vec<TopRow> {
    let unused = |centre| TopRow { centre, own: Cost::default(), hidden: false, used: false };
    let mut rows: Vec<TopRow> = (0..centres).map(unused).collect();
    for node in nodes {
        let row = &mut rows[node.centre];
        if !row.used || (row.hidden && !node.hidden) {
            *row = TopRow { own: Cost::default(), hidden: node.hidden, used: true, ..*row };
        }
        if row.hidden == node.hidden {
            row.own += node.own;
        }
    }
    rows
}

/// Own costs plus those of all stacks further up, hidden ones left out. A child comes after its parent, so one
/// walk backwards does it.
fn inherited(nodes: &[Node]) -> Vec<Cost> {
    let mut inherited = vec![Cost::default(); nodes.len()];
    for (index, node) in nodes.iter().enumerate().rev() {
        if !node.hidden {
            inherited[index] += node.own;
        }
        if let Some(parent) = node.parent {
            let cost = inherited[index];
            inherited[parent] += cost;
        }
    }
    inherited
}

/// Which stacks have anything to show, themselves or below them in the tree. A root always stays.
fn kept(nodes: &[Node], level: Level) -> Vec<bool> {
    let mut kept = vec![level == Level::All; nodes.len()];
    for (index, node) in nodes.iter().enumerate().rev() {
        kept[index] |= node.parent.is_none() || node.entries > 0 || node.own != Cost::default();
        if let (true, Some(parent)) = (kept[index], node.parent) {
            kept[parent] = true;
        }
    }
    kept
}

/// The kept stacks, each parent followed by its children in sibling order. A list of pending rows instead of
/// recursion: a tree may be as deep as the program has cost centres.
fn printing_order(nodes: &[Node], kept: &[bool], names: &[Name]) -> Vec<Row> {
    let mut siblings: Vec<usize> = (0..nodes.len()).filter(|&stack| kept[stack]).collect();
    siblings.sort_by_key(|&stack| {
        let node = &nodes[stack];
        (Reverse(node.entries), names[node.centre].label(), Reverse(node.id), Reverse(stack))
    });
    let (mut roots, mut children) = (Vec::new(), vec![Vec::new(); nodes.len()]);
    // Last sibling first, because the pending rows are taken from the end.
    for &stack in siblings.iter().rev() {
        nodes[stack].parent.map_or(&mut roots, |parent| &mut children[parent]).push(stack);
    }
    let mut rows = Vec::with_capacity(siblings.len());
    let mut pending: Vec<Row> = roots.into_iter().map(|stack| Row { stack, depth: 0 }).collect();
    while let Some(row) = pending.pop() {
        let depth = row.depth + usize::from(!nodes[row.stack].hidden);
        pending.extend(children[row.stack].iter().map(|&stack| Row { stack, depth }));
        rows.push(row);
    }
    rows
}

/// `part` in percent of `whole`; nothing of nothing is 0.
fn percent(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

/// The same in single precision, as in GHC's first table; the last digit printed may differ.
fn percent_single(part: u128, whole: u128) -> f32 {
    if whole == 0 { 0.0 } else { part as f32 / whole as f32 * 100.0 }
}

/// Number of decimal digits.
fn digits(number: u128) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The number with a comma before every group of three digits.
fn with_commas(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name as one word that folded stacks keep whole, too.
fn cell(name: &str) -> String {
    escape_label(name).replace(';', "^3B")
}

/// A module or source place as one word. Its `/` separate folders, not stacks; `^2F` can only stand for one,
/// since the escape escapes `^` as well.
fn place(name: &str) -> String {
    cell(name).replace("^2F", "/")
}

/// Free text of the heading, which must stay on its line.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push!(line, "^{byte:02X}"));
        } else {
            line.push(c);
        }
    }
    line
}
