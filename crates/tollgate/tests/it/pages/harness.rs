//! Tests of the browser harness: real input, error detection, and cleanup.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::pages::browser::Browser;
use crate::pages::display::Theme;
use crate::pages::locator::{button, css, link, textbox};
use crate::robustness::server::processes_of;

const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src *";

/// Serves pages: the body of each by its path, scripts as such.
fn serve(pages: &'static [(&'static str, &'static str)]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || drop(answer(stream, pages)));
        }
    });
    address
}

fn answer(mut stream: TcpStream, pages: &[(&str, &str)]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    lines.find(String::is_empty);
    let page = pages.iter().find(|(name, _)| *name == path);
    let (status, body) = page.map_or(("204 No Content", ""), |(_, body)| ("200 OK", *body));
    let kind = if path.ends_with(".js") { "text/javascript" } else { "text/html; charset=utf-8" };
    let policy = if path == "/open" { String::new() } else { format!("content-security-policy: {POLICY}\r\n") };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{policy}connection: close\r\n")?;
    write!(stream, "content-length: {}\r\n\r\n{body}", body.len())
}

const FORM: &str = "<!doctype html><html lang=en><title>form</title><main><h1>Form</h1>
    <label>Title <input id=title></label> <button aria-label=Save>S</button> <button disabled>Never</button>
    <button id=copy>Copy</button> <a href=/notes.txt download=notes.txt>Notes</a><p id=said></p><noscript>no script here</noscript>
    <p id=from draggable=true>piece</p><p id=onto>place</p></main><script src=/form.js></script>";

const FORM_SCRIPT: &str = "
    const said = document.querySelector('#said');
    document.querySelector('[aria-label=Save]').addEventListener('click', (event) => {
        setTimeout(() => { said.textContent = `${event.isTrusted} ${document.querySelector('#title').value}` }, 20);
    });
    document.querySelector('#copy').addEventListener('click', () => navigator.clipboard.writeText('copied ü'));
    document.addEventListener('keydown', (event) => { if (event.key === '?') said.textContent = 'help' });
    const onto = document.querySelector('#onto');
    document.querySelector('#from').addEventListener('dragstart', (event) => event.dataTransfer.setData('text/plain', 'p'));
    onto.addEventListener('dragover', (event) => event.preventDefault());
    onto.addEventListener('drop', (event) => { event.preventDefault(); said.textContent = 'dropped' });
";

#[test]
fn it_clicks_types_drags_and_waits_for_what_comes() {
    let browser = Browser::new(serve(&[("/", FORM), ("/form.js", FORM_SCRIPT)]));
    browser.go("/");
    browser.fill(textbox("Title"), "old");
    browser.fill(textbox("Title"), "new ü \u{202e}<b>");
    browser.click(button("Save"));
    browser.until("document.querySelector('#said').textContent === 'true new ü \\u202e<b>'");
    browser.click(css("h1"));
    browser.press("?");
    browser.until("said.textContent === 'help'");
    browser.drag(css("#from"), css("#onto"));
    browser.sees("dropped");
    assert!(!browser.all_text().contains("no script here"));
}

#[test]
fn it_sees_what_is_copied_and_what_is_downloaded() {
    let browser = Browser::new(serve(&[("/", FORM), ("/form.js", FORM_SCRIPT), ("/notes.txt", "some notes")]));
    browser.go("/");
    browser.click(button("Copy"));
    assert!(browser.wait(|| browser.clipboard() == "copied ü"));
    browser.click(link("Notes"));
    assert_eq!(browser.downloaded(), ("notes.txt".to_owned(), "some notes".to_owned()));
}

#[test]
fn it_looks_in_many_ways() {
    let browser = Browser::new(serve(&[("/", FORM), ("/form.js", FORM_SCRIPT)]));
    browser.go("/");
    browser.theme(Theme::Dark);
    browser.reduced_motion();
    assert!(browser.is("matchMedia('(prefers-color-scheme: dark) and (prefers-reduced-motion: reduce)').matches"));
    browser.width(375);
    assert_eq!((browser.number("innerWidth"), browser.sideways()), (375.0, 0.0));
    browser.value("document.querySelector('h1').style.width = '400px'");
    assert!(browser.sideways() > 0.0);
    assert!(browser.picture().unwrap().starts_with(b"\x89PNG"));
    assert!(browser.metrics().n_elements > 10);
    browser.axe();
    browser.value("document.querySelector('h1').append(new Image())");
    let violations = browser.violations().join("\n");
    assert!(violations.starts_with("image-alt: Images must have alternative text: [\"img\"] <img>"), "{violations}");
    browser.javascript_off();
    browser.reload();
    browser.sees("no script here");
}

/// The log of a page with this script.
#[track_caller]
fn check(page: &'static [(&'static str, &'static str)], expected: &[&str]) {
    let browser = Browser::new(serve(page));
    browser.go(page[0].0);
    browser.wait(|| browser.problems().len() >= expected.len());
    let problems = browser.problems();
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for part in expected {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part} is not in {problems:#?}");
        browser.forgive(part);
    }
}

#[test]
fn it_notices_what_a_page_says_and_what_it_throws() {
    const SCRIPT: &str = "console.error('alas'); console.warn('hm'); Promise.reject(new Error('broken')); oops();";
    const PAGES: &[(&str, &str)] = &[("/", "<title>a</title><script src=/a.js></script>"), ("/a.js", SCRIPT)];
    check(PAGES, &["alas", "broken", "oops"]);
}

#[test]
fn it_notices_what_a_page_must_not_do() {
    const PAGE: &str = "<title>a</title><img src=http://127.0.0.2:9/pixel><script>inline()</script>";
    check(&[("/", PAGE)], &["asks another host", "127.0.0.2:9/pixel - ", "script-src"]);
    check(&[("/open", "<title>a</title><script>alert('hello')</script>")], &["opens a dialog: hello", "comes without"]);
}

#[test]
fn it_leaves_nothing_behind_even_when_a_test_fails() {
    let mut folder = None;
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let browser = Browser::new(serve(&[("/", FORM)]));
        folder = browser.driver.downloads().parent().map(std::path::Path::to_owned);
        assert_ne!(processes_of(folder.as_ref().unwrap()), Vec::<String>::new());
        std::panic::resume_unwind(Box::new("a test that fails"));
    }));
    assert!(failed.is_err());
    let folder = folder.unwrap();
    assert_eq!(processes_of(&folder), Vec::<String>::new());
    assert!(!folder.exists());
}
