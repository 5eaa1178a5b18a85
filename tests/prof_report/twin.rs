//! Random trees against a slow twin that follows the rules word by word, one stack at a time.

use std::cmp::Reverse;

use heapprof::prof::{Level, Report, Stack};

use super::{Random, random_report, tables};

/// A printed row as words, with its indentation.
type Words = (usize, Vec<String>);

struct Twin<'a>(&'a Report);

impl Twin<'_> {
    fn shown(&self, stack: &Stack) -> bool {
        self.0.level == Level::All || !stack.hidden
    }

    fn total(&self, figure: fn(&Stack) -> u64) -> u64 {
        self.0.stacks.iter().filter(|stack| self.shown(stack)).map(figure).sum()
    }

    fn children(&self, parent: Option<usize>) -> Vec<usize> {
        let all = 0..self.0.stacks.len();
        let mut children: Vec<usize> = all.filter(|&stack| self.0.stacks[stack].parent == parent).collect();
        children.sort_by_key(|&at| {
            let stack = &self.0.stacks[at];
            let label = self.0.centres[stack.centre].label.replace(' ', "~");
            (Reverse(stack.entries), label, Reverse(stack.id))
        });
        children
    }

    fn inherited(&self, at: usize, figure: fn(&Stack) -> u64) -> u64 {
        let stack = &self.0.stacks[at];
        let own = if self.shown(stack) { figure(stack) } else { 0 };
        let below = |&child: &usize| self.inherited(child, figure);
        own + self.children(Some(at)).iter().map(below).sum::<u64>()
    }

    fn stays(&self, at: usize) -> bool {
        let stack = &self.0.stacks[at];
        self.0.level == Level::All
            || stack.parent.is_none()
            || stack.entries + stack.ticks + stack.bytes > 0
            || self.children(Some(at)).iter().any(|&child| self.stays(child))
    }

    fn name(&self, centre: usize) -> Vec<String> {
        let centre = &self.0.centres[centre];
        [&centre.label, &centre.module, &centre.src].map(|name| name.replace(' ', "~")).to_vec()
    }

    fn tree(&self, at: usize, depth: usize, rows: &mut Vec<Words>) {
        if !self.stays(at) {
            return;
        }
        let stack = &self.0.stacks[at];
        let mut below = depth;
        if self.shown(stack) {
            let mut words = self.name(stack.centre);
            words.extend([stack.id.to_string(), stack.entries.to_string()]);
            words.push(percent(stack.ticks, self.total(|stack| stack.ticks)));
            words.push(percent(stack.bytes, self.total(|stack| stack.bytes)));
            for figure in [|stack: &Stack| stack.ticks, |stack: &Stack| stack.bytes] {
                words.push(percent(self.inherited(at, figure), self.total(figure)));
            }
            if self.0.level != Level::Summary {
                words.extend([stack.ticks.to_string(), stack.bytes.to_string()]);
            }
            rows.push((depth, words));
            below += 1;
        }
        for child in self.children(Some(at)) {
            self.tree(child, below, rows);
        }
    }

    fn of_centre(&self, centre: usize, figure: fn(&Stack) -> u64) -> u64 {
        let stacks = self.0.stacks.iter().filter(|stack| stack.centre == centre);
        stacks.filter(|stack| self.shown(stack)).map(figure).sum()
    }

    fn top(&self) -> Vec<Words> {
        let totals = (self.total(|stack| stack.ticks), self.total(|stack| stack.bytes));
        let costs = |centre: usize| {
            (self.of_centre(centre, |stack| stack.ticks), self.of_centre(centre, |stack| stack.bytes))
        };
        let has_a_row = |centre: &usize| {
            let (ticks, bytes) = costs(*centre);
            self.0.level == Level::All || ticks > totals.0 / 100 || bytes > totals.1 / 100
        };
        let mut order: Vec<usize> = (0..self.0.centres.len()).filter(has_a_row).collect();
        if order.is_empty() {
            let shown = |&centre: &usize| {
                let mut stacks = self.0.stacks.iter();
                stacks.any(|stack| stack.centre == centre && self.shown(stack))
            };
            order = (0..self.0.centres.len()).filter(shown).max_by_key(|&at| costs(at)).into_iter().collect();
        }
        order.sort_by_key(|&centre| (Reverse(costs(centre).0), Reverse(centre)));
        let row = |centre: usize| {
            let mut words = self.name(centre);
            let (ticks, bytes) = costs(centre);
            words.extend([single(ticks, totals.0), single(bytes, totals.1)]);
            if self.0.level != Level::Summary {
                words.extend([ticks.to_string(), bytes.to_string()]);
            }
            (0, words)
        };
        order.into_iter().map(row).collect()
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "0.0".to_owned() } else { format!("{:.1}", part as f64 / whole as f64 * 100.0) }
}

fn single(part: u64, whole: u64) -> String {
    if whole == 0 { "0.0".to_owned() } else { format!("{:.1}", part as f32 / whole as f32 * 100.0) }
}

fn words(row: &str) -> Words {
    let indent = row.len() - row.trim_start_matches(' ').len();
    (indent, row.split_whitespace().map(str::to_owned).collect())
}

fn each_random_report(check: impl Fn(&Report)) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..600 {
        let mut report = random_report(&mut random);
        for level in [Level::Summary, Level::Detailed, Level::All] {
            report.level = level;
            report.ghc_exact = random.chance(50);
            check(&report);
        }
    }
}

#[test]
fn every_row_is_the_twins_row() {
    each_random_report(|report| {
        let text = report.render();
        let (top, tree) = tables(&text);
        let twin = Twin(report);
        assert_eq!(top.into_iter().map(words).collect::<Vec<_>>(), twin.top(), "{text}");
        let mut rows = Vec::new();
        twin.tree(0, 0, &mut rows);
        assert_eq!(tree.into_iter().map(words).collect::<Vec<_>>(), rows, "{text}");
    });
}

#[test]
fn individual_percentages_add_up_and_main_inherits_all() {
    each_random_report(|report| {
        let text = report.render();
        let (_, tree) = tables(&text);
        let rows: Vec<Vec<f64>> = tree
            .iter()
            .map(|row| row.split_whitespace().skip(5).map(|word| word.parse().unwrap()).collect())
            .collect();
        let totals = report.totals();
        for (column, total) in [(0, totals.ticks), (1, totals.bytes)] {
            let want = if total > 0 { 100.0 } else { 0.0 };
            let sum: f64 = rows.iter().map(|row| row[column]).sum();
            assert!((sum - want).abs() <= 0.0501 * rows.len() as f64, "{sum} in\n{text}");
            assert_eq!(rows[0][column + 2], want, "{text}");
            assert!(rows.iter().all(|row| row[column + 2] >= row[column]), "{text}");
        }
    });
}

#[test]
fn rows_of_the_same_depth_have_the_same_columns() {
    // Every cell of the widened tables ends (figures) or begins (names) in the column of its head.
    each_random_report(|report| {
        let text = Report { ghc_exact: false, ..report.clone() }.render();
        let is_head = |line: &&str| line.starts_with("COST CENTRE");
        let head = text.lines().rfind(is_head).unwrap();
        let column = |name: &str| head.find(name).unwrap();
        for row in tables(&text).1 {
            let chars: Vec<char> = row.chars().collect();
            for name in ["MODULE", "SRC"] {
                assert!(chars[column(name)] != ' ' && chars[column(name) - 1] == ' ', "{text}");
            }
            let end = column("entries") + "entries".len();
            assert!(chars[end - 1].is_ascii_digit() && chars[end] == ' ', "{text}");
            assert_eq!(chars.len(), head.len(), "{text}");
        }
    });
}
