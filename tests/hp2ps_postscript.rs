//! PostScript as other programs see it: the structure that viewers page by, boxes, pages that stand alone, texts that
//! cannot break out, and texts of any script. Ghostscript is the judge where it is on the PATH.

mod hp_common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

use hp_common::{Random, data, filter, folder, ghc_tool};
use hp2ps::layout::{FRAME_PT, KeyPlace, PageOptions, Style, TitleSize};
use hp2ps::{BandOptions, Chart, Drawing, Placement, Previous};

const LINE_PT: f64 = 0.5;
/// The step of the device that tells the ink: 4000 pixels an inch, and a little for rounding.
const PIXEL_PT: f64 = 72.0 / 4000.0 + 0.001;

/// A chart of two samples whose bands have these names, all of the same height, the first at the bottom.
fn chart_of(names: &[Vec<u8>]) -> Chart {
    let mut chart = read(
        b"JOB \"job\" DATE \"date\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
        BEGIN_SAMPLE 0.0 a 10 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 a 10 END_SAMPLE 1.0",
    );
    let band = chart.bands.remove(0);
    chart.y_range = 10.0 * names.len() as f64;
    chart.bands = names.iter().map(|name| hp2ps::Band { name: name.clone(), ..band.clone() }).collect();
    chart
}

fn read(profile: &[u8]) -> Chart {
    read_with(profile, &BandOptions::default())
}

fn read_with(profile: &[u8], bands: &BandOptions) -> Chart {
    Chart::read(&mut Cursor::new(profile), bands, &Previous::default()).expect("a profile")
}

fn draw(chart: &Chart, options: &PageOptions, placement: Placement, colour: bool) -> Vec<u8> {
    let mut postscript = Vec::new();
    let drawing = Drawing::new(chart, options, colour, &Previous::default());
    drawing.write_ps(&mut postscript, placement).expect("a Vec takes all");
    postscript
}

fn readable() -> PageOptions {
    PageOptions { text: Style::Readable, axes: Style::Readable, ..PageOptions::default() }
}

fn ghc_style() -> PageOptions {
    PageOptions::default()
}

fn eps(width_pt: f64) -> Placement {
    Placement { portrait: false, eps_width_pt: Some(width_pt) }
}

/// The stored profiles by name.
fn profiles() -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(data("")).expect("profiles").map(|file| file.expect("a name").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "hp")).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read(path).expect("stored"))).collect()
}

/// Each stored profile in both styles, in each place, with the key on the graph and on its own pages.
fn documents() -> Vec<(String, PageOptions, Placement, Vec<u8>)> {
    let mut documents = Vec::new();
    let places =
        [Placement::default(), Placement { portrait: true, eps_width_pt: None }, eps(300.0), eps(648.0)];
    for (at, (name, profile)) in profiles().iter().enumerate() {
        for style in [Style::Ghc, Style::Readable] {
            for (turn, placement) in places.into_iter().enumerate() {
                let own_pages = (at + turn) % 3 == 0;
                let options = PageOptions {
                    text: style,
                    axes: style,
                    key: if own_pages { KeyPlace::OwnPages } else { KeyPlace::OnGraph },
                    title: [TitleSize::ByJob, TitleSize::Big][(at + turn) % 2],
                    ..PageOptions::default()
                };
                let bands = BandOptions { limit: if own_pages { 0 } else { 20 }, ..BandOptions::default() };
                let document = draw(&read_with(profile, &bands), &options, placement, at % 2 == 0);
                documents.push((format!("{name} {options:?} {placement:?}"), options, placement, document));
            }
        }
    }
    documents
}

// ---- structure

/// What the comments of a document say, after all rules of their form are found kept.
struct Structure<'a> {
    /// Comments at the head: keyword without `%%`, value.
    head: BTreeMap<String, String>,
    /// All before the first page.
    before: &'a [u8],
    /// Each page with its comments, and what follows the last one.
    pages: Vec<&'a [u8]>,
    after: &'a [u8],
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
}

fn structure<'a>(text: &'a [u8], about: &str) -> Structure<'a> {
    let long = lines(text).find(|line| line.len() > 255).map(String::from_utf8_lossy);
    assert_eq!(long, None, "{about}: lines have at most 255 characters");
    assert!(text.ends_with(b"\n%%EOF\n"), "{about}");
    let head = head(text, about);
    let starts: Vec<usize> =
        (1..text.len()).filter(|&at| text[at - 1] == b'\n' && text[at..].starts_with(b"%%Page: ")).collect();
    let trailer = (1..text.len()).find(|&at| text[at - 1] == b'\n' && text[at..].starts_with(b"%%Trailer\n"));
    let trailer = trailer.unwrap_or_else(|| panic!("{about}: a trailer"));
    let ends = starts.iter().skip(1).copied().chain([trailer]);
    let pages: Vec<&[u8]> = starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect();
    assert_eq!(head["Pages"], pages.len().to_string(), "{about}");
    let structure = Structure { head, before: &text[..starts[0]], pages, after: &text[trailer..] };
    structure.check_order(about);
    structure
}

fn head(text: &[u8], about: &str) -> BTreeMap<String, String> {
    const ONCE: [&str; 11] = [
        "Title",
        "Creator",
        "CreationDate",
        "BoundingBox",
        "HiResBoundingBox",
        "DocumentData",
        "DocumentNeededResources",
        "DocumentSuppliedResources",
        "Orientation",
        "Pages",
        "PageOrder",
    ];
    let comments = lines(text).skip(1).take_while(|line| *line != b"%%EndComments");
    let mut head = BTreeMap::new();
    for comment in comments {
        let comment = String::from_utf8_lossy(comment);
        if comment.starts_with("%%+ ") || comment.starts_with("%%hp2psColours: ") {
            continue;
        }
        let (keyword, value) = comment.split_once(':').unwrap_or_else(|| panic!("{about}: `{comment}`"));
        let keyword = keyword.strip_prefix("%%").unwrap_or_else(|| panic!("{about}: `{comment}`"));
        assert!(ONCE.contains(&keyword), "{about}: `{comment}`");
        assert!(!value.contains(|c: char| c.is_control()), "{about}: `{comment}`");
        let earlier = head.insert(keyword.to_owned(), value.trim().to_owned());
        assert_eq!(earlier, None, "{about}: {keyword} twice");
    }
    assert!(head.len() >= ONCE.len() - 1, "{about}: {head:?}");
    head
}

impl Structure<'_> {
    fn check_order(&self, about: &str) {
        let sections = |text: &[u8]| -> Vec<String> {
            let comments = lines(text).filter(|line| line.starts_with(b"%%"));
            comments.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
        };
        let before = sections(self.before);
        let end = before.iter().position(|line| line == "%%EndComments").expect("an end");
        let prolog: Vec<&String> = before[end..]
            .iter()
            .filter(|line| !line.contains("Resource: font hp2ps") && *line != "%%EndResource")
            .collect();
        assert_eq!(
            prolog,
            [
                "%%EndComments",
                "%%BeginProlog",
                "%%EndProlog",
                "%%BeginSetup",
                "%%IncludeResource: font Helvetica",
                "%%EndSetup"
            ],
            "{about}"
        );
        for (at, page) in self.pages.iter().enumerate() {
            let comments = sections(page);
            assert_eq!(comments[0], format!("%%Page: {0} {0}", at + 1), "{about}");
            let rest: Vec<&String> =
                comments[1..].iter().filter(|line| !line.starts_with("%%ViewingOrientation: ")).collect();
            assert_eq!(rest, ["%%BeginPageSetup", "%%EndPageSetup", "%%PageTrailer"], "{about}");
            let count = |word: &[u8]| lines(page).filter(|line| *line == word).count();
            assert_eq!([b"save".as_slice(), b"showpage", b"restore"].map(count), [1, 1, 1], "{about}");
        }
        assert_eq!(sections(self.after), ["%%Trailer", "%%EOF"], "{about}");
    }
}

#[test]
fn comments_have_the_form_and_order_of_the_conventions() {
    for (about, options, placement, text) in documents() {
        let structure = structure(&text, &about);
        let several = structure.pages.len() > 1;
        assert_eq!(several, options.key == KeyPlace::OwnPages, "{about}");
        let encapsulated = placement.eps_width_pt.is_some() && !several;
        let first = if encapsulated { "%!PS-Adobe-3.0 EPSF-3.0" } else { "%!PS-Adobe-3.0" };
        assert_eq!(lines(&text).next(), Some(first.as_bytes()), "{about}");
        let upright = placement.portrait || placement.eps_width_pt.is_some();
        assert_eq!(structure.head["Orientation"], if upright { "Portrait" } else { "Landscape" }, "{about}");
    }
}

#[test]
fn the_head_says_what_it_is() {
    let mut chart = chart_of(&[b"one".to_vec(), b"two".to_vec()]);
    chart.header.job = b"a\r\nb \x01 \xff \xc3\xbc".to_vec();
    chart.header.date = b"(atend)".to_vec();
    let text = draw(&chart, &ghc_style(), eps(324.0), true);
    let head: Vec<u8> = text.split_inclusive(|&byte| byte == b'\n').take(13).flatten().copied().collect();
    let expected = format!(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%Title: a  b   ? ü\n%%Creator: hp2ps (heapprof {})\n\
         %%CreationDate: (\\(atend\\))\n%%BoundingBox: 0 0 324 216\n\
         %%HiResBoundingBox: -0.125000 -0.125000 324.125000 216.125000\n%%DocumentData: Clean8Bit\n\
         %%DocumentNeededResources: font Helvetica\n%%Orientation: Portrait\n%%Pages: 1\n%%PageOrder: Ascend\n\
         %%hp2psColours: 0,0,0 0,0,1\n%%EndComments\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(String::from_utf8_lossy(&head), expected);
}

// ---- Ghostscript

fn has_ghostscript() -> bool {
    let found = Command::new("gs").arg("--version").output().is_ok_and(|run| run.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "gs is not on the PATH, and CI must run it");
    if !found {
        eprintln!("SKIPPED: gs is not on the PATH, nothing runs the pages");
    }
    found
}

/// Runs gs; what it says on its output and on stderr. It must not complain.
fn gs(args: &[String], about: &str) -> (Vec<u8>, String) {
    let run = Command::new("gs")
        .args(["-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sstdout=%stderr"])
        .args(args)
        .output()
        .expect("gs starts");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success() && !said.contains("Error"), "{about}: {} {said}", run.status);
    (run.stdout, said)
}

fn stored(folder: &Path, documents: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<String> {
    let store = |(at, document): (usize, _)| {
        let path = folder.join(format!("{at:04}.ps"));
        fs::write(&path, AsRef::<[u8]>::as_ref(&document)).expect("a new file");
        path.to_string_lossy().into_owned()
    };
    documents.into_iter().enumerate().map(store).collect()
}

/// The box around the ink of each page of some files, in points. As the device sees nothing left of and below the
/// page, everything is drawn far from there.
fn ink_boxes(files: &[String], about: &str) -> Vec<[f64; 4]> {
    const OFF_PT: f64 = 9_000.0;
    let setup =
        format!("<</PageSize [18000 18000] /BeginPage {{pop {OFF_PT} {OFF_PT} translate}}>> setpagedevice");
    let head = ["-sDEVICE=bbox", "-c", &setup, "-f"].map(String::from);
    let (_, said) = gs(&[&head, files].concat(), about);
    let boxes = said.lines().filter_map(|line| line.strip_prefix("%%HiResBoundingBox: "));
    boxes.map(|sides| numbers(sides).map(|side| side - OFF_PT)).collect()
}

fn numbers(text: &str) -> [f64; 4] {
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    numbers.try_into().expect("four numbers")
}

/// All pages of some files as grey pixels from the upper left corner on, `dpi` an inch.
fn pictures(files: &[String], page_pt: (u32, u32), dpi: u32) -> Vec<Vec<u8>> {
    let (width, height) = page_pt;
    let head = [
        "-sDEVICE=pgmraw".to_owned(),
        format!("-r{dpi}"),
        "-dFIXEDMEDIA".to_owned(),
        format!("-dDEVICEWIDTHPOINTS={width}"),
        format!("-dDEVICEHEIGHTPOINTS={height}"),
        "-sOutputFile=-".to_owned(),
    ];
    let (stdout, _) = gs(&[&head, files].concat(), "pictures");
    let (width, height) = ((width * dpi).div_ceil(72) as usize, (height * dpi).div_ceil(72) as usize);
    split_pictures(&stdout, width * height)
}

/// Each is a head that ends with the line `255`, and `size` bytes.
fn split_pictures(mut stream: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut pictures = Vec::new();
    while !stream.is_empty() {
        let head = stream.windows(5).position(|window| window == b"\n255\n").expect("the end of a head") + 5;
        pictures.push(stream[head..head + size].to_vec());
        stream = &stream[head + size..];
    }
    pictures
}

// ---- boxes

/// Compared are the four sides of `%%HiResBoundingBox` with those of the ink, to the device's pixel; and those of
/// `%%BoundingBox` of an encapsulated page with the ink less half a line on each side, to the half point that rounding
/// takes.
#[test]
fn encapsulated_pages_draw_exactly_their_box() {
    if !has_ghostscript() {
        return;
    }
    let encapsulated = documents().into_iter().filter(|(_, _, place, _)| place.eps_width_pt.is_some());
    let documents: Vec<_> = encapsulated.collect();
    let files = stored(&folder("postscript_eps"), documents.iter().map(|document| &document.3));
    let mut boxes = ink_boxes(&files, "encapsulated").into_iter();
    let mut single = 0;
    for (about, _, placement, text) in &documents {
        let structure = structure(text, about);
        let scale = placement.eps_width_pt.expect("encapsulated") / FRAME_PT.0;
        let promised = numbers(&structure.head["HiResBoundingBox"]);
        let whole = numbers(&structure.head["BoundingBox"]);
        for _ in &structure.pages {
            let ink = boxes.next().expect("a box for each page");
            for side in 0..4 {
                assert!((ink[side] - promised[side]).abs() < PIXEL_PT, "{about}: {ink:?} {promised:?}");
                let half_line = LINE_PT / 2.0 * scale * if side < 2 { 1.0 } else { -1.0 };
                assert!((ink[side] + half_line - whole[side]).abs() < 0.51, "{about}: {ink:?} {whole:?}");
            }
        }
        single += usize::from(structure.pages.len() == 1);
    }
    assert_eq!(boxes.next(), None);
    assert!(single > 50, "{single}");
}

#[test]
fn cropping_to_an_encapsulated_page_gives_its_size() {
    if !has_ghostscript() {
        return;
    }
    let folder = folder("postscript_crop");
    for (name, profile) in profiles() {
        let text = draw(&read(&profile), &ghc_style(), eps(300.0), false);
        let files = stored(&folder, [text]);
        let head = ["-dEPSCrop", "-sDEVICE=pgmraw", "-r72", "-sOutputFile=-"].map(String::from);
        let (picture, _) = gs(&[&head[..], &files].concat(), &name);
        let head = String::from_utf8_lossy(&picture[..picture.len().min(100)]).into_owned();
        assert!(head.lines().any(|line| line == "300 200"), "{name}: {head}");
    }
}

/// The ink of all pages lies in the box. Where only the frame reaches outward it is the box to the device's pixel; else
/// the box may be larger by the letters' lean, a margin, the tips of lines and bytes without a character.
#[test]
fn pages_on_paper_draw_within_their_box() {
    const MOST_PT: f64 = 15.0;
    if !has_ghostscript() {
        return;
    }
    let on_paper = documents().into_iter().filter(|(_, _, place, _)| place.eps_width_pt.is_none());
    let documents: Vec<_> = on_paper.collect();
    let files = stored(&folder("postscript_paper"), documents.iter().map(|document| &document.3));
    let mut boxes = ink_boxes(&files, "on paper").into_iter();
    let mut exact = 0;
    for (about, _, placement, text) in &documents {
        let structure = structure(text, about);
        let pages: Vec<[f64; 4]> = boxes.by_ref().take(structure.pages.len()).collect();
        let lowest = |side: usize| pages.iter().map(|page| page[side]).fold(f64::INFINITY, f64::min);
        let highest = |side: usize| pages.iter().map(|page| page[side]).fold(f64::NEG_INFINITY, f64::max);
        let ink = [lowest(0), lowest(1), highest(2), highest(3)];
        let promised = numbers(&structure.head["HiResBoundingBox"]);
        let whole = numbers(&structure.head["BoundingBox"]);
        let frame =
            if placement.portrait { [72.0, 108.0, 720.0, 540.0] } else { [72.0, 108.0, 504.0, 756.0] };
        for side in 0..4 {
            let outward = if side < 2 { -1.0 } else { 1.0 };
            let more = (promised[side] - ink[side]) * outward;
            let frame_alone = (promised[side] - frame[side] - outward * LINE_PT / 2.0).abs() < 0.001;
            exact += usize::from(frame_alone);
            let most = if frame_alone { PIXEL_PT } else { MOST_PT };
            assert!((-PIXEL_PT..most).contains(&more), "{about} side {side}: {ink:?} {promised:?}");
            let rounded = (whole[side] - promised[side]) * outward;
            assert!((0.0..1.0).contains(&rounded), "{about} side {side}: {promised:?} {whole:?}");
        }
    }
    assert_eq!(boxes.next(), None);
    assert!(exact > 300, "{exact}");
}

// ---- pages

fn many_bands() -> Vec<u8> {
    let mut text = "JOB \"pages\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\"\n".to_owned();
    for sample in 0..3 {
        text += &format!("BEGIN_SAMPLE {sample}.0\n");
        (0..45).for_each(|band| text += &format!("бanд{band} {}\n", 100 + band * sample));
        text += &format!("END_SAMPLE {sample}.0\n");
    }
    text.into_bytes()
}

#[test]
fn a_page_drawn_alone_or_in_any_order_is_the_page_in_sequence() {
    if !has_ghostscript() {
        return;
    }
    let folder = folder("postscript_alone");
    let chart = read_with(&many_bands(), &BandOptions { limit: 0, ..BandOptions::default() });
    for style in [Style::Ghc, Style::Readable] {
        for placement in [Placement::default(), Placement { portrait: true, eps_width_pt: None }, eps(400.0)]
        {
            let options =
                PageOptions { text: style, axes: style, key: KeyPlace::OwnPages, ..PageOptions::default() };
            let text = draw(&chart, &options, placement, true);
            let about = format!("{style:?} {placement:?}");
            let structure = structure(&text, &about);
            assert_eq!(structure.pages.len(), 4, "{about}");
            let alone = structure.pages.iter().map(|page| [structure.before, page, structure.after].concat());
            let backward: Vec<u8> =
                structure.pages.iter().rev().flat_map(|page| page.iter().copied()).collect();
            let backward = [structure.before, &backward, structure.after].concat();
            let files = stored(&folder, [text.clone(), backward].into_iter().chain(alone));
            let drawn = pictures(&files, (792, 792), 60);
            let (sequence, rest) = drawn.split_at(4);
            let (backward, alone) = rest.split_at(4);
            assert!(backward.iter().rev().eq(sequence), "{about}: backward");
            assert!(alone == sequence, "{about}: alone");
            let blank = |picture: &&Vec<u8>| picture.iter().all(|&pixel| pixel == 255);
            assert_eq!(sequence.iter().filter(blank).count(), 0, "{about}");
            assert!((1..4).all(|at| sequence[at] != sequence[at - 1]), "{about}: pages differ");
        }
    }
}

#[test]
fn a_pdf_has_the_pages_that_the_comments_count() {
    if !has_ghostscript() {
        return;
    }
    let folder = folder("postscript_pdf");
    let profile = many_bands();
    for (limit, key, style, pages) in [
        (20, KeyPlace::OnGraph, Style::Ghc, 1),
        (20, KeyPlace::OwnPages, Style::Ghc, 2),
        (0, KeyPlace::OwnPages, Style::Readable, 4),
    ] {
        let chart = read_with(&profile, &BandOptions { limit, ..BandOptions::default() });
        let options = PageOptions { text: style, key, ..PageOptions::default() };
        let text = draw(&chart, &options, Placement::default(), false);
        assert_eq!(structure(&text, "pdf").pages.len(), pages);
        let files = stored(&folder, [text]);
        let pdf = folder.join("out.pdf").to_string_lossy().into_owned();
        let head = ["-sDEVICE=pdfwrite".to_owned(), format!("-sOutputFile={pdf}")];
        gs(&[&head[..], &files].concat(), "pdfwrite");
        let (_, said) = gs(&["-sDEVICE=bbox".to_owned(), pdf], "the pdf");
        assert_eq!(said.matches("%%HiResBoundingBox").count(), pages, "{said}");
    }
}

// ---- texts

/// Bytes that would like to be PostScript.
fn hostile(random: &mut Random) -> Vec<u8> {
    const PARTS: [&[u8]; 22] = [
        b"\n%%EOF\n",
        b"\nshowpage\n",
        b") show showpage (",
        b"(",
        b")",
        b"\\",
        b"\\(",
        b"\\)",
        b"\r",
        b"\r\n",
        b"\x04",
        b"\x00",
        b"\xff\xfe",
        b"%",
        b"\n%%Page: 7 7\n",
        b"\x1b",
        b"\\12",
        b"\\\n",
        b"(atend)",
        b"<~",
        b"quit",
        b"\xe2\x80\xae",
    ];
    let mut text = Vec::new();
    for _ in 0..random.below(12) {
        if random.once_in(3) {
            text.push(random.next() as u8);
        } else {
            text.extend_from_slice(random.pick(&PARTS));
        }
    }
    if random.once_in(8) {
        text.resize(text.len() + random.below(900), b'(');
    }
    text
}

#[test]
fn no_text_changes_the_pages_or_makes_an_error() {
    let mut random = Random::new(21);
    let mut documents = Vec::new();
    for case in 0..if cfg!(debug_assertions) { 120 } else { 600 } {
        let names: Vec<Vec<u8>> = (0..random.below(4)).map(|_| hostile(&mut random)).collect();
        let mut chart = chart_of(&names);
        for text in [&mut chart.header.job, &mut chart.header.date] {
            *text = hostile(&mut random);
        }
        for text in [&mut chart.header.sample_unit, &mut chart.header.value_unit] {
            *text = hostile(&mut random);
        }
        let style = [Style::Ghc, Style::Readable][case % 2];
        let options = PageOptions {
            text: style,
            axes: [Style::Ghc, Style::Readable][random.below(2)],
            title: [TitleSize::ByJob, TitleSize::Big, TitleSize::Small][random.below(3)],
            key: [KeyPlace::OnGraph, KeyPlace::OwnPages][random.below(2)],
            ..PageOptions::default()
        };
        let placement =
            Placement { portrait: random.once_in(2), eps_width_pt: random.once_in(2).then_some(300.0) };
        let text = draw(&chart, &options, placement, random.once_in(2));
        let about = format!("case {case}: {:?} {names:?} {options:?}", chart.header);
        let pages = if options.key == KeyPlace::OwnPages { 2 } else { 1 };
        assert_eq!(structure(&text, &about).pages.len(), pages, "{about}");
        documents.push((about, pages, text));
    }
    if !has_ghostscript() {
        return;
    }
    // A few in one run; a run that fails tells which.
    let folder = folder("postscript_hostile");
    for few in documents.chunks(40) {
        let files = stored(&folder, few.iter().map(|document| &document.2));
        let about: Vec<&str> = few.iter().map(|document| &document.0[..]).collect();
        let boxes = ink_boxes(&files, &about.join("\n"));
        assert_eq!(boxes.len(), few.iter().map(|document| document.1).sum::<usize>());
    }
}

/// Backslashes in header texts: what GHC's page shows, ours shows, pixel by pixel.
#[test]
fn texts_with_backslashes_look_as_on_ghcs_page() {
    let Some(ghc) = ghc_tool() else { return };
    if !has_ghostscript() {
        return;
    }
    let mut random = Random::new(22);
    let parts = [
        "a", "\\b", "\\\\", "\\101", "\\7", "\\x", "c ", "d", "\\n", "(e)", "\\18", "\\\"\"", "8", "\\501",
        "\\\\\\\\",
    ];
    // Parentheses that a backslash stands before make GHC's string another one, or none.
    let text = |random: &mut Random| {
        let text: String = (0..random.below(8)).map(|_| random.pick(&parts)).collect();
        if text.contains("\\(") || text.contains("\\)") { "plain".to_owned() } else { text }
    };
    let mut shown = Vec::new();
    for _ in 0..if cfg!(debug_assertions) { 40 } else { 200 } {
        let (job, date, unit) = (text(&mut random), text(&mut random), text(&mut random));
        let profile = format!(
            "JOB \"{job}\" DATE \"{date}\" SAMPLE_UNIT \"{unit}\" VALUE_UNIT \"{date}\"\n\
             BEGIN_SAMPLE 0.0 a 1 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 a 1 END_SAMPLE 1.0"
        );
        let tools = [&ghc, Path::new(env!("CARGO_BIN_EXE_hp2ps"))];
        shown.push((profile.clone(), tools.map(|tool| filter(tool, &[], profile.as_bytes()).stdout)));
    }
    let folder = folder("postscript_backslashes");
    let [theirs, ours] = [0, 1].map(|at| {
        let files = stored(&folder, shown.iter().map(|(_, documents)| &documents[at]));
        pictures(&files, (612, 792), 72)
    });
    assert_eq!((theirs.len(), ours.len()), (shown.len(), shown.len()));
    for ((profile, _), (theirs, ours)) in shown.iter().zip(theirs.iter().zip(&ours)) {
        assert!(theirs == ours, "{profile}");
    }
}

#[test]
fn what_the_page_does_not_show_is_said() {
    let losses = |job: &str, name: &str, options: &PageOptions| {
        let mut chart = chart_of(&[name.as_bytes().to_vec()]);
        chart.header.job = job.as_bytes().to_vec();
        Drawing::new(&chart, options, false, &Previous::default()).warnings()
    };
    let backslash = "JOB: backslashes are dropped as by GHC's hp2ps; --modern shows them";
    let beyond = |what: &str| {
        format!(
            "{what}: characters beyond ASCII are drawn byte by byte as by GHC's hp2ps; --modern draws them readably"
        )
    };
    assert_eq!(losses("a\\b", "n\\m", &ghc_style()), [backslash]);
    assert_eq!(losses("a", "ü", &ghc_style()), [beyond("names")]);
    assert_eq!(losses("ü\\n", "ü", &ghc_style()), [backslash.to_owned(), beyond("JOB, names")]);
    // Not a string to PostScript, so shown whole; not drawn, so not lost; readable, so drawn.
    assert_eq!(losses("a\\", "n", &ghc_style()), [""; 0]);
    assert_eq!(losses(&format!("{:80}\\b", ""), "n", &ghc_style()), [""; 0]);
    let without_key = PageOptions { key: KeyPlace::Nowhere, ..PageOptions::default() };
    assert_eq!(losses("a", "ü", &without_key), [""; 0]);
    assert_eq!(losses("ü\\n", "ü", &readable()), [""; 0]);
}

// ---- colours of the run before

#[test]
fn a_second_run_in_colour_has_the_colours_of_the_first() {
    let folder = folder("postscript_colours");
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hp2ps"));
        let run = command.args(args).arg("run").current_dir(&folder).output().expect("hp2ps starts");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        fs::read(folder.join("run.ps")).expect("written")
    };
    fs::copy(data("25-bands.hp"), folder.join("run.hp")).expect("stored");
    let first = run(&["-c"]);
    assert_eq!(run(&["-c", "-p"]), first);
    assert_eq!(run(&["-c", "-p"]), first, "once more");
    // Without the page only the .aux file is left, which GHC's tool reads as black and reds.
    fs::remove_file(folder.join("run.ps")).expect("was written");
    let without = run(&["-c", "-p"]);
    let colours = |page: &[u8]| {
        let mut lines: Vec<String> = lines(page)
            .filter(|line| line.ends_with(b" setrgbcolor"))
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        lines.sort();
        lines.dedup();
        lines
    };
    assert_eq!(colours(&without).len(), 3, "{:?}", colours(&without));
    assert_eq!(colours(&first).len(), 20);
}

#[cfg(feature = "glyphs")]
mod any_script {
    use hp2ps::layout::{KEY_TEXT_X_PT, LABEL_FONT_PT};
    use hp2ps::metrics::helvetica_width_pt;

    use super::hp_common::split_after;
    use super::*;

    /// Names of all kinds, as bytes.
    fn scripts() -> Vec<Vec<u8>> {
        let names = [
            "Straße",
            "Łódź",
            "naïve–“q”",
            "don't`tick´",
            "Ελληνικά",
            "Кириллица",
            "日本語",
            "한국어",
            "ไทย",
            "𝔸𝕓",
            "😀",
            "ΑΒΓ/main",
            "שלום",
            "العربية",
            "ctrl\u{1}\u{7f}\u{85}",
            "\u{fdfd}\u{20000}",
        ];
        let mut names: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        names.push(b"br\xe6\x97oken\xff".to_vec());
        names
    }

    const DPI: u32 = 144;

    /// The dark pixels of a picture of the frame, in a rectangle in points from its lower left corner.
    fn ink(pixels: &[u8], (left, lower): (f64, f64), (right, upper): (f64, f64)) -> usize {
        let scale = f64::from(DPI) / 72.0;
        let (width, height) = ((FRAME_PT.0 * scale) as usize, (FRAME_PT.1 * scale) as usize);
        let columns = (left * scale) as usize..((right * scale).ceil() as usize).min(width);
        let rows = height - ((upper * scale).ceil() as usize).min(height)..height - (lower * scale) as usize;
        let in_row = |row: usize| columns.clone().map(move |column| row * width + column);
        rows.flat_map(in_row).filter(|&at| pixels[at] < 128).count()
    }

    #[test]
    fn every_glyph_of_any_script_leaves_ink() {
        if !has_ghostscript() {
            return;
        }
        let chart = chart_of(&scripts());
        // The size of the frame, so that the page's points are the picture's.
        let text = draw(&chart, &readable(), eps(FRAME_PT.0), false);
        structure(&text, "scripts");
        let files = stored(&folder("postscript_scripts"), [text]);
        let pictures = pictures(&files, (648, 432), DPI);
        let page = Drawing::new(&chart, &readable(), false, &Previous::default()).page;
        for entry in &page.key[0] {
            let name = String::from_utf8_lossy(&page.bands[entry.band].label).into_owned();
            let base = entry.y - LABEL_FONT_PT / 2.0;
            let mut left = page.key_x + KEY_TEXT_X_PT;
            // From right to left the cells are those of other letters, but as many.
            for end in name.char_indices().map(|(at, c)| at + c.len_utf8()) {
                let right = page.key_x + KEY_TEXT_X_PT + helvetica_width_pt(&name[..end], LABEL_FONT_PT);
                let (lower, upper) = (base - 0.25 * LABEL_FONT_PT, base + LABEL_FONT_PT);
                // Thai vowels above and below take no room of their own.
                if right - left > 0.5 {
                    let ink = ink(&pictures[0], (left, lower), (right, upper));
                    assert!(ink > 0, "{name}: the character before byte {end}");
                }
                left = right;
            }
        }
    }

    #[test]
    fn texts_are_as_wide_as_they_are_measured() {
        if !has_ghostscript() {
            return;
        }
        let latin: Vec<Vec<u8>> = (0x20..0x180)
            .step_by(12)
            .map(|first| (first..first + 12).filter_map(char::from_u32).collect::<String>().into_bytes())
            .collect();
        let folder = folder("postscript_widths");
        for names in [scripts(), latin] {
            let chart = chart_of(&names);
            let options = PageOptions { key: KeyPlace::OwnPages, ..readable() };
            let text = draw(&chart, &options, Placement::default(), false);
            let page = Drawing::new(&chart, &options, false, &Previous::default()).page;
            let measured: Vec<u8> = split_after(&text, b"] textshow\n")
                .into_iter()
                .flat_map(|piece| match piece.strip_suffix(b"textshow\n") {
                    Some(operand) => [operand, b"dup textwidth == textshow\n"].concat(),
                    None => piece.to_vec(),
                })
                .collect();
            let files = stored(&folder, [measured]);
            let (_, said) =
                gs(&[&["-sDEVICE=nullpage".to_owned(), "-r2400".to_owned()][..], &files].concat(), "widths");
            let widths: Vec<f64> = said.lines().filter_map(|line| line.parse().ok()).collect();
            let labels: Vec<&Vec<u8>> =
                page.key.iter().flatten().map(|entry| &page.bands[entry.band].label).collect();
            for label in labels {
                let label = String::from_utf8_lossy(label);
                let width = helvetica_width_pt(&label, LABEL_FONT_PT);
                assert!(
                    widths.iter().any(|known| (known - width).abs() < 0.01),
                    "{label}: {width} {widths:?}"
                );
            }
        }
    }
}
