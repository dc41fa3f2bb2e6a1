//! Mouse and keyboard: real input events to visible, clickable elements.

use serde_json::{Value, json};
use thirtyfour::Key;

use crate::pages::browser::{Browser, result};
use crate::pages::locator::Mark;

/// Brings a part into view and says where a click on it would go, or why none can.
const REACH: &str = "function () {
    if (this.matches(':disabled, [aria-disabled=true]')) return { why: 'is disabled' };
    this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = [...this.getClientRects()].find((box) => box.width > 0 && box.height > 0);
    if (!box || getComputedStyle(this).visibility !== 'visible') return { why: 'is not shown' };
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const hit = document.elementFromPoint(x, y);
    const isHit = this.contains(hit) || hit?.closest('label')?.control === this;
    window.aimedAt = this;
    return isHit ? { x, y } : { why: `is behind ${hit ? hit.cloneNode(false).outerHTML : 'the edge of the window'}` };
}";

/// Stops the next click if it is not on the part that was aimed at, and says in `missedClick` what it would have hit.
const LISTEN: &str = "window.missedClick = undefined;
window.addEventListener('click', (event) => {
    const aimedAt = window.aimedAt;
    const isHit = aimedAt.contains(event.target) || event.target.closest?.('label')?.control === aimedAt;
    if (isHit) return;
    window.missedClick = event.target.cloneNode?.(false).outerHTML ?? 'the page';
    event.preventDefault();
    event.stopImmediatePropagation();
}, { capture: true, once: true })";

impl Browser {
    /// Clicks on a part of the page as soon as that is possible.
    #[track_caller]
    pub(crate) fn click(&self, mark: Mark<'_>) {
        // A live update may move the part between the look and the click; a person then clicks again.
        let mut missed = None;
        let is_hit = self.wait(|| {
            let (x, y) = self.reach(mark);
            self.must("Runtime.evaluate", json!({ "expression": LISTEN }));
            self.mouse("mouseMoved", x, y, 0);
            self.mouse("mousePressed", x, y, 1);
            self.mouse("mouseReleased", x, y, 0);
            missed = self.missed_click();
            missed.is_none()
        });
        let hit = missed.unwrap_or_default();
        assert!(is_hit, "the click on {mark} hits {hit} instead\n{}", self.situation());
    }

    /// The part that the last click hit instead of its aim. A page that the click left has no answer, so the click was heard.
    fn missed_click(&self) -> Option<String> {
        let answer = self.command("Runtime.evaluate", json!({ "expression": "window.missedClick" })).ok()?;
        answer["result"]["value"].as_str().map(str::to_owned)
    }

    /// Takes hold of one part, moves it over another and lets go, as a mouse does.
    #[track_caller]
    pub(crate) fn drag(&self, what: Mark<'_>, onto: Mark<'_>) {
        let whole = |(x, y): (f64, f64)| (x.round() as i64, y.round() as i64);
        let (x, y) = whole(self.reach(what));
        let (to_x, to_y) = whole(self.reach(onto));
        // A second look: bringing the goal into view may have moved the beginning.
        assert_eq!((x, y), whole(self.reach(what)), "{what} and {onto} are not in view together");
        let moved = self.run(async |session| {
            let chain = session.action_chain().move_to(x, y).click_and_hold().move_to(x + 5, y + 5);
            chain.move_to(to_x - 3, to_y - 3).move_to(to_x, to_y).release().perform().await
        });
        moved.unwrap();
    }

    /// Replaces the text of a field.
    #[track_caller]
    pub(crate) fn fill(&self, mark: Mark<'_>, text: &str) {
        self.click(mark);
        self.value("document.activeElement.select?.()");
        if text.is_empty() {
            self.press("Delete");
        } else {
            self.must("Input.insertText", json!({ "text": text }));
        }
    }

    /// Types where the focus is, key by key.
    #[track_caller]
    pub(crate) fn keys(&self, text: &str) {
        self.run(async |session| session.action_chain().send_keys(text).perform().await).unwrap();
    }

    /// Presses a key by its name, with others held: `j`, `?`, `Enter`, `Shift+Tab`, `Control+k`.
    #[track_caller]
    pub(crate) fn press(&self, names: &str) {
        let keys: Vec<char> = if names == "+" { vec!['+'] } else { names.split('+').map(key).collect() };
        let pressed = self.run(async |session| {
            let down = keys.iter().fold(session.action_chain(), |chain, key| chain.key_down(*key));
            keys.iter().rev().fold(down, |chain, key| chain.key_up(*key)).perform().await
        });
        pressed.unwrap();
    }

    /// Chooses an option of a select by its label.
    #[track_caller]
    pub(crate) fn choose(&self, mark: Mark<'_>, option: &str) {
        let chosen = "function (words) {
            const found = [...this.options].find((option) => option.label.trim() === words);
            if (!found) return [...this.options].map((option) => option.label).join(', ');
            this.value = found.value;
            this.dispatchEvent(new Event('input', { bubbles: true }));
            this.dispatchEvent(new Event('change', { bubbles: true }));
            return null;
        }";
        self.reach(mark);
        let others = self.call(&self.find(mark).unwrap(), chosen, &[json!(option)]).unwrap();
        assert!(others.is_null(), "{mark} has no `{option}` but {others}");
    }

    /// True when there is such a part, shown or not.
    pub(crate) fn has(&self, mark: Mark<'_>) -> bool {
        self.find(mark).is_ok()
    }

    /// Waits until there is such a part.
    #[track_caller]
    pub(crate) fn finds(&self, mark: Mark<'_>) {
        assert!(self.wait(|| self.has(mark)), "there is no {mark}\n{}", self.situation());
    }

    /// Where the middle of a part is, once it can be reached there.
    #[track_caller]
    fn reach(&self, mark: Mark<'_>) -> (f64, f64) {
        let (mut place, mut why) = (None, String::new());
        self.wait(|| {
            match self.find(mark).and_then(|object| self.call(&object, REACH, &[])) {
                Err(problem) => why = problem,
                Ok(found) => match (found["x"].as_f64(), found["y"].as_f64()) {
                    (Some(x), Some(y)) => place = Some((x, y)),
                    _ => why = found["why"].as_str().unwrap_or("cannot be reached").to_owned(),
                },
            }
            place.is_some()
        });
        place.unwrap_or_else(|| panic!("{mark} {why}\n{}", self.situation()))
    }

    fn mouse(&self, kind: &str, x: f64, y: f64, buttons: u8) {
        let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1 });
        self.must("Input.dispatchMouseEvent", event);
    }

    /// Finds a part: the handle by which the protocol knows it.
    fn find(&self, mark: Mark<'_>) -> Result<String, String> {
        match mark {
            Mark::Css(selector) => {
                let expression = format!("document.querySelector({})", json!(selector));
                let found = self.command("Runtime.evaluate", json!({ "expression": expression }))?;
                found["result"]["objectId"].as_str().map(str::to_owned).ok_or_else(|| "is not there".to_owned())
            }
            Mark::Role(role, name) => self.find_by_role(role, name),
        }
    }

    fn find_by_role(&self, role: &str, name: &str) -> Result<String, String> {
        let document = self.command("DOM.getDocument", json!({ "depth": 0 }))?;
        let asked = json!({ "nodeId": document["root"]["nodeId"], "role": role });
        let answer = self.command("Accessibility.queryAXTree", asked)?;
        let nodes = answer["nodes"].as_array().cloned().unwrap_or_default();
        let named: Vec<(String, &Value)> = nodes
            .iter()
            .filter(|node| node["ignored"] != true)
            .map(|node| (node["name"]["value"].as_str().unwrap_or_default().to_owned(), &node["backendDOMNodeId"]))
            .collect();
        let exact = named.iter().find(|(own, _)| own == name);
        let (_, node) = exact.or_else(|| named.iter().find(|(own, _)| own.contains(name))).ok_or_else(|| {
            let names: Vec<_> = named.iter().map(|(own, _)| format!("`{own}`")).collect();
            format!("is not there, only {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
        })?;
        let object = self.command("DOM.resolveNode", json!({ "backendNodeId": node }))?;
        object["object"]["objectId"].as_str().map(str::to_owned).ok_or_else(|| "is gone".to_owned())
    }

    fn call(&self, object: &str, function: &str, arguments: &[Value]) -> Result<Value, String> {
        let arguments: Vec<Value> = arguments.iter().map(|value| json!({ "value": value })).collect();
        let parameters = json!({
            "objectId": object, "functionDeclaration": function, "arguments": arguments,
            "awaitPromise": true, "returnByValue": true,
        });
        result(self.command("Runtime.callFunctionOn", parameters)?)
    }
}

/// A key as the protocol of drivers writes it.
#[track_caller]
fn key(name: &str) -> char {
    let named = match name {
        "Enter" => Key::Enter,
        "Escape" => Key::Escape,
        "Tab" => Key::Tab,
        "Shift" => Key::Shift,
        "Control" => Key::Control,
        "Delete" => Key::Delete,
        "Backspace" => Key::Backspace,
        "Left" => Key::Left,
        "Right" => Key::Right,
        "Up" => Key::Up,
        "Down" => Key::Down,
        "Home" => Key::Home,
        "End" => Key::End,
        "Space" => return ' ',
        _ => {
            let mut characters = name.chars();
            return match (characters.next(), characters.next()) {
                (Some(character), None) => character,
                _ => panic!("there is no key `{name}`"),
            };
        }
    };
    named.value()
}
