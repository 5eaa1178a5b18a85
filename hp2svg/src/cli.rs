//! The command line: what its arguments ask for.

use std::path::Path;

use hp2ps::cli::{ByName, Generated};
use hp2ps::{NameOrder, Previous};

pub use crate::args::{Format, ModeArg, SvgArgs, ThemeArg, Uniform};
use crate::choice::{ChoiceOptions, Order};
use crate::scene::SceneOptions;
use crate::svg::ThemeChoice;
use crate::view::{Mode, View, ViewOptions};

impl SvgArgs {
    /// What is shown of a profile, after what an earlier chart left.
    pub fn view_options(&self, previous: &Previous) -> ViewOptions {
        ViewOptions {
            choice: self.choice_options(previous),
            mode: match self.mode {
                ModeArg::Stacked => Mode::Stacked,
                ModeArg::Lines => Mode::Lines,
                ModeArg::Share => Mode::Share,
                ModeArg::OwnPeak => Mode::OwnPeak,
                ModeArg::Growth => Mode::Growth { since_s: self.since.or(self.from).unwrap_or_default() },
            },
            from_s: self.from,
            to_s: self.to,
            // As many as the graph may have at most.
            columns: self.size.0 as usize,
        }
    }

    /// Which bands are shown.
    pub fn choice_options(&self, previous: &Previous) -> ChoiceOptions {
        let order = match self.chart.by_name {
            _ if !previous.order.is_empty() => Order::Previous(previous.order.clone()),
            Some(ByName::GreatestOnTop) => Order::Name(NameOrder::GreatestOnTop),
            Some(ByName::SmallestOnTop) => Order::Name(NameOrder::SmallestOnTop),
            None if self.chart.by_deviation => Order::Deviation,
            None => Order::Area,
        };
        ChoiceOptions {
            limit: self.chart.bands,
            trace_percent: self.chart.trace,
            order,
            only: self.only.clone(),
            hide: self.hide.clone(),
        }
    }

    /// How each of the views looks, on one scale as far as asked.
    pub fn scene_options(&self, views: &[View], previous: &Previous) -> SceneOptions {
        let most = |of: &dyn Fn(&View) -> f64| views.iter().map(of).fold(0.0, f64::max);
        let time_s = |view: &View| view.window_s.1 - view.window_s.0;
        let (time, memory) = match self.uniform {
            Uniform::None => (false, false),
            Uniform::Time => (true, false),
            Uniform::Memory => (false, true),
            Uniform::Both => (true, true),
        };
        let at_least = |asked: bool, own: &dyn Fn(&View) -> f64, previous: f64| {
            let range = if asked { most(own) } else { 0.0 };
            // Without a common scale each view has its own, but none is smaller than that of an earlier chart.
            let range = if previous > 0.0 { range.max(previous).max(most(own)) } else { range };
            (range > 0.0).then_some(range)
        };
        SceneOptions {
            size_px: self.size,
            title: self.title.clone(),
            no_marks: self.chart.no_marks,
            pattern: self.pattern,
            value_range: at_least(memory, &View::largest, previous.y_range),
            time_range_s: at_least(time, &time_s, previous.x_range),
        }
    }

    /// What is written: as asked, else as the output's name ends, else SVG.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn output_format(&self) -> Result<Format, String> {
        if self.html {
            return Ok(Format::Html);
        }
        let ending = self.output.as_deref().and_then(Path::extension);
        match (self.format, ending.map(|ending| ending.to_string_lossy().to_lowercase()).as_deref()) {
            (Some(format), _) => Ok(format),
            (None, None | Some("svg")) => Ok(Format::Svg),
            (None, Some("html" | "htm")) => Ok(Format::Html),
            (None, Some("pdf")) => Ok(Format::Pdf),
            (None, Some("png")) => Ok(Format::Png),
            (None, Some(other)) => {
                Err(format!("read ending `.{other}`, expected .svg, .html, .pdf or .png, or --format"))
            }
        }
    }
}

impl Format {
    /// The ending of files.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Html => "html",
            Format::Pdf => "pdf",
            Format::Png => "png",
        }
    }
}

impl From<ThemeArg> for ThemeChoice {
    fn from(theme: ThemeArg) -> ThemeChoice {
        match theme {
            ThemeArg::Auto => ThemeChoice::Auto,
            ThemeArg::Light => ThemeChoice::Light,
            ThemeArg::Dark => ThemeChoice::Dark,
        }
    }
}

/// What `--generate` prints, as the build made it.
pub fn generated(what: Generated) -> &'static [u8] {
    match what {
        Generated::Man => include_bytes!(concat!(env!("OUT_DIR"), "/hp2svg.1")),
        Generated::Bash => include_bytes!(concat!(env!("OUT_DIR"), "/hp2svg.bash")),
        Generated::Zsh => include_bytes!(concat!(env!("OUT_DIR"), "/_hp2svg")),
        Generated::Fish => include_bytes!(concat!(env!("OUT_DIR"), "/hp2svg.fish")),
    }
}
