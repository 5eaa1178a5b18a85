//! A browser that tests drive: headless Chromium through chromedriver, in the words of the W3C WebDriver protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hp_common::folder;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Keys without a character, as the protocol writes them.
pub(crate) mod key {
    pub(crate) const TAB: char = '\u{e004}';
    pub(crate) const ENTER: char = '\u{e007}';
    pub(crate) const SHIFT: char = '\u{e008}';
    pub(crate) const ESCAPE: char = '\u{e00c}';
    pub(crate) const END: char = '\u{e010}';
    pub(crate) const HOME: char = '\u{e011}';
    pub(crate) const LEFT: char = '\u{e012}';
    pub(crate) const UP: char = '\u{e013}';
    pub(crate) const RIGHT: char = '\u{e014}';
    pub(crate) const DOWN: char = '\u{e015}';
}

/// A running browser with one window.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// The browser, for one test at a time. It runs as long as a test has it or waits for it.
pub(crate) struct Turn {
    browser: Arc<Browser>,
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Turn {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        &self.browser
    }
}

/// The browser as if it had just been started; none if it is not installed, which CI must not lack.
pub(crate) fn browser() -> Option<Turn> {
    static SHARED: Mutex<Weak<Browser>> = Mutex::new(Weak::new());
    static TURN: Mutex<()> = Mutex::new(());
    let browser = {
        // A test that failed leaves both as they are to be.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let browser = shared.upgrade().or_else(|| Browser::start().map(Arc::new))?;
        *shared = Arc::downgrade(&browser);
        browser
    };
    let turn = Turn { browser, _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner) };
    turn.renew();
    Some(turn)
}

impl Browser {
    fn start() -> Option<Browser> {
        let (Some(chromium), Some(driver)) = (tool("chromium"), tool("chromedriver")) else {
            assert!(
                std::env::var_os("CI").is_none(),
                "chromium and chromedriver are not on the PATH, CI needs them"
            );
            eprintln!("SKIPPED: chromium and chromedriver are not on the PATH");
            return None;
        };
        let mut driver = Command::new(driver)
            .args(["--port=0", "--log-level=SEVERE"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        // It stays open as long as chromedriver, which may say more.
        let port = port_of(driver.stdout.as_mut().expect("piped"));
        let mut browser = Browser { driver, port, session: String::new() };
        let profile = format!("--user-data-dir={}", folder("browser_profile").display());
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--window-size=1100,900",
        ];
        let flags: Vec<&str> = flags.into_iter().chain([&*profile]).collect();
        let session = browser.post(
            "/session",
            &json!({"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": flags, "binary": chromium},
                "goog:loggingPrefs": {"browser": "ALL"},
            }}}),
        );
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Leaves nothing of the test before.
    fn renew(&self) {
        self.request("DELETE", &format!("/session/{}/actions", self.session), "");
        self.prefer_colours("");
        self.visit("about:blank");
        self.errors();
    }

    /// Shows a file.
    pub(crate) fn open(&self, file: &Path) {
        self.visit(&format!("file://{}", file.display()));
    }

    /// Shows what is at an address.
    pub(crate) fn visit(&self, url: &str) {
        self.command("url", &json!({"url": url}));
    }

    /// What the body of a function returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
    }

    /// As [`Browser::run`], for texts.
    pub(crate) fn text(&self, script: &str) -> String {
        self.run(script).as_str().unwrap_or_else(|| panic!("no text: {script}")).to_owned()
    }

    /// As [`Browser::run`], for lists of texts.
    pub(crate) fn texts(&self, script: &str) -> Vec<String> {
        let value = self.run(script);
        let texts = value.as_array().unwrap_or_else(|| panic!("no list: {script}: {value}"));
        texts.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
    }

    /// Moves the pointer to a place of the window.
    pub(crate) fn point(&self, x: f64, y: f64) {
        self.pointer("mouse", &[step_to(x, y)]);
    }

    /// Moves there and presses once.
    pub(crate) fn click(&self, x: f64, y: f64) {
        self.pointer("mouse", &[step_to(x, y), press(), release()]);
    }

    /// As [`Browser::click`], with a finger.
    pub(crate) fn tap(&self, x: f64, y: f64) {
        self.pointer("touch", &[step_to(x, y), press(), release()]);
    }

    /// Presses twice.
    pub(crate) fn double_click(&self, x: f64, y: f64) {
        self.pointer("mouse", &[step_to(x, y), press(), release(), press(), release()]);
    }

    /// Presses at one place and releases at another.
    pub(crate) fn drag(&self, from: (f64, f64), to: (f64, f64)) {
        let middle = step_to((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        self.pointer("mouse", &[step_to(from.0, from.1), press(), middle, step_to(to.0, to.1), release()]);
    }

    /// Types keys one after the other.
    pub(crate) fn keys(&self, keys: &[char]) {
        let steps = keys.iter().flat_map(|key| [key_step("keyDown", *key), key_step("keyUp", *key)]);
        self.actions(&json!([{"type": "key", "id": "keys", "actions": steps.collect::<Vec<_>>()}]));
    }

    /// Presses with a key held down.
    pub(crate) fn click_with(&self, key: char, x: f64, y: f64) {
        let hold = json!([{"type": "key", "id": "keys", "actions": [key_step("keyDown", key)]}]);
        self.actions(&hold);
        self.click(x, y);
        self.actions(&json!([{"type": "key", "id": "keys", "actions": [key_step("keyUp", key)]}]));
    }

    /// Asks the browser for a desktop's dark or light scheme.
    pub(crate) fn prefer_colours(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let cdp = json!({"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}});
        self.command("goog/cdp/execute", &cdp);
    }

    /// What the page reported as errors since the last call.
    pub(crate) fn errors(&self) -> Vec<String> {
        let log = self.command("se/log", &json!({"type": "browser"}));
        let lines = log.as_array().expect("a list").iter();
        let severe = lines.filter(|line| line["level"] == "SEVERE");
        severe.map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// A picture of the window as PNG in Base64.
    pub(crate) fn screenshot(&self) -> String {
        let path = format!("/session/{}/screenshot", self.session);
        self.request("GET", &path, "")["value"].as_str().expect("a picture").to_owned()
    }

    fn pointer(&self, kind: &str, steps: &[Value]) {
        let parameters = json!({"pointerType": kind});
        self.actions(&json!([{"type": "pointer", "id": kind, "parameters": parameters, "actions": steps}]));
    }

    fn actions(&self, actions: &Value) {
        self.command("actions", &json!({"actions": actions}));
    }

    fn command(&self, name: &str, body: &Value) -> Value {
        self.post(&format!("/session/{}/{name}", self.session), body)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.request("POST", path, &body.to_string());
        assert!(answer["value"]["error"].is_null(), "{path} {body}: {answer}");
        answer["value"].clone()
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.exchange(method, path, body).expect("chromedriver answers in time");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{path}: {error}: {answer}"))
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        answer_body(BufReader::new(stream))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Chromium outlives a chromedriver that is killed. If this one does not answer, there is nothing to be done.
        let _ = self.exchange("DELETE", &format!("/session/{}", self.session), "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn step_to(x: f64, y: f64) -> Value {
    json!({"type": "pointerMove", "duration": 0, "origin": "viewport", "x": x.round() as i64, "y": y.round() as i64})
}

fn press() -> Value {
    json!({"type": "pointerDown", "button": 0})
}

fn release() -> Value {
    json!({"type": "pointerUp", "button": 0})
}

fn key_step(kind: &str, key: char) -> Value {
    json!({"type": kind, "value": key})
}

/// A program on the PATH.
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|tool| tool.is_file())
}

/// The port that chromedriver says it has taken.
fn port_of(said: &mut impl Read) -> u16 {
    let mut lines = BufReader::new(said);
    let began = Instant::now();
    let mut line = String::new();
    while began.elapsed() < PATIENCE && lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        // It names the port that it was asked for first, 0.
        let port = line.trim_end().trim_end_matches('.').rsplit_once("successfully on port ");
        if let Some((_, port)) = port {
            return port.parse().expect("a port");
        }
        line.clear();
    }
    panic!("chromedriver says no port");
}

/// The body of an HTTP answer with a length.
fn answer_body(mut stream: impl BufRead) -> std::io::Result<String> {
    let mut length = 0;
    let mut line = String::new();
    while stream.read_line(&mut line)? > 2 {
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        line.clear();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    String::from_utf8(body).map_err(std::io::Error::other)
}
