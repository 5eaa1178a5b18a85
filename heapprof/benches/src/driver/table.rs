//! Markdown tables.

/// A table under construction: every row has as many cells as the heading.
pub(crate) struct Table {
    text: String,
    columns: usize,
}

impl Table {
    /// A caption above, and the heading; all columns but the first and the last are numbers.
    pub(crate) fn new(caption: &str, heading: &[&str]) -> Self {
        let mut table = Self { text: format!("{caption}\n\n"), columns: heading.len() };
        table.row(heading);
        let rule = |column| {
            if column == 0 || column + 1 == heading.len() { "---" } else { "---:" }
        };
        table.row(&(0..heading.len()).map(rule).collect::<Vec<_>>());
        table
    }

    pub(crate) fn row<Cell: AsRef<str>>(&mut self, cells: &[Cell]) {
        assert_eq!(cells.len(), self.columns, "a row has the columns of its heading");
        for cell in cells {
            self.text.push_str("| ");
            self.text.push_str(cell.as_ref());
            self.text.push(' ');
        }
        self.text.push_str("|\n");
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}
